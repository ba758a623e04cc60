"""Clusters of a selector: all of them together are the selector, and a cluster's matrix is the cluster."""

from __future__ import annotations

from itertools import product
from operator import eq, ge, gt, le, lt, ne

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import tries
from tm2tfr.sources.sequence.clusters import SelectedKeys, SelectorCluster, clusters, nodes_of
from tm2tfr.sources.sequence.graph import Combine, Compare, Fixed, Item, Operation, Position, Selection

KEYS = [Position(key=f"k{n}") for n in range(2)]
QUERIES = [Position(key=f"q{n}") for n in range(2)]
FIXED = [Fixed(key="one", value=1)]
VALUES: list[Item] = [0, 1, 2]
MEANING = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}

compared = st.builds(
    Compare,
    key=st.just("c"),
    keys=st.sampled_from([*KEYS, *FIXED]),
    queries=st.sampled_from([*QUERIES, *FIXED]),
    relation=st.sampled_from(sorted(MEANING)),
)
selectors = st.recursive(
    compared,
    lambda inner: st.one_of(
        st.builds(Combine, key=st.just("c"), operator=st.just("not"), parts=st.tuples(inner)),
        st.builds(Combine, key=st.just("c"), operator=st.sampled_from(["and", "or"]), parts=st.tuples(inner, inner)),
    ),
    max_leaves=6,
)


def holds(selector: Selection, known: dict[Operation, Item]) -> bool:
    """Return whether it selects, as it is read."""
    if isinstance(selector, Compare):
        return bool(MEANING[selector.relation](known[selector.keys], known[selector.queries]))
    parts = [holds(part, known) for part in selector.parts]
    return {"and": all(parts), "or": any(parts), "not": not parts[0]}[selector.operator]


def satisfied(cluster: SelectorCluster, keys: tuple[Item, ...], queries: tuple[Item, ...]) -> bool:
    """Return whether a query with some values is satisfied by a key with some."""
    known = dict(zip((*cluster.keys, *cluster.queries), (*keys, *queries), strict=True))
    known |= {FIXED[0]: FIXED[0].value}
    return all(holds(part, known) != negated for part, negated in cluster.parts)


@given(selectors)
@settings(max_examples=tries(200))
def test_all_of_them_are_the_selector(selector: Selection) -> None:
    found = clusters(selector)
    keys, queries = nodes_of(selector)
    for own, asked in product(product(VALUES, repeat=len(keys)), product(VALUES, repeat=len(queries))):
        known = {FIXED[0]: FIXED[0].value, **dict(zip(keys, own, strict=True)), **dict(zip(queries, asked, strict=True))}
        score = [
            satisfied(each, tuple(known[node] for node in each.keys), tuple(known[node] for node in each.queries))
            for each in found
        ]
        assert all(score) == holds(selector, known)


@given(selectors)
@settings(max_examples=tries(100))
def test_a_matrix_is_its_entries(selector: Selection) -> None:
    for cluster in clusters(selector):
        keys = list(product(VALUES, repeat=len(cluster.keys)))
        queries = list(product(VALUES, repeat=len(cluster.queries)))
        assert cluster.matrix(keys, queries).tolist() == [
            [satisfied(cluster, key, query) for key in keys] for query in queries
        ]


@given(selectors, st.data())
@settings(max_examples=tries(100))
def test_keys_are_selected_in_whatever_order_they_come(selector: Selection, data: st.DataObject) -> None:
    for cluster in clusters(selector):
        keys = data.draw(st.permutations(list(product(VALUES, repeat=len(cluster.keys)))))
        queries = list(product(VALUES, repeat=len(cluster.queries)))
        selected, early = SelectedKeys(cluster.parts, cluster.keys, cluster.queries), len(keys) // 2
        for some in (keys[:early], keys):
            bits = [selected.bit(key) for key in some]
            for query in queries:
                mask = selected.selected(query)
                assert [bool(mask & bit) for bit in bits] == [satisfied(cluster, key, query) for key in some]


def test_conjuncts_over_the_same_nodes_are_one_cluster() -> None:
    """A negated disjunction is a conjunction; what compares fewer of the same nodes goes along."""
    (k, _), (q, p) = KEYS, QUERIES
    same = Compare(key="c1", keys=k, queries=q, relation="==")
    late = Compare(key="c2", keys=k, queries=p, relation="<")
    early = Compare(key="c3", keys=k, queries=q, relation=">")
    either = Combine(key="c4", operator="or", parts=(late, early))
    assert [each.claim for each in clusters(Combine(key="c5", operator="and", parts=(same, late)))] == ["c1", "c2"]
    assert [each.claim for each in clusters(Combine(key="c5", operator="and", parts=(same, early)))] == ["c1,c3"]
    assert [each.claim for each in clusters(Combine(key="c5", operator="and", parts=(same, either)))] == ["c4,c1"]
    assert [each.claim for each in clusters(Combine(key="c5", operator="not", parts=(either,)))] == ["!c2", "!c3"]
