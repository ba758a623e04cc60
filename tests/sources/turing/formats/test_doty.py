"""Doty's programs: the one-way tape, the wildcard, the verdicts, and what is refused."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.sources.turing.formats.reading import fails, read, warned
from tm2tfr.sources.turing.simulator import result
from tm2tfr.sources.turing.spec import Rule

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


def test_more_than_one_tape_and_choices_are_refused_by_line() -> None:
    two = HEAD.replace("num_tapes =           1", "num_tapes =           2")
    said = fails(f"{two}delta =\n q1,0_ -> q1,0_,RS;\n")
    assert said[0] == "f:8:23: this machine has 2 tapes, but machines here have one: convert it to one tape first"
    assert said[1].startswith("f:10:5: '0_' is not one character: machines here have one tape: a rule is 'state, symbol")
    assert fails(f"{HEAD}delta =\n q1,0 -> q1,0,R;\n q1,0 -> q2,0,R;\n") == [
        "f:11:2: state 'q1' already has a rule for '0' in line 10: a choice (nondeterminism): keep one of them: "
        "machines here are deterministic"
    ]


def test_all_that_is_wrong_is_said_where_it_stands() -> None:
    assert fails(
        "states = {a,b,c}\nstates = {a}\nnonsense\ninput_alphabet = 0\ndelta =\n a 0 -> b\n a,0 -> b,0,U; a,0 -> b,?,R",
        "doty",
    ) == [
        "f: there is no line 'start_state = …': add it above 'delta ='",
        "f: there is no line 'accept_state = …': add it above 'delta ='",
        "f: there is no line 'reject_state = …': add it above 'delta ='",
        "f:2:10: the key 'states' is given a second time; the first is in line 1, column 10: remove one of the two",
        "f:3:1: this is neither 'key = value' nor a rule below 'delta =': a rule is 'state, symbol -> "
        "new state, symbol, L|R|S;'",
        "f:4:18: '0' is not a set: write it as {a,b}",
        "f:6:2: this is not a rule: a rule is 'state, symbol -> new state, symbol, L|R|S;'",
        "f:7:13: 'U' is not a move: use L, R or S",
        "f:7:25: '?' is written but not read: write the symbol",
    ]
    assert fails(f"{HEAD}delta =\n q1,9 -> q1,0,R;\n q1,0 -> q9,0,R;\n") == [
        "f:10:5: the symbol '9' is not in the tape alphabet: add it there, or correct it",
        "f:11:10: unknown state 'q9': use a state in the table, or add this one to it",
    ]
    assert fails(HEAD.replace("q1\n", "q\n") + "delta =\n")[0].startswith("f:5:23: unknown state 'q'")


def test_what_is_ignored_is_said() -> None:
    machine, said = warned(f"title = x\n{HEAD}delta =\n qA,0 -> q1,0,R;\n q1,0 -> qA,0,R;\n")
    assert len(machine.transitions) == 1
    assert said == [
        "f:1:1: warning: unknown key 'title': it is ignored",
        "f:11:2: warning: no run continues from state 'qA': remove the rule",
    ]
