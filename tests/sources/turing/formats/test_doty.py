"""Doty's programs: the one-way tape, the wildcard, the verdicts, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sources.turing.formats.reading import fails, read, warned
from tm2tfr.base.errors import ConversionError
from tm2tfr.sources.turing.formats import doty, registry
from tm2tfr.sources.turing.library import load, shipped, shipped_text
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


def test_a_bare_wildcard_in_a_list_wants_quotes() -> None:
    text = YAML.replace("'?': [q2, '?', R]", "'?': [q2, ?, R]")
    line = text[: text.index("[q2, ?, R]")].count("\n") + 1
    assert fails(text) == [f"f:{line}:15: '?' without quotes begins a key in YAML: put it in quotes: '?'"]


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


def test_more_than_one_tape_and_choices_are_refused_by_line() -> None:
    two = HEAD.replace("num_tapes =           1", "num_tapes =           2")
    assert fails(f"{two}delta =\n q1,0_ -> q1,0_,RS;\n") == [
        "f:8:23: this machine has 2 tapes, but machines here have one: convert it to one tape first"
    ]
    assert fails(f"{HEAD}delta =\n q1,0_ -> q1,0,R;\n")[0].startswith(
        "f:10:5: '0_' is not one character: machines here have"
    )
    assert fails(f"{HEAD}delta =\n q1,0 -> q1,0,R;\n q1,0 -> q2,0,R;\n") == [
        "f:11:2: state 'q1' already has a rule for '0' in line 10: a choice (nondeterminism): keep one of them: "
        "machines here are deterministic"
    ]


def test_all_that_is_wrong_is_said_where_it_stands() -> None:
    assert fails(
        "states = {a,b,c}\nstates = {a}\nnonsense\ninput_alphabet = 0\ndelta =\n a 0 -> b\n a,0 -> b,0,U; a,0 -> b,?,R",
        "doty",
    ) == [
        "f:2:10: the key 'states' is given a second time; the first is in line 1, column 10: remove one of the two",
        "f:3:1: this is neither 'key = value' nor a rule below 'delta =': a rule is 'state, symbol -> "
        "new state, symbol, L|R|S;'",
        "f:4:18: '0' is not a set: write it as {a,b}",
        "f:5:1: there is no line 'start_state = …': add it above 'delta ='",
        "f:5:1: there is no line 'accept_state = …': add it above 'delta ='",
        "f:5:1: there is no line 'reject_state = …': add it above 'delta ='",
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


def test_a_set_may_go_on_over_several_lines() -> None:
    """Each state may have a comment of its own; complaints point at its line."""
    text = COPIED.replace("{q1,q2,q3,q4,q5,q6,q7,q8,qA,qR}", "{q1,  // starts\n  q2,q3,q4,\n q5,q6,q7,\n\n q8,qA,\n qR   }")
    assert read(text) == read(COPIED)
    assert read(COPIED.replace("{q1,q2,q3,q4,q5,q6,q7,q8,qA,qR}", "?")).states[:3] == ("q1", "q2", "q3")
    assert fails(text.replace("{0,1,:}", "{0,1,\n  _,\n  :}"))[0].startswith(
        "f:9:3: the blank '_' is in the input alphabet"
    )


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


def test_a_document_of_ours_with_its_keys_is_still_ours() -> None:
    text = "blank: _\nstart_state: a\naccept_state: b\ntable:\n  a:\n    0: R\n"
    assert fails(text, file="f.yaml")[0] == "f.yaml: there is no start state: add a line 'start state: NAME'"


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
    assert written.notes == (
        "symbols are renamed: ' ' to '_', '?' to 'x'",
        "states are renamed: 'a b' to 's0'",
        "states are renamed: 'ja' to 'yes'",
    )


def test_a_two_way_tape_that_no_run_uses_is_no_obstacle() -> None:
    rules = {("a", "1"): Rule("a", "1", 1), ("a", "_"): Rule("yes", "_", -1)}
    machine = Machine(transitions=rules, start="a", blank="_", accept="yes", name="m")
    assert registry.write(machine, "doty").notes == (
        "the two-way tape becomes a one-way one: no run moves left of its first cell without halting, so no run differs",
    )
    left = Machine(
        transitions={**rules, ("b", "1"): Rule("a", "1", 0), ("a", "1"): Rule("b", "1", -1)},
        start="a",
        blank="_",
        accept="yes",
        name="m",
    )
    with pytest.raises(ConversionError) as caught:
        registry.write(left, "doty")
    assert str(caught.value) == (
        "m: Doty's simulator cannot express this machine: its tape is two-way, and in state 'a' it may move left of the "
        "cell in which it starts (on '1'): keep to the right of that cell, or choose a format with two-way tapes"
    )


def test_what_it_cannot_say() -> None:
    with pytest.raises(
        ConversionError, match="copy: Doty's simulator cannot express this machine: it halts without a verdict"
    ):
        doty.write(load("copy"))
    empty = Machine(
        transitions={("a", "_"): Rule("yes", "_", 1)}, start="a", blank="_", accept="yes", input_alphabet=(), name="m"
    )
    with pytest.raises(
        ConversionError, match="m: .*: its input alphabet is empty, but there it has at least one symbol: choose"
    ):
        doty.write(empty)


def test_one_tape_may_be_said() -> None:
    assert warned(f"num_tapes: 1\n{YAML}")[1] == warned(YAML)[1]
    assert fails(f"num_tapes: 2\n{YAML}") == [
        "f:1:12: this machine has 2 tapes, but machines here have one: convert it to one tape first"
    ]
