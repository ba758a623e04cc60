"""The frozen machine: what it makes of its arguments, and every complaint that it has, in its words."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from tm2tfr.base.errors import InputError, SpecError
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


def test_replace_checks_again() -> None:
    with pytest.raises(MachineError, match="unknown state 'c'"):
        dataclasses.replace(machine(), start="c")


# ── shown to people ─────────────────────────────────────────────────────────────────────────────────────
def test_repr() -> None:
    assert "Σ={0} Γ={0, ␣}, blank ' '," in repr(Machine(transitions={("a", "0"): ("a", " ", "R")}, start="a", blank=" "))
    assert "<Machine m: 1 state, 1 rule, " in repr(machine(transitions={("a", "1"): ("a", "1", 1)}))
    assert repr(machine()) == ("<Machine m: 2 states, 2 rules, Σ={0, 1} Γ={0, _, 1}, blank '_', two-way tape, start a>")
    assert repr(machine(transitions={}, accept="yes", reject=("a", "no"), tape="one-way")) == (
        "<Machine m: 3 states, 0 rules, Γ={_}, blank '_', one-way tape, start a, accept=yes, reject=a, no>"
    )
    assert repr(Transitions({("a", "0"): ("b", "1", "R")})) == "{('a', '0'): Rule(state='b', write='1', move=1)}"


# ── complaints ──────────────────────────────────────────────────────────────────────────────────────────
ONE = ("a", "0")
COMPLAINTS: list[tuple[dict[str, Any], tuple[str, ...], str]] = [
    (
        {"blank": ""},
        ("blank",),
        "there is no blank: write for example blank: ' ' (with the quotes) or blank: _",
    ),
    (
        {"blank": "__"},
        ("blank",),
        "the blank must be one character, not '__': write for example blank: ' ' (with the quotes) or blank: _",
    ),
    (
        {"transitions": {}, "tape_alphabet": "01"},
        ("tape alphabet",),
        "the blank '_' is not in the tape alphabet: add it there",
    ),
    (
        {"input_alphabet": ["00"]},
        ("input alphabet", "00"),
        "the symbol '00' is not one character: a symbol is exactly one character",
    ),
    (
        {"input_alphabet": "0_"},
        ("input alphabet", "_"),
        "the blank '_' is in the input alphabet: remove it, or choose another blank: "
        "a word could not be distinguished from the empty cells after it",
    ),
    (
        {"input_alphabet": "07", "tape_alphabet": "01_"},
        ("input alphabet", "7"),
        "the symbol '7' is not in the tape alphabet: add it there, or correct it",
    ),
    (
        {"tape_alphabet": ["01", "0", "1", "_"], "input_alphabet": "0"},
        ("tape alphabet", "01"),
        "the symbol '01' is not one character: a symbol is exactly one character",
    ),
    (
        {"input": "0_7", "input_alphabet": "0"},
        ("input", "2"),
        "position 2 of the input, '7', is not in the input alphabet: use only '0'",
    ),
    (
        {"input": "7", "input_alphabet": ""},
        ("input", "0"),
        "position 0 of the input, '7', is not in the input alphabet: use only the empty word",
    ),
    (
        {"tape": "oneway"},
        ("tape",),
        "unknown kind of tape 'oneway' (did you mean 'one-way'?): write one-way or two-way",
    ),
    (
        {"start": "", "states": ("a", "b")},
        ("start state",),
        "there is no start state: add a line 'start state: NAME'",
    ),
    (
        {"start": "c", "states": ("a", "b")},
        ("start state",),
        "unknown state 'c': use a state in the table, or add this one to it",
    ),
    (
        {"states": ("a", "b", "")},
        ("table", ""),
        "a state has an empty name: name every state",
    ),
    (
        {"accept": "bb", "states": ("a", "bbb", "b")},
        ("accept", "bb"),
        "unknown state 'bb' (did you mean 'bbb'?): use a state in the table, or add this one to it",
    ),
    (
        {"reject": "z", "states": ("a", "b")},
        ("reject", "z"),
        "unknown state 'z': use a state in the table, or add this one to it",
    ),
    (
        {"accept": "a"},
        ("accept", "a"),
        "the accept state 'a' has rules: the machine stops on entering it: remove its rules, or remove it from accept",
    ),
    (
        {"reject": "a"},
        ("reject", "a"),
        "the reject state 'a' has rules: the machine stops on entering it: remove its rules, or remove it from reject",
    ),
    (
        {"accept": "b", "reject": "b"},
        ("reject", "b"),
        "state 'b' both accepts and rejects: list it under one of the two keys",
    ),
    (
        {"transitions": {("c", "0"): ("a", "0", "R")}, "states": ("a",)},
        ("table", "c"),
        "unknown state 'c': use a state in the table, or add this one to it",
    ),
    (
        {"transitions": {("a", "00"): ("a", "0", "R")}, "tape_alphabet": "0_"},
        ("table", "a", "00"),
        "the symbol '00' is not one character: a symbol is exactly one character",
    ),
    (
        {"transitions": {("a", "7"): ("a", "0", "R")}, "tape_alphabet": "0_"},
        ("table", "a", "7"),
        "the symbol '7' is not in the tape alphabet: add it there, or correct it",
    ),
    (
        {"transitions": {ONE: ("a", "", "R")}, "tape_alphabet": "0_"},
        ("table", "a", "0", "write"),
        "the symbol '' is not one character: a symbol is exactly one character",
    ),
    (
        {"transitions": {ONE: ("a", "7", "R")}, "tape_alphabet": "0_"},
        ("table", "a", "0", "write"),
        "the symbol '7' is not in the tape alphabet: add it there, or correct it",
    ),
    (
        {"transitions": {ONE: ("a", "0", "r")}},
        ("table", "a", "0", "move"),
        "'r' is not a move: use L, R or S",
    ),
    (
        {"transitions": {ONE: ("a", "0", 2)}},
        ("table", "a", "0", "move"),
        "2 is not a move: use L, R or S",
    ),
    (
        {"transitions": {ONE: ("c", "0", "R")}, "states": ("a",)},
        ("table", "a", "0", "state"),
        "unknown state 'c': use a state in the table, or add this one to it",
    ),
    (
        {"examples": (Example(input="07", outcome="halt"),), "input_alphabet": "0"},
        ("examples", "0", "input", "1"),
        "position 1 of the input, '7', is not in the input alphabet: use only '0'",
    ),
    (
        {"examples": (Example(input="", outcome="acept"),)},  # type: ignore[arg-type]
        ("examples", "0", "outcome"),
        "unknown outcome 'acept' (did you mean 'accept'?): write accept, reject, halt or limit",
    ),
]


@pytest.mark.parametrize(("changes", "at", "words"), COMPLAINTS, ids=lambda value: None)
def test_complaints(changes: dict[str, Any], at: tuple[str, ...], words: str) -> None:
    with pytest.raises(MachineError) as error:
        machine(**changes)
    complaint = f"m: {words}"
    assert complaint in str(error.value).split("\n")
    assert (at, complaint) in [(p.at, f"m: {p.what}: {p.remedy}") for p in error.value.problems]


def test_all_the_complaints_come_at_once_in_a_readers_order() -> None:
    with pytest.raises(SpecError) as error:
        machine(
            transitions={("c", "0"): ("d", "x", "U")},
            states=("a", "b"),
            tape_alphabet="0_",
            tape="round",
            examples=(Example(input="7", outcome="halt"),),
        )
    assert str(error.value).split("\n") == [
        "m: unknown kind of tape 'round': write one-way or two-way",
        "m: unknown state 'c': use a state in the table, or add this one to it",
        "m: the symbol 'x' is not in the tape alphabet: add it there, or correct it",
        "m: 'U' is not a move: use L, R or S",
        "m: unknown state 'd': use a state in the table, or add this one to it",
        "m: position 0 of the input, '7', is not in the input alphabet: use only '0'",
    ]
    assert error.value.diagnostics[0].file == "m"


def test_the_complaints_end_somewhere() -> None:
    table = {(f"q{i}", "0"): ("a", "0", "R") for i in range(1000)}
    with pytest.raises(MachineError) as error:
        machine(transitions=table, states=("a",))
    assert len(error.value.problems) == len(error.value.diagnostics) == MOST_PROBLEMS


# ── inputs ──────────────────────────────────────────────────────────────────────────────────────────────
def test_a_word_over_the_input_alphabet_comes_back() -> None:
    assert [machine().check_input(word) for word in ("", "0110")] == ["", "0110"]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (
            "0120x",
            "input of m: position 2: '2' is not in the input alphabet: use only its symbols ({0, 1})\n  0120x\n    ^ ^",
        ),
        (
            "_",
            "input of m: position 0: '_' is not in the input alphabet (it is the blank): "
            "use only its symbols ({0, 1})\n"
            "  _\n"
            "  ^",
        ),
        (
            "0\n日1x",
            "input of m: position 1: '\\n' is not in the input alphabet: use only its symbols ({0, 1})\n"
            "  0\N{REPLACEMENT CHARACTER}日1x\n"
            "   ^^^ ^",
        ),
        (
            "0" * 1000 + "7" + "0" * 1000,
            "input of m: position 1000: '7' is not in the input alphabet: use only its symbols ({0, 1})\n"
            f"  {'0' * 60}7{'0' * 59}\n"
            f"  {' ' * 60}^",
        ),
    ],
    ids=["two", "blank", "odd", "long"],
)
def test_a_foreign_symbol_is_marked(word: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        machine().check_input(word)
    assert str(error.value) == message


def test_a_machine_without_input() -> None:
    with pytest.raises(InputError, match=r"use only its symbols \(empty\)\n  0\n  \^$"):
        machine(input_alphabet=()).check_input("0")
