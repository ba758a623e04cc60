"""What an attention can be, position by position: which key positions a query can select, and what comes of that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm, prod
from typing import Protocol

from tm2tfr.base.errors import CompileError
from tm2tfr.sources.sequence.clusters import SelectedKeys, SelectorCluster, clusters, nodes_of, test
from tm2tfr.sources.sequence.functions import Tuple, is_number, mixed, roots_of, whole
from tm2tfr.sources.sequence.graph import Attend, Item, Operation

# ── What an attention can be where each position offers some values, or can be left out: sums by count, as sets of bits.
MOST_BITS = 1 << 18
"""The largest range of sums that is kept as a set of bits."""


@dataclass(frozen=True)
class Offer:
    """What one position can bring: whether it can be left out, and the values with which it can be selected."""

    skip: bool
    values: frozenset[Item]


@dataclass(frozen=True)
class Picked:
    """What can come of a selection: the values, whether it can be empty, and whether several positions can be in it."""

    values: frozenset[Item]
    empty: bool
    several: bool


class TooManyError(Exception):
    """There are more values than are allowed, or sums that are too far apart."""


def picked(offers: tuple[tuple[Offer, int], ...], most: int) -> Picked:
    """Return what can come of a selection among positions with these offers, each made by a number of positions.

    Raises:
        TooManyError: for more than `most` values.
    """
    forced = sum(times for offer, times in offers if not offer.skip)
    able = sum(times for offer, times in offers if offer.values)
    if any(not offer.skip and not offer.values for offer, _ in offers):
        return Picked(frozenset(), empty=False, several=False)  # no run gets here
    values = frozenset[Item]().union(*(offer.values for offer, _ in offers))
    if all(is_number(value) for value in values) and max(able, forced) > 1:
        return Picked(_means(offers, most), empty=forced == 0, several=True)
    if forced > 1:
        return Picked(frozenset(), empty=False, several=True)
    if forced == 1:
        values = frozenset[Item]().union(*(offer.values for offer, _ in offers if not offer.skip))
    return Picked(values, empty=forced == 0, several=able > 1)


def _means(offers: tuple[tuple[Offer, int], ...], most: int) -> frozenset[Item]:
    numbers = [Fraction(value) for offer, _ in offers for value in offer.values]  # type: ignore[arg-type]
    scale, least = lcm(*(number.denominator for number in numbers)), min(numbers)
    span = int((max(numbers) - least) * scale) * sum(times for _, times in offers)
    if span > MOST_BITS:
        raise TooManyError
    sums = [1]
    for offer, times in offers:
        steps = [int((Fraction(value) - least) * scale) for value in offer.values]  # type: ignore[arg-type]
        for _ in range(times if steps else 0):
            grown = [*(sums if offer.skip else [0] * len(sums)), 0]
            for count, mask in enumerate(sums):
                for step in steps if mask else ():
                    grown[count + 1] |= mask << step
            sums = grown
    if sum(mask.bit_count() for mask in sums) > 64 * most:
        raise TooManyError
    means: set[Item] = set()
    for count, mask in enumerate(sums[1:], start=1):
        means.update(whole(Fraction(bit, count * scale) + least) for bit in _bits(mask))
        if len(means) > most:
            raise TooManyError
    return frozenset(means)


def _bits(mask: int) -> Iterator[int]:
    """Yield the places of the bits of `mask` that are 1."""
    text = bin(mask)[:1:-1]
    place = text.find("1")
    while place >= 0:
        yield place
        place = text.find("1", place + 1)


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
        self._matches = SelectedKeys(self._test)
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
        self._asked: dict[tuple[int, ...], tuple[Tuple, ...]] = {}
        self._offers: dict[Tuple, dict[int, int]] = {}
        self._offer_numbers: dict[Offer | None, int] = {None: 0}
        self._known_offers: list[Offer | None] = [None]
        self._own: dict[tuple[int, ...], dict[Tuple, int]] = {}
        self._picked: dict[frozenset[tuple[int, int]], frozenset[Item]] = {}

    def sets(self, n: int) -> list[int]:
        """Return the number of the set of values at each position of inputs of length n."""
        domains = self._domains
        if any(self._size(self._key_roots, n, j) > EXACT for j in range(n)):
            return [domains.number_of(self._roughly(n, i)) for i in range(n)]
        keys = [self._brought_at(n, j) for j in range(n)]
        tallies: dict[Tuple, _Tally] = {}
        found = []
        for i in range(n):
            if keys[i].many * self._size(self._query_roots, n, i) > EXACT:
                found.append(domains.number_of(self._roughly(n, i)))
                continue
            values: set[Item] = set()
            own = self._own_offers(n, i) if self._related else None
            for query in self._asked_at(n, i):
                tally = tallies.get(query)
                if tally is None:
                    tally = tallies[query] = _Tally(self._offers.setdefault(query, {}))
                self._tell(tally, query, keys, i + 1 if domains.causal else n)
                values |= self._with(tally, query, keys[i], own)
                if tally.last > i and self._facts.ahead is None:
                    self._facts.ahead = Glance(n, i, tally.last)
            if len(values) > domains.most:
                raise domains.too_many(self._node)
            found.append(domains.number_of(frozenset(values)))
        return found

    def _tell(self, tally: _Tally, query: Tuple, keys: list[_Brought], end: int) -> None:
        """Add the offers of the positions before `end` that are not in the tally of a query yet."""
        offers, known = tally.offers, tally.known
        for j in range(tally.told, end):
            offer = known.get(keys[j].number)
            if offer is None:
                offer = self._offer(tally, query, keys[j])
            offers[offer] = offers.get(offer, 0) + 1
            told = self._known_offers[offer]
            if told is not None and told.values:
                tally.last = j
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

    def _roughly(self, n: int, i: int) -> frozenset[Item]:
        """Return more values than there are, cluster by cluster, where keys and queries have too many together.

        A position may be selected, or left out, if each cluster is satisfied by some key that there may be.
        """
        offers = dict[int, int]()
        for j in range(i + 1 if self._domains.causal else n):
            if all(cluster(n, i, j) for cluster in self._clusters):
                image = self._domains.image(self._node.values, self._domains.sets_at(self._value_roots, n, j))
                offer = self._number(Offer(True, image))
                offers[offer] = offers.get(offer, 0) + 1
                if j > i and self._facts.ahead is None:
                    self._facts.ahead = Glance(n, i, j)
        return self._result(frozenset(offers.items()))

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
        if offers.get(0, 0) > 0:
            return frozenset()  # no run gets here
        return self._result(frozenset(pair for pair in offers.items() if pair[0] and pair[1]))

    def _number(self, offer: Offer | None) -> int:
        """Return the number of an offer; 0 is that of a position that cannot be there at all."""
        number = self._offer_numbers.get(offer)
        if number is None:
            number = self._offer_numbers[offer] = len(self._known_offers)
            self._known_offers.append(offer)
        return number

    def _offer(self, tally: _Tally, query: Tuple, brought: _Brought) -> int:
        """Return the number of what a position that brings these offers to a query."""
        selected = self._matches.selected(query)
        values = frozenset(value for value, mask in brought.values if mask & selected)
        offer = Offer(bool(brought.every & ~selected), values) if brought.many else None
        found = tally.known[brought.number] = self._number(offer)
        return found

    def _own_offers(self, n: int, i: int) -> dict[Tuple, int]:
        """Return, for each query that there can be at position i, what the position offers to itself."""
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
        self._matches = SelectedKeys(cluster)
        self._keys: dict[tuple[int, ...], int] = {}
        self._queries: dict[tuple[int, ...], tuple[Tuple, ...]] = {}
        self._known: dict[tuple[tuple[int, ...], tuple[int, ...]], bool] = {}

    def __call__(self, n: int, i: int, j: int) -> bool:
        """Return it for query position i and key position j of inputs of length n."""
        domains = self._domains
        keys, queries = domains.sets_at(self._key_roots, n, j), domains.sets_at(self._query_roots, n, i)
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
