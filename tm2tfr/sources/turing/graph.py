"""The state graph of a machine as a networkx multigraph, and what follows from it.

The graph ignores the tape: a path in it is a run that the tape may or may not allow.
"""

from __future__ import annotations

import networkx as nx

from tm2tfr.sources.turing.reach import dead_states, reachable_states, unread_symbols
from tm2tfr.sources.turing.spec import Machine

__all__ = ["components", "dead_states", "reachable_states", "to_graph", "unread_symbols"]


def to_graph(machine: Machine) -> nx.MultiDiGraph[str]:
    """Return the state graph: a node for each state, in the machine's order, and an edge for each rule.

    A node has the attributes ``start``, ``accept``, ``reject`` and ``halting`` (bool). The edge of
    δ(q, a) = (r, b, m) goes from q to r, its key is ``a``, and it has the attributes ``rule``, ``read``
    (a), ``write`` (b) and ``move`` (m: -1, 0 or +1).
    """
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph(name=machine.name)
    accept, reject = set(machine.accept_states), set(machine.reject_states)
    for q in machine.states:
        ends = {"accept": q in accept, "reject": q in reject, "halting": q in machine.halting_states}
        graph.add_node(q, start=q == machine.start, **ends)
    for (q, a), rule in machine.transitions.items():
        graph.add_edge(q, rule.state, key=a, rule=rule, read=a, write=rule.write, move=rule.move)
    return graph


def components(machine: Machine) -> tuple[frozenset[str], ...]:
    """Return the strongly connected components, in the order of their first states in the machine."""
    place = {q: i for i, q in enumerate(machine.states)}
    found = (frozenset(part) for part in nx.strongly_connected_components(to_graph(machine)))
    return tuple(sorted(found, key=lambda part: min(place[q] for q in part)))
