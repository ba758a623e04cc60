"""Doty's programs: the one-way tape, the wildcard, the verdicts, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sources.turing.formats.test_complaints import read, warned
from tm2tfr.sources.turing.formats import doty, registry
from tm2tfr.sources.turing.library import shipped, shipped_text
from tm2tfr.sources.turing.simulator import result
from tm2tfr.sources.turing.spec import Machine, Rule

COPIED = """\
// This TM recognizes the language { w:w | w is a string in {0,1}* }
states =              {q1,q2,q3,q4,q5,q6,q7,q8,qA,qR}
input_alphabet =      {0,1,:}
tape_alphabet_extra = {x,_}
start_state =         q1
accept_state =        qA
reject_state =        qR
num_tapes =           1
delta =
  q1,0 -> q2,x,R;
  q1,1 -> q3,x,R;
  q1,: -> q8,:,R;   // nothing left
  q2,? -> q2,?,R;
  q2,: -> q4,:,R;
  q2,_ -> qR,_,R;
  q3,? -> q3,?,R;
  q3,: -> q5,:,R;
  q3,_ -> qR,_,R;
  q4,0 -> q6,x,L;   q4,x -> q4,x,R;
  q5,1 -> q6,x,L;
  q5,x -> q5,x,R;
  q6,? -> q6,?,L;
  q6,: -> q7,:,L;
  q7, ? -> q7, ?, L;
  q7,x -> q1,x,R;
  q8,x -> q8,x,R;
  q8,_ -> qA,_,R;
"""
HEAD = COPIED.split("delta", maxsplit=1)[0]


@pytest.mark.slow
@given(left=st.text("01", max_size=4), right=st.text("01", max_size=4))
def test_a_program_does_what_its_author_says(left: str, right: str) -> None:
    machine = read(COPIED, file="w.tm")
    assert machine.tape == "one-way"
    assert result(machine, f"{left}:{right}").outcome == ("accept" if left == right else "reject")
    assert result(machine, left).outcome == "reject"


def test_an_exact_rule_goes_before_the_wildcard() -> None:
    machine = read(f"{HEAD}delta = q1,? -> q1,?,R;\n q1,0 -> qA,1,S; q1,_ -> qA,_,S;")
    assert dict(machine.transitions) == {
        ("q1", "0"): Rule("qA", "1", 0),
        ("q1", "_"): Rule("qA", "_", 0),
        ("q1", "1"): Rule("q1", "1", 1),
        ("q1", ":"): Rule("q1", ":", 1),
        ("q1", "x"): Rule("q1", "x", 1),
    }


def test_what_is_ignored_is_said() -> None:
    machine, _ = warned(f"title = x\n{HEAD}delta =\n qA,0 -> q1,0,R;\n q1,0 -> qA,0,R;\n")
    assert len(machine.transitions) == 1


def test_a_set_may_go_on_over_several_lines() -> None:
    """Each state may have a comment of its own; complaints point at its line."""
    text = COPIED.replace("{q1,q2,q3,q4,q5,q6,q7,q8,qA,qR}", "{q1,  // starts\n  q2,q3,q4,\n q5,q6,q7,\n\n q8,qA,\n qR   }")
    assert read(text) == read(COPIED)
    assert read(COPIED.replace("{q1,q2,q3,q4,q5,q6,q7,q8,qA,qR}", "?")).states[:3] == ("q1", "q2", "q3")


# ── the present form ────────────────────────────────────────────────────────────────────────────────────
YAML = """\
# TM deciding { w:w | w in {0,1}* }
states: [q1, q2, q3, q4, q5, q6, q7, q8, qA, qR]
input_alphabet: [0, 1, ':']
tape_alphabet_extra: [x]
start_state: q1
accept_state: qA
reject_state: qR

delta:
  q1:
    0: [q2, x, R]
    1: [q3, x, R]
    ':': [q8, ':', R]   # nothing left
  q2:
    '?': [q2, '?', R]
    ':': [q4, ':', R]
    _: [qR, _, R]
  q3: {'?': [q3, '?', R], ':': [q5, ':', R], _: [qR, _, R]}
  q4:
    0:
    - q6
    - x
    - L
    x: [q4, x, R]
  q5:
    1: [q6, x, L]
    x: [q5, x, R]
  q6:
    ?: [q6, "?", L]
    ':': [q7, ':', L]
  q7:
    '?': [q7, '?', L]
    x: [q1, x, R]
  q8:
    x: [q8, x, R]
    _: [qA, _, R]
  qA:
"""


@pytest.mark.parametrize("file", ["f", "f.tm", "f.yaml", "f.yml", "<stdin>"])
def test_both_forms_are_the_same_machine(file: str) -> None:
    machine = read(YAML, file=file)
    assert dict(machine.transitions) == dict(read(COPIED).transitions)
    assert (machine.states, machine.tape, machine.accept, machine.reject) == (
        ("q1", "q2", "q3", "q4", "q5", "q6", "q7", "q8", "qA", "qR"),
        "one-way",
        ("qA",),
        ("qR",),
    )
    assert (machine.input_alphabet, machine.tape_alphabet) == (("0", "1", ":"), ("0", "1", ":", "x", "_"))


@pytest.mark.parametrize("name", shipped())
def test_our_yaml_is_not_taken_for_it(name: str) -> None:
    assert not doty.looks_like(shipped_text(name))


def test_what_is_written() -> None:
    rules = {("a b", "?"): Rule("a b", " ", 1), ("a b", " "): Rule("yes", "?", 0), ("c", "?"): Rule("no", "?", -1)}
    machine = Machine(
        transitions=rules, start="a b", blank=" ", accept=("yes", "ja"), input_alphabet=("?",), tape="one-way", name="m"
    )
    written = registry.write(machine, "doty")
    assert written.text == (
        "# m\nstates: [s0, c, yes, 'no']\ninput_alphabet: [x]\ntape_alphabet_extra: [_]\nstart_state: s0\n"
        "accept_state: yes\nreject_state: 'no'\n"
        "delta:\n  s0:\n    x: [s0, _, R]\n    _: [yes, x, S]\n  c:\n    x: ['no', x, L]\n"
    ).replace("yes", "'yes'")
