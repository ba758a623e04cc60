"""The state graph of a machine as a networkx multigraph, and what follows from it.

The graph ignores the tape: a path in it is a run that the tape may or may not allow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tm2tfr.sources.turing.spec import Machine

if TYPE_CHECKING:
    import networkx as nx


# ── which states a run can reach, and from which it can halt, whatever the tape says ──────────────────
# A walk over the rules, without networkx, which takes longer to import than a short run takes to be checked.
# What is ruled out here (a state without a path from the start, a state without a path to a halt) is ruled out
# for every input.
def reachable_states(machine: Machine) -> frozenset[str]:
    """Return the states that have a path from the start state, the start state included."""
    after: dict[str, set[str]] = {}
    for (q, _), rule in machine.transitions.items():
        after.setdefault(q, set()).add(rule.state)
    return _closure([machine.start], after)


def dead_states(machine: Machine) -> frozenset[str]:
    """Return the states from which no halt can be reached: a run that enters one never ends.

    A run halts in a halting state, and in a state without a rule for the symbol read.
    """
    before: dict[str, set[str]] = {}
    for (q, _), rule in machine.transitions.items():
        before.setdefault(rule.state, set()).add(q)
    hopeful = _closure([*machine.halting_states, *(q for q, _ in machine.missing_rules)], before)
    return frozenset(machine.states) - hopeful


def unread_symbols(machine: Machine) -> tuple[str, ...]:
    """Return the tape symbols, the blank apart, that no rule reads."""
    read = {a for _, a in machine.transitions}
    return tuple(a for a in machine.tape_alphabet if a != machine.blank and a not in read)


def _closure(first: Iterable[str], following: Mapping[str, set[str]]) -> frozenset[str]:
    """Return the states that can be come to from the `first` ones, these included."""
    found = set(first)
    waiting = list(found)
    while waiting:
        new = following.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return frozenset(found)


def to_graph(machine: Machine) -> nx.MultiDiGraph[str]:
    """Return the state graph: a node for each state, in the machine's order, and an edge for each rule.

    A node has the attributes ``start``, ``accept``, ``reject`` and ``halting`` (bool). The edge of
    δ(q, a) = (r, b, m) goes from q to r, its key is ``a``, and it has the attributes ``rule``, ``read``
    (a), ``write`` (b) and ``move`` (m: -1, 0 or +1).
    """
    import networkx as nx  # noqa: PLC0415  (it takes longer to import than a short run takes)

    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph(name=machine.name)
    accept, reject = set(machine.accept_states), set(machine.reject_states)
    for q in machine.states:
        ends = {"accept": q in accept, "reject": q in reject, "halting": q in machine.halting_states}
        graph.add_node(q, start=q == machine.start, **ends)
    for (q, a), rule in machine.transitions.items():
        graph.add_edge(q, rule.state, key=a, rule=rule, read=a, write=rule.write, move=rule.move)
    return graph
