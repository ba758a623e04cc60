"""Which values a node can have: abstract interpretation, by length of the input and by position.

At input length n and position i, the position is a constant; so is everything that depends on nothing but n and i, such as
1/n. Every token, and every attention, has a set of values there; a function of several of them has the values that it takes
on all combinations, so that (i + 1) times a mean over i + 1 positions is a whole number without any rule for that. What an
attention can be is worked out position by position: each key position is selected, or left out, or must be selected, as
the selector allows on the sets; the query position itself with the very values that the query has.

The sets are sound: whatever occurs in a run is in them. They can contain more than that, such as two counts a and b with
a + b > i + 1, which costs hidden units, never truth. No input is run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from tm2tfr.sources.sequence.clusters import SelectorCluster, clusters, nodes_of, test
from tm2tfr.sources.sequence.elementwise import NOTHING, Remembered, Rooted, Tuple, mixed, roots_of
from tm2tfr.sources.sequence.graph import (
    Apply,
    Attend,
    Fixed,
    Item,
    Operation,
    Position,
    SequenceGraph,
    Token,
    called,
    ordered,
)
from tm2tfr.sources.sequence.means import Offer, Picked, TooManyError, picked

EXACT = 2_048
"""So many combinations of values of roots at one position and length are gone through; of more, arguments are taken
apart."""
MOST_COMBINATIONS = 400_000
"""The most combinations of values of several nodes at one position and length."""


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


class _Sets:
    """Sets of values, each with a number of its own."""

    def __init__(self) -> None:
        self._numbers: dict[frozenset[tuple[Item, bool]], int] = {}
        self._sets: list[frozenset[Item]] = []

    def number(self, values: frozenset[Item]) -> int:
        typed = frozenset((value, isinstance(value, bool)) for value in values)  # 0 and False are equal, and not the same
        found = self._numbers.get(typed)
        if found is None:
            found = self._numbers[typed] = len(self._sets)
            self._sets.append(values)
        return found

    def __getitem__(self, number: int) -> frozenset[Item]:
        return self._sets[number]


class Domains:
    """The values of the nodes of a graph, on inputs of up to `length` tokens.

    Args:
        causal: whether positions after the query are hidden from every selection.
        most: the most values that a node may have.

    Raises:
        CompileError: with the place of a node that has more values, or too many combinations of them.
    """

    def __init__(
        self, graph: SequenceGraph, length: int, *, wanted: Sequence[Operation], causal: bool = False, most: int = 4096
    ) -> None:
        self.graph, self.length, self._causal, self._most = graph, length, causal, most
        self._sets = _Sets()
        self.kinds: dict[Operation, frozenset[str]] = {}
        self._functions: dict[Operation, Rooted] = {}
        self._steps: dict[Apply, Remembered] = {}
        self._images: dict[tuple[Operation, Tuple], frozenset[Item]] = {}
        self._at: dict[Operation, list[list[int]]] = {}
        self.facts: dict[Attend, Facts] = {}
        roots = [node for node in ordered(wanted) if not isinstance(node, Apply)]
        attends = {node: _Attention(self, node) for node in roots if isinstance(node, Attend)}
        for node in roots:
            self._at[node] = []
        for n in range(1, length + 1):
            for node in roots:
                self._at[node].append(attends[node].sets(n) if isinstance(node, Attend) else self._given(node, n))

    def _given(self, node: Operation, n: int) -> list[int]:
        if isinstance(node, Token):
            return [self._sets.number(frozenset(self.graph.alphabet))] * n
        if isinstance(node, Position):
            return [self._sets.number(frozenset([i])) for i in range(n)]
        return []  # a constant has no roots, and is never asked for

    def function(self, node: Operation) -> Rooted:
        """Return the value of a node as a function of its roots."""
        if node not in self._functions:
            self._functions[node] = Rooted(node, self.kinds)
        return self._functions[node]

    def sets_at(self, roots: Sequence[Operation], n: int, i: int) -> tuple[int, ...]:
        """Return the numbers of the sets of `roots` at position i of inputs of length n."""
        return tuple(self._at[root][n - 1][i] for root in roots)

    def together(self, nodes: Sequence[Operation], roots: Sequence[Operation], sets: tuple[int, ...]) -> Iterator[Tuple]:
        """Yield the values that `nodes` can have together where their `roots` have these sets; some more than once.

        Each combination of values of the roots gives one; where these are more than `EXACT`, each combination of values
        of the nodes is yielded instead, as if they had nothing to do with each other.
        """
        if prod(len(self._sets[number]) for number in sets) > EXACT:
            yield from self._apart(nodes, roots, sets)
            return
        functions = [self.function(node) for node in nodes]
        places = [[roots.index(root) for root in function.roots] for function in functions]
        for values in product(*(self._sets[number] for number in sets)):
            found = tuple([function([values[p] for p in at]) for function, at in zip(functions, places, strict=True)])
            if NOTHING not in found:
                yield found  # type: ignore[misc]

    def _apart(self, nodes: Sequence[Operation], roots: Sequence[Operation], sets: tuple[int, ...]) -> Iterator[Tuple]:
        distinct = list(dict.fromkeys(nodes))
        images = [self.image(node, tuple(sets[roots.index(r)] for r in self.function(node).roots)) for node in distinct]
        if prod(map(len, images)) > MOST_COMBINATIONS:
            largest = max(distinct, key=lambda node: len(images[distinct.index(node)]))
            what = f"{called(largest)} and what it is combined with have {prod(map(len, images)):,} combinations of values"
            raise self.graph.refusal(largest, what, "round it, or use a smaller --max-length")
        places = [distinct.index(node) for node in nodes]
        for values in product(*images):
            yield tuple([values[place] for place in places])

    def values_of(self, number: int) -> frozenset[Item]:
        """Return the set that has a number."""
        return self._sets[number]

    def number_of(self, values: frozenset[Item]) -> int:
        """Return the number of a set."""
        return self._sets.number(values)

    def _everywhere(self, roots: Sequence[Operation]) -> dict[tuple[int, ...], None]:
        """Return the sets of `roots` at all positions of all inputs, each combination once."""
        found: dict[tuple[int, ...], None] = {}
        for n in range(1, self.length + 1):
            for i in range(n):
                found[self.sets_at(roots, n, i)] = None
        return found

    def reached(self, nodes: Sequence[Operation], most: int) -> set[Tuple]:
        """Return the values that `nodes` can have together, at any position of any input.

        Raises:
            CompileError: if there are more than `most` combinations.
        """
        roots, found = roots_of(nodes), set[Tuple]()
        for sets in self._everywhere(roots):
            found.update(self.together(nodes, roots, sets))
            if len(found) > most:
                names = ", ".join(map(called, dict.fromkeys(nodes)))
                what = f"{names} have more than {most:,} combinations of values on inputs of up to {self.length} tokens"
                raise self.graph.refusal(nodes[-1], what, "use a smaller --max-length, or allow more with --max-units")
        return found

    def count(self, nodes: Sequence[Operation], most: int) -> int:
        """Return how many combinations `reached` has, or a number above `most` if they are, or seem to be, more."""
        roots, found = roots_of(nodes), set[Tuple]()
        for sets in self._everywhere(roots):
            images = [self.image(node, tuple(sets[roots.index(r)] for r in self.function(node).roots)) for node in nodes]
            if min(prod(map(len, images)), prod(len(self._sets[number]) for number in sets)) > most:
                return most + 1
            found.update(self.together(nodes, roots, sets))
            if len(found) > most:
                return most + 1
        return len(found)

    def values(self, node: Operation) -> tuple[Item, ...]:
        """Return the values of `node`, in order.

        Raises:
            CompileError: if there are too many.
        """
        function, found = self.function(node), set[Item]()
        for sets in self._everywhere(function.roots):
            found |= self.image(node, sets)
            if len(found) > self._most:
                raise self.too_many(node)
        return tuple(sorted(found, key=order_of))

    def image(self, node: Operation, sets: tuple[int, ...]) -> frozenset[Item]:
        """Return the values of `node` where its roots have these sets."""
        found = self._images.get((node, sets))
        if found is None:
            found = self._images[node, sets] = frozenset(self._image(node, sets))
        return found

    def _image(self, node: Operation, sets: tuple[int, ...]) -> Iterator[Item]:
        roots = self.function(node).roots
        if not isinstance(node, Apply):
            yield from [node.value] if isinstance(node, Fixed) else self._sets[sets[0]]
            return
        if prod(len(self._sets[number]) for number in sets) <= EXACT:
            yield from (values[0] for values in self.together([node], roots, sets))
            return
        step = self.step(node)
        for values in self._apart(node.arguments, roots, sets):
            if (value := step(values)) is not NOTHING:
                yield value  # type: ignore[misc]

    def step(self, node: Apply) -> Remembered:
        """Return a node as a function of its arguments."""
        if node not in self._steps:
            self._steps[node] = Remembered(node, numbers=mixed(node, self.kinds))
        return self._steps[node]

    def too_many(self, node: Operation) -> Exception:
        """Return the error for a node with too many values."""
        what = f"{called(node)} can have more than {self._most:,} values on inputs of up to {self.length} tokens"
        return self.graph.refusal(node, what, "round it, use a smaller --max-length, or allow more with --max-values")


def order_of(value: Item) -> tuple[int, object]:
    """Return a key that puts truth values before numbers, these before text, and tuples last."""
    if isinstance(value, tuple):
        return 3, tuple(map(order_of, value))
    return (2, value) if isinstance(value, str) else (0 if isinstance(value, bool) else 1, value)


class _Tally:
    """The offers of the key positions to one query, from the first on.

    Attributes:
        told: the number of positions.
        last: the last of them that may be selected, -1 if there is none.
    """

    def __init__(self) -> None:
        self.offers, self.told, self.last = Counter[Offer | None](), 0, -1


class _Attention:
    """The values of one attention, length by length."""

    def __init__(self, domains: Domains, node: Attend) -> None:
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
        self._by_key: dict[frozenset[Tuple], list[tuple[Tuple, set[Item]]]] = {}
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
                self._tell(tally, query, keys[: i + 1] if domains._causal else keys)
                values |= self._with(tally, query, keys[i], own)
                if tally.last > i and self._facts.ahead is None:
                    self._facts.ahead = Glance(n, i, tally.last)
            if len(values) > domains._most:
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
        for j in range(i + 1 if self._domains._causal else n):
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
        if brought not in self._by_key:
            grouped: dict[Tuple, set[Item]] = {}
            for each in brought:
                grouped.setdefault(each[:-1], set()).add(each[-1])
            self._by_key[brought] = list(grouped.items())
        skip, values, tested = False, set[Item](), self._test
        for key, own in self._by_key[brought]:
            if tested(key, query):
                values |= own
            else:
                skip = True
        return Offer(skip, frozenset(values)) if brought else None

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
                found = picked(tuple(offers), self._domains._most)
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
