"""A selector as a conjunction of clusters: predicates that share no node, each with a score of 0 or 1.

The score of a key is the number of clusters that it satisfies, so that the keys that satisfy all of them have the largest
score if there are any. A disjunction over several nodes has no such sum of scores (a key that satisfied both sides
would win alone): its nodes are taken together, as one cluster over tuples of values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from tm2tfr.sources.sequence.functions import RELATIONS, Tuple
from tm2tfr.sources.sequence.graph import Compare, Fixed, Item, Operation, Selection, leaves

Test = Callable[[Tuple, Tuple], bool]
"""Whether a query with some values selects a key with some values."""


def test(selector: Selection, keys: Sequence[Operation], queries: Sequence[Operation]) -> Test:
    """Return a selector as a function of the values of its key nodes and its query nodes, constants left out."""
    if isinstance(selector, Compare):
        return _comparison(selector, keys, queries)
    parts = [test(part, keys, queries) for part in selector.parts]
    if selector.operator == "not":
        (part,) = parts
        return lambda key, query: not part(key, query)
    first, *rest = parts
    for other in rest:
        first = _both(first, other) if selector.operator == "and" else _either(first, other)
    return first


def _both(left: Test, right: Test) -> Test:
    return lambda key, query: left(key, query) and right(key, query)


def _either(left: Test, right: Test) -> Test:
    return lambda key, query: left(key, query) or right(key, query)


def _comparison(leaf: Compare, keys: Sequence[Operation], queries: Sequence[Operation]) -> Test:
    own, asked = _getter(leaf.keys, keys), _getter(leaf.queries, queries)
    relation = RELATIONS[leaf.relation]

    def compared(key: Tuple, query: Tuple) -> bool:
        try:
            return bool(relation(own(key), asked(query)))
        except TypeError:
            return False  # no order: the input is undefined

    return compared


def _getter(node: Operation, nodes: Sequence[Operation]) -> Callable[[Tuple], Item]:
    if isinstance(node, Fixed):
        value = node.value
        return lambda values: value
    return itemgetter(nodes.index(node))


@dataclass(frozen=True)
class SelectorCluster:
    """Some conjuncts of a selector, over the same nodes.

    Args:
        parts: selectors, each with whether it is negated.
        keys, queries: the nodes whose values they compare, constants left out.
        whole: the name of the selector, if they are all of it.
    """

    parts: tuple[tuple[Selection, bool], ...]
    keys: tuple[Operation, ...]
    queries: tuple[Operation, ...]
    whole: str = ""

    @property
    def claim(self) -> str:
        """The keys of its selectors, a negated one after ``!``, for specifications."""
        return ",".join(f"{'!' if negated else ''}{part.key}" for part, negated in self.parts)

    @property
    def name(self) -> str:
        """Its name for people: that of the selector, or of its own selectors."""
        if self.whole:
            return self.whole
        names = [part.name or part.key for part, _ in self.parts]
        several = len(names) > 1
        texts = [f"({name})" if " " in name and name[-1] != ")" and several else name for name in names]
        pairs = zip(texts, self.parts, strict=True)
        return " and ".join(f"{'not ' if negated else ''}{text}" for text, (_, negated) in pairs)

    def matrix(self, keys: Sequence[Tuple], queries: Sequence[Tuple]) -> NDArray[np.bool_]:
        """Return whether each query is satisfied by each key: (queries, keys)."""
        found = np.ones((len(queries), len(keys)), dtype=bool)
        for part, negated in self.parts:
            found &= self._part(part, keys, queries) != negated
        return found

    def _part(self, part: Selection, keys: Sequence[Tuple], queries: Sequence[Tuple]) -> NDArray[np.bool_]:
        if isinstance(part, Compare):
            return self._leaf(part, keys, queries)
        matrices = [self._part(each, keys, queries) for each in part.parts]
        if part.operator == "not":
            return ~matrices[0]
        together = np.logical_and if part.operator == "and" else np.logical_or
        found: NDArray[np.bool_] = together.reduce(matrices)
        return found

    def _leaf(self, leaf: Compare, keys: Sequence[Tuple], queries: Sequence[Tuple]) -> NDArray[np.bool_]:
        own, brought = _numbered(map(_getter(leaf.keys, self.keys), keys))
        asked, wanted = _numbered(map(_getter(leaf.queries, self.queries), queries))
        compared = _comparison(leaf, [leaf.keys], [leaf.queries])
        small = np.array([[compared((key,), (query,)) for key in own] for query in asked], dtype=bool)
        return small.reshape(len(asked), len(own))[np.ix_(wanted, brought)]


def _numbered(values: Iterable[Item]) -> tuple[list[Item], list[int]]:
    """Return the distinct values, and the number of each among them."""
    numbers: dict[Item, int] = {}
    places = [numbers.setdefault(value, len(numbers)) for value in values]
    return list(numbers), places


def clusters(selector: Selection) -> tuple[SelectorCluster, ...]:
    """Return the clusters of `selector`: conjuncts over some of the nodes of another one belong to that one's cluster."""
    found: list[SelectorCluster] = []
    for part, negated in sorted(_conjuncts(selector, False), key=lambda each: -sum(map(len, nodes_of(each[0])))):
        keys, queries = nodes_of(part)
        for n, cluster in enumerate(found):
            if set(keys) <= set(cluster.keys) and set(queries) <= set(cluster.queries):
                found[n] = SelectorCluster((*cluster.parts, (part, negated)), cluster.keys, cluster.queries)
                break
        else:
            found.append(SelectorCluster(((part, negated),), keys, queries))
    return (replace(found[0], whole=selector.name),) if len(found) == 1 else tuple(found)


def _conjuncts(selector: Selection, negated: bool) -> Iterator[tuple[Selection, bool]]:
    operator = getattr(selector, "operator", None)
    if operator == "not":
        yield from _conjuncts(selector.parts[0], not negated)  # type: ignore[union-attr]
    elif operator == ("or" if negated else "and"):
        for part in selector.parts:  # type: ignore[union-attr]
            yield from _conjuncts(part, negated)
    else:
        yield selector, negated


def nodes_of(selector: Selection) -> tuple[tuple[Operation, ...], tuple[Operation, ...]]:
    """Return the nodes that a selector compares as keys, and as queries, constants left out."""
    every = leaves(selector)
    keys = dict.fromkeys(leaf.keys for leaf in every if not isinstance(leaf.keys, Fixed))
    queries = dict.fromkeys(leaf.queries for leaf in every if not isinstance(leaf.queries, Fixed))
    return tuple(keys), tuple(queries)


# ── which keys a query selects: sets of keys are whole numbers, with a bit for each key
class _ComparedKeys:
    """The keys met so far as one comparison sees them: by the value that it compares, each pair of values tested once."""

    def __init__(self, leaf: Compare, keys: Sequence[Operation], queries: Sequence[Operation]) -> None:
        self._own, self._asked = _getter(leaf.keys, keys), _getter(leaf.queries, queries)
        self._compared = _comparison(leaf, [leaf.keys], [leaf.queries])
        self._masks: dict[Item, int] = {}
        self._values: list[Item] = []
        self._selected: dict[Item, tuple[int, list[Item]]] = {}
        self._known: dict[Item, tuple[int, int]] = {}

    def add(self, key: Tuple, bit: int) -> None:
        value = self._own(key)
        if value not in self._masks:
            self._masks[value] = 0
            self._values.append(value)
        self._masks[value] |= bit

    def selected(self, query: Tuple, many: int) -> int:
        """Return the set of the keys, which are `many`, for which the comparison with the query holds."""
        asked = self._asked(query)
        stamp, mask = self._known.get(asked, (0, 0))
        if stamp < many:
            told, values = self._selected.get(asked, (0, []))
            values += [value for value in self._values[told:] if self._compared((value,), (asked,))]
            self._selected[asked] = len(self._values), values
            mask = 0
            for value in values:
                mask |= self._masks[value]
            self._known[asked] = many, mask
        return mask


class SelectedKeys:
    """The keys met so far, and for each query the bits of those that it selects.

    Args:
        parts: selectors, each with whether it is negated; a key is selected by all of them.
        keys, queries: the nodes whose values keys and queries are.
    """

    def __init__(
        self, parts: Sequence[tuple[Selection, bool]], keys: Sequence[Operation], queries: Sequence[Operation]
    ) -> None:
        self._parts = tuple(parts)
        self._compared = {leaf: _ComparedKeys(leaf, keys, queries) for part, _ in parts for leaf in leaves(part)}
        self._numbers: dict[Tuple, int] = {}
        self._masks: dict[Tuple, tuple[int, int]] = {}

    def bit(self, key: Tuple) -> int:
        """Return the set that has this key alone."""
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._numbers)
            for compared in self._compared.values():
                compared.add(key, 1 << number)
        return 1 << number

    def bits(self, keys: Iterable[Tuple]) -> int:
        """Return the set of these keys."""
        mask = 0
        for key in keys:
            mask |= self.bit(key)
        return mask

    def selected(self, query: Tuple) -> int:
        """Return the set of the keys so far that the query selects."""
        told, mask = self._masks.get(query, (0, 0))
        many = len(self._numbers)
        if told < many:
            mask = every = (1 << many) - 1
            for part, negated in self._parts:
                own = self._part(part, query, every)
                mask &= every & ~own if negated else own
            self._masks[query] = many, mask
        return mask

    def _part(self, part: Selection, query: Tuple, every: int) -> int:
        if isinstance(part, Compare):
            return self._compared[part].selected(query, every.bit_length())
        if part.operator == "not":
            return every & ~self._part(part.parts[0], query, every)
        first, *rest = (self._part(each, query, every) for each in part.parts)
        for other in rest:
            first = first & other if part.operator == "and" else first | other
        return first
