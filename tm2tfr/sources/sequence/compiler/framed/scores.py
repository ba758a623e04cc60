"""What a head compares: the conjuncts of a selector, each with a score of 0 or 1, or less than 0 for unequal numbers.

A conjunct over finite values is a sum of products: one for each kind of query, of the bit of that kind and that of the keys
which it selects, or the other way round if there are fewer kinds of keys. The keys that satisfy all conjuncts have the
largest score, if there are any. Two numbers are compared by ``-(k - q)²``, less the square of the query.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from tm2tfr.sources.sequence.clusters import SelectorCluster, nodes_of
from tm2tfr.sources.sequence.compiler.codes import added
from tm2tfr.sources.sequence.compiler.framed.bits import Bit, BitPlan, Finite
from tm2tfr.sources.sequence.compiler.heads import kinds_of
from tm2tfr.sources.sequence.compiler.tables import boxes
from tm2tfr.sources.sequence.graph import Combine, Compare, Item, Operation, Selection

MOST_KINDS = 4_096
"""The values of a conjunct's nodes are gone through together, up to so many."""


@dataclass(frozen=True)
class Conjunct:
    """A conjunct over finite values: ``Σ query bit · key bit``, which is 1 for a key that satisfies a query, otherwise 0.

    Args:
        pairs: the bit of a query and that of a key.
        local: whether it compares nothing at the query, so that its only query bit is 1 everywhere.
    """

    pairs: tuple[tuple[Bit, Bit], ...]
    local: bool


def conjuncts_of(selector: Selection) -> tuple[Selection, ...]:
    """Return the parts of a selector that is a conjunction; otherwise it alone."""
    return selector.parts if isinstance(selector, Combine) and selector.operator == "and" else (selector,)


def finite_conjunct(
    part: Selection, code: Callable[[Operation], Finite], bits: BitPlan, refused: Callable[[], Exception]
) -> Conjunct:
    """Return a conjunct over finite values.

    Args:
        code: the code of each node that it compares.
        refused: the error if there are too many values together.
    """
    keys, queries = nodes_of(part)
    own, asked = [code(node) for node in keys], [code(node) for node in queries]
    key_values, query_values = (list(product(*(each.bits for each in side))) for side in (own, asked))
    if len(key_values) * len(query_values) > MOST_KINDS:
        raise refused()
    whole = SelectorCluster(((part, False),), keys, queries).matrix(key_values, query_values)
    by_query, by_key = kinds_of(whole), kinds_of(whole.T)

    def bit(side: Sequence[Finite], values: Sequence[tuple[Item, ...]], chosen: Sequence[int]) -> Bit:
        return _one_of(bits, side, values, [values[n] for n in chosen])

    pairs = []
    if len(by_key) < len(by_query):
        for same in by_key:
            satisfied = np.flatnonzero(whole[:, same[0]]).tolist()
            pairs.append((bit(asked, query_values, satisfied), bit(own, key_values, same)))
    else:
        for same in by_query:
            brought = np.flatnonzero(whole[same[0]]).tolist()
            pairs.append((bit(asked, query_values, same), bit(own, key_values, brought)))
    return Conjunct(tuple(pairs), local=not queries)


def _one_of(
    bits: BitPlan, codes: Sequence[Finite], every: Sequence[tuple[Item, ...]], chosen: Sequence[tuple[Item, ...]]
) -> Bit:
    """Return the bit that says that the values are among `chosen`: a sum of conjunctions of sums."""
    if len(chosen) == len(every):
        return bits.inside
    wanted = set(chosen)
    table: dict[tuple[Item, ...], Item] = {values: values in wanted for values in every}
    ways = [
        [
            _sum([code.bits[value] for value in own])
            for code, own in zip(codes, box, strict=True)
            if len(own) < len(code.bits)
        ]
        for box, result in boxes(table)
        if result
    ]
    if len(ways) == 1:
        return bits.both(ways[0])
    return bits.several(ways)


def _sum(parts: Sequence[Bit]) -> Bit:
    """Return the disjunction of bits of which no two are 1 together."""
    said = tuple(sorted({words for part in parts for words in part.said}))
    return Bit(added(part.form for part in parts), max(part.time for part in parts), said)


def is_equality_of_numbers(part: Selection, finite: Callable[[Operation], bool]) -> bool:
    """Return whether a conjunct says that two numbers are equal."""
    return isinstance(part, Compare) and part.relation == "==" and not (finite(part.keys) and finite(part.queries))
