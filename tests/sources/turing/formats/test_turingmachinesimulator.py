"""Programs for turingmachinesimulator.com: what they mean, what is said about them, and what is written."""

from __future__ import annotations

from tests.sources.turing.formats.test_complaints import read, warned
from tm2tfr.sources.turing.formats import registry, turingmachinesimulator
from tm2tfr.sources.turing.library import shipped, shipped_text
from tm2tfr.sources.turing.simulator import result
from tm2tfr.sources.turing.spec import Machine, Rule

PARITY = """\
// Input: a binary number n
//-------CONFIGURATION
name: Even parity, of ones
init: q0
accept: yes, other

//-------DELTA FUNCTION:
q0,0
q0,0,>

q0, 1   // one more
q1, 1, >
q1,0
q1,0,>

q1,1
q0,1,>

q0,_
yes,_,-
"""


def test_a_program_means_what_its_author_says() -> None:
    machine = read(PARITY, file="f.txt")
    assert (machine.name, machine.start, machine.blank, machine.tape) == ("Even parity, of ones", "q0", "_", "two-way")
    assert (machine.accept, machine.reject, machine.states) == (("yes", "other"), None, ("q0", "q1", "yes", "other"))
    assert machine.transitions["q0", "_"] == Rule("yes", "_", 0)
    assert [result(machine, w).outcome for w in ("", "1", "101", "10")] == ["accept", "reject", "accept", "reject"]


def test_comments_say_what_a_program_cannot() -> None:
    machine = read(f"// input alphabet: 0 1\n// tape alphabet: 0 1 x _\n// input: 11\n{PARITY}")
    assert (machine.input_alphabet, machine.tape_alphabet, machine.input) == (("0", "1"), ("0", "1", "x", "_"), "11")
    assert read(f"// input: the number in binary\n// input alphabet: see below\n{PARITY}") == read(PARITY)


def test_a_run_accepts_on_entry_and_dead_rules_are_said() -> None:
    machine, _ = warned(f"{PARITY}\nyes,_\nq1,_,<\nq0,0\nq0,0,>\n")
    assert machine == read(PARITY)


def test_a_start_without_rules_is_said() -> None:
    machine, _ = warned(PARITY.replace("init: q0", "init: q2"))
    assert result(machine, "1").steps == 0


def test_it_takes_no_other_file_for_its_own() -> None:
    for text in (*map(shipped_text, shipped()), "init: q\naccept: a\ntable:\n  q:\n    0: R\n", "init: 1\nq,0 -> q,0,R;\n"):
        assert not turingmachinesimulator.looks_like(text)
    assert turingmachinesimulator.looks_like("init: q\naccept: a\n\nq,0\n")


def test_what_is_written() -> None:
    rules = {("a b", "0"): Rule("a b", ",", 1), ("a b", " "): Rule("c:d", "0", 0)}
    machine = Machine(
        transitions=rules, start="a b", blank=" ", accept="c:d", input_alphabet=("0",), name="x // y", input="00"
    )
    written = registry.write(machine, "turingmachinesimulator.com")
    assert read(written.text).input == "00"
