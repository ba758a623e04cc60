"""Names for people: of s-ops, selectors, and all that the weights of a program have."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest

import tm2tfr
from tests.sources.rasp.random_programs import LENGTH, compiled, text_of
from tests.strategies import some, tries
from tm2tfr.base.errors import Tm2tfrError
from tm2tfr.sources.rasp.library import load, shipped
from tm2tfr.sources.rasp.naming import RaspNames
from tm2tfr.sources.rasp.program import Program
from tm2tfr.sources.rasp.read import read
from tm2tfr.sources.rasp.sops import Constant
from tm2tfr.sources.sequence.naming import MOST
from tm2tfr.transformer.weights import Decoder

KEY = re.compile(r"\b[cs]\d+\b")
HIST = "# alphabet: abc\nsame_tok = select(tokens, tokens, ==);\nhist = selector_width(same_tok);\n"


def kinds(decoder: Decoder) -> dict[str, list[str]]:
    """Return the names of heads, subspaces and hidden units, of each kind."""
    layers = decoder.layers
    return {
        "heads": [head.name for layer in layers for head in layer.heads],
        "subspaces": [subspace.name for subspace in decoder.layout.subspaces],
        "units": [unit for layer in layers if layer.feed_forward for unit in layer.feed_forward.units],
    }


def wrong(decoder: Decoder) -> list[str]:
    """Return the names of weights that people cannot use: too long, of a node's number, or of two things."""
    found = []
    for names in kinds(decoder).values():
        found += [name for name, count in Counter(names).items() if count > 1 or len(name) > MOST or KEY.search(name)]
    return found


def wrong_nodes(program: Program) -> list[str]:
    """Likewise of s-ops and selectors; those that are made in the same way may share a name."""
    names = RaspNames(program)
    owners: dict[str, set[int]] = {}
    for node in names.nodes:
        if not isinstance(node, Constant):
            owners.setdefault(names[node], set()).add(names.alike(node))
    return [name for name, own in owners.items() if len(own) > 1 or len(name) > MOST or KEY.search(name)]


@pytest.mark.parametrize("length", [3, pytest.param(None, marks=pytest.mark.slow)])
def test_shipped_programs_have_names_for_people(length: int | None) -> None:
    for name in some(shipped()) if length else shipped():
        program = load(name).program
        options = {} if length is None else {"max_length": length}
        assert wrong(tm2tfr.compile(program, **options)) == [], name
        assert wrong_nodes(program) == [], name


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_random_programs_have_names_for_people(part: int) -> None:
    for program, decoder in compiled(tries(50), seed=1_000 * part):
        assert wrong(decoder) == [], program.text
        assert wrong_nodes(program) == [], program.text


def test_so_have_programs_for_inputs_of_any_length() -> None:
    for program in ("length", "reverse", "histogram"):
        assert wrong(tm2tfr.compile(program, unbounded=True)) == [], program


# ── what they are
def test_the_names_of_a_histogram() -> None:
    decoder = tm2tfr.compile(read(HIST, file="hist.rasp").program)
    assert kinds(decoder)["heads"] == ["width of same_tok", "same_tok at 0"]
    assert kinds(decoder)["subspaces"][:-1] == [
        "position",
        "token",
        "keys of width of same_tok",
        "mean selector_width(same_tok).share",
        "steps of selector_width(same_tok).share",
        "share 1 of same_tok at 0",
        "share 2 of same_tok at 0",
        "found by same_tok at 0",
    ]


def named(text: str) -> list[str]:
    """Return the names of the s-ops and selectors that an s-op needs, of constants none."""
    program = read(f"# alphabet: ab\n{text}", file="x.rasp").program
    names = RaspNames(program)
    return [names[node] for node in names.nodes if not isinstance(node, Constant) and node.number in needed(program)]


def needed(program: Program) -> set[int]:
    """Return the numbers of all that the s-ops of a program need."""
    from tm2tfr.sources.rasp.sops import needed as all_of

    return {node.number for node in all_of(program.sops.values())}


PREVS = """def num_prevs(bools) {
    selected = select(indices, indices, <=);
    return (indices + 1) * aggregate(selected, indicator(bools));
}
"""


def test_a_call_and_what_is_in_it() -> None:
    found = named(f'{PREVS}opens = tokens == "a";\nx = num_prevs(opens) - num_prevs(not opens);')
    assert [name for name in found if name.startswith("num_prevs")] == [
        "num_prevs(opens).selected",
        "num_prevs(opens)",
        "num_prevs(not opens).selected",
        "num_prevs(not opens)",
    ]
    assert found[-1] == "x"
    assert "num_prevs(opens)" not in named(f'{PREVS}opens = tokens == "a";\nmany = num_prevs(opens);')


def test_what_has_no_variable_goes_by_its_text() -> None:
    text = "x = aggregate(select(indices, length - indices - 1, ==), tokens);"
    assert "x.select(indices, … - indices - 1, ==)" in named(text)
    assert "select(tokens, tokens, ==)" in named("x = aggregate(select(tokens, tokens, ==), indices);")


def test_a_variable_that_is_assigned_again_goes_by_its_text_before() -> None:
    assert named("x = indices + 1;\nx = x * 2;") == ["indices", "indices + 1", "x"]
    assert named("x = indices + 1;\ny = x;") == ["indices", "y"]
    assert named("x = indices + 1;\ny = x;\nz = y * 2;") == ["indices", "x", "z"]


def test_what_a_function_is_given_keeps_its_name() -> None:
    text = "def f(a) { b = a; c = b * 2; return c + b; }\nx = indices + 1;\ny = f(x);"
    assert named(text) == ["indices", "x", "f(x).c", "y"]


def test_names_of_the_embedding_are_taken() -> None:
    decoder = tm2tfr.compile(read('# alphabet: ab\ntoken = tokens + "a";\nposition = (tokens == "a") or indices == 1;'
                                  "\ni = position and indices < 2;\ny = aggregate(select(token, token, ==), indicator(i));",
                                  file="x.rasp").program)  # fmt: skip
    assert wrong(decoder) == []
    assert {"position'", "position", "i'"} <= set(kinds(decoder)["subspaces"])
    assert all(tm2tfr.check(decoder, word).agrees for word in ("a", "ab", "baa", "abba"))


# ── lines elsewhere
UNRELATED = (
    "unrelated = aggregate(select(indices, 1, <=), 3 * indices + 5, 7);",
    "def other(value) { part = value * 7; return part + 3; }\nunrelated = other(indices + 11);",
)


def changed(text: str) -> Iterator[str]:
    """Yield a program with a line that has nothing to do with it, at its beginning, in the middle and before its end."""
    *head, last = text.rstrip("\n").split("\n")
    first = next(n for n, line in enumerate(head) if line and not line.startswith(("#", "def")))
    for more in UNRELATED:
        for n in (first, (first + len(head)) // 2, len(head)):
            yield "\n".join([*head[:n], more, *head[n:], last, ""])


@pytest.mark.slow
def test_lines_elsewhere_rename_nothing() -> None:
    tried = 0
    for seed in range(tries(60)):
        text = text_of(seed)
        try:
            before = read(text, file="x.rasp").program
        except Tm2tfrError:
            continue
        names = RaspNames(before)
        own = {names[node] for node in names.nodes if node.number in needed(before)}
        for other in changed(text):
            after = read(other, file="x.rasp").program
            again = RaspNames(after)
            assert own <= {again[node] for node in again.nodes}, other
            tried += 1
    assert tried > tries(60)


@pytest.mark.slow
def test_lines_elsewhere_rename_nothing_in_weights() -> None:
    tried = 0
    for program, decoder in compiled(tries(30), seed=1_000):
        for other in changed(program.text):
            try:
                after = tm2tfr.compile(read(other, file="x.rasp").program, max_length=LENGTH)
            except Tm2tfrError:
                continue
            for kind, names in kinds(decoder).items():
                assert set(names) <= set(kinds(after)[kind]), (kind, other)
            tried += 1
    assert tried
