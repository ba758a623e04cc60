"""What is written in a format and read back is the same machine: same outcome, steps and tape on every input."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tm2tfr
from tests.strategies import machines, machines_with_inputs
from tm2tfr.base.errors import ConversionError
from tm2tfr.sources.turing.formats import automata_lib, registry
from tm2tfr.sources.turing.formats.lossless import left_at_the_edge, renamed
from tm2tfr.sources.turing.library import load, shipped
from tm2tfr.sources.turing.simulator import result
from tm2tfr.sources.turing.spec import Machine

LIMIT = 60
WRITTEN = [f for f in registry.WRITABLE if f in registry.READABLE]


def by_code(text: str) -> Machine:
    """Run the code that is written for automata-lib, and read its machine back."""
    names: dict[str, object] = {}
    exec(text, names)
    return Machine.from_automata(names["dtm"])


def again(machine: Machine, format: str) -> Machine:
    """Write a machine in a format and read it back; no warning may be needed."""
    text = registry.write(machine, format).text
    loaded = registry.read(text, file="again", format=format)
    warnings = [d for d in loaded.warnings if "in which a run starts" not in d.what]  # true of some random machines
    assert not warnings or format in ("yaml", "turingmachine.io")
    if format == "automata-lib":
        made, read = by_code(text), loaded.machine
        assert dict(made.transitions) == dict(read.transitions)
        assert (made.start, made.blank, set(made.accept_states)) == (read.start, read.blank, set(read.accept_states))
    return loaded.machine


def agree(machine: Machine, other: Machine, word: str, format: str) -> None:
    """Compare a run of a machine with that of what was written of it, in which symbols may have other names."""
    names = {**{a: a for a in machine.tape_alphabet}, **registry.write(machine, format).symbols}
    want = result(machine, word, max_steps=LIMIT)
    got = result(other, "".join(names[a] for a in word), max_steps=LIMIT)
    assert (got.outcome, got.steps) == (want.outcome, want.steps)
    assert got.tape.strip(other.blank) == "".join(names[a] for a in want.tape).strip(other.blank)
    assert got.ones == want.ones


@pytest.mark.similar
@pytest.mark.slow
@pytest.mark.parametrize("format", WRITTEN)
@given(case=machines_with_inputs())
def test_a_random_machine_comes_back(format: str, case: tuple[Machine, str]) -> None:
    comes_back(format, *case)


def comes_back(format: str, machine: Machine, word: str) -> None:
    """Hold a machine that is written and read again against itself, or the refusal against what it says."""
    try:
        other = again(machine, format)
    except ConversionError as refusal:
        refused_rightly(machine, str(refusal))
    else:
        agree(machine, other, word, format)
        assert in_order(again(other, format)) == in_order(other)  # of what comes back, nothing changes any more


def in_order(machine: Machine) -> Machine:
    """Return a machine with its sets in order: some formats have sets, or no list of states."""
    sets = {key: tuple(sorted(getattr(machine, key) or ())) for key in ("states", "tape_alphabet", "input_alphabet")}
    ends = {key: named and tuple(sorted(named)) for key, named in (("accept", machine.accept), ("reject", machine.reject))}
    return replace(machine, **sets, **ends, examples=())


def refused_rightly(machine: Machine, said: str) -> None:
    """Check that the machine has what the refusal names."""
    reasons = {
        "its tape is one-way": machine.tape == "one-way",
        "its tape is two-way": machine.tape == "two-way",
        "its input alphabet is empty": not machine.input_alphabet,
        "stays in its cell": any(rule.move == 0 for rule in machine.transitions.values()),
        "it accepts and rejects": machine.decides,
        "it halts without a verdict": not machine.decides,
        "but a value is 0 or 1": len(machine.tape_alphabet) > 2,
        "it halts before its first step": machine.start in machine.halting_states,
        "its start state accepts": machine.start in machine.accept_states,
    }
    assert any(holds and reason in said for reason, holds in reasons.items())


STATES = [
    "halt now",
    "halt-accept",
    "*",
    "a;b",
    "accept",
    "0",
    "reject",
    "<x> & 'y'",
    "q0 ",
    "\t",
    "é",
    "HALT",
    "never",
    "s0",
]
SYMBOLS = list(" *;!~□_-'<&#é\t\x07},😀0")


@st.composite
def awkward(draw: st.DrawFn) -> tuple[Machine, str]:
    """A random machine whose states and symbols have names that mean something in some format, and an input."""
    machine, word = draw(machines_with_inputs())
    states = draw(st.permutations(STATES))
    symbols = draw(st.permutations(SYMBOLS))
    names = dict(zip(machine.tape_alphabet, symbols, strict=False))
    new = renamed(machine, dict(zip(machine.states, states, strict=False)), names)
    return new, "".join(names[a] for a in word)


@pytest.mark.similar
@pytest.mark.slow
@pytest.mark.parametrize("format", WRITTEN)
@given(case=awkward())
def test_a_machine_with_awkward_names_comes_back(format: str, case: tuple[Machine, str]) -> None:
    comes_back(format, *case)


def test_a_left_end_that_no_run_moves_off_is_no_obstacle() -> None:
    rules = {("a", "1"): ("b", "x", 1), ("b", "1"): ("b", "1", 1), ("b", "_"): ("c", "_", -1), ("c", "1"): ("c", "1", -1)}
    machine = Machine(transitions={**rules, ("c", "x"): ("end", "x", -1)}, start="a", blank="_", tape="one-way")
    assert left_at_the_edge(machine) is None  # the head comes back to x, and halts there
    for word in ("", "1", "111"):
        agree(machine, again(machine, "turingmachine.io"), word, "turingmachine.io")
    endless = Machine(transitions={**rules, ("c", "x"): ("c", "x", -1)}, start="a", blank="_", tape="one-way")
    assert left_at_the_edge(endless) == ("c", "x")


@pytest.mark.slow
@pytest.mark.parametrize("format", WRITTEN)
@pytest.mark.parametrize("name", shipped())
def test_a_shipped_machine_comes_back(name: str, format: str) -> None:
    machine = load(name)
    try:
        other = again(machine, format)
    except ConversionError as refusal:
        if "symbols" not in str(refusal):  # more than ten, for bbchallenge, or two, for a blueprint
            refused_rightly(machine, str(refusal))
        return
    third = again(other, format)
    for example in machine.examples:
        agree(machine, other, example.input, format)
        agree(machine, third, example.input, format)


@pytest.mark.slow
def test_how_many_shipped_machines_each_format_can_say() -> None:
    counts = dict.fromkeys(WRITTEN, 0)
    for name in shipped():
        for format in counts:
            try:
                registry.write(load(name), format)
                counts[format] += 1
            except ConversionError:
                pass
    assert counts["yaml"] == len(shipped())
    assert counts["morphett"] == len(shipped()) - 1  # accept-all halts before its first step
    assert counts["turingmachine.io"] >= len(shipped()) - 3
    assert counts["bbchallenge"] >= 20
    assert counts["jflap"] >= 14
    assert counts["ft_turing"] >= len(shipped()) - 3
    assert counts["turingmachinesimulator.com"] == counts["jflap"]
    assert counts["doty"] >= 10
    assert counts["automata-lib"] >= 13


@pytest.mark.slow
@given(machine=machines(), word=st.text("01", max_size=5))
def test_an_automata_lib_machine_is_rebuilt_from_its_arguments(machine: Machine, word: str) -> None:
    try:
        arguments = automata_lib.arguments(machine)
    except ConversionError:
        return
    namespace = type("DTM", (), arguments)  # nothing of automata-lib is needed to read one
    other = Machine.from_automata(namespace)
    assert dict(other.transitions) == dict(machine.transitions)
    assert set(other.accept_states) == set(machine.accept_states)


@pytest.mark.parametrize("name", ["chapter", "power-of-two"])
def test_the_examples_of_a_machine_on_a_two_way_tape_are_true(name: str, tmp_path: Path) -> None:
    """Its tape is shown without the blanks at the left, too."""
    path = tmp_path / "two-way.yaml"
    path.write_text(tm2tfr.convert(name, "turingmachine.io"), encoding="utf-8")
    machine = tm2tfr.load(path)
    assert machine.tape == "two-way"
    assert machine.examples
    for example in machine.examples:
        assert tm2tfr.simulate(machine, example.input, max_steps=example.max_steps).tape == example.tape
