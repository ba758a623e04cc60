"""Python code for automata-lib is read as text: a call with literals, and nothing is executed."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest

from tests.sources.turing.formats.reading import fails, read, warned
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
    assert warned(CODE.replace("blank_symbol", "allow_partial=True, blank_symbol"))[1] == [
        "f:12:19: warning: unknown argument 'allow_partial': it is ignored"
    ]


LITERAL = "write it out: no code is executed, so the arguments must be literals such as {'q0', 'q1'}"
BROKEN = [
    ("DTM(", "TM(", "f.py: no call DTM(…) is in this code: write the machine as DTM(states={…}, …), with literals"),
    ("dtm = DTM(", "dtm = NTM(", "f.py:3:7: NTM may choose between rules: machines here are deterministic, on one tape"),
    ("dtm = DTM(", "dtm = MNTM(", "f.py:3:7: MNTM has several tapes: machines here are deterministic, on one tape"),
    ("dtm = DTM(", "x = DTM()\ndtm = DTM(", "f.py:4:7: a second machine begins here: keep one machine per file"),
    ("dtm = DTM(", "dtm = = DTM(", "f.py:3:7: this is not Python (invalid syntax): fix it, or save the file again"),
    ("final_states={'end'},\n)", "final_states={'end'},\n", "f.py:3:10: this is not Python ('(' was never closed)"),
    ("{'q0', 'q1', 'end'}", "STATES", f"f.py:4:12: states is not a set of literals: {LITERAL}"),
    ("{'q0', 'q1', 'end'}", "{Q0, 'q1', 'end'}", f"f.py:4:13: this is not a literal text: {LITERAL}"),
    ("{'q0', 'q1', 'end'}", "{'q0', f'q1', 'end'}", "f.py:4:19: this is not a literal text"),
    ("{'q0', 'q1', 'end'}", "{f'q{i}' for i in range(3)}", "f.py:4:12: states is not a set of literals"),
    ("{'q0', 'q1', 'end'}", "{'q0', 'q1'} | {'end'}", "f.py:4:12: states is not a set of literals"),
    ("{'q0', 'q1', 'end'}", "{*A, 'q1', 'end'}", "f.py:4:13: this is not a literal text"),
    ("{'q0', 'q1', 'end'}", "'q0'", "f.py:4:12: states is not a set of literals"),
    ("{'q0', 'q1', 'end'}", "{'q0': 1}", "f.py:4:12: states is not a set of literals"),
    ("{'q0', 'q1', 'end'}", "set(range(3))", "f.py:4:12: states is not a set of literals"),
    ("{'q0', 'q1', 'end'}", "{'q0', 'q1', True}", "f.py:4:25: this is not a literal text"),
    ("{'q0', 'q1', 'end'}", "{'q0', 'q1', None}", "f.py:4:25: this is not a literal text"),
    ("{'q0', 'q1', 'end'}", "{'q0', 'q1', 1.5}", "f.py:4:25: this is not a literal text"),
    ("{'q0', 'q1', 'end'}", "{'q0', 'q1', b'x'}", "f.py:4:25: this is not a literal text"),
    ("{'q0', 'q1', 'end'}", "{'q0', 'q1', ('a', 'b')}", "f.py:4:25: this is not a literal text"),
    ("{'q0', 'q1', 'end'}", "{'q0', 'end'}", "f.py:9:9: unknown state 'q1'"),
    ("    states={'q0', 'q1', 'end'},\n", "", "f.py:3:7: there is no argument 'states': add it"),
    ("    blank_symbol='.',\n", "", "f.py:3:7: there is no argument 'blank_symbol': add it"),
    ("    states=", "    ", "f.py:4:5: this argument has no name: write it as one of states, input_symbols"),
    ("    states={'q0', 'q1', 'end'},", "    **given,", f"f.py:4:7: these arguments are not written out: {LITERAL}"),
    ("transitions={", "transitions=dict() or {", "f.py:7:17: transitions is not a dictionary of literals"),
    ("'q0': {'0'", "**more, 'q0': {'0'", "f.py:8:11: transitions is not written out"),
    (
        "'q1': {'1': ('q1', '1', 'R'), '.': ('end', '.', 'N')}",
        "'q1': rows",
        "f.py:9:15: the row of state 'q1' is not a dict",
    ),
    ("'q1': {'1'", "'q0': {'1'", "f.py:9:9: the state 'q0' is given a second time; the first is in line 8, column 9"),
    (
        "'1': ('q1', '1', 'R')}",
        "'0': ('q1', '1', 'R')}",
        "f.py:8:39: the rule for state 'q0' and symbol '0' is given a second",
    ),
    ("('q0', 'é', 'R')", "('q0', 'é')", "f.py:8:21: this is not a rule: a rule is ('state', 'symbol', 'L'), or R, or N"),
    ("('q0', 'é', 'R')", "'q0'", "f.py:8:21: this is not a rule"),
    ("('q0', 'é', 'R')", "rule", "f.py:8:21: this is not a rule"),
    ("('q0', 'é', 'R')", "{('q0', 'é', 'R')}", "f.py:8:21: state 'q0' has a choice on '0' (nondeterminism)"),
    ("('q0', 'é', 'R')", "[('q0', 'é', 'R')]", "f.py:8:21: state 'q0' has a choice on '0' (nondeterminism)"),
    ("('q0', 'é', 'R')", "('q0', 'é', 'X')", "f.py:8:33: 'X' is not a move: use L, R or N"),
    ("('q0', 'é', 'R')", "('q0', 'é', RIGHT)", "f.py:8:33: this is not a literal text"),
    ("('q0', 'é', 'R')", "('q7', 'é', 'R')", "f.py:8:22: unknown state 'q7'"),
    ("('q0', 'é', 'R')", "('q0', 'xy', 'R')", "f.py:8:28: the symbol 'xy' is not one character"),
    ("('q0', 'é', 'R')", "('q0', 'z', 'R')", "f.py:8:28: the symbol 'z' is not in the tape alphabet"),
    ("initial_state='q0'", "initial_state='q9'", "f.py:11:19: unknown state 'q9'"),
    ("initial_state='q0'", "initial_state=START", "f.py:11:19: this is not a literal text"),
    ("blank_symbol='.'", "blank_symbol='..'", "f.py:12:18: the blank must be one character, not '..'"),
    ("final_states={'end'}", "final_states={'q1'}", "f.py:13:19: the accept state 'q1' has rules"),
]


@pytest.mark.parametrize(("old", "new", "words"), BROKEN)
def test_broken_code_is_refused_at_its_place(old: str, new: str, words: str) -> None:
    assert old in CODE
    found = fails(CODE.replace(old, new, 1), file="f.py")
    assert any(said.startswith(words) for said in found), found


def test_there_are_forty_broken_ones() -> None:
    assert len({(old, new) for old, new, _ in BROKEN}) >= 40


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
