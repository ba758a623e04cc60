"""Blueprints of Advent of Code 2017, day 25."""

from __future__ import annotations

import time

import pytest

from tests.sources.turing.formats.test_complaints import fails, read, warned
from tm2tfr.sources.turing.formats import advent, registry
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
    machine, _ = warned(f"{HEAD}In state A:\n{A_0}")
    assert machine.examples == ()
    assert result(machine, "").outcome == "halt"
    assert read(f"{HEAD}In state A:\n{A_0}In state B:\n").transitions == machine.transitions


def test_names_are_changed_and_said() -> None:
    rules = {("go on", "_"): Rule("go on", "x", 1), ("go on", "x"): Rule("end.", "_", 0)}
    written = advent.write(Machine(transitions=rules, start="go on", blank="_"))
    assert written.symbols == {"_": "0", "x": "1"}
    assert read(written.text).transitions == {("S0", "0"): Rule("S0", "1", 1), ("S0", "1"): Rule("S1", "0", 1)}


SENTENCE = "this is not a sentence of a blueprint: write one of 'Begin in state A.'"


def test_a_line_of_much_space_is_read_in_a_moment() -> None:
    """A pattern that can divide the space in several ways would take minutes."""
    began = time.process_time()
    said = fails(f"{HEAD}{' ' * 60_000}x\n", "advent-of-code")
    assert said[-1].startswith("f:3:60001: this is not a sentence of a blueprint")
    assert time.process_time() - began < 3
