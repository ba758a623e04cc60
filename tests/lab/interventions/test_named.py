"""Every s-op that a RASP program names can be set, in whatever way its weights keep it, or it is said why not."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

import tm2tfr
from tests.sources.rasp.random_programs import compiled
from tests.strategies import DEPTH, some
from tm2tfr.api.interventions import bases
from tm2tfr.base.errors import Tm2tfrError, UsageError
from tm2tfr.base.text.words import written
from tm2tfr.lab.interventions.intervened import Base
from tm2tfr.lab.interventions.settings import settings_of
from tm2tfr.sources.rasp.evaluate import evaluate
from tm2tfr.sources.rasp.library import load, shipped
from tm2tfr.sources.rasp.model.labels import RaspVariables
from tm2tfr.sources.rasp.program import Program, shown_atom
from tm2tfr.sources.rasp.read import read
from tm2tfr.sources.rasp.sops import SOp, needed

HIST = "# alphabet: abc\nsame_tok = select(tokens, tokens, ==);\nhist = selector_width(same_tok);\n"
LOOPS = {"looped-addition", "looped-parity"}
REFUSED = re.compile(r"cannot be set: .+: .+|is never .+: use one of .+|cannot be set to .+: set these")
"""What a refusal says: the reason, and what to do."""


def subject(program: Program, **options: int) -> tm2tfr.Subject:
    """Return a program with its weights."""
    found = tm2tfr.Subject.of(program, options=options)
    return tm2tfr.Subject.of(found.decoder)


def named_sops(program: Program, decoder: tm2tfr.Decoder) -> dict[str, SOp]:
    """Return the named s-ops that weights compute."""
    own = {node.number for node in needed([program.choosing(output.name).sop for output in decoder.outputs])}
    return {name: sop for name, sop in program.sops.items() if sop.number in own}


def words_of(program: Program, decoder: tm2tfr.Decoder, chance: random.Random) -> list[str]:
    """Return a few inputs on which a program is defined."""
    most, found = min(decoder.positions or 6, 6), list[str]()
    for _ in range(200):
        word = tuple(chance.choices(program.alphabet, k=chance.randint(1, most)))
        try:
            evaluate([*program.sops.values()], word)
        except Tm2tfrError:
            continue
        found.append(written(word))
        if len(found) == 5:
            break
    return found


def outcomes(found: tm2tfr.Subject, count: int, seed: int) -> Iterator[str]:
    """Yield what comes of random interventions on the named s-ops of a program."""
    chance, program = random.Random(seed), found.right
    names = named_sops(program, found.decoder)
    words = words_of(program, found.decoder, chance)
    base = bases(found, engine="dense", dtype=None, max_positions=30)
    for _ in range(count if words else 0):
        here, source = base(chance.choice(words)), chance.choice(words)
        free = [each for each in names if each not in here.model.fixed]
        name = chance.choice(free if free and chance.random() < 0.9 else [*names])
        position = chance.randrange(len(here.prompt))
        values = evaluate(names[name], tuple(found.kind.fed(program, source, found.decoder))).values[names[name]]
        yield outcome(here, name, position, shown_atom(chance.choice(values)), base)


def outcome(here: Base, name: str, position: int, value: str, base: Callable[[str], Base]) -> str:
    """Set a named s-op, and return what came of it; what is refused says why, and what is set is what the weights do."""
    try:
        settings = settings_of(here, {(name, position): value}, base)
    except UsageError as error:
        said = str(error)
    else:
        said = ""
    if said:
        assert REFUSED.search(said), said
        return "refused"
    done = here.intervened(settings)
    assert done.agrees, str(done)
    k = next((k for k, output in enumerate(here.decoder.outputs) if output.name == name), None)
    if k is not None and settings[0].meant and k not in done.expected.unanswered.get(position, {}):
        assert str(done.expected.answers[position][k]) == value, str(done)
    return "known" if done.known else "not known"


@pytest.mark.slow
def test_a_histogram_is_set_by_what_it_is_read_from() -> None:
    found = subject(read(HIST, file="hist.rasp").program)
    done = tm2tfr.intervene(found, "abab", {("hist", 1): 3})
    assert (done.agrees, done.known, done.causal) == (True, True, True)
    assert [answers[0] for answers in done.expected.answers] == [2, 3, 2, 2]
    assert [answers[0] for answers in done.patched_answers] == [2, 3, 2, 2]
    said = "hist on 'abab': set hist at 1 = 3, by mean selector_width(same_tok).share = 1/4 and found by same_tok at 0 = 0"
    assert str(done).splitlines()[0] == said
    taken = tm2tfr.intervene(found, "abab", {("hist", 1): tm2tfr.From("aaab", position=0)})
    assert taken.settings[0].meant == "3"
    assert [each.as_dict()["source"] for each in taken.settings] == ["aaab"] * len(taken.settings)
    with pytest.raises(UsageError, match="hist@1: hist is never '0', in some hundred runs: use one of '1', '10', '2'"):
        tm2tfr.intervene(found, "abab", {("hist", 1): 0})
    listed = tm2tfr.causal_variables(found)
    assert listed.as_dict()["read_off"] == {"hist": ["mean selector_width(same_tok).share", "found by same_tok at 0"]}


def test_what_cannot_be_set_says_why_and_what_can() -> None:
    text = '# alphabet: ab\nplace = indices + 1;\nsame = 1 if indices < 0 else 2;\nx = place if tokens == "a" else same;\n'
    found = subject(read(text, file="x.rasp").program)
    with pytest.raises(
        UsageError, match="place cannot be set: it is a function of the position alone: set x, which is made of it"
    ):
        tm2tfr.intervene(found, "ab", {("place", 1): 3})
    with pytest.raises(UsageError, match="same cannot be set: it is the same on every input: set x, which is made of it"):
        tm2tfr.intervene(found, "ab", {("same", 1): 3})


@pytest.mark.slow
def test_every_named_s_op_of_shipped_programs_is_set_or_refused_with_what_to_do() -> None:
    counted, chance = Counter[str](), random.Random(0)
    for name in some(sorted({*shipped()} - LOOPS)):
        found = subject(load(name).program)
        counted.update(outcomes(found, 12 if DEPTH >= 1 else 3, seed=chance.randrange(1_000)))
    assert counted["known"] > 3 * counted["refused"]
    assert counted["known"] > counted["not known"]


@pytest.mark.parametrize("count", [20, pytest.param(1_000, marks=pytest.mark.slow)])
def test_random_programs_do_what_their_s_ops_are_set_to(count: int) -> None:
    """In a thorough run 1,000 of them."""
    counted = Counter[str]()
    wanted = count if DEPTH >= 1 or count < 100 else 100
    for n, (program, _) in enumerate(compiled(wanted // 5)):
        counted.update(outcomes(subject(program, max_length=4), 5, seed=n))
    assert sum(counted.values()) == wanted
    assert counted["known"] > (wanted // 2 if wanted > 50 else 2)
    assert counted["not known"] < wanted // 10


def test_every_named_s_op_has_a_label_column() -> None:
    for program, decoder in compiled(5, seed=7_000):
        columns = {variable.name for variable in RaspVariables(program, decoder).scheme.variables}
        own = named_sops(program, decoder)
        same = {sop: {name for name, each in own.items() if each is sop} for sop in own.values()}
        assert all(names & columns for names in same.values())


@pytest.mark.parametrize(
    ("name", "word", "head", "brought"),
    [
        (None, "ab", "width of same_tok", "'mean selector_width(same_tok).share'"),
        (None, "ab", "same_tok at 0", "'found by same_tok at 0'"),
        ("chapter", "1", "cell h", "'h', 'h^2', 'e_x(h)'"),
    ],
)
def test_the_name_of_a_head_is_refused_with_what_it_brings(name: str | None, word: str, head: str, brought: str) -> None:
    found = subject(read(HIST, file="hist.rasp").program, max_length=4) if name is None else tm2tfr.Subject.of(name)
    with pytest.raises(UsageError) as refused:
        tm2tfr.intervene(found, word, {(head, 1): 1})
    what = f"{head}@1: {head!r} is a head, and only variables can be set"
    assert str(refused.value) == f"{what}: set what it brings, {brought}"


def test_where_nothing_can_be_set_no_empty_list_is_offered() -> None:
    program = read("# alphabet: ab\nx = 7 // 2;\ny = x + indices;\n", file="y.rasp").program
    with pytest.raises(UsageError, match="has no variable 'x', and no other that can be set: choose another program$"):
        tm2tfr.intervene(subject(program, max_length=3), "aa", {("x", 1): "1"})
