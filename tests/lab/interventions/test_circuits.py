"""Interventions on runs of circuits: a bit is the gate of its operands, in all three variants."""

from __future__ import annotations

import pytest

import tm2tfr
from tests.lab.interventions.agreeing import agreeing, differing
from tests.strategies import tries
from tm2tfr.api.interventions import bases
from tm2tfr.base.errors import UsageError
from tm2tfr.lab.interventions.intervention import subspace_of, wrong_cells


def test_a_bit_of_an_operand_changes_the_gates_that_read_it_there() -> None:
    found = tm2tfr.intervene("full-adder", "110", {("x_c", 3): 1})
    assert found.agrees
    later = tm2tfr.intervene("full-adder", "110", {("x", 0): 0})
    assert (later.agrees, later.first) == (True, 2)
    assert {cell.variable for cell in later.changed} >= {"x", "x_a", "y"}


def test_an_address_that_is_not_there_yet_finds_the_last_position() -> None:
    found = tm2tfr.intervene("full-adder", "110", {("a", 2): 9})
    assert found.agrees
    assert [cell.after for cell in found.changed if cell.variable == "x_a"] == [0]


def test_a_sign_is_set_with_its_mirror() -> None:
    subject = tm2tfr.Subject.of("half-adder", options={"variant": "paper"})
    found = tm2tfr.intervene(subject, "10", {("s", 0): -1})
    assert (found.agrees, found.expected.answers[1:], found.patched_answers[1:]) == (True, ("0", "0"), ("0", "0"))
    with pytest.raises(UsageError, match="s@0: s cannot be 0: use -1 or 1"):
        tm2tfr.intervene(subject, "10", {("s", 0): 0})
    with pytest.raises(UsageError, match="-s@0: -s cannot be set: it is another variable with the opposite sign"):
        tm2tfr.intervene(subject, "10", {("-s", 0): 1})


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["lookup", "paper-hard", "paper"])
@pytest.mark.parametrize("circuit", ["full-adder", "multiplexer"])
def test_patched_weights_do_what_the_gates_say(circuit: str, variant: str) -> None:
    subject = tm2tfr.Subject.of(circuit, options={"variant": variant})
    assert agreeing(subject, tries(300)).causal > 5
    if variant != "paper":
        agreeing(subject, tries(100), engine="exact")


@pytest.mark.slow
def test_sabotaged_weights_are_found() -> None:
    assert differing("full-adder", 6, words=["011", "110", "101"]) >= 5


def test_a_cell_that_is_a_little_off_is_found() -> None:
    decoder = tm2tfr.compile("full-adder")
    base = bases("full-adder", engine="dense", dtype=None, max_positions=30)("011")
    run, variables = base.weights, base.model.variables.values()
    assert not wrong_cells(decoder.layout, variables, base.run.cells, run)
    variable = next(each for each in variables if not each.unset and base.run.cells[0][each.name] is not None)
    place = decoder.layout[subspace_of(decoder.layout, variable, variable.name).name].start
    for off, wrong in ((1e-13, 0), (1e-6, 1), (0.3, 1)):
        stream = run.streams[0].copy()
        stream[place] += off
        found = wrong_cells(decoder.layout, variables, base.run.cells, run._replace(streams=(stream, *run.streams[1:])))
        assert len(found) == wrong
