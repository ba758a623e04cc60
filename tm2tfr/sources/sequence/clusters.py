"""A selector as a conjunction of clusters: predicates that share no node, each with a score of 0 or 1.

The score of a key is the number of clusters that it satisfies, so that the keys that satisfy all of them have the largest
score if there are any. A disjunction over several nodes has no such sum of scores (a key that satisfied both sides
would win alone): its nodes are taken together, as one cluster over tuples of values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tm2tfr.sources.sequence.elementwise import Tuple
from tm2tfr.sources.sequence.functions import RELATIONS
from tm2tfr.sources.sequence.graph import Compare, Fixed, Item, Operation, Selection, leaves


def selects(selector: Selection, values: dict[Operation, Item], queries: dict[Operation, Item]) -> bool:
    """Return whether a query with these values selects a key with these; see `Compare`."""
    if isinstance(selector, Compare):
        try:
            return bool(RELATIONS[selector.relation](values[selector.keys], queries[selector.queries]))
        except TypeError:
            return False  # no order: the input is undefined
    found = (selects(part, values, queries) for part in selector.parts)
    if selector.operator == "not":
        return not next(found)
    return all(found) if selector.operator == "and" else any(found)


class Predicate:
    """A selector as a truth value of what its keys and its queries are.

    Attributes:
        keys, queries: the nodes whose values it compares, each once.
    """

    def __init__(self, selector: Selection) -> None:
        every = leaves(selector)
        self.selector = selector
        self.keys = tuple(dict.fromkeys(leaf.keys for leaf in every))
        self.queries = tuple(dict.fromkeys(leaf.queries for leaf in every))
        self._known: dict[tuple[Tuple, Tuple], bool] = {}

    def __call__(self, keys: Tuple, queries: Tuple) -> bool:
        """Return whether a query with these values selects a key with these."""
        pair = keys, queries
        found = self._known.get(pair)
        if found is None:
            known = dict(zip(self.keys, keys, strict=True)), dict(zip(self.queries, queries, strict=True))
            found = self._known[pair] = selects(self.selector, *known)
        return found


@dataclass(frozen=True)
class SelectorCluster:
    """Some conjuncts of a selector, over the same nodes.

    Args:
        parts: selectors, each with whether it is negated.
        keys, queries: the nodes whose values they compare, constants left out.
    """

    parts: tuple[tuple[Selection, bool], ...]
    keys: tuple[Operation, ...]
    queries: tuple[Operation, ...]

    @property
    def claim(self) -> str:
        """The keys of its selectors, a negated one after ``!``, for specifications."""
        return ",".join(f"{'!' if negated else ''}{part.key}" for part, negated in self.parts)

    def __call__(self, keys: Tuple, queries: Tuple) -> bool:
        """Return whether a query with these values is satisfied by a key with these."""
        values: dict[Operation, Item] = dict(zip(self.keys, keys, strict=True))
        asked: dict[Operation, Item] = dict(zip(self.queries, queries, strict=True))
        for part, negated in self.parts:
            for leaf in leaves(part):
                if isinstance(leaf.keys, Fixed):
                    values[leaf.keys] = leaf.keys.value
                if isinstance(leaf.queries, Fixed):
                    asked[leaf.queries] = leaf.queries.value
            if selects(part, values, asked) == negated:
                return False
        return True


def clusters(selector: Selection) -> tuple[SelectorCluster, ...]:
    """Return the clusters of `selector`: conjuncts over some of the nodes of another one belong to that one's cluster."""
    found: list[SelectorCluster] = []
    for part, negated in sorted(_conjuncts(selector, False), key=lambda each: -sum(map(len, _nodes(each[0])))):
        keys, queries = _nodes(part)
        for n, cluster in enumerate(found):
            if set(keys) <= set(cluster.keys) and set(queries) <= set(cluster.queries):
                found[n] = SelectorCluster((*cluster.parts, (part, negated)), cluster.keys, cluster.queries)
                break
        else:
            found.append(SelectorCluster(((part, negated),), keys, queries))
    return tuple(found)


def _conjuncts(selector: Selection, negated: bool) -> Iterator[tuple[Selection, bool]]:
    operator = getattr(selector, "operator", None)
    if operator == "not":
        yield from _conjuncts(selector.parts[0], not negated)  # type: ignore[union-attr]
    elif operator == ("or" if negated else "and"):
        for part in selector.parts:  # type: ignore[union-attr]
            yield from _conjuncts(part, negated)
    else:
        yield selector, negated


def _nodes(selector: Selection) -> tuple[tuple[Operation, ...], tuple[Operation, ...]]:
    every = leaves(selector)
    keys = dict.fromkeys(leaf.keys for leaf in every if not isinstance(leaf.keys, Fixed))
    queries = dict.fromkeys(leaf.queries for leaf in every if not isinstance(leaf.queries, Fixed))
    return tuple(keys), tuple(queries)
