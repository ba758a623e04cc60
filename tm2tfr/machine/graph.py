"""The state graph of a machine as a networkx multigraph, and what follows from it.

The graph ignores the tape: a path in it is a run that the tape may or may not allow. What the graph rules out (a
state without a path from the start, a state without a path to a halt) is ruled out for every input.
"""

from __future__ import annotations

import networkx as nx

from tm2tfr.machine.spec import Machine

_HALT = ""  # an extra node to which every halt leads; no state has an empty name


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


def reachable_states(machine: Machine) -> frozenset[str]:
    """Return the states that have a path from the start state, the start state included."""
    return frozenset({machine.start, *nx.descendants(to_graph(machine), machine.start)})


def dead_states(machine: Machine) -> frozenset[str]:
    """Return the states from which no halt can be reached: a run that enters one never ends.

    A run halts in a halting state, and in a state without a rule for the symbol read.
    """
    graph = to_graph(machine)
    graph.add_node(_HALT)
    graph.add_edges_from((q, _HALT) for q in {*machine.halting_states, *(q for q, _ in machine.missing_rules)})
    hopeful = nx.ancestors(graph, _HALT)
    return frozenset(machine.states) - hopeful


def components(machine: Machine) -> tuple[frozenset[str], ...]:
    """Return the strongly connected components, in the order of their first states in the machine."""
    place = {q: i for i, q in enumerate(machine.states)}
    found = (frozenset(part) for part in nx.strongly_connected_components(to_graph(machine)))
    return tuple(sorted(found, key=lambda part: min(place[q] for q in part)))


def unread_symbols(machine: Machine) -> tuple[str, ...]:
    """Return the tape symbols, except the blank, that no rule reads."""
    read = {a for _, a in machine.transitions}
    return tuple(a for a in machine.tape_alphabet if a != machine.blank and a not in read)
