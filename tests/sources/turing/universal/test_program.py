"""Which of a machine's states and symbols is which in the prompt, what stands there, and what does not fit."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.sources.turing.universal.cases import EVERY, described, random_machine, random_prompt, random_word
from tests.strategies import tries
from tm2tfr.base.errors import CompileError
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.simulator import result
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.universal.names import size_of
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.sources.turing.universal.truth import UniversalTruth

Rules = dict[tuple[str, str], tuple[str, str, str]]
SMALL = Universal(states=3, symbols=2)


def machine(rules: Rules, start: str = "a", **more: Any) -> Machine:
    return Machine(transitions=rules, start=start, blank="_", **more)  # type: ignore[arg-type]


def lines(program: Universal) -> list[str]:
    """Return the rules in the prompt in canonical names, a line each, after the tape."""
    tape, *tokens = program.described_in(program.canonical)
    assert tape == program.right.tape
    return [f"{key} {value}" for key, value in zip(tokens[::2], tokens[1::2], strict=True)]


# ── which is which ──────────────────────────────────────────────────────────────────────────────────────────
def test_the_start_state_is_q0_and_the_blank_is_0_whatever_their_places() -> None:
    given = machine({("b", "1"): ("a", "_", "L"), ("a", "_"): ("b", "1", "R")}, states=("b", "a"), tape_alphabet=("1", "_"))
    program = SMALL.holding(given)
    assert program.names.states == ("a", "b", "q2", "halt")
    assert program.names.symbols == ("_", "1")
    assert lines(program) == ["q1,1 →(q0,0,-1)", "q0,0 →(q1,1,+1)"]


def test_the_first_state_without_rules_is_halt_and_further_ones_take_spare_places() -> None:
    rules: Rules = {("a", "_"): ("end", "1", "R"), ("a", "1"): ("stop", "1", "R")}
    program = SMALL.holding(machine(rules))
    assert program.names.states == ("a", "stop", "q2", "end")
    assert lines(program) == ["q0,0 →(halt,1,+1)", "q0,1 →(q1,1,+1)"]
    assert UniversalTruth(program, "1").result() == result(machine(rules), "1")


def test_verdict_states_take_no_places_and_missing_rules_reject() -> None:
    rules: Rules = {("a", "_"): ("yes", "1", "R"), ("a", "1"): ("yea", "1", "R"), ("b", "1"): ("no", "1", "S")}
    given = machine({**rules, ("b", "_"): ("dead", "_", "R"), ("c", "1"): ("a", "_", "L")}, accept=("yes", "yea"))
    program = SMALL.holding(given)
    assert size_of(given) == (3, 2)
    assert program.names.states == ("a", "b", "c", "halt")
    assert lines(program) == [*("q0,0 →ACC", "q0,1 →ACC", "q1,1 →REJ", "q1,0 →REJ"), *("q2,1 →(q0,0,-1)", "q2,0 →REJ")]
    assert program.unruled == {("c", "_"): "REJ"}


@pytest.mark.parametrize(
    ("ends", "verdict", "outcome"),
    [
        ({"accept": ("a",)}, "ACC", "accept"),
        ({"reject": ("a",)}, "REJ", "reject"),
        ({"accept": ("yes",), "states": ("a", "yes")}, "REJ", "reject"),
        ({"accept": (), "states": ("a",)}, "REJ", "reject"),
    ],
)
def test_a_verdict_in_the_start_state_stands_in_the_prompt_for_every_symbol(
    ends: dict[str, Any], verdict: str, outcome: str
) -> None:
    given = machine({}, input_alphabet=("1",), **ends)
    program = SMALL.holding(given)
    assert set(lines(program)) == {f"q0,0 →{verdict}", f"q0,1 →{verdict}"}
    for word in ("", "1"):
        truth = UniversalTruth(program, word)
        rows = list(truth.rows())
        assert [row.y for row in rows[-2:]] == [f"(a,{word or '_'},0)", verdict]
        assert truth.result() == result(given, word)
        assert truth.result().outcome == outcome


def test_a_start_state_called_accept_is_judged_as_the_machine_judges_it() -> None:
    """By its name alone it would accept, in a machine that says nothing of verdicts."""
    for ends, outcome in (({}, "accept"), ({"reject": ("accept",)}, "reject"), ({"accept": ()}, "reject")):
        given = machine({}, start="accept", input_alphabet=("1",), **ends)
        assert UniversalTruth(SMALL.holding(given), "1").result() == result(given, "1")
        assert result(given, "1").outcome == outcome


def test_a_machine_without_rules_halts_at_once() -> None:
    program = SMALL.holding(machine({}, input_alphabet=("1",)))
    assert lines(program) == []
    assert [row.y for row in UniversalTruth(program, "").rows()] == ["two-way", "(a,_,0)", "HALT"]


def test_one_state_one_symbol_and_no_input() -> None:
    assert Universal(1, 1) == Universal(states=1, symbols=1)
    program = Universal(1, 1).holding(machine({("a", "_"): ("a", "_", "R")}, input_alphabet=()))
    assert (
        program.names.vocabulary(()) == Universal(states=1, symbols=1, tape="two-way", machine=program.machine).vocabulary
    )
    assert lines(program) == ["q0,0 →(q0,0,+1)"]
    assert UniversalTruth(program, "", max_steps=5).result().steps == 5


def test_states_that_are_never_reached_count() -> None:
    rules: Rules = {("a", "_"): ("a", "_", "R"), ("far", "_"): ("off", "_", "R")}
    assert size_of(machine(rules)) == (2, 1)
    assert lines(SMALL.holding(machine(rules))) == ["q0,0 →(q0,0,+1)", "q1,0 →(halt,0,+1)"]


@pytest.mark.parametrize("name", ["→ACC", "→REJ"])
def test_a_state_cannot_be_called_like_a_verdict_in_the_prompt(name: str) -> None:
    """The reference stops in states of these names."""
    words = f"machine: its state '{name}' has the name of a verdict in the prompt: rename it"
    for rules in ({("a", "_"): (name, "_", "R")}, {(name, "_"): ("a", "_", "R"), ("a", "_"): (name, "_", "R")}):
        with pytest.raises(CompileError) as refused:
            SMALL.holding(machine(rules))
        assert str(refused.value) == words
    deciding = machine({("a", "_"): (name, "_", "R")}, accept=(name,))
    assert lines(SMALL.holding(deciding))[0] == "q0,0 →ACC"
    assert UniversalTruth(SMALL.holding(deciding), "").result() == result(deciding, "")


# ── order ───────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_seed_shuffles_the_rules_and_always_in_the_same_way() -> None:
    given = load("palindromes")
    own = EVERY.holding(given)
    assert own.entries == EVERY.holding(given, seed=None).entries
    orders = {EVERY.holding(given, seed=seed).entries for seed in range(20)}
    assert len(orders) == 20
    assert own.entries not in orders
    for entries in orders:
        assert sorted(map(str, entries)) == sorted(map(str, own.entries))
    assert EVERY.holding(given, seed=7).entries == EVERY.holding(given, seed=7).entries


# ── what stands in the prompt ───────────────────────────────────────────────────────────────────────────────
def test_the_machine_in_the_prompt_does_what_the_machine_does() -> None:
    """Outcome, steps, tape and ones of `UniversalTruth` are those of the simulator of the machine itself."""
    chance, outcomes = random.Random(8), dict[str, int]()
    for n in range(tries(2_000)):
        given = random_machine(chance, 1 + n % 8, 1 + n % 4, chance.choice(("one-way", "two-way")))
        word, steps = random_word(chance, given), chance.choice((0, 1, 2, 50))
        truth = UniversalTruth(EVERY.holding(given, seed=n), word, max_steps=steps)
        right = result(given, word, max_steps=steps)
        assert truth.result() == right, given
        outcomes[right.outcome] = outcomes.get(right.outcome, 0) + 1
    assert set(outcomes) == {"accept", "reject", "halt", "limit"}


def test_what_stands_in_the_prompt_gives_no_verdicts_of_its_own() -> None:
    given = machine({("a", "_"): ("yes", "1", "R"), ("b", "1"): ("a", "1", "L")}, accept=("yes",))
    program = SMALL.holding(given)
    assert not program.standing.decides
    assert dict(program.standing.transitions) == {("a", "_"): ("→ACC", "1", 1), ("b", "1"): ("a", "1", -1)}
    assert dict(program.unruled) == {("a", "1"): "REJ", ("b", "_"): "REJ"}


def test_rules_in_a_prompt_stand_for_a_machine() -> None:
    chance = random.Random(2)
    for n in range(200):
        program, word = described(random_prompt(chance, 1 + n % 8, 1 + n % 4, "one-way"))
        assert dict(program.standing.transitions) == dict(program.right.transitions)
        assert program.names == program.canonical
        assert dict(program.unruled) == {}
        assert program.right.input == word


# ── refusals ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_class_without_a_machine_runs_nothing() -> None:
    assert SMALL.entries == ()
    assert SMALL.empty is SMALL
    assert SMALL.holding(load("busy-beaver-2"), seed=3).empty == SMALL
