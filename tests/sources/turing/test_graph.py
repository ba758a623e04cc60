"""The state graph: every node and edge with its data, and networkx's answers against a closure by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tm2tfr.sources.turing.graph import dead_states, reachable_states, to_graph, unread_symbols
from tm2tfr.sources.turing.spec import Machine, Rule

# a goes round with b or accepts; trap and pit have no rule for y only; nobody comes to island
LOOPY = Machine(
    name="loopy",
    transitions={
        ("a", "0"): ("b", "1", "R"),
        ("a", "1"): ("b", "1", "R"),
        ("a", "_"): ("yes", "_", "S"),
        ("b", "0"): ("a", "0", "L"),
        ("b", "1"): ("trap", "1", "R"),
        ("b", "_"): ("trap", "_", "R"),
        ("trap", "0"): ("pit", "0", "R"),
        ("trap", "1"): ("trap", "1", "R"),
        ("trap", "_"): ("trap", "_", "R"),
        ("trap", "x"): ("trap", "x", "L"),
        ("pit", "0"): ("trap", "x", "L"),
        ("pit", "1"): ("trap", "1", "L"),
        ("pit", "_"): ("trap", "_", "L"),
        ("pit", "x"): ("trap", "x", "L"),
        ("island", "0"): ("a", "y", "R"),
    },
    start="a",
    blank="_",
    accept=("yes",),
    reject=("no",),
)


def test_nodes_are_the_states_in_the_machines_order() -> None:
    plain = {"start": False, "accept": False, "reject": False, "halting": False}
    assert list(to_graph(LOOPY).nodes(data=True)) == [
        ("a", plain | {"start": True}),
        ("b", plain),
        ("trap", plain),
        ("pit", plain),
        ("island", plain),
        ("yes", plain | {"accept": True, "halting": True}),
        ("no", plain | {"reject": True, "halting": True}),
    ]


def test_edges_are_the_rules() -> None:
    machine = Machine(
        transitions={("a", "0"): ("b", "1", "R"), ("a", "1"): ("b", "1", "S"), ("b", "0"): ("b", "0", "L")},
        start="a",
        blank="0",
    )
    assert list(to_graph(machine).edges(keys=True, data=True)) == [
        ("a", "b", "0", {"rule": Rule("b", "1", +1), "read": "0", "write": "1", "move": +1}),
        ("a", "b", "1", {"rule": Rule("b", "1", 0), "read": "1", "write": "1", "move": 0}),
        ("b", "b", "0", {"rule": Rule("b", "0", -1), "read": "0", "write": "0", "move": -1}),
    ]


def test_the_graph_has_the_machines_name() -> None:
    assert to_graph(LOOPY).graph == {"name": "loopy"}


def test_reachable_states() -> None:
    assert reachable_states(LOOPY) == {"a", "b", "yes", "trap", "pit"}


def test_the_start_state_is_reachable_without_a_rule() -> None:
    assert reachable_states(Machine(transitions={}, start="a", blank="_")) == {"a"}


def test_dead_states() -> None:
    """Trap lacks a rule for y, so a run may halt there."""
    assert dead_states(LOOPY) == frozenset()
    closed = Machine(
        transitions={**LOOPY.transitions, ("trap", "y"): ("pit", "y", 1), ("pit", "y"): ("trap", "y", 1)},
        start="a",
        blank="_",
        accept=("yes",),
    )
    assert dead_states(closed) == {"trap", "pit"}


def test_a_machine_of_dead_states_only() -> None:
    spin = Machine(transitions={("a", "_"): ("a", "_", "R")}, start="a", blank="_")
    assert dead_states(spin) == {"a"}


def test_unread_symbols_leave_out_the_blank() -> None:
    machine = Machine(transitions={("a", "1"): ("a", "y", "R")}, start="a", blank="_", tape_alphabet=tuple("z1_y"))
    assert unread_symbols(machine) == ("z", "y")
    assert unread_symbols(LOOPY) == ("y",)


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    """Up to six states, three symbols, any partial δ."""
    states = [f"q{i}" for i in range(draw(st.integers(1, 6)))]
    rule = st.tuples(st.sampled_from(states), st.sampled_from("_01"), st.sampled_from("LRS"))
    keys = st.tuples(st.sampled_from(states), st.sampled_from("_01"))
    table = draw(st.dictionaries(keys, rule, max_size=18))
    return Machine(transitions=table, start="q0", blank="_", states=tuple(states), tape_alphabet=("_", "0", "1"))


def closure(machine: Machine) -> set[tuple[str, str]]:
    """Return the pairs (q, r) with a path from q to r, the empty path included."""
    paths = {(q, q) for q in machine.states} | {(q, rule.state) for (q, _), rule in machine.transitions.items()}
    while True:
        longer = paths | {(p, r) for p, q in paths for q2, r in paths if q == q2}
        if longer == paths:
            return paths
        paths = longer


@pytest.mark.slow
@given(machines())
def test_against_a_closure_by_hand(machine: Machine) -> None:
    paths = closure(machine)
    stops = {q for q in machine.states for a in machine.tape_alphabet if (q, a) not in machine.transitions}
    assert reachable_states(machine) == {r for q, r in paths if q == "q0"}
    assert dead_states(machine) == set(machine.states) - {q for q, r in paths if r in stops}


@pytest.mark.slow
@given(machines())
def test_the_graph_holds_every_rule_once(machine: Machine) -> None:
    edges = to_graph(machine).edges(keys=True, data="rule")
    assert {(q, a): rule for q, _, a, rule in edges} == dict(machine.transitions)
    assert len(edges) == len(machine.transitions)


@pytest.mark.slow
def test_a_thousand_states() -> None:
    """One ring of 1,000 states: deep enough to break anything that recurses."""
    table = {(f"q{i}", a): (f"q{(i + (a != '_')) % 1000}", a, "R") for i in range(1000) for a in "_123456789"}
    machine = Machine(transitions=table, start="q0", blank="_")
    everything = frozenset(machine.states)
    assert len(everything) == 1000
    assert reachable_states(machine) == dead_states(machine) == everything
