"""automata-lib is an independent implementation: its simulator and ours must agree on every machine."""

from __future__ import annotations

import time
from itertools import islice, pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from automata.base.exceptions import RejectionException
from automata.tm.dtm import DTM
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.sources.turing.formats.test_complaints import fails, read
from tests.strategies import machines_with_inputs, tries
from tm2tfr.base.errors import ConversionError
from tm2tfr.sources.turing.formats import automata_lib
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.simulator import result
from tm2tfr.sources.turing.spec import Machine, Rule

LIMIT = 80
AB = {
    "states": {"q0", "q1", "q2", "q3", "q4"},
    "input_symbols": {"0", "1"},
    "tape_symbols": {"0", "1", "x", "y", "."},
    "transitions": {
        "q0": {"0": ("q1", "x", "R"), "y": ("q3", "y", "R")},
        "q1": {"0": ("q1", "0", "R"), "1": ("q2", "y", "L"), "y": ("q1", "y", "R")},
        "q2": {"0": ("q2", "0", "L"), "x": ("q0", "x", "R"), "y": ("q2", "y", "L")},
        "q3": {"y": ("q3", "y", "R"), ".": ("q4", ".", "N")},
    },
    "initial_state": "q0",
    "blank_symbol": ".",
    "final_states": {"q4"},
}


def verdict(dtm: Any, word: str) -> tuple[str, int, str]:
    """Return what automata-lib's own simulator says: the outcome, the steps and the tape, at most `LIMIT` steps."""
    run, steps, tape = dtm.read_input_stepwise(word), -1, ""
    try:
        for configuration in islice(run, LIMIT + 1):
            steps += 1
            tape = "".join(configuration.tape.tape).strip(dtm.blank_symbol)
    except RejectionException:
        return "reject", steps, tape
    return ("accept" if configuration.state in dtm.final_states else "limit"), steps, tape


def ours(machine: Machine, word: str) -> tuple[str, int, str]:
    """Return what our simulator says; at the very limit ours looks whether a rule is there, automata-lib does not."""
    found = result(machine, word, max_steps=LIMIT)
    outcome = "limit" if found.outcome == "reject" and found.steps == LIMIT else found.outcome
    return outcome, found.steps, found.tape.strip(machine.blank)


@pytest.mark.slow
@settings(max_examples=tries(400))
@given(case=machines_with_inputs())
def test_automata_libs_simulator_and_ours_agree(case: tuple[Machine, str]) -> None:
    machine, word = case
    try:
        dtm = machine.to_automata()
    except ConversionError:
        assume(False)
    assert verdict(dtm, word) == ours(machine, word)
    assert ours(Machine.from_automata(dtm), word) == ours(machine, word)


@st.composite
def dtms(draw: st.DrawFn) -> DTM:
    """A machine made with automata-lib and nothing of ours; states are numbers."""
    symbols = ".01"[: draw(st.integers(2, 3))]
    states = range(draw(st.integers(1, 4)))
    result = st.tuples(st.sampled_from([*states, "f"]), st.sampled_from(symbols), st.sampled_from("LRN"))
    rows = {q: draw(st.dictionaries(st.sampled_from(symbols), result, min_size=1)) for q in states}
    return DTM(
        states={*states, "f"},
        input_symbols={*symbols[1:]},
        tape_symbols={*symbols},
        transitions=rows,
        initial_state=0,
        blank_symbol=".",
        final_states={"f"},
    )


@pytest.mark.slow
@settings(max_examples=tries(200))
@given(dtm=dtms(), word=st.text("0", max_size=5))
def test_a_machine_of_automata_lib_is_read_as_it_runs(dtm: DTM, word: str) -> None:
    assert ours(Machine.from_automata(dtm), word) == verdict(dtm, word)


def test_the_example_of_automata_libs_documentation() -> None:
    machine = Machine.from_automata(DTM(**AB), name="zeros-ones")  # type: ignore[arg-type]
    assert (machine.name, machine.start, machine.blank, machine.tape) == ("zeros-ones", "q0", ".", "two-way")
    assert (machine.accept, machine.input_alphabet) == (("q4",), ("0", "1"))
    for n in range(5):
        assert result(machine, "0" * n + "1" * n).outcome == ("accept" if n else "reject")
        assert result(machine, "0" * n + "1").outcome == ("accept" if n == 1 else "reject")
    assert machine.to_automata().input_parameters == DTM(**AB).input_parameters  # type: ignore[arg-type]


def test_reading_needs_no_automata_lib() -> None:
    assert result(Machine.from_automata(SimpleNamespace(**AB)), "01").outcome == "accept"


def test_without_automata_lib_there_is_no_way_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "automata.tm.dtm", None)
    with pytest.raises(ConversionError, match="automata-lib is not installed: pip install automata-lib"):
        load("palindromes").to_automata()


def test_the_code() -> None:
    text = automata_lib.write(Machine.from_automata(DTM(**AB))).text  # type: ignore[arg-type]
    names: dict[str, Any] = {}
    exec(text, names)
    assert names["dtm"].input_parameters == DTM(**AB).input_parameters  # type: ignore[arg-type]
    assert text.startswith('"""dtm."""\n\nfrom automata.tm.dtm import DTM\n\ndtm = DTM(\n')


# ── python code for automata-lib is read as text: a call with literals, and nothing is executed
CODE = """\
from automata.tm.dtm import DTM

dtm = DTM(
    states={'q0', 'q1', 'end'},
    input_symbols={'0', '1'},
    tape_symbols={'0', '1', 'é', '.'},
    transitions={
        'q0': {'0': ('q0', 'é', 'R'), '1': ('q1', '1', 'R')},
        'q1': {'1': ('q1', '1', 'R'), '.': ('end', '.', 'N')},
    },
    initial_state='q0',
    blank_symbol='.',
    final_states={'end'},
)
"""


def test_a_call_with_literals_is_read() -> None:
    assert read(CODE, file="m.py") == Machine(
        transitions={
            ("q0", "0"): Rule("q0", "é", 1),
            ("q0", "1"): Rule("q1", "1", 1),
            ("q1", "1"): Rule("q1", "1", 1),
            ("q1", "."): Rule("end", ".", 0),
        },
        start="q0",
        blank=".",
        states=("q0", "q1", "end"),
        input_alphabet=("0", "1"),
        tape_alphabet=("0", "1", "é", "."),
        accept=("end",),
        name="m",
    )
    assert [result(read(CODE), word).outcome for word in ("011", "0", "10")] == ["accept", "reject", "reject"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{'0', '1'},\n    tape", "['0', '1'],\n    tape"),
        ("{'0', '1'},\n    tape", "set('01'),\n    tape"),
        ("{'0', '1'},\n    tape", "frozenset({'0', '1'}),\n    tape"),
        ("{'0', '1'},\n    tape", "{'0', '1', '.'},\n    tape"),
        ("DTM(\n", "automata.tm.dtm.DTM(\n"),
        ("dtm = ", "def make():\n  return "),
        ("dtm = ", "import os\nos.system('false')\ndtm = "),
        ("'q0': {", "'q0': {  # a comment\n"),
    ],
)
def test_the_ways_to_write_it(old: str, new: str) -> None:
    assert old in CODE
    assert read(CODE.replace(old, new, 1), file="f.py").seven_tuple == read(CODE).seven_tuple


def test_states_that_are_numbers_and_no_final_states() -> None:
    numbered = CODE.replace("'q0'", "0").replace("'q1'", "1").replace("'end'", "2")
    assert read(numbered, file="f.py").states == ("0", "1", "2")
    assert read(CODE.replace("final_states={'end'}", "final_states=set()")).accept == ()


@pytest.mark.parametrize("text", ["-" * 200_000 + "1", "(" * 100_000, "a." * 50_000 + "b", "x = '\\d'\n", "\f\x85 DTM("])
def test_no_code_is_a_crash(text: str) -> None:
    assert len(fails(text, "automata-lib")) == 1


@pytest.mark.slow
@pytest.mark.parametrize("between", ["\n", " "], ids=["lines", "one line"])
def test_a_long_call_is_read_in_a_moment(between: str) -> None:
    states = [f"é{n}" for n in range(1_500)]
    rows = f",{between}".join(f"{q!r}: {{'0': ({r!r}, '0', 'R')}}" for q, r in pairwise(states))
    machine = CODE.replace("{'q0', 'q1', 'end'}", f"{{{', '.join(map(repr, states))}}}").replace(
        "'q0',\n    bl", "'é0',\n    bl"
    )
    text = f"{machine.partition('transitions')[0]}transitions={{{rows}}},{machine[machine.index('    initial') :]}"
    began = time.process_time()
    found = read(text.replace("{'end'}", "{'é1499'}"), file="m.py")
    assert found.transitions["é1498", "0"] == Rule("é1499", "0", 1)
    assert time.process_time() - began < 3
