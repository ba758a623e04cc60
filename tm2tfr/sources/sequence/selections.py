"""The possible values of an attention, position by position: the key positions that a query can select, and the results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Protocol

from tm2tfr.base.errors import CompileError
from tm2tfr.sources.sequence.clusters import SelectedKeys, SelectorCluster, clusters, nodes_of, test
from tm2tfr.sources.sequence.functions import Tuple, mixed, roots_of
from tm2tfr.sources.sequence.graph import Attend, Item, Operation
from tm2tfr.sources.sequence.offers import Offer, TooManyError, picked

IMPOSSIBLE, IDLE = 0, 1
"""The numbers of two offers: of a position that cannot be there at all, and of one that is never selected."""
MOST_CACHED = 1 << 14
"""The most sets whose results are kept from one length of the input to the next."""
EXACT = 2_048
"""Up to this many combinations of values at one position and length are enumerated; beyond, arguments are taken apart."""


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

    def together(self, nodes: Sequence[Operation], roots: Sequence[Operation], sets: tuple[int, ...]) -> Iterable[Tuple]:
        """Return the values that `nodes` can have together where their `roots` have these sets."""

    def image(self, node: Operation, sets: tuple[int, ...]) -> frozenset[Item]:
        """Return the values of `node` where its roots have these sets."""

    def values_of(self, number: int) -> frozenset[Item]:
        """Return the set that has a number."""

    def number_of(self, values: frozenset[Item]) -> int:
        """Return the number of a set."""

    def too_many(self, node: Operation) -> CompileError:
        """Return the error for a node with too many values."""


class _Tally:
    """The offers of the key positions to one query, from the first on, by number.

    Attributes:
        told: the number of positions.
        last: the last of them that may be selected, -1 if there is none.
    """

    def __init__(self, known: dict[int, int]) -> None:
        self.offers, self.told, self.last = dict[int, int](), 0, -1
        self.known = known


@dataclass(frozen=True)
class _Brought:
    """What there can be at a key position: for each value the keys that can come with it, as sets of bits."""

    number: int
    many: int
    every: int
    values: tuple[tuple[Item, int], ...]


class AttentionValues:
    """The values of one attention, length by length."""

    def __init__(self, domains: Known, node: Attend) -> None:
        self._domains, self._node = domains, node
        self._keys, self._queries = nodes_of(node.selector)
        self._test = test(node.selector, self._keys, self._queries)
        self._matches = SelectedKeys([(node.selector, False)], self._keys, self._queries)
        self._facts = domains.facts.setdefault(node, Facts())
        self._mixed = mixed(node, domains.kinds)
        self._keyed = (*self._keys, node.values)
        self._key_roots, self._query_roots = roots_of(self._keyed), roots_of(self._queries)
        self._value_roots = roots_of([node.values])
        self._own_roots = roots_of([*self._keyed, *self._queries])
        self._related = bool(set(self._key_roots) & set(self._query_roots))
        self._clusters = [_Satisfiable(domains, each) for each in clusters(node.selector)]
        self._brought: dict[tuple[int, ...], _Brought] = {}
        self._same: dict[frozenset[Tuple], _Brought] = {}
        self._by_number: list[_Brought] = []
        self._asked: dict[tuple[int, ...], tuple[Tuple, ...]] = {}
        self._offers: dict[Tuple, dict[int, int]] = {}
        self._known_offers: list[Offer | None] = [None, Offer(True, frozenset())]
        self._offer_numbers: dict[Offer | None, int] = {offer: n for n, offer in enumerate(self._known_offers)}
        self._own: dict[tuple[int, ...], dict[Tuple, int]] = {}
        self._picked: dict[frozenset[tuple[int, int]], frozenset[Item]] = {}
        self._tallies, self._told = dict[Tuple, _Tally](), list[int]()
        self._last: list[tuple[tuple[int, ...], int]] = []

    def sets(self, n: int) -> list[int]:
        """Return the number of the set of values at each position of inputs of length n."""
        if not self._domains.causal:
            return self._worked_out(n)
        sets = [self._domains.sets_at(self._own_roots, n, i) for i in range(n)]
        if sets != [own for own, _ in self._last[:n]]:  # with the same values up to a position, the same comes of it
            self._last = list(zip(sets, self._worked_out(n), strict=True))
        return [number for _, number in self._last[:n]]

    def _worked_out(self, n: int) -> list[int]:
        domains = self._domains
        for cache in (self._own, self._asked, self._brought, self._picked):
            if len(cache) > MOST_CACHED:  # where each length has sets of its own, all of these would be N² sets
                cache.clear()
        if any(self._size(self._key_roots, n, j) > EXACT for j in range(n)):
            return self._roughly(n, range(n))
        keys = [self._brought_at(n, j) for j in range(n)]
        tallies, found = self._tallies_of(keys), list[int]()
        for i in range(n):
            if keys[i].many * self._size(self._query_roots, n, i) > EXACT:
                found += self._roughly(n, [i])
                continue
            values: set[Item] = set()
            own = self._own_offers(n, i) if self._related else None
            for query in self._asked_at(n, i):
                tally = tallies.get(query)
                if tally is None:
                    tally = tallies[query] = _Tally(self._offers.setdefault(query, {}))
                self._tell(tally, query, i + 1 if domains.causal else n)
                values |= self._with(tally, query, keys[i], own)
                if tally.last > i and self._facts.ahead is None:
                    self._facts.ahead = Glance(n, i, tally.last)
            if len(values) > domains.most:
                raise domains.too_many(self._node)
            found.append(domains.number_of(frozenset(values)))
        return found

    def _tallies_of(self, keys: list[_Brought]) -> dict[Tuple, _Tally]:
        """Return the tallies to add these keys to: those of the length before where its keys come first here."""
        numbers = [key.number for key in keys]
        if self._domains.causal or numbers[: len(self._told)] != self._told:
            self._tallies = {}
        self._told = numbers
        return self._tallies

    def _tell(self, tally: _Tally, query: Tuple, end: int) -> None:
        """Add the offers of the positions before `end` that are not in the tally of a query yet."""
        numbers = self._told[tally.told : end]
        known = tally.known
        for number in set(numbers).difference(known):
            known[number] = self._offer(query, self._by_number[number])
        for offer, times in Counter(map(known.__getitem__, numbers)).items():
            tally.offers[offer] = tally.offers.get(offer, 0) + times
        for j in range(end - 1, tally.told - 1, -1):
            told = self._known_offers[known[self._told[j]]]
            if told is not None and told.values:
                tally.last = j
                break
        tally.told = end

    def _brought_at(self, n: int, j: int) -> _Brought:
        """Return what there can be at key position j of inputs of length n."""
        sets = self._domains.sets_at(self._key_roots, n, j)
        found = self._brought.get(sets)
        if found is None:
            every = frozenset(self._domains.together(self._keyed, self._key_roots, sets))
            if every not in self._same:
                masks: dict[Item, int] = {}
                for each in every:
                    masks[each[-1]] = masks.get(each[-1], 0) | self._matches.bit(each[:-1])
                keys = 0
                for mask in masks.values():
                    keys |= mask
                self._same[every] = _Brought(len(self._same), len(every), keys, tuple(masks.items()))
                self._by_number.append(self._same[every])
            found = self._brought[sets] = self._same[every]
        return found

    def _asked_at(self, n: int, i: int) -> tuple[Tuple, ...]:
        """Return the values that the queries can have together at position i of inputs of length n."""
        sets = self._domains.sets_at(self._query_roots, n, i)
        if sets not in self._asked:
            self._asked[sets] = tuple(dict.fromkeys(self._domains.together(self._queries, self._query_roots, sets)))
        return self._asked[sets]

    def _size(self, roots: Sequence[Operation], n: int, i: int) -> int:
        return prod(len(self._domains.values_of(number)) for number in self._domains.sets_at(roots, n, i))

    def _roughly(self, n: int, places: Iterable[int]) -> list[int]:
        """Return the numbers of larger sets than those at `places`, where keys and queries have too many values together.

        A position may be selected, or left out, if each cluster is satisfied by some key that there may be.
        """
        domains, results = self._domains, dict[int, int]()
        images = (domains.image(self._node.values, domains.sets_at(self._value_roots, n, j)) for j in range(n))
        offers = [self._number(Offer(True, image)) for image in images]
        satisfied = [cluster.positions(n) for cluster in self._clusters]
        found = []
        for i in places:
            mask = (1 << (i + 1 if domains.causal else n)) - 1
            for cluster in satisfied:
                mask &= cluster(i)
            if mask >> i + 1 and self._facts.ahead is None:
                self._facts.ahead = Glance(n, i, next(j for j in range(i + 1, n) if mask >> j & 1))
            if mask not in results:
                selected = Counter(offer for j, offer in enumerate(offers) if mask >> j & 1)
                results[mask] = domains.number_of(self._result(frozenset(selected.items())))
            found.append(results[mask])
        return found

    def _with(self, tally: _Tally, query: Tuple, brought: _Brought, own: dict[Tuple, int] | None) -> frozenset[Item]:
        """Return the values for a query with these values, at a position that brings `brought` itself."""
        offers = tally.offers
        if own is not None:
            mine = own.get(query)
            if mine is None:
                return frozenset()
            usual = tally.known[brought.number]
            if mine != usual:
                offers = {**offers, usual: offers[usual] - 1}
                offers[mine] = offers.get(mine, 0) + 1
        if offers.get(IMPOSSIBLE, 0) > 0:
            return frozenset()  # no run gets here
        return self._result(frozenset(pair for pair in offers.items() if pair[0] > IDLE and pair[1]))

    def _number(self, offer: Offer | None) -> int:
        """Return the number of an offer, see `IMPOSSIBLE` and `IDLE`."""
        number = self._offer_numbers.get(offer)
        if number is None:
            number = self._offer_numbers[offer] = len(self._known_offers)
            self._known_offers.append(offer)
        return number

    def _offer(self, query: Tuple, brought: _Brought) -> int:
        """Return the number of what a position that brings these offers to a query."""
        selected = self._matches.selected(query)
        values = frozenset(value for value, mask in brought.values if mask & selected)
        offer = Offer(bool(brought.every & ~selected), values) if brought.many else None
        return self._number(offer)

    def _own_offers(self, n: int, i: int) -> dict[Tuple, int]:
        """Return the offers of position i to itself, for each possible query."""
        sets = self._domains.sets_at(self._own_roots, n, i)
        if sets not in self._own:
            width, grouped = len(self._keyed), dict[Tuple, list[tuple[bool, Item]]]()
            for values in self._domains.together((*self._keyed, *self._queries), self._own_roots, sets):
                key, value, query = values[: width - 1], values[width - 1], values[width:]
                grouped.setdefault(query, []).append((self._test(key, query), value))
            self._own[sets] = {query: self._number(_offer_of(chosen)) for query, chosen in grouped.items()}
        return self._own[sets]

    def _result(self, offers: frozenset[tuple[int, int]]) -> frozenset[Item]:
        values = self._picked.get(offers)
        if values is None:
            every = ((self._known_offers[number], times) for number, times in offers)
            try:
                found = picked(tuple((offer, times) for offer, times in every if offer is not None), self._domains.most)
            except TooManyError:
                raise self._domains.too_many(self._node) from None
            self._facts.empty |= found.empty
            self._facts.several |= found.several
            values = found.values | {self._node.default} if found.empty else found.values
            if self._mixed:
                values = frozenset(int(v) if isinstance(v, bool) else v for v in values)
            self._picked[offers] = values
        return values


class _Satisfiable:
    """Whether a cluster can be satisfied by what there can be at a key position, and at a query position."""

    def __init__(self, domains: Known, cluster: SelectorCluster) -> None:
        self._domains, self._cluster = domains, cluster
        self._key_roots, self._query_roots = roots_of(cluster.keys), roots_of(cluster.queries)
        self._matches = SelectedKeys(cluster.parts, cluster.keys, cluster.queries)
        self._keys: dict[tuple[int, ...], int] = {}
        self._queries: dict[tuple[int, ...], tuple[Tuple, ...]] = {}
        self._known: dict[tuple[tuple[int, ...], tuple[int, ...]], bool] = {}

    def positions(self, n: int) -> Callable[[int], int]:
        """Return a function of a query position: the key positions of inputs of length n that may satisfy it, as bits."""
        domains, at = self._domains, dict[tuple[int, ...], int]()
        for j in range(n):
            sets = domains.sets_at(self._key_roots, n, j)
            at[sets] = at.get(sets, 0) | 1 << j
        known: dict[tuple[int, ...], int] = {}

        def found(i: int) -> int:
            queries = domains.sets_at(self._query_roots, n, i)
            if queries not in known:
                known[queries] = sum(mask for keys, mask in at.items() if self._satisfied(keys, queries))
            return known[queries]

        return found

    def _satisfied(self, keys: tuple[int, ...], queries: tuple[int, ...]) -> bool:
        found = self._known.get((keys, queries))
        if found is None:
            mask = self._mask(keys)
            found = any(mask & self._matches.selected(query) for query in self._asked(queries))
            self._known[keys, queries] = found
        return found

    def _mask(self, sets: tuple[int, ...]) -> int:
        if sets not in self._keys:
            self._keys[sets] = self._matches.bits(self._domains.together(self._cluster.keys, self._key_roots, sets))
        return self._keys[sets]

    def _asked(self, sets: tuple[int, ...]) -> tuple[Tuple, ...]:
        if sets not in self._queries:
            every = self._domains.together(self._cluster.queries, self._query_roots, sets)
            self._queries[sets] = tuple(dict.fromkeys(every))
        return self._queries[sets]


def _offer_of(chosen: list[tuple[bool, Item]]) -> Offer | None:
    if not chosen:
        return None
    values = frozenset(value for selected, value in chosen if selected)
    return Offer(skip=not all(selected for selected, _ in chosen), values=values)
