"""Blueprints of Advent of Code 2017, day 25."""

from __future__ import annotations

import time

import pytest

from tests.sources.turing.formats.reading import fails, read, warned
from tm2tfr.base.errors import ConversionError
from tm2tfr.sources.turing.formats import advent, registry
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.simulator import result
from tm2tfr.sources.turing.spec import Example, Machine, Rule

A_0 = """\
  If the current value is 0:
    - Write the value 1.
    - Move one slot to the right.
    - Continue with state B.
"""
A_1 = """\
  If the current value is 1:
    - Write the value 0.
    - Move one slot to the left.
    - Continue with state B.
"""
B = """\
In state B:
  If the current value is 0:
    - Write the value 1.
    - Move one slot to the left.
    - Continue with state A.
  If the current value is 1:
    - Write the value 1.
    - Move one slot to the right.
    - Continue with state A.
"""
HEAD = "Begin in state A.\nPerform a diagnostic checksum after 6 steps.\n"
SIX_STEPS = f"{HEAD}\nIn state A:\n{A_0}{A_1}\n{B}"
"""A machine of two states that makes three 1s in six steps."""


def test_a_blueprint_is_read() -> None:
    assert read(SIX_STEPS, file="day-25.txt") == Machine(
        transitions={
            ("A", "0"): Rule("B", "1", 1),
            ("A", "1"): Rule("B", "0", -1),
            ("B", "0"): Rule("A", "1", -1),
            ("B", "1"): Rule("A", "1", 1),
        },
        start="A",
        blank="0",
        name="day-25",
        description="A blueprint with a diagnostic checksum after 6 steps.",
        examples=(Example(input="", outcome="limit", max_steps=6),),
    )
    assert result(read(SIX_STEPS), "", max_steps=6).ones == 3


@pytest.mark.parametrize(
    "change", [str.upper, str.lower, lambda t: t.replace("- ", "").replace(".", ""), lambda t: f"\n{t}"]
)
def test_small_things_do_not_matter(change: object) -> None:
    assert callable(change)
    other = read(change(SIX_STEPS))
    assert len(other.transitions) == 4
    assert result(other, "", max_steps=6).ones == 3


@pytest.mark.parametrize(
    "lines",
    [
        (" ".join(SIX_STEPS.split()),),
        (" ".join(HEAD.split()), " ".join(f"In state A:\n{A_0}{A_1}".split()), " ".join(B.split())),
        tuple(" ".join(part.split()) for part in (HEAD, "In state A:", A_0, A_1, "In state B:", *B.split("\n", 1)[1:])),
        (" ".join(SIX_STEPS.replace("- ", "").split()),),
    ],
)
def test_several_sentences_may_be_on_a_line(lines: tuple[str, ...]) -> None:
    assert read("\n".join(lines)) == read(SIX_STEPS)


def test_what_is_wrong_within_a_line_is_said_where_it_stands() -> None:
    text = " ".join(SIX_STEPS.split())
    at = text.index("- Move one slot to the left")
    said = fails(text.replace("- Move one slot to the left.", "- Go left.", 1), "advent-of-code")
    assert said[-1].startswith(f"f:1:{at + 1}: {SENTENCE}")
    assert fails("Begin in state A Begin in state B.", "advent-of-code")[-1].startswith(f"f:1:1: {SENTENCE}")


def test_a_long_run_is_no_example() -> None:
    machine = read(SIX_STEPS.replace("6 steps", "12,586,542 steps"))
    assert machine.examples == ()
    assert machine.description == "A blueprint with a diagnostic checksum after 12,586,542 steps."
    assert "checksum after 12586542 steps." in registry.write(machine, "advent-of-code").text


def test_it_is_written_as_it_was() -> None:
    assert registry.write(read(SIX_STEPS), "advent-of-code") == (SIX_STEPS, (), {})


def test_a_machine_that_halts() -> None:
    machine, said = warned(f"{HEAD}In state A:\n{A_0}")
    assert said == [
        "f:7:27: warning: state 'B' is not described, and a run halts there: add 'In state B:' if this is not intended"
    ]
    assert machine.examples == ()
    assert result(machine, "").outcome == "halt"
    assert read(f"{HEAD}In state A:\n{A_0}In state B:\n").transitions == machine.transitions


def test_names_are_changed_and_said() -> None:
    rules = {("go on", "_"): Rule("go on", "x", 1), ("go on", "x"): Rule("end.", "_", 0)}
    written = advent.write(Machine(transitions=rules, start="go on", blank="_"))
    assert written.notes == (
        "a rule that stayed in the cell before a halt now moves right",
        "symbols are renamed: '_' to '0', 'x' to '1'",
        "states are renamed: 'go on' to 'S0', 'end.' to 'S1'",
        "the machine does not say after how many steps its checksum is: 10,000 here",
        "state 'S1' has no rules, where a run halts: no machine of the puzzle does",
    )
    assert written.symbols == {"_": "0", "x": "1"}
    assert read(written.text).transitions == {("S0", "0"): Rule("S0", "1", 1), ("S0", "1"): Rule("S1", "0", 1)}


def test_what_a_blueprint_cannot_say() -> None:
    with pytest.raises(ConversionError, match="a blueprint cannot express this machine: it accepts and rejects"):
        advent.write(load("palindromes"))
    three = Machine(transitions={("a", "1"): ("b", "2", 1)}, start="a", blank="0")
    with pytest.raises(ConversionError, match="it has 3 symbols, but a value is 0 or 1: choose another format"):
        advent.write(three)


SENTENCE = "this is not a sentence of a blueprint: write one of 'Begin in state A.'"
PLACES = [
    (2, "Perform a diagnostic checksum after six steps.", "f:2:37: 'six' is not a number of steps: write a number"),
    (2, "Perform a diagnostic checksum after -6 steps.", "f:2:37: '-6' is not a number of steps"),
    (2, "Perform a diagnostic checksum after 6.5 steps.", "f:2:37: '6.5' is not a number of steps"),
    (2, "Perform a checksum after 6 steps.", f"f:2:1: {SENTENCE}"),
    (2, "Perform a diagnostic checksum after 6.", f"f:2:1: {SENTENCE}"),
    (
        2,
        "Begin in state B.",
        "f:2:16: the state in which a run begins is given a second time; the first is in line 1, column 16",
    ),
    (1, "Start in state A.", f"f:1:1: {SENTENCE}"),
    (1, "Begin in state C.", "f:1:16: the state 'C' is not described: add 'In state C:', and below it what is done there"),
    (1, "Begin in A.", f"f:1:1: {SENTENCE}"),
    (1, "", "f: no line says in which state a run begins: add 'Begin in state A.'"),
    (4, "", "f:5:27: this value is read in no state: write 'In state A:' above it"),
    (
        4,
        "In state B:",
        "f:14:10: the state 'B' is given a second time; the first is in line 4, column 10: remove one of the two",
    ),
    (4, "In states A:", f"f:4:1: {SENTENCE}"),
    (4, "In state A B:", f"f:4:1: {SENTENCE}"),
    (4, "state A:", f"f:4:1: {SENTENCE}"),
    (5, "  If the current value is 1:", "f:9:27: the rule for state 'A' and '1' is given a second time; the first is in"),
    (5, "  If the current value is 01:", "f:5:27: the value '01' is not one character: write a digit, such as 0 or 1"),
    (5, "  If the current value is -1:", "f:5:27: the value '-1' is not one character"),
    (5, "  If the value is 0:", f"f:5:3: {SENTENCE}"),
    (5, "  If the current value is:", f"f:5:3: {SENTENCE}"),
    (5, "", "f:6:23: this belongs to no rule: write 'If the current value is 0:' above it"),
    (6, "", "f:5:27: the rule for '0' is not complete: add '- Write the value 1.'"),
    (6, "    - Write the value 10.", "f:6:23: the value '10' is not one character"),
    (6, "    - Write the value.", f"f:6:5: {SENTENCE}"),
    (6, "    - Write 1.", f"f:6:5: {SENTENCE}"),
    (6, "    - Move one slot to the left.", "f:7:28: this part of the rule is given a second time; the first is in line 6"),
    (6, "    * Write the value 1.", f"f:6:5: {SENTENCE}"),
    (7, "", "f:5:27: the rule for '0' is not complete: add '- Move one slot to the right.'"),
    (7, "    - Move one slot to the top.", "f:7:28: 'top' is not a move: write left or right"),
    (7, "    - Move two slots to the right.", f"f:7:5: {SENTENCE}"),
    (7, "    - Move right.", f"f:7:5: {SENTENCE}"),
    (7, "    - Stay.", f"f:7:5: {SENTENCE}"),
    (
        7,
        "    - Write the value 0.",
        "f:7:23: this part of the rule is given a second time; the first is in line 6, column 23",
    ),
    (8, "", "f:5:27: the rule for '0' is not complete: add '- Continue with state A.'"),
    (8, "    - Continue with B.", f"f:8:5: {SENTENCE}"),
    (8, "    - Continue with state B or A.", f"f:8:5: {SENTENCE}"),
    (8, "    - Halt.", f"f:8:5: {SENTENCE}"),
    (8, "0 1 1 r 0", f"f:8:1: {SENTENCE}"),
    (3, "A Turing machine", f"f:3:1: {SENTENCE}"),
    (9, "  Otherwise:", f"f:9:3: {SENTENCE}"),
    (14, "", "f:15:27: the rule for state 'A' and '0' is given a second time; the first is in line 5, column 27"),
    (15, "  If the current value is 1:", "f:19:27: the rule for state 'B' and '1' is given a second time"),
]


@pytest.mark.parametrize(("number", "line", "words"), PLACES)
def test_broken_blueprints_are_refused_at_their_place(number: int, line: str, words: str) -> None:
    lines = SIX_STEPS.splitlines()
    lines[number - 1] = line
    assert any(said.startswith(words) for said in fails("\n".join(lines)))


def test_there_are_forty_broken_ones() -> None:
    assert len({(number, line) for number, line, _ in PLACES}) >= 40


def test_nothing_but_a_beginning() -> None:
    assert fails("Begin in state A.", "advent-of-code") == [
        "f: there are no states: add 'In state A:', and below it what is done there"
    ]
    assert fails("", "advent-of-code") == ["f: no line says in which state a run begins: add 'Begin in state A.'"]


def test_a_line_of_much_space_is_read_in_a_moment() -> None:
    """A pattern that can divide the space in several ways would take minutes."""
    began = time.process_time()
    said = fails(f"{HEAD}{' ' * 60_000}x\n", "advent-of-code")
    assert said[-1].startswith("f:3:60001: this is not a sentence of a blueprint")
    assert time.process_time() - began < 3
