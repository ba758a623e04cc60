"""Functions of values at one position as functions of what they are rooted in, which remember what they were."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any

from tm2tfr.sources.sequence.functions import NOTHING, Nothing, NoValueError, Tuple, applied, postorder, roots_of
from tm2tfr.sources.sequence.graph import Apply, Fixed, Item, Operation


class Remembered:
    """A node as a function of its arguments, which remembers what it was.

    Args:
        numbers: whether truth values are numbers here, see `mixed`.
    """

    def __init__(self, node: Apply, *, numbers: bool) -> None:
        self._operator, self._entries, self._numbers = node.operator, dict(node.entries), numbers
        self._known: dict[Tuple, Item | Nothing] = {}

    def __call__(self, arguments: Tuple) -> Item | Nothing:
        """Return the value; `NOTHING` where there is none."""
        found = self._known.get(arguments)
        if found is None:
            try:
                found = applied(self._operator, arguments, self._entries)
            except NoValueError:
                found = NOTHING
            if self._numbers and isinstance(found, bool):
                found = int(found)
            self._known[arguments] = found
        return found

    def column(self, every: Sequence[Tuple]) -> list[Item | Nothing]:
        """Return the value for each of some arguments, some of which may be `NOTHING`."""
        found = list(map(self._known.get, every))
        for n, value in enumerate(found):
            if value is None:
                arguments = every[n]
                nothing = any(isinstance(argument, Nothing) for argument in arguments)
                found[n] = self._known.setdefault(arguments, NOTHING) if nothing else self(arguments)
        return found  # type: ignore[return-value]


_FEW = 8
"""Up to this many combinations are evaluated one by one; more, together."""


class Rooted:
    """The value of a node as a function of its roots, or of other nodes on the way to them.

    Args:
        steps: returns a node on the way as a function of its arguments.
        roots: the nodes of whose values it is a function; by default its roots.
        parts: returns a node on the way as a function of its own roots; a node of at most half as many roots as this one
            is evaluated by it, which remembers fewer combinations of values. By default no node is.

    Attributes:
        roots: in the order of the arguments.
    """

    def __init__(
        self,
        node: Operation,
        steps: Callable[[Apply], Remembered],
        roots: tuple[Operation, ...] | None = None,
        parts: Callable[[Operation], Rooted] | None = None,
    ) -> None:
        self.node, self.roots = node, roots_of([node]) if roots is None else roots
        stops = set(self.roots) if parts is None else {*self.roots, *_parts(node, len(self.roots) // 2)}
        order = postorder(node, stops)
        place = {each: n for n, each in enumerate(order)}
        self._start: list[Item | Nothing] = [each.value if isinstance(each, Fixed) else NOTHING for each in order]
        self._inputs = [(place[root], n) for n, root in enumerate(self.roots) if root in place]
        self._parts = [
            (place[each], part, [self.roots.index(root) for root in part.roots])
            for each in order
            if parts is not None and each in stops and each not in self.roots
            for part in [parts(each)]
        ]
        self._steps = [
            (place[each], steps(each), tuple(place[a] for a in each.arguments))
            for each in order
            if isinstance(each, Apply) and each not in stops
        ]
        self._known: dict[Tuple, Item | Nothing] = {}

    def __call__(self, values: Sequence[Item]) -> Item | Nothing:
        """Return the value where the roots have these; `NOTHING` where there is none."""
        key = tuple(values)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._evaluated(key)
        return found

    def column(self, combinations: Sequence[Tuple]) -> list[Item | Nothing]:
        """Return the value for each of some combinations of values of the roots."""
        found = list(map(self._known.get, combinations))
        missing = list(dict.fromkeys([key for key, value in zip(combinations, found, strict=True) if value is None]))
        if not missing:
            return found  # type: ignore[return-value]
        if len(missing) < _FEW or not self.roots:
            self._known.update((key, self._evaluated(key)) for key in missing)
        else:
            self._known.update(zip(missing, self._evaluated_together(missing), strict=True))
        return list(map(self._known.__getitem__, combinations))

    def _evaluated_together(self, combinations: Sequence[Tuple]) -> list[Item | Nothing]:
        """Return what `_evaluated` does for each, step by step for all of them."""
        here: list[list[Any]] = [[start] * len(combinations) for start in self._start]
        for place, root in self._inputs:
            here[place] = list(map(itemgetter(root), combinations))
        for place, part, taken in self._parts:
            here[place] = part.column(projected(combinations, taken))
        for place, step, takes in self._steps:
            here[place] = step.column(list(zip(*[here[taken] for taken in takes], strict=True)))
        return here[-1]

    def _evaluated(self, values: Tuple) -> Item | Nothing:
        here = list(self._start)
        for place, root in self._inputs:
            here[place] = values[root]
        for place, part, roots in self._parts:
            found = here[place] = part([values[root] for root in roots])
            if found is NOTHING:
                return NOTHING
        for place, step, takes in self._steps:
            found = here[place] = step(tuple([here[taken] for taken in takes]))  # type: ignore[misc]
            if found is NOTHING:
                return NOTHING
        return here[-1]


def projected(combinations: Sequence[Tuple], places: Sequence[int]) -> list[Tuple]:
    """Return what combinations have at some places."""
    if len(places) > 1:
        return list(map(itemgetter(*places), combinations))
    return [tuple([values[place] for place in places]) for values in combinations]


def _parts(node: Operation, most: int) -> Iterator[Operation]:
    """Yield the functions on the way from `node` to its roots that have from 1 to `most` roots."""
    roots: dict[Operation, frozenset[Operation]] = {}
    for each in postorder(node, ()):
        if isinstance(each, Apply):
            roots[each] = frozenset[Operation]().union(*(roots[argument] for argument in each.arguments))
            if each is not node and 0 < len(roots[each]) <= most:
                yield each
        else:
            roots[each] = frozenset() if isinstance(each, Fixed) else frozenset([each])
