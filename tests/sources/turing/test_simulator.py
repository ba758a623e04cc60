"""The ground truth, held against published runs and against a second simulator that shares nothing with it."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tm2tfr.sources.turing.simulator import (
    Configuration,
    Result,
    Simulation,
    Tape,
    configurations,
    outcome_at,
    result,
    trimmed,
)
from tm2tfr.sources.turing.spec import Machine, Rule

SPIN = Machine(transitions={("a", "_"): ("a", "_", "R")}, start="a", blank="_", accept=("yes",), states=("a", "yes"))


def machine(table: dict[tuple[str, str], tuple[str, str, str]], **more: Any) -> Machine:
    """Return the machine that starts in ``a`` with the blank ``_``."""
    return Machine(transitions=table, start="a", blank="_", **more)


# ── published runs ──────────────────────────────────────────────────────────────────────────────────────
def bbchallenge(text: str) -> Machine:
    """Read ``1RB1LB_1LA1RZ``: rows are the states A, B, …, cells the symbols 0, 1, …; ``---`` is no rule."""
    table = {
        (chr(ord("A") + i), str(a)): (row[3 * a + 2], row[3 * a], row[3 * a + 1])
        for i, row in enumerate(text.split("_"))
        for a in range(len(row) // 3)
        if row[3 * a : 3 * a + 3] != "---"
    }
    return Machine(transitions=table, start="A", blank="0")


PUBLISHED = json.loads((Path(__file__).parents[2] / "cases" / "busy-beavers.json").read_text(encoding="utf-8"))
LONG = (
    pytest.mark.slow,
    pytest.mark.skipif(os.environ.get("TM2TFR_LONG") != "1", reason="47 million steps: set TM2TFR_LONG=1"),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [pytest.param(c, id=c["name"], marks=LONG if c["executed_steps"] > 10_000_000 else ()) for c in PUBLISHED]
)
def test_busy_beavers(case: dict[str, Any]) -> None:
    """Steps are the executed ones: halting by ``---`` is no step here, though some count it."""
    got = result(bbchallenge(case["machine"]), max_steps=None if case["outcome"] == "halt" else case["executed_steps"])
    assert got.outcome == {"halt": "halt", "running": "limit"}[case["outcome"]]
    assert got.steps == case["executed_steps"]
    assert got.ones == case.get("ones", got.ones)


def test_the_whole_run_of_the_first_busy_beaver() -> None:
    """Radó (1962) in six steps, cell by cell."""
    run = list(configurations(bbchallenge("1RB1LB_1LA1RZ")))
    assert [(c.step, c.state, c.head, c.symbol, c.cells(), c.rule) for c in run] == [
        (0, "A", 0, "0", ("0", 0), Rule("B", "1", +1)),
        (1, "B", 1, "0", ("10", 0), Rule("A", "1", -1)),
        (2, "A", 0, "1", ("11", 0), Rule("B", "1", -1)),
        (3, "B", -1, "0", ("011", -1), Rule("A", "1", -1)),
        (4, "A", -2, "0", ("0111", -2), Rule("B", "1", +1)),
        (5, "B", -1, "1", ("1111", -2), Rule("Z", "1", +1)),
        (6, "Z", 0, "1", ("1111", -2), None),
    ]


# ── the rules of the game ───────────────────────────────────────────────────────────────────────────────


def test_a_stay_move_writes_and_stays() -> None:
    last = list(configurations(machine({("a", "0"): ("b", "1", "S")}), "0"))[-1]
    assert (last.state, last.head, last.cells(), last.step) == ("b", 0, ("1", 0), 1)


def test_a_missing_rule_is_no_step() -> None:
    stuck = machine({("a", "0"): ("a", "0", "R")}, tape_alphabet=("0", "1", "_"))
    assert result(stuck, "001") == Result(outcome="halt", steps=2, tape="001", cells_visited=3, ones=3)
    assert result(stuck, "001").stuck == ("a", "1")


def test_a_verdict_is_given_on_entry() -> None:
    at_once = machine({}, accept=("a",))
    assert result(at_once) == Result(outcome="accept", steps=0, tape="", cells_visited=1, ones=0)
    after_one = machine({("a", "_"): ("no", "x", "R")}, reject=("no",))
    assert result(after_one) == Result(outcome="reject", steps=1, tape="x", cells_visited=2, ones=1)


@pytest.mark.parametrize(
    ("keys", "end", "want"),
    [
        ({}, "end", "halt"),
        ({}, "accept", "accept"),
        ({}, "Accept", "halt"),
        ({"states": ("a", "end", "accept")}, "end", "reject"),
        ({"accept": "end"}, "end", "accept"),
        ({"accept": "other"}, "end", "reject"),
        ({"accept": "other"}, "accept", "reject"),
        ({"accept": ()}, "accept", "reject"),
        ({"reject": "other"}, "accept", "reject"),
        ({"reject": "end"}, "end", "reject"),
    ],
)
def test_what_an_end_without_rules_means(keys: dict[str, Any], end: str, want: str) -> None:
    assert result(machine({("a", "_"): (end, "_", "R")}, **keys)).outcome == want


@pytest.mark.parametrize(
    ("keys", "want"), [({}, "halt"), ({"accept": "b"}, "reject"), ({"states": ("a", "accept")}, "reject")]
)
def test_what_a_missing_rule_means(keys: dict[str, Any], want: str) -> None:
    assert result(machine({("a", "0"): ("a", "0", "R")}, **keys)).outcome == want


def test_a_state_named_accept_with_rules_gives_no_verdict() -> None:
    assert result(machine({("a", "_"): ("accept", "_", "R"), ("accept", "_"): ("end", "_", "R")})).outcome == "halt"


# ── limits ──────────────────────────────────────────────────────────────────────────────────────────────
def test_a_limit_is_no_verdict() -> None:
    assert result(SPIN, max_steps=7) == Result(outcome="limit", steps=7, tape="", cells_visited=8, ones=0)


@pytest.mark.parametrize(("limit", "outcome", "steps"), [(0, "limit", 0), (5, "limit", 5), (6, "halt", 6), (7, "halt", 6)])
def test_a_machine_that_stops_on_the_last_step_has_stopped(limit: int, outcome: str, steps: int) -> None:
    got = result(bbchallenge("1RB1LB_1LA1RZ"), max_steps=limit)
    assert (got.outcome, got.steps) == (outcome, steps)


def test_no_steps_at_all() -> None:
    assert result(machine({}, accept="a"), max_steps=0).outcome == "accept"
    assert result(SPIN, max_steps=-1).steps == 0


# ── inputs, tapes, configurations ───────────────────────────────────────────────────────────────────────


def test_tapes() -> None:
    assert Tape.holding("", "_") == Tape(None, "_", None, "_")
    tape = Tape.holding("abc", "_")
    assert tape.cells() == (["a", "b", "c"], 0)
    assert tape.write_and_move("x", +1).cells() == (["x", "b", "c"], 1)
    assert tape.write_and_move("x", -1).cells() == (["_", "x", "b", "c"], 0)
    assert tape.write_and_move("x", 0).cells() == (["x", "b", "c"], 0)
    assert tape.cells() == (["a", "b", "c"], 0)


@pytest.mark.slow
def test_a_long_tape_can_be_printed_and_compared() -> None:
    """The tape is nested deeper than Python recurses."""
    one, two = (Tape.holding("ab" * 20_000, "_") for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    assert one != two.write_and_move("x", 0)


def test_the_outer_blanks_are_trimmed_where_the_tape_is_endless() -> None:
    assert trimmed(machine({}), "__0_1__") == "0_1"
    assert trimmed(machine({}, tape="one-way"), "__0_1__") == "__0_1"


def test_configurations_stay_valid_when_kept() -> None:
    beaver = bbchallenge("1RB1LB_1LA0LC_1RZ1LD_1RD0RA")
    as_made = [(c, c.cells()) for c in configurations(beaver)]
    assert len(as_made) == 108
    assert [c.cells() for c, _ in as_made] == [cells for _, cells in as_made]


def test_a_simulation_can_be_watched_and_asked() -> None:
    run = Simulation(bbchallenge("1RB1LB_1LA1RZ"))
    watched = iter(run)
    assert [next(watched).state, next(watched).state] == ["A", "B"]
    assert (run.last.step, run.stopped) == (1, False)
    assert run.result() == Result(outcome="halt", steps=6, tape="1111", cells_visited=4, ones=4)
    assert (run.last.step, run.stopped) == (6, True)
    assert run.result() == result(bbchallenge("1RB1LB_1LA1RZ"))


# ── a second simulator ──────────────────────────────────────────────────────────────────────────────────
Row = tuple[int, str, int, str, tuple[str, int], Rule | None]


def second_opinion(m: Machine, word: str, limit: int) -> tuple[list[Row], Result]:
    """Run `m` with a dict for a tape and the verdicts spelled out once more."""
    cells = defaultdict(lambda: m.blank, enumerate(word))
    state, head, rows, stood = m.start, 0, [], set[int]()
    while True:
        stood.add(head)
        low, high = min(stood), max(*stood, len(word) - 1, 0)
        text = "".join(cells[i] for i in range(low, high + 1))
        rule = m.transitions.get((state, cells[head]))
        rows.append((len(rows), state, head, cells[head], (text, low), rule))
        if rule is None or len(rows) > limit:
            break
        state, cells[head], move = rule
        head = head + move if m.tape == "two-way" else max(0, head + move)
    working = {q for q, _ in m.transitions}
    silent = m.accept is None and m.reject is None
    accepting = {"accept"} & set(m.states) - working if silent else set(m.accept or ())
    verdict = "halt" if silent and not accepting else "accept" if state in accepting else "reject"
    tape = text.rstrip(m.blank) if m.tape == "one-way" else text.strip(m.blank)
    ones = sum(a != m.blank for a in cells.values())
    return rows, Result(
        outcome="limit" if rule else verdict,  # type: ignore[arg-type]
        steps=len(rows) - 1,
        tape=tape,
        cells_visited=len(stood),
        ones=ones,
    )


@st.composite
def runs(draw: st.DrawFn) -> tuple[Machine, str, int]:
    """A machine with 1–6 states and 2–4 symbols, any δ, any keys, either tape; an input; a limit."""
    states = draw(st.permutations(["a", "b", "c", "d", "e", "accept"]))[: draw(st.integers(1, 6))]
    gamma = "_012"[: draw(st.integers(2, 4))]
    rule = st.tuples(st.sampled_from(states), st.sampled_from(gamma), st.sampled_from("LRS"))
    busy = draw(st.lists(st.sampled_from(states), unique=True, max_size=6))
    table = {(q, a): draw(rule) for q in busy for a in gamma if draw(st.integers(0, 5))}
    idle = [q for q in states if q not in {q for q, _ in table}]
    verdicts = draw(st.fixed_dictionaries({q: st.sampled_from(["accept", "reject", ""]) for q in idle}))
    keys = {
        key: tuple(q for q in idle if verdicts[q] == key)
        for key in draw(st.sampled_from([[], ["accept"], ["reject"], ["accept", "reject"]]))
    }
    drawn = Machine(
        transitions=table,
        start=states[0],
        blank="_",
        states=tuple(states),
        tape_alphabet=tuple(gamma),
        tape=draw(st.sampled_from(["one-way", "two-way"])),
        **keys,
    )
    return drawn, draw(st.text(gamma[1:], max_size=6)), draw(st.integers(0, 60))


def row(c: Configuration) -> Row:
    """Return all that a configuration says."""
    return c.step, c.state, c.head, c.symbol, c.cells(), c.rule


@pytest.mark.slow
@given(runs())
def test_against_a_second_simulator(run: tuple[Machine, str, int]) -> None:
    m, word, limit = run
    rows, want = second_opinion(m, word, limit)
    seen = list(configurations(m, word, max_steps=limit))
    assert [row(c) for c in seen] == rows
    assert result(m, word, max_steps=limit) == want
    assert outcome_at(m, seen[-1]) == want.outcome
