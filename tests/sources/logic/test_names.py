"""What the weights of formulas and programs consist of has the names of the program, the same ones wherever it is shown."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

import tm2tfr
from tests.sources.logic.random_formulas import random_programs
from tests.strategies import DEPTH, tries
from tm2tfr.api.interventions import bases
from tm2tfr.base.errors import Tm2tfrError, UsageError
from tm2tfr.contract.options import LogicOptions
from tm2tfr.lab.interventions.intervened import Base
from tm2tfr.lab.interventions.settings import settings_of
from tm2tfr.lab.labels.runs import LabelledRuns
from tm2tfr.sources.logic.compiler import compile_program
from tm2tfr.sources.logic.library import load, shipped
from tm2tfr.sources.logic.model.described import described_logic
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.read import read
from tm2tfr.sources.logic.write import former_names, output_names
from tm2tfr.sources.sequence.naming import MOST
from tm2tfr.transformer.weights import Decoder

_KEY = re.compile(r"(?<![\w'\"])[nsc]\d+(?![\w'\"])")
"""What the compiler calls nodes and selectors."""


def kinds(program: LogicProgram, decoder: Decoder) -> Iterator[tuple[str, list[str]]]:
    """Yield what there is of one kind, by its names."""
    units = [layer.feed_forward.units for layer in decoder.layers if layer.feed_forward is not None]
    yield "subspaces", [space.name for space in decoder.layout.subspaces]
    yield "heads", [head.name for layer in decoder.layers for head in layer.heads]
    yield "units", [name for names in units for name in names]
    yield "outputs", [output.name for output in decoder.outputs]
    yield "nodes", list(output_names(program).values())
    yield "columns of labels", [each.name for each in LabelledRuns(decoder, program, "dense", 0).scheme.variables]
    yield "variables", [each.name for each in described_logic(program, decoder)[0]]


def named_well(program: LogicProgram, decoder: Decoder) -> None:
    """Raise AssertionError unless names are short, different, and none is a key of the compiler."""
    for kind, names in kinds(program, decoder):
        twice = {name for name in names if names.count(name) > 1}
        assert (kind, twice, [name for name in names if len(name) > MOST]) == (kind, set(), [])
        assert (kind, [name for name in names if _KEY.search(name)]) == (kind, [])


@pytest.mark.similar
@pytest.mark.slow
@pytest.mark.parametrize("name", shipped())
def test_names_of_what_is_shipped(name: str) -> None:
    subject = tm2tfr.Subject.of(name)
    named_well(subject.right, subject.decoder)


def compiled(program: LogicProgram) -> Decoder | None:
    """Return the weights of a random program; None if it cannot be compiled."""
    try:
        return compile_program(program, LogicOptions())
    except Tm2tfrError:
        return None


@pytest.mark.slow
def test_names_of_a_hundred_random_programs() -> None:
    number = 0
    for program in random_programs(tries(100), start=50_000):
        decoder = compiled(program)
        if decoder is not None:
            number += 1
            named_well(program, decoder)
    assert number >= tries(100) // 2


FORMULA = "seen := once Q[b]\nodd_as := count(Q[a]) > 2 & prev seen\n!odd_as | seen\n"


def test_a_vector_is_called_as_its_definition_or_as_it_is_written() -> None:
    decoder = compile_program(read(f"# alphabet: ab\n{FORMULA}", file="x.tl").program, LogicOptions())
    names = {space.name for space in decoder.layout.subspaces}
    assert {"seen", "odd_as", "prev seen", "count(Q[a])", "mean of Q[a]", "difference >= 1 in count(Q[a]) > 2"} <= names
    assert {head.name for layer in decoder.layers for head in layer.heads} >= {"decision of seen", "look up count(Q[a])"}


def test_names_stay_the_same_when_something_else_is_added() -> None:
    programs = (
        f"# alphabet: ab\n{more}{FORMULA}" for more in ("", "early := prev prev Q[a] & Q[b]\nbefore := next early\n")
    )
    short, long = (compile_program(read(text, file="x.tl").program, LogicOptions()) for text in programs)
    for (kind, few), (_, many) in zip(kinds_of(short), kinds_of(long), strict=True):
        ahead = {"decision of seen"} if kind == "heads" else set[str]()
        assert set(few) - ahead <= set(many), kind


def kinds_of(decoder: Decoder) -> Iterator[tuple[str, list[str]]]:
    yield from list(kinds(tm2tfr.Subject.of(decoder).right, decoder))[:4]


def test_weights_that_were_written_with_the_former_names_are_read_and_checked() -> None:
    program = load("flip-flops.tl").program
    decoder = compile_program(program, LogicOptions())
    names = {new: former_names(program)[node] for node, new in output_names(program).items()}
    outputs = tuple(replace(output, name=names[output.name]) for output in decoder.outputs)
    assert max(len(output.name) for output in outputs) > MOST
    assert tm2tfr.check(replace(decoder, outputs=outputs), '["w1", "r0", "w0", "r0"]').agrees


# ── interventions by these names
SOME = ("a-n-b-n", "flip-flops", "two-to-three", "never-behind", "every-a-answered", "hop-1", "contains-abb", "no-aa")


def base_of(name: str) -> Base:
    subject = tm2tfr.Subject.of(name)
    return bases(replace(subject, weights=subject.decoder), engine="dense", dtype=None, max_positions=40)(None)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SOME, "dyck-2-by-depth", "seen-bigram"])
def test_every_name_is_set_or_says_what_to_set_instead(name: str) -> None:
    base = base_of(name)
    program = tm2tfr.Subject.of(name).right
    settable = [repr(each) for each, variable in base.model.variables.items() if not variable.unset]
    names = {*output_names(program).values(), *filter(None, program.definitions), *base.model.variables}
    said = {asked: reason(base, asked) for asked in names}
    assert "" in said.values()
    for asked, why in said.items():
        _, told, instead = why.partition(": set ")
        named = any(each in instead for each in settable)
        causeless = ("it says where a position is, and has no cause", "it is 1 at every position, and has no cause")
        alone = why.endswith(("it is the same everywhere", *causeless))
        assert (asked, named, bool(told)) == (asked, bool(why) and not alone, named)


def reason(base: Base, asked: str) -> str:
    """Return why a variable cannot be set; empty: it can."""
    try:
        base.variable(asked, asked)
    except UsageError as error:
        return error.typed
    return ""


@pytest.mark.slow
@pytest.mark.parametrize("name", SOME)
def test_random_interventions_on_named_vectors_agree_with_the_model(name: str) -> None:
    """500 in a thorough run, on the variables that definitions and subformulas are, and on their opposites."""
    base, chance = base_of(name), random.Random(name)
    model, known = base.model, 0
    names = [each for each, variable in model.variables.items() if not variable.unset]
    names += [*model.aliases, *model.opposites]
    assert len(names) > len(model.aliases)
    for _ in range(63 if DEPTH >= 1 else 6):
        asked, position = chance.choice(names), chance.randrange(1, len(base.run.cells))
        variable = base.variable(asked, asked)
        values = variable.labels or (*range(variable.least or 0, (variable.largest or 3) + 1),)
        done = base.intervened(settings_of(base, {(asked, position): chance.choice(values)}, None))
        assert done.agrees, str(done)
        known += done.known
    assert known
