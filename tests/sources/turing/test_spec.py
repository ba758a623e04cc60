"""The frozen machine: what it makes of its arguments, and every complaint that it has, in its words."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from tm2tfr.base.errors import SpecError
from tm2tfr.sources.turing.spec import MOST_PROBLEMS, Example, Machine, MachineError, Rule, Transitions

TABLE = {("a", "0"): ("b", "1", "R"), ("a", "_"): ("b", "_", -1)}


def machine(**changes: Any) -> Machine:
    """Return a machine that is in order, but for `changes`."""
    return Machine(**{"transitions": TABLE, "start": "a", "blank": "_", "name": "m", **changes})


# ── normalisation ───────────────────────────────────────────────────────────────────────────────────────
def test_what_is_left_out_is_what_is_named() -> None:
    m = machine(accept="yes", reject=["no", "b", "no"])
    assert m.states == ("a", "b", "yes", "no")
    assert m.tape_alphabet == ("0", "_", "1")
    assert m.input_alphabet == ("0", "1")
    assert m.accept == ("yes",)
    assert m.reject == ("no", "b")
    assert (m.tape, m.name, m.description, m.source, m.input) == ("two-way", "m", "", "", None)


def test_what_is_given_is_kept_without_duplicates() -> None:
    m = machine(states=["c", "b", "a", "c"], input_alphabet="00", tape_alphabet="_x10_", accept=(), tape="one-way")
    assert m.states == ("c", "b", "a")
    assert m.input_alphabet == ("0",)
    assert m.tape_alphabet == ("_", "x", "1", "0")
    assert m.accept == ()
    assert m.tape == "one-way"


def test_inputs_and_examples_name_symbols_too() -> None:
    m = machine(input="x", examples=[Example(input="y", outcome="halt")])
    assert m.input_alphabet == ("0", "1", "x", "y")
    assert m.tape_alphabet == ("0", "_", "1", "x", "y")
    assert m.examples == (Example(input="y", outcome="halt"),)


def test_an_empty_input_alphabet_is_not_a_missing_one() -> None:
    assert machine(input_alphabet=()).input_alphabet == ()


def test_moves_are_numbers_and_rules_keep_their_order() -> None:
    table = {("a", "2"): ("a", "0", "S"), ("a", "1"): ("a", "0", "L"), ("a", "0"): ("a", "1", "R")}
    assert list(machine(transitions=table).transitions.items()) == [
        (("a", "2"), Rule("a", "0", 0)),
        (("a", "1"), Rule("a", "0", -1)),
        (("a", "0"), Rule("a", "1", +1)),
    ]


# ── the textbook ────────────────────────────────────────────────────────────────────────────────────────
def test_seven_tuple() -> None:
    m = machine(accept="b")
    delta = {("a", "0"): Rule("b", "1", +1), ("a", "_"): Rule("b", "_", -1)}
    assert m.seven_tuple == (("a", "b"), ("0", "1"), ("0", "_", "1"), delta, "a", ("b",), ())


@pytest.mark.parametrize(
    ("changes", "decides", "accept", "reject", "halting"),
    [
        ({}, False, (), (), {"b"}),
        ({"accept": "b"}, True, ("b",), (), {"b"}),
        ({"accept": "c"}, True, ("c",), ("b",), {"b", "c"}),
        ({"reject": "c"}, True, (), ("c", "b"), {"b", "c"}),
        ({"accept": ()}, True, (), ("b",), {"b"}),
        ({"states": ("a", "b", "accept")}, True, ("accept",), ("b",), {"b", "accept"}),
        ({"states": ("a", "b", "accept"), "reject": "b"}, True, (), ("b", "accept"), {"b", "accept"}),
    ],
)
def test_verdicts(
    changes: dict[str, Any], decides: bool, accept: tuple[str, ...], reject: tuple[str, ...], halting: set[str]
) -> None:
    m = machine(**changes)
    assert (m.decides, m.accept_states, m.reject_states, m.halting_states) == (decides, accept, reject, halting)
    assert m.missing_outcome == ("reject" if decides else "halt")
    for q in m.states:
        want = "accept" if q in accept else "reject" if q in reject else "halt" if q in halting else None
        assert m.outcome_of(q) == want


def test_missing_rules_are_those_of_working_states() -> None:
    assert machine().missing_rules == (("a", "1"),)
    assert machine(tape_alphabet="_10x").missing_rules == (("a", "1"), ("a", "x"))
    assert machine(transitions={}).missing_rules == ()


# ── frozen ──────────────────────────────────────────────────────────────────────────────────────────────
def test_a_machine_is_frozen() -> None:
    m = machine()
    with pytest.raises(dataclasses.FrozenInstanceError):
        m.start = "b"  # type: ignore[misc]
    with pytest.raises(TypeError, match="does not support item assignment"):
        m.transitions["a", "0"] = Rule("a", "0", 0)  # type: ignore[index]


def test_a_machine_does_not_change_with_what_it_was_made_of() -> None:
    table = dict(TABLE)
    m = machine(transitions=table)
    table["a", "1"] = ("b", "1", "R")
    assert m == machine()


def test_equality_and_hash() -> None:
    backwards = dict(reversed(TABLE.items()))
    assert machine() == machine() == machine(yaml="blank: _")
    assert hash(machine()) == hash(machine(yaml="blank: _"))
    assert Transitions(TABLE) == Transitions(backwards)
    assert hash(Transitions(TABLE)) == hash(Transitions(backwards))
    assert machine() != machine(name="n")
    assert machine() != machine(tape="one-way")
    assert machine(accept=()) != machine()
    assert len({machine(), machine(), machine(input="0")}) == 2


def test_examples_may_come_as_a_list() -> None:
    assert hash(machine(examples=[Example(input="0", outcome="halt")])) == hash(
        machine(examples=(Example(input="0", outcome="halt"),))
    )


@pytest.mark.parametrize("again", [lambda m: pickle.loads(pickle.dumps(m)), copy.copy, copy.deepcopy, dataclasses.replace])
def test_a_copy_is_the_same_machine(again: Any) -> None:
    m = machine(accept="b", examples=(Example(input="0", outcome="accept", steps=1),), yaml="blank: _")
    assert m.accept_states == ("b",)
    got = again(m)
    assert got == m
    assert hash(got) == hash(m)
    assert list(got.transitions.items()) == list(m.transitions.items())
    assert (got.yaml, got.accept_states) == (m.yaml, m.accept_states)


# ── shown to people ─────────────────────────────────────────────────────────────────────────────────────
def test_repr() -> None:
    assert "Σ={0} Γ={0, ␣}, blank ' '," in repr(Machine(transitions={("a", "0"): ("a", " ", "R")}, start="a", blank=" "))
    assert "<Machine m: 1 state, 1 rule, " in repr(machine(transitions={("a", "1"): ("a", "1", 1)}))


# ── complaints ──────────────────────────────────────────────────────────────────────────────────────────
def problems(**changes: Any) -> list[str]:
    """Return where each problem of a machine is, and its message; these are the messages of the error."""
    with pytest.raises(MachineError) as error:
        machine(**changes)
    found = [(problem.at, f"{problem.what}: {problem.remedy}") for problem in error.value.problems]
    assert str(error.value).split("\n") == [f"m: {message}" for _, message in found]
    return [f"{' / '.join(map(repr, at))}: {message}" for at, message in found]


def test_all_the_complaints_come_at_once_in_a_readers_order() -> None:
    with pytest.raises(SpecError) as error:
        machine(
            transitions={("c", "0"): ("d", "x", "U")},
            states=("a", "b"),
            tape_alphabet="0_",
            tape="round",
            examples=(Example(input="7", outcome="halt"),),
        )
    assert error.value.diagnostics[0].file == "m"


def test_the_complaints_end_somewhere() -> None:
    table = {(f"q{i}", "0"): ("a", "0", "R") for i in range(1000)}
    with pytest.raises(MachineError) as error:
        machine(transitions=table, states=("a",))
    assert len(error.value.problems) == len(error.value.diagnostics) == MOST_PROBLEMS


# ── inputs ──────────────────────────────────────────────────────────────────────────────────────────────
def test_a_word_over_the_input_alphabet_comes_back() -> None:
    assert [machine().check_input(word) for word in ("", "0110")] == ["", "0110"]
