"""The scores of one cluster of a selector: query rows and key rows whose product is 1 iff the key satisfies it (Lemma
1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tm2tfr.sources.sequence.clusters import SelectorCluster
from tm2tfr.sources.sequence.compiler.codes import ONE, BitForm, Code, added
from tm2tfr.sources.sequence.domains import Domains
from tm2tfr.sources.sequence.functions import Tuple, roots_of
from tm2tfr.sources.sequence.graph import NO_KIND, Compare, Item, Operation, Position, called, text_of

ScorePairs = tuple[tuple[BitForm, BitForm], ...]
"""Pairs of linear forms, of the query and of the key: the score is the sum of their products."""


class CodeBook(Protocol):
    """What gives the code of every value that a head compares."""

    def linear(self, node: Operation) -> Code:
        """Return the code of a node of which each value is one bit."""

    def grouped(
        self, cluster: SelectorCluster, side: str, nodes: tuple[Operation, ...], entries: tuple[tuple[Item, Item], ...]
    ) -> Operation:
        """Return the node that says which of some kinds the values of `nodes` are of, the keys or queries of a cluster."""

    def equal_numbers(self, key: Operation, query: Operation) -> tuple[ScorePairs, int] | None:
        """Return the scores of a head that selects equal numbers, and the attention layers before it; None: use codes."""


@dataclass(frozen=True)
class Scored:
    """The scores of a cluster.

    Args:
        scores: pairs of linear forms, of the query and of the key.
        rows: for each kind of query, named by one of them, the bit of a query of that kind and that of a key that
            satisfies it.
        brought: for each kind of query, the keys that satisfy it.
        always: whether every key satisfies every query, so that the cluster adds nothing.
        depth: the number of attention layers before the compared values are written.
    """

    scores: ScorePairs
    rows: Mapping[Item, tuple[BitForm, BitForm]]
    brought: Mapping[Item, Sequence[Tuple]]
    always: bool
    depth: int


def scored(codes: CodeBook, domains: Domains, cluster: SelectorCluster, *, causal: bool, numbers: bool) -> Scored:
    """Return the scores of a cluster: one component for each kind of query, or for each kind of key if these are fewer.

    Args:
        numbers: whether it is all of its selector, which always selects something: then equal numbers may be compared as
            numbers, by two components.
    """
    if numbers and _equality(cluster):
        found = codes.equal_numbers(cluster.keys[0], cluster.queries[0])
        if found is not None:
            return Scored(found[0], {}, {}, always=False, depth=found[1])
    keys, queries = _together(domains, cluster.keys), _together(domains, cluster.queries)
    for nodes, values in ((cluster.keys, keys), (cluster.queries, queries)):
        if len({text_of(_name(each)) for each in values}) < len(values):
            what = f"{', '.join(map(called, nodes))} have different values that look the same"
            raise domains.graph.refusal(nodes[0], what, "give them values of one type, and tokens without commas")
    whole = cluster.matrix(keys, queries)
    if _always(cluster, whole, keys, queries, causal):
        return Scored((), {}, {}, always=True, depth=0)
    query_kinds, key_kinds = kinds_of(whole), kinds_of(whole.T)
    kinds_of_query = {_name(queries[same[0]]): [queries[n] for n in same] for same in query_kinds}
    kinds_of_key = {_name(keys[same[0]]): [keys[n] for n in same] for same in key_kinds}
    asked, asked_depth = _bits(codes, cluster, "queries", queries, kinds_of_query)
    brought, brought_depth = _bits(codes, cluster, "keys", keys, kinds_of_key)
    small = whole[np.ix_([same[0] for same in query_kinds], [same[0] for same in key_kinds])]
    key_bits, query_bits = list(brought.values()), list(asked.values())
    of_query = {
        kind: (bit, added(key_bits[n] for n in np.flatnonzero(row)))
        for (kind, bit), row in zip(asked.items(), small, strict=True)
    }
    scores: ScorePairs = tuple(of_query.values())
    if len(kinds_of_key) < len(kinds_of_query):
        scores = tuple(
            (added(query_bits[n] for n in np.flatnonzero(column)), bit)
            for bit, column in zip(key_bits, small.T, strict=True)
        )
    brought_by = {
        kind: [keys[n] for n in np.flatnonzero(whole[same[0]])]
        for kind, same in zip(kinds_of_query, query_kinds, strict=True)
    }
    return Scored(scores, of_query, brought_by, always=False, depth=max(asked_depth, brought_depth))


def _equality(cluster: SelectorCluster) -> bool:
    """Return whether it says that one node is equal to another one, and no more."""
    (part, negated), *more = cluster.parts
    plain = isinstance(part, Compare) and part.relation == "==" and not negated and not more
    return plain and len(cluster.keys) == len(cluster.queries) == 1


def _together(domains: Domains, nodes: tuple[Operation, ...]) -> list[Tuple]:
    """Return the values that `nodes` can have together."""
    if not nodes:
        return [()]
    if len(nodes) == 1:
        return [(value,) for value in domains.values(nodes[0])]
    return [value for value in domains.values(domains.joint(nodes)) if isinstance(value, tuple)]


def _always(
    cluster: SelectorCluster, whole: NDArray[np.bool_], keys: Sequence[Tuple], queries: Sequence[Tuple], causal: bool
) -> bool:
    """Return whether every key that a query can see satisfies it."""
    positions = all(isinstance(node, Position) for node in (*cluster.keys, *cluster.queries))
    if causal and positions and len(keys[0]) == len(queries[0]) == 1:
        places = np.array([key for (key,) in keys]), np.array([query for (query,) in queries])
        return bool((whole | (places[0][None, :] > places[1][:, None])).all())
    return bool(whole.all())


def kinds_of(rows: NDArray[np.bool_]) -> list[list[int]]:
    """Return the numbers of the rows that are equal together, those of rows without a truth left out."""
    grouped: dict[bytes, list[int]] = {}
    for number, row in enumerate(np.packbits(rows, axis=1)):
        grouped.setdefault(row.tobytes(), []).append(number)
    return [same for same in grouped.values() if rows[same[0]].any()]


def _name(values: Tuple) -> Item:
    """Return one of a kind as its name: a tuple, or the value alone if it is one."""
    return values[0] if len(values) == 1 else values


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
    coded = codes.linear(codes.grouped(cluster, side, nodes, entries))
    return {kind: coded.bits[text_of(kind)] for kind in kinds}, coded.time.depth
