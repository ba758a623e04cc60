"""The scores of one cluster of a selector: query rows and key rows whose product is 1 iff the key satisfies it (Lemma
1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tm2tfr.sources.sequence.clusters import SelectorCluster
from tm2tfr.sources.sequence.compiler.codes import ONE, BitForm, Code, added
from tm2tfr.sources.sequence.domains import Domains
from tm2tfr.sources.sequence.elementwise import Tuple, roots_of
from tm2tfr.sources.sequence.graph import NO_KIND, Apply, Item, Operation, Position, text_of


class CodeBook(Protocol):
    """What gives the code of every value that a head compares."""

    def linear(self, node: Operation) -> Code:
        """Return the code of a node of which each value is one bit."""

    def grouped(self, key: str, nodes: tuple[Operation, ...], entries: tuple[tuple[Item, Item], ...]) -> Operation:
        """Return the node that says which of some kinds the values of `nodes` are of."""


@dataclass(frozen=True)
class Scored:
    """The scores of a cluster.

    Args:
        scores: pairs of linear forms, of the query and of the key.
        rows: for each kind of query, named by one of them, the bit of a query of that kind and that of a key that
            satisfies it.
        brought: for each kind of query, the keys that satisfy it.
        always: whether every key satisfies every query, so that the cluster adds nothing.
        depth: how many attention layers there are before what it compares is there.
    """

    scores: tuple[tuple[BitForm, BitForm], ...]
    rows: Mapping[Item, tuple[BitForm, BitForm]]
    brought: Mapping[Item, frozenset[Tuple]]
    always: bool
    depth: int


def scored(codes: CodeBook, domains: Domains, cluster: SelectorCluster, causal: bool) -> Scored:
    """Return the scores of a cluster: one component for each kind of query, or for each kind of key if these are fewer."""
    keys, queries = _together(domains, cluster.keys), _together(domains, cluster.queries)
    rows = {query: frozenset(key for key in keys if cluster(key, query)) for query in queries}
    if _always(cluster, rows, keys, causal):
        return Scored((), {}, {}, always=True, depth=0)
    kinds_of_query = _kinds({query: row for query, row in rows.items() if row})
    columns = {key: frozenset(query for query in queries if key in rows[query]) for key in keys}
    kinds_of_key = _kinds({key: column for key, column in columns.items() if column})
    asked, asked_depth = _bits(codes, cluster, "queries", queries, kinds_of_query)
    brought, brought_depth = _bits(codes, cluster, "keys", keys, kinds_of_key)
    pairs: dict[Item, tuple[BitForm, BitForm]] = {}
    for query, alike in kinds_of_query.items():
        row = rows[alike[0]]
        pairs[query] = asked[query], added(brought[key] for key, same in kinds_of_key.items() if same[0] in row)
    scores: tuple[tuple[BitForm, BitForm], ...] = tuple(pairs.values())
    if len(kinds_of_key) < len(kinds_of_query):
        scores = tuple(
            (added(asked[query] for query, same in kinds_of_query.items() if alike[0] in rows[same[0]]), brought[key])
            for key, alike in kinds_of_key.items()
        )
    brought_by = {kind: rows[same[0]] for kind, same in kinds_of_query.items()}
    return Scored(scores, pairs, brought_by, always=False, depth=max(asked_depth, brought_depth))


def _together(domains: Domains, nodes: Sequence[Operation]) -> list[Tuple]:
    """Return the values that `nodes` can have together."""
    if not nodes:
        return [()]
    if len(nodes) == 1:
        return [(value,) for value in domains.values(nodes[0])]
    return [value for value in domains.values(_tuple(nodes)) if isinstance(value, tuple)]


def _tuple(nodes: Sequence[Operation]) -> Apply:
    return Apply(key=f"({','.join(node.key for node in nodes)})", operator="tuple", arguments=tuple(nodes))


def _always(cluster: SelectorCluster, rows: Mapping[Tuple, frozenset[Tuple]], keys: Sequence[Tuple], causal: bool) -> bool:
    """Return whether every key that a query can see satisfies it."""
    ordered = causal and all(isinstance(node, Position) for node in (*cluster.keys, *cluster.queries))
    if ordered and cluster.keys and cluster.queries:
        return all(key in row for (i,), row in rows.items() for key in keys if key[0] <= i)  # type: ignore[operator]
    return all(len(row) == len(keys) for row in rows.values())


def _kinds(rows: Mapping[Tuple, frozenset[Tuple]]) -> dict[Item, list[Tuple]]:
    """Return the values with equal rows together, by the first of them."""
    grouped: dict[frozenset[Tuple], list[Tuple]] = {}
    for own, row in rows.items():
        grouped.setdefault(row, []).append(own)
    return {same[0] if len(same[0]) != 1 else same[0][0]: same for same in grouped.values()}


def _bits(
    codes: CodeBook, cluster: SelectorCluster, side: str, every: Sequence[Tuple], kinds: Mapping[Item, list[Tuple]]
) -> tuple[dict[Item, BitForm], int]:
    """Return the bit of every kind of key or query, and the number of attention layers before it."""
    nodes = cluster.keys if side == "keys" else cluster.queries
    if not nodes:
        return dict.fromkeys(kinds, ONE), 0
    if len(nodes) == 1 and (len(roots_of(nodes)) == 1 or all(len(same) == 1 for same in kinds.values())):
        coded = codes.linear(nodes[0])
        return {kind: added(coded.bits[value] for (value,) in same) for kind, same in kinds.items()}, coded.time.depth
    label_of = {each: text_of(kind) for kind, same in kinds.items() for each in same}
    entries = tuple((each[0] if len(nodes) == 1 else each, label_of.get(each, NO_KIND)) for each in every)
    coded = codes.linear(codes.grouped(f"{side} {cluster.claim}", nodes, entries))
    return {kind: coded.bits[text_of(kind)] for kind in kinds}, coded.time.depth
