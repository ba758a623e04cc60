"""Topological order and cycles, against networkx."""

from __future__ import annotations

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from tm2tfr.sources.circuit.order import cycles, topological

needs = st.integers(1, 8).flatmap(lambda n: st.lists(st.lists(st.integers(0, n - 1), max_size=3), min_size=n, max_size=n))


def graph_of(needed: list[list[int]]) -> nx.DiGraph[int]:
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(needed)))
    graph.add_edges_from((other, part) for part, others in enumerate(needed) for other in others)
    return graph


@given(needs)
def test_an_order_or_else_a_cycle(needed: list[list[int]]) -> None:
    order = topological(needed)
    assert (order is None) == (not nx.is_directed_acyclic_graph(graph_of(needed)))
    assert bool(cycles(needed)) == (order is None)
    if order is not None:
        assert sorted(order) == list(range(len(needed)))
        place = {part: n for n, part in enumerate(order)}
        assert all(place[other] < place[part] for part, others in enumerate(needed) for other in others)


@given(needs)
def test_cycles_are_shortest_and_one_of_each_component(needed: list[list[int]]) -> None:
    graph = graph_of(needed)
    shortest: dict[frozenset[int], int] = {}
    for cycle in nx.simple_cycles(graph):
        component = frozenset(x for x in graph if nx.has_path(graph, x, cycle[0]) and nx.has_path(graph, cycle[0], x))
        if min(component) in cycle:
            shortest[component] = min(len(cycle), shortest.get(component, len(cycle)))
    found = cycles(needed)
    assert {min(component): length for component, length in shortest.items()} == {cycle[0]: len(cycle) for cycle in found}
    assert all(graph.has_edge(a, b) for cycle in found for a, b in zip(cycle, [*cycle[1:], cycle[0]], strict=True))


def test_the_order_given_is_kept_where_it_can_be() -> None:
    assert topological([[], [3], [], [], [1, 0]]) == [0, 3, 1, 2, 4]
    assert topological([[4], [], [], [], [3]]) == [3, 4, 0, 1, 2]
