"""Morphett's programs: wildcards, precedence, duplicates, halts, and what comments say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sources.turing.formats.test_complaints import fails, read, warned
from tm2tfr.sources.turing.formats import morphett
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.simulator import result
from tm2tfr.sources.turing.spec import Machine, Rule

PALINDROMES = """\
; This example program checks if the input string is a binary palindrome.
; Input: a string of 0's and 1's, eg '1001001'

; Machine starts in state 0.

; State 0: read the leftmost symbol
0 0 _ r 1o
0 1 _ r 1i
0 _ _ * accept     ; Empty input

; State 1o, 1i: find the rightmost symbol
1o _ _ l 2o
1o * * r 1o

1i _ _ l 2i
1i * * r 1i

; State 2o, 2i: check if the rightmost symbol matches the most recently read left-hand symbol
2o 0 _ l 3
2o _ _ * accept
2o * * * reject !

2i 1 _ l 3
2i _ _ * accept
2i * * * reject

; State 3, 4: return to left end of remaining input
3 _ _ * accept
3 * * l 4
4 * * l 4
4 _ _ r 0  ; Back to the beginning

accept * : r accept2
accept2 * ) * halt-accept

reject _ : r reject2
reject * _ l reject
reject2 * ( * halt-reject
"""


def naive(program: str, word: str, *, most: int = 200, one_way: bool = False) -> tuple[str, int, str]:
    """Run a program as the simulator's own source says, straight from its lines: the state at the end, steps, tape."""
    rules = {(x[0], x[1]): x for line in program.splitlines() if len(x := line.split(";")[0].split()) >= 5}
    tape, head, state, steps = dict(enumerate(word)), 0, "0", 0
    while steps < most and not state.lower().startswith("halt"):
        a = tape.get(head, "_")
        keys = ((state, a), (state, "*"), ("*", a), ("*", "*"))
        rule = next((rules[key] for key in keys if key in rules), None)
        if rule is None:
            break
        tape[head] = a if rule[2] == "*" else rule[2]
        head += {"l": -1, "r": 1, "*": 0}[rule[3].lower()]
        head = max(head, 0) if one_way else head
        state, steps = state if rule[4] == "*" else rule[4], steps + 1
    cells = "".join(tape.get(k, "_") for k in range(min(tape, default=0), max(tape, default=0) + 1))
    return state, steps, cells.strip("_")


@pytest.mark.slow
@given(word=st.text("01", max_size=8))
def test_the_simulators_own_example(word: str) -> None:
    machine = read(PALINDROMES)
    state, steps, tape = naive(PALINDROMES, word)
    found = result(machine, word)
    assert (f"halt-{found.outcome}", found.steps, found.tape) == (state, steps, tape)
    assert found.outcome == ("accept" if word == word[::-1] else "reject")


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Random programs with every kind of wildcard."""
    state, symbol = st.sampled_from(["0", "a", "b", "*"]), st.sampled_from("01_*")
    new = st.sampled_from(["0", "a", "b", "*", "halt", "Halting"])
    rule = st.tuples(state, symbol, symbol, st.sampled_from("lrLR*"), new)
    lines = [" ".join(r) for r in draw(st.lists(rule, min_size=1, max_size=12, unique_by=lambda r: (r[0], r[1])))]
    return "\n".join(["0 0 0 r a", *(line for line in lines if not line.startswith("0 0 "))])


@pytest.mark.slow
@given(program=programs(), word=st.text("01", max_size=5), one_way=st.booleans())
def test_wildcards_mean_what_they_mean_there(program: str, word: str, *, one_way: bool) -> None:
    head = "; input alphabet: 0 1\n" + "; tape: one-way\n" * one_way
    machine = read(head + program, "morphett")
    state, steps, tape = naive(program, word, one_way=one_way)
    found = result(machine, word, max_steps=200)
    assert (found.steps, found.tape.strip("_")) == (steps, tape)
    assert found.outcome == ("limit" if steps == 200 and not state.lower().startswith("halt") else "halt")


def test_the_most_specific_rule_counts() -> None:
    machine = read("0 1 a * halt\n0 * b * halt\n* 2 c * halt\n* * d * halt\nx 1 1 r x", "morphett")
    assert [machine.transitions["0", a].write for a in "12"] == ["a", "b"]
    assert [machine.transitions["x", a].write for a in "12d"] == ["1", "c", "d"]
    assert ("halt", "1") not in machine.transitions


def test_of_two_rules_the_last_counts_and_it_is_said() -> None:
    machine, _ = warned("0 1 1 r 0\n0 _ _ r halt\n\n0 1 0 l halt\n")
    assert machine.transitions["0", "1"] == Rule("halt", "0", -1)


def test_halts() -> None:
    assert read("0 1 1 r halt").decides is False
    machine = read("0 1 1 r halt-accept\n0 0 0 r halt-reject")
    assert (machine.accept, machine.reject) == (("halt-accept",), ("halt-reject",))
    assert [result(machine, w).outcome for w in ("1", "0", "")] == ["accept", "reject", "reject"]
    machine, _ = warned("0 1 1 r halt-accept\n0 0 0 r halt\nhalt 1 1 r 0")
    assert (machine.decides, len(machine.transitions)) == (False, 2)
    assert [result(machine, w).outcome for w in ("1", "0", "")] == ["halt", "halt", "halt"]


def test_comments_say_what_the_program_cannot() -> None:
    head = "; name: mine\n; tape: one-way\n; input: *10\n; input alphabet: 0 1\n; tape alphabet: 0 1 y _\n"
    machine = read(head + "0 * * r halt ; all done\n", file="other.txt")
    assert (machine.name, machine.tape, machine.input) == ("mine", "one-way", "10")
    assert (machine.input_alphabet, machine.tape_alphabet) == (("0", "1"), ("0", "1", "y", "_"))
    prose = "; input: a string of bits\n; tape: as usual\n; input alphabet: 0 and 1\n0 1 1 r halt\n"
    machine = read(prose)
    assert (machine.name, machine.tape, machine.input, machine.input_alphabet) == ("f", "two-way", None, ("1",))


@pytest.mark.slow
def test_wildcards_that_stand_for_too_much() -> None:
    lines = [f"s{k} {chr(0x4E00 + k)} * r s{k + 1}" for k in range(1001)]
    assert fails("\n".join(["* * * r *", *lines]), "morphett") == [
        "f: these are 1,005,006 rules, and at most 1,000,000 are read: use fewer states or symbols"
    ]


def test_out() -> None:
    written = morphett.write(load("palindromes"))
    assert written.text.startswith("; name: palindromes\n")
    assert "\n0 a _ r " in written.text
    assert {"'accept' to 'halt-accept'", "'first' to '0'"} <= set(written.notes[-1].split(": ")[1].split(", "))


def test_a_machine_that_only_rejects_says_so() -> None:
    machine = Machine(transitions={("A", "_"): Rule("A", "_", 1)}, start="A", blank="_", accept=(), name="m")
    written = morphett.write(machine)
    assert written.text.endswith("0 _ * r 0\nnever _ * * halt-reject\n")
    assert written.notes[-1] == "a rule for a state that no run enters declares that the other halts reject"
    assert read(written.text).decides


def test_a_state_that_accepts_by_its_name_still_does() -> None:
    machine = Machine(transitions={("go", "1"): Rule("accept", "1", 1)}, start="go", blank="_", name="m")
    assert [result(read(morphett.write(machine).text), word).outcome for word in ("1", "")] == ["accept", "reject"]
    never = Machine(transitions={("go", "1"): Rule("go", "1", 1)}, start="go", blank="_", states=("go", "accept"))
    assert result(read(morphett.write(never).text), "1").outcome == "reject"
