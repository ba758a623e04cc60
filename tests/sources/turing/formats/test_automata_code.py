"""Python code for automata-lib is read as text: a call with literals, and nothing is executed."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest

from tests.sources.turing.formats.reading import fails, read
from tm2tfr.sources.turing.simulator import result
from tm2tfr.sources.turing.spec import Machine, Rule

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
