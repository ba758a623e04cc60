"""A sealed suite: nobody makes its keys again from what it publishes, and each random source is one of its family."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import tm2tfr
from tests.lab.hidden.cases import hidden
from tm2tfr.api.hidden import _hide
from tm2tfr.base.errors import DatasetError, DisguiseError
from tm2tfr.lab.hidden.claim import answer, template
from tm2tfr.lab.hidden.disguise import Disguised
from tm2tfr.lab.hidden.key import load_key
from tm2tfr.lab.hidden.population import FAMILIES, SHIPPED, Member, sources, suitable
from tm2tfr.lab.hidden.suite import KEYS, SEED, SIZE, hidden_model, make_suite, members
from tm2tfr.lab.line.pool import Job

GUESSED = range(200)
"""The seeds that an attacker tries who has nothing else to go by."""


def half_adder(_member: Member, _grade: int, _seed: int) -> Disguised:
    return hidden("half-adder", 1)


def test_a_suite_has_forty_members_in_three_grades() -> None:
    every = members(0)
    assert len(every) == SIZE == 40
    assert len(SHIPPED) == 40
    assert [sum(grade == g for _, grade, _ in every) for g in (1, 2, 3)] == [14, 13, 13]
    assert sum(member.drawn is None for member, _, _ in every) == 12
    assert {name: sum(member.name == name for member, _, _ in every) for name in FAMILIES} == dict.fromkeys(FAMILIES, 7)
    assert every == members(0)
    assert {work[2] for work in every}.isdisjoint(work[2] for work in members(1))


def keys_again(folder: Path) -> int:
    """Return how many keys an attacker makes again who has all but the folder of keys.

    A model is what its member, grade and seed make; so it is found if one of the seeds tried gives these three. Tried are
    all numbers that are published anywhere, and small ones.
    """
    right = members(json.loads((folder / SEED).read_text(encoding="utf-8"))["seed"])
    tried = set(GUESSED)
    for path in folder.rglob("*"):
        if path.is_file() and KEYS not in path.relative_to(folder).parts:
            text = path.read_bytes().decode("latin-1")
            tried |= {int(number) for number in re.findall(r"\d+", text) if len(number) < 60}
            tried |= {int(digits, 16) for digits in re.findall(r"\b[0-9a-f]{16,64}\b", text)}
    return max(sum(a == b for a, b in zip(members(seed), right, strict=True)) for seed in tried)


def test_no_key_is_made_again_from_what_a_suite_publishes(tmp_path: Path) -> None:
    sealed = make_suite(tmp_path / "sealed", half_adder)
    assert keys_again(sealed) == 0
    assert keys_again(make_suite(tmp_path / "guessed", half_adder, seed=7)) == 40  # the attack finds a seed that it tries


# ── What is published quotes no source: the names of its outputs, heads, variables, states and nets, and its text.
SHOWN_BY_ALL = {"token", "position", "1", "i", "i^2", "1/(i+1)"}
"""Names of variables that are published: they are the same for all sources."""


def of_source(made: Disguised, source: Any) -> set[str]:
    """Return the names and the texts of the source of hidden weights by which it can be recognised."""
    original, found = made.key.original, {made.key.name}
    if original.labeller:
        found |= {output.name for output in original.outputs}
        found |= {head.name for layer in original.layers for head in layer.heads}
        found |= {each.holds or each.name for each in original.layout.subspaces} - SHOWN_BY_ALL
        for line in source.text.splitlines():
            if line and not line.startswith("#"):
                name, _, right = re.sub(r"\s:=\s", " = ", line).partition(" = ")
                found |= {name.strip(), right.rstrip("; "), *re.findall(r"select\([^()]*\)", line)}
        found |= {token for token in original.vocabulary if token.isalpha()}
    else:
        names = (*getattr(source, "states", ()), *getattr(source, "inputs", ()), *original.vocabulary)
        found |= {name for name in map(str, names) if len(name) > 1}
    return found - {"", *(f"x{n}" for n in range(made.decoder.layout.width))}  # so all hidden models call their directions


def strings(document: Any) -> Iterator[str]:
    """Yield all strings of a JSON document, keys and JSON within strings too."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield from (*strings(key), *strings(value))
    elif isinstance(document, list):
        for value in document:
            yield from strings(value)
    elif isinstance(document, str):
        yield document
        with suppress(ValueError):  # metadata of weights are JSON in strings
            yield from strings(json.loads(document))


def quoted(files: Mapping[str, bytes], texts: Iterable[str]) -> set[str]:
    """Return the texts that these files quote: a string of theirs is one, or has it as a word; long ones anywhere."""
    words = set[str]()
    for name, content in files.items():
        if name.endswith(".safetensors"):
            words |= set(strings(json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])))
        elif name.endswith(".json"):
            words |= set(strings(json.loads(content)))

    def is_in(text: str, word: str) -> bool:
        return text == word or (len(text) > 1 and re.search(rf"(?<![\w-]){re.escape(text)}(?![\w-])", word) is not None)

    return {
        text
        for text in texts
        if any(is_in(text, word) for word in words)
        or (len(text) > 6 and any(text.encode() in content for content in files.values()))
    }


def published(made: Disguised) -> dict[str, bytes]:
    """Return the files of a hidden model, without its key."""
    job = Job(0, (Member("length"), 1, 0))
    files = hidden_model(job, lambda *_: made).files
    return {name: content for name, content in files.items() if not name.startswith(KEYS)}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["hop-1", "smooth", "sort-unique", "dyck-1-by-counting", "nearest-mark", "parity", "c17", *FAMILIES]
)
def test_no_published_file_quotes_the_source(name: str) -> None:
    subjects = [tm2tfr.Subject.of(name)] if name not in FAMILIES else []
    for seed in range(2 if name in FAMILIES else 0):
        tried = (tm2tfr.Subject.of(source) for source in islice(sources(Member(name, drawn=seed)), 60))
        subjects.append(next(each for each in tried if suitable(each.decoder, each.program)))
    for subject in subjects:
        made = tm2tfr.disguise(subject, grade=1, rename_tokens=True)
        texts = of_source(made, subject.program)
        assert quoted(published(made), texts) == set()
        if made.key.original.labeller:  # the search finds them where they are: nothing was renamed
            open_names = quoted(published(tm2tfr.disguise(subject, grade=1)), texts)
            assert open_names >= {output.name for output in made.key.original.outputs}


def test_no_file_of_a_suite_quotes_a_source(tmp_path: Path) -> None:
    made = tm2tfr.disguise("since-b", grade=1, rename_tokens=True)
    folder = make_suite(tmp_path / "suite", lambda *_: made)
    paths = [path for path in folder.rglob("*") if path.is_file() and KEYS not in path.relative_to(folder).parts]
    texts = of_source(made, tm2tfr.load("since-b"))
    assert len(paths) > 80
    assert quoted({str(path): path.read_bytes() for path in paths}, texts) == set()
    assert quoted({path.name: path.read_bytes() for path in (folder / KEYS).iterdir()}, texts) >= {"is s5", "a"}


def test_the_seed_is_with_the_keys_and_nowhere_else(tmp_path: Path) -> None:
    folder = make_suite(tmp_path / "suite", half_adder)
    seed = json.loads((folder / SEED).read_text(encoding="utf-8"))["seed"]
    assert seed > 2**96
    for path in folder.rglob("*"):
        if path.is_file() and KEYS not in path.relative_to(folder).parts:
            assert str(seed).encode() not in path.read_bytes(), path
    claim = template(answer(hidden("half-adder", 1).key))
    assert (folder / "models" / "07.claim.json").read_text(encoding="utf-8") == claim
    assert sum(path.is_file() for path in folder.rglob("*")) == 124


def test_a_sealed_suite_is_resumed_with_the_seed_that_it_has(tmp_path: Path) -> None:
    folder = make_suite(tmp_path / "suite", half_adder)
    before = (folder / "suite.json").read_bytes()
    with pytest.raises(DisguiseError, match=r"suite: it cannot be read \(it is a folder\): for one claim name .*01.json$"):
        tm2tfr.score_claim(folder, folder / "models" / "01.claim.json")
    assert tm2tfr.score_claim(folder / "keys" / "01.json", folder / "models" / "01.claim.json").kinds["heads"].measure == 0
    (folder / "models" / "05.safetensors").unlink()
    assert make_suite(folder, half_adder, resume=True) == folder
    assert (folder / "suite.json").read_bytes() == before
    for damaged, words in (("{}", "has no keys/seed.json with the seed"), ('{"seed": "x"}', "the seed is a whole number")):
        (folder / SEED).write_text(damaged, encoding="utf-8")
        with pytest.raises(DatasetError, match=words):
            make_suite(folder, half_adder, resume=True)
    with pytest.raises(DatasetError, match="made with a different seed"):
        make_suite(folder, half_adder, seed=1, resume=True)


@pytest.mark.slow
def test_the_same_member_is_the_same_model_and_its_key_proves_it(tmp_path: Path) -> None:
    member, grade, seed = next(work for work in members(3) if work[0].name == "circuit")
    made, again = _hide(member, grade, seed), _hide(member, grade, seed)
    assert made.key.digest == again.key.digest
    made.key.save(path := tmp_path / "key.json")
    assert tm2tfr.verify_disguise(made.decoder, load_key(path)).proved
    assert set(made.key.tokens.values()) == {f"t{n}" for n in range(len(made.key.tokens))}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_random_sources_compile_and_are_right(name: str) -> None:
    """The weights of each are the reference's; so what is hidden is what the family says."""
    for seed in range(4):
        tried = (tm2tfr.Subject.of(source) for source in islice(sources(Member(name, drawn=seed)), 60))
        subject = next(each for each in tried if suitable(each.decoder, each.program))
        source: Any = subject.program
        words = {"circuit": "0" * len(getattr(source, "inputs", ())), "program": "abba", "formula": "abca"}
        word = source.input_alphabet[0] * 2 if name == "machine" else words[name]
        assert tm2tfr.check(subject, word, max_steps=20).agrees


def test_a_member_of_no_family_is_refused() -> None:
    with pytest.raises(ValueError, match="not a random source of a family"):
        Member("half-adder", drawn=1)


def test_members_of_other_seeds_are_others() -> None:
    draws = {getattr(next(sources(Member("formula", drawn=seed))), "text", "") for seed in range(20)}
    assert len(draws) == 20
