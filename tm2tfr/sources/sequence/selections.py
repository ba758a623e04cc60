"""What an attention can be, position by position: which key positions a query can select, and what comes of that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Protocol

from tm2tfr.errors import CompileError
from tm2tfr.sources.sequence.clusters import SelectorCluster, clusters, nodes_of, test
from tm2tfr.sources.sequence.elementwise import Tuple, mixed, roots_of
from tm2tfr.sources.sequence.graph import Attend, Item, Operation
from tm2tfr.sources.sequence.means import Offer, Picked, TooManyError, picked

EXACT = 2_048
"""So many combinations of values at one position and length are gone through; of more, arguments are taken apart."""


@dataclass(frozen=True)
class Glance:
    """A selection that may look ahead: from the query position to a later key position, on inputs of some length."""

    length: int
    query: int
    key: int


@dataclass
class Facts:
    """What is known of an attention: whether it can select nothing, or several positions, and whether it may look ahead."""

    empty: bool = False
    several: bool = False
    ahead: Glance | None = None


class Known(Protocol):
    """What is known of the values of other nodes, see `tm2tfr.sources.sequence.domains.Domains`."""

    causal: bool
    most: int
    kinds: dict[Operation, frozenset[str]]
    facts: dict[Attend, Facts]

    def sets_at(self, roots: Sequence[Operation], n: int, i: int) -> tuple[int, ...]:
        """Return the numbers of the sets of `roots` at position i of inputs of length n."""

    def together(self, nodes: Sequence[Operation], roots: Sequence[Operation], sets: tuple[int, ...]) -> Iterator[Tuple]:
        """Yield the values that `nodes` can have together where their `roots` have these sets."""

    def image(self, node: Operation, sets: tuple[int, ...]) -> frozenset[Item]:
        """Return the values of `node` where its roots have these sets."""

    def values_of(self, number: int) -> frozenset[Item]:
        """Return the set that has a number."""

    def number_of(self, values: frozenset[Item]) -> int:
        """Return the number of a set."""

    def too_many(self, node: Operation) -> CompileError:
        """Return the error for a node with too many values."""


class _Tally:
    """The offers of the key positions to one query, from the first on.

    Attributes:
        told: the number of positions.
        last: the last of them that may be selected, -1 if there is none.
    """

    def __init__(self) -> None:
        self.offers, self.told, self.last = Counter[Offer | None](), 0, -1


class AttentionValues:
    """The values of one attention, length by length."""

    def __init__(self, domains: Known, node: Attend) -> None:
        self._domains, self._node = domains, node
        self._keys, self._queries = nodes_of(node.selector)
        self._test = test(node.selector, self._keys, self._queries)
        self._facts = domains.facts.setdefault(node, Facts())
        self._mixed = mixed(node, domains.kinds)
        self._keyed = (*self._keys, node.values)
        self._key_roots, self._query_roots = roots_of(self._keyed), roots_of(self._queries)
        self._own_roots = roots_of([*self._keyed, *self._queries])
        self._related = bool(set(self._key_roots) & set(self._query_roots))
        self._clusters: tuple[SelectorCluster, ...] = clusters(node.selector)
        self._cluster_roots = [(roots_of(each.keys), roots_of(each.queries)) for each in self._clusters]
        self._satisfied: dict[tuple[int, tuple[int, ...], tuple[int, ...]], bool] = {}
        self._brought: dict[tuple[int, ...], frozenset[Tuple]] = {}
        self._asked: dict[tuple[int, ...], frozenset[Tuple]] = {}
        self._offers: dict[tuple[Tuple, frozenset[Tuple]], Offer | None] = {}
        self._by_value: dict[frozenset[Tuple], list[tuple[Item, int]]] = {}
        self._key_numbers: dict[Tuple, int] = {}
        self._known_keys: list[Tuple] = []
        self._masks: dict[Tuple, tuple[int, int]] = {}
        self._own: dict[tuple[int, ...], dict[Tuple, Offer]] = {}
        self._picked: dict[frozenset[tuple[Offer, int]], Picked] = {}

    def sets(self, n: int) -> list[int]:
        """Return the number of the set of values at each position of inputs of length n."""
        domains = self._domains
        if any(self._size(self._key_roots, n, j) > EXACT for j in range(n)):
            return [domains.number_of(self._roughly(n, i)) for i in range(n)]
        keys = [self._of(self._keyed, self._key_roots, n, j, self._brought) for j in range(n)]
        tallies: dict[Tuple, _Tally] = {}
        found = []
        for i in range(n):
            if len(keys[i]) * self._size(self._query_roots, n, i) > EXACT:
                found.append(domains.number_of(self._roughly(n, i)))
                continue
            values: set[Item] = set()
            own = self._own_offers(n, i) if self._related else None
            for query in self._of(self._queries, self._query_roots, n, i, self._asked):
                tally = tallies.setdefault(query, _Tally())
                self._tell(tally, query, keys[: i + 1] if domains.causal else keys)
                values |= self._with(tally, query, keys[i], own)
                if tally.last > i and self._facts.ahead is None:
                    self._facts.ahead = Glance(n, i, tally.last)
            if len(values) > domains.most:
                raise domains.too_many(self._node)
            found.append(domains.number_of(frozenset(values)))
        return found

    def _tell(self, tally: _Tally, query: Tuple, keys: list[frozenset[Tuple]]) -> None:
        """Add the offers of the positions that are not in the tally of a query yet."""
        for j in range(tally.told, len(keys)):
            offer = self._offer(query, keys[j])
            tally.offers[offer] += 1
            if offer is not None and offer.values:
                tally.last = j
        tally.told = len(keys)

    def _of(
        self,
        nodes: Sequence[Operation],
        roots: Sequence[Operation],
        n: int,
        i: int,
        known: dict[tuple[int, ...], frozenset[Tuple]],
    ) -> frozenset[Tuple]:
        """Return the values that `nodes` can have together at position i of inputs of length n."""
        sets = self._domains.sets_at(roots, n, i)
        if sets not in known:
            known[sets] = frozenset(self._domains.together(nodes, roots, sets))
        return known[sets]

    def _size(self, roots: Sequence[Operation], n: int, i: int) -> int:
        return prod(len(self._domains.values_of(number)) for number in self._domains.sets_at(roots, n, i))

    def _roughly(self, n: int, i: int) -> frozenset[Item]:
        """Return more values than there are, cluster by cluster, where keys and queries have too many together.

        A position may be selected, or left out, if each cluster is satisfied by some key that there may be.
        """
        offers = Counter[Offer]()
        for j in range(i + 1 if self._domains.causal else n):
            if all(self._satisfiable(number, n, i, j) for number in range(len(self._clusters))):
                roots = roots_of([self._node.values])
                offers[Offer(True, self._domains.image(self._node.values, self._domains.sets_at(roots, n, j)))] += 1
                if j > i and self._facts.ahead is None:
                    self._facts.ahead = Glance(n, i, j)
        return self._result(frozenset(offers.items()))

    def _satisfiable(self, number: int, n: int, i: int, j: int) -> bool:
        cluster, domains = self._clusters[number], self._domains
        key_roots, query_roots = self._cluster_roots[number]
        keys, queries = domains.sets_at(key_roots, n, j), domains.sets_at(query_roots, n, i)
        if (number, keys, queries) not in self._satisfied:
            every = list(dict.fromkeys(domains.together(cluster.queries, query_roots, queries)))
            self._satisfied[number, keys, queries] = any(
                cluster(key, query)
                for key in dict.fromkeys(domains.together(cluster.keys, key_roots, keys))
                for query in every
            )
        return self._satisfied[number, keys, queries]

    def _with(
        self, tally: _Tally, query: Tuple, brought: frozenset[Tuple], own: dict[Tuple, Offer] | None
    ) -> frozenset[Item]:
        """Return the values for a query with these values, at a position that brings `brought` itself."""
        offers = tally.offers
        if own is not None:
            if query not in own:
                return frozenset()
            offers = offers.copy()
            offers[self._offer(query, brought)] -= 1
            offers[own[query]] += 1
        if offers[None] > 0:
            return frozenset()  # no run gets here
        return self._result(frozenset((offer, times) for offer, times in offers.items() if offer is not None and times))

    def _offer(self, query: Tuple, brought: frozenset[Tuple]) -> Offer | None:
        """Return what a position with such keys and values offers to a query; None if it cannot be there at all."""
        pair = query, brought
        if pair not in self._offers:
            self._offers[pair] = self._offered(query, brought)
        return self._offers[pair]

    def _offered(self, query: Tuple, brought: frozenset[Tuple]) -> Offer | None:
        if brought not in self._by_value:
            masks: dict[Item, int] = {}
            for each in brought:
                masks[each[-1]] = masks.get(each[-1], 0) | 1 << self._key_number(each[:-1])
            self._by_value[brought] = list(masks.items())
        selected, every, values = self._selected(query), 0, []
        for value, mask in self._by_value[brought]:
            every |= mask
            if mask & selected:
                values.append(value)
        return Offer(bool(every & ~selected), frozenset(values)) if brought else None

    def _key_number(self, key: Tuple) -> int:
        if key not in self._key_numbers:
            self._key_numbers[key] = len(self._known_keys)
            self._known_keys.append(key)
        return self._key_numbers[key]

    def _selected(self, query: Tuple) -> int:
        """Return which of the keys so far the query selects, as bits by their numbers."""
        told, mask = self._masks.get(query, (0, 0))
        if told < len(self._known_keys):
            tested = self._test
            for number in range(told, len(self._known_keys)):
                if tested(self._known_keys[number], query):
                    mask |= 1 << number
            self._masks[query] = len(self._known_keys), mask
        return mask

    def _own_offers(self, n: int, i: int) -> dict[Tuple, Offer]:
        """Return, for each query that there can be at position i, what the position offers to itself."""
        sets = self._domains.sets_at(self._own_roots, n, i)
        if sets not in self._own:
            width, grouped = len(self._keyed), dict[Tuple, list[tuple[bool, Item]]]()
            for values in self._domains.together((*self._keyed, *self._queries), self._own_roots, sets):
                key, value, query = values[: width - 1], values[width - 1], values[width:]
                grouped.setdefault(query, []).append((self._test(key, query), value))
            self._own[sets] = {query: _offer_of(chosen) for query, chosen in grouped.items()}  # type: ignore[misc]
        return self._own[sets]

    def _result(self, offers: frozenset[tuple[Offer, int]]) -> frozenset[Item]:
        found = self._picked.get(offers)
        if found is None:
            try:
                found = picked(tuple(offers), self._domains.most)
            except TooManyError:
                raise self._domains.too_many(self._node) from None
            self._facts.empty |= found.empty
            self._facts.several |= found.several
            self._picked[offers] = found
        values = found.values | {self._node.default} if found.empty else found.values
        return frozenset(int(v) if isinstance(v, bool) else v for v in values) if self._mixed else values


def _offer_of(chosen: list[tuple[bool, Item]]) -> Offer | None:
    if not chosen:
        return None
    values = frozenset(value for selected, value in chosen if selected)
    return Offer(skip=not all(selected for selected, _ in chosen), values=values)
