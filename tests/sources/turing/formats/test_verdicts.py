"""Machines that halt without a verdict, converted to formats in which every run accepts or rejects."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tm2tfr
from tests.sources.turing.formats.reading import read
from tests.strategies import machines
from tm2tfr.base.choices import HALT_VERDICTS, HaltVerdict
from tm2tfr.base.errors import ConversionError
from tm2tfr.sources.turing.conversion import with_verdict
from tm2tfr.sources.turing.formats import registry
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.simulator import result
from tm2tfr.sources.turing.spec import Example, Machine, Rule

STRICT = ("jflap", "doty", "turingmachinesimulator.com", "automata-lib")
"""The formats in which every run accepts or rejects."""
UNDECIDED = Machine(
    transitions={("a", "1"): Rule("a", "0", 1), ("a", "_"): Rule("end", "1", 0)},
    start="a",
    blank="_",
    input_alphabet=("1", "0"),
    name="undecided",
    description="Inverts.",
    examples=(Example(input="11", outcome="halt", steps=3, tape="001"), Example(input="10", outcome="halt", steps=1)),
)
WORDS = ("", "1", "11", "0", "10")


def test_rejecting_changes_no_run() -> None:
    declared = with_verdict(UNDECIDED, "reject")
    machine = declared.machine
    assert (machine.accept, machine.reject, machine.transitions) == ((), ("end",), UNDECIDED.transitions)
    assert machine.description == "Inverts. Every halt is taken to reject."
    assert [(e.outcome, e.steps) for e in machine.examples] == [("reject", 3), ("reject", 1)]
    for word in WORDS:
        before, after = result(UNDECIDED, word), result(machine, word)
        assert (after.outcome, after.steps, after.tape) == ("reject", before.steps, before.tape)


def test_accepting_takes_a_step_where_a_rule_is_missing() -> None:
    declared = with_verdict(UNDECIDED, "accept")
    machine = declared.machine
    assert (machine.accept, machine.reject, machine.transitions["a", "0"]) == (("end",), (), Rule("end", "0", 0))
    assert [(e.outcome, e.steps) for e in machine.examples] == [("accept", None), ("accept", None)]
    for word in WORDS:
        before, after = result(UNDECIDED, word), result(machine, word)
        assert (after.outcome, after.steps, after.tape) == ("accept", before.steps + ("0" in word), before.tape)


def test_a_state_is_added_if_none_halts() -> None:
    rules = {("accept", "1"): Rule("accept", "1", 1)}
    machine = with_verdict(Machine(transitions=rules, start="accept", blank="_"), "accept").machine
    assert (machine.accept, result(machine, "11").outcome) == (("accept_1",), "accept")


@pytest.mark.slow
@pytest.mark.parametrize("format", STRICT)
@pytest.mark.parametrize("verdict", HALT_VERDICTS)
@given(machine=machines().filter(lambda m: not m.decides), data=st.data())
def test_what_is_written_runs_alike(format: str, verdict: HaltVerdict, machine: Machine, data: st.DataObject) -> None:
    declared = with_verdict(machine, verdict).machine
    word = data.draw(st.text(st.sampled_from(machine.input_alphabet or ("1",)), max_size=4))
    own, before = result(machine, word, max_steps=60), result(declared, word, max_steps=61)
    assert before.tape == own.tape or own.outcome == "limit"
    if own.outcome == "halt":
        assert (before.outcome, before.steps - own.steps in {"accept": (0, 1), "reject": (0,)}[verdict]) == (verdict, True)
    try:
        written = registry.write(declared, format)
    except ConversionError:
        return
    other = registry.read(written.text, file="f", format=format).machine
    after = result(other, "".join(written.symbols.get(a, a) for a in word), max_steps=61)
    assert (after.outcome, after.steps) == (before.outcome, before.steps)


@pytest.mark.parametrize("format", STRICT)
def test_a_machine_without_verdicts_goes_everywhere(format: str) -> None:
    machine = load("busy-beaver-3") if format != "doty" else UNDECIDED
    with pytest.raises(
        ConversionError, match=r"every run there accepts or rejects: say what every halt is taken for, with"
    ):
        tm2tfr.convert(machine, format)
    for verdict in HALT_VERDICTS:
        text = tm2tfr.convert(machine, format, verdict=verdict)
        assert f"Every halt is taken to {verdict}" in text
        assert result(read(text, format)).outcome == verdict
