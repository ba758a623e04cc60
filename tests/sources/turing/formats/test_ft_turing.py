"""Machines of the exercise ft_turing: what they mean, what is said about them, and what is written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.sources.turing.formats.test_complaints import read, warned
from tm2tfr.sources.turing.formats import ft_turing, registry
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.simulator import result
from tm2tfr.sources.turing.spec import Machine, Rule

SUBTRACTION: dict[str, Any] = {
    "name": "minus",
    "alphabet": ["1", ".", "-", "="],
    "blank": ".",
    "states": ["right", "erase", "carry", "skip", "HALT"],
    "initial": "right",
    "finals": ["HALT"],
    "transitions": {
        "right": [
            {"read": ".", "to_state": "right", "write": ".", "action": "RIGHT"},
            {"read": "1", "to_state": "right", "write": "1", "action": "RIGHT"},
            {"read": "-", "to_state": "right", "write": "-", "action": "RIGHT"},
            {"read": "=", "to_state": "erase", "write": ".", "action": "LEFT"},
        ],
        "erase": [
            {"read": "1", "to_state": "carry", "write": "=", "action": "LEFT"},
            {"read": "-", "to_state": "HALT", "write": ".", "action": "LEFT"},
        ],
        "carry": [
            {"read": "1", "to_state": "carry", "write": "1", "action": "LEFT"},
            {"read": "-", "to_state": "skip", "write": "-", "action": "LEFT"},
        ],
        "skip": [
            {"read": ".", "to_state": "skip", "write": ".", "action": "LEFT"},
            {"read": "1", "to_state": "right", "write": ".", "action": "RIGHT"},
        ],
    },
}
"""Subtraction in unary: 111-1= leaves 11."""


def document(**changed: Any) -> str:
    """Return a machine as text, with some of its keys changed."""
    return json.dumps(SUBTRACTION | changed, indent="\t")


def test_a_missing_name_and_names_that_are_listed_twice_are_said() -> None:
    text = document(alphabet=["1", "1", ".", "-", "="], states=[*SUBTRACTION["states"], "right"], finals=["HALT", "HALT"])
    machine, _ = warned(text.replace('"name": "minus"', '"version": "1"'))
    assert (machine.name, machine.states) == ("f", tuple(SUBTRACTION["states"]))


@pytest.mark.parametrize("file", ["f", "minus.json", "<stdin>", "f.txt"])
def test_a_machine_is_read_by_its_text(file: str) -> None:
    machine = read(document(), file=file)
    assert (machine.name, machine.start, machine.blank, machine.tape) == ("minus", "right", ".", "two-way")
    assert (machine.input_alphabet, machine.tape_alphabet) == (("1", "-", "="), ("1", ".", "-", "="))
    assert machine.states == ("right", "erase", "carry", "skip", "HALT")
    assert machine.transitions["erase", "-"] == Rule("HALT", ".", -1)
    assert len(machine.transitions) == 10


def test_it_halts_without_a_verdict() -> None:
    machine = read(document())
    assert not machine.decides


def test_a_state_named_accept_accepts() -> None:
    named = json.loads(document().replace("HALT", "accept"))
    machine = read(json.dumps(named))
    assert [result(machine, w).outcome for w in ("1-1=", "=")] == ["accept", "reject"]


def test_what_is_ignored_is_said() -> None:
    rules = SUBTRACTION["transitions"]
    machine, _ = warned(document(comment="mine", transitions={**rules, "HALT": rules["skip"]}))
    assert machine == read(document())
    twice = {**rules, "skip": [*rules["skip"], rules["skip"][0]]}
    machine, _ = warned(document(transitions=twice))
    assert machine == read(document())


def test_a_name_is_that_of_the_file_if_there_is_none() -> None:
    assert read(document(name=" "), file="dir/minus-2.json").name == "minus-2"


# ── out ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_what_is_written_is_read_again() -> None:
    written = registry.write(load("parity"), "ft_turing")
    machine = read(written.text)
    assert [result(machine, w).outcome for w in ("", "1", "11")] == ["accept", "reject", "accept"]


def test_what_changes_is_noted() -> None:
    rules = {("a", "é"): Rule("yes", "x", 0), ("b", "x"): Rule("a", "é", 1)}
    machine = Machine(transitions=rules, start="a", blank="␣", accept="yes", input_alphabet=("é",), name="m")
    written = ft_turing.write(machine)
    assert json.loads(written.text)["alphabet"] == ["y", "x", "."]
