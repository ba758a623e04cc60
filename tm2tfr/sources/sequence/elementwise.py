"""Functions of the values at one position, as functions of what they are rooted in: tokens, positions and attention."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from tm2tfr.sources.sequence.functions import NoValueError, applied
from tm2tfr.sources.sequence.graph import Apply, Attend, Fixed, Item, Operation, Position, ordered

Tuple = tuple[Item, ...]
"""A value of each of several nodes."""


class _Nothing:
    """See `NOTHING`."""

    def __repr__(self) -> str:
        return "NOTHING"


NOTHING = _Nothing()
"""In place of a value where a function has none."""


def roots_of(nodes: Iterable[Operation]) -> tuple[Operation, ...]:
    """Return the tokens, positions and attentions that the values of `nodes` at a position are functions of, in a fixed
    order.
    """
    found: dict[Operation, None] = {}
    seen: set[Operation] = set()
    waiting = list(nodes)[::-1]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, Apply):
            waiting.extend(reversed(node.arguments))
        elif not isinstance(node, Fixed):
            found[node] = None
    return tuple(sorted(found, key=lambda node: (len(node.key), node.key)))


def _postorder(node: Operation, stops: Collection[Operation]) -> list[Operation]:
    """Return the nodes between `node` and its roots or `stops`, these too, each after its arguments."""
    order: dict[Operation, None] = {}
    waiting = [(node, False)]
    while waiting:
        here, done = waiting.pop()
        if here in order:
            continue
        if done or not isinstance(here, Apply) or here in stops:
            order[here] = None
        else:
            waiting.append((here, True))
            waiting.extend((argument, False) for argument in reversed(here.arguments))
    return list(order)


def kinds(node: Operation, known: dict[Operation, frozenset[str]]) -> frozenset[str]:
    """Return what values of `node` may be of: ``bool``, ``number``, ``text``; as their types say, whatever they are.

    Args:
        known: what is known already; added to.
    """
    for each in ordered([node]):
        if each not in known:
            known[each] = _kinds(each, known)
    return known[node]


def _kinds(node: Operation, known: Mapping[Operation, frozenset[str]]) -> frozenset[str]:
    if isinstance(node, Apply):
        return _kinds_of_function(node, known)
    if isinstance(node, Attend):
        return known[node.values] | {_kind(node.default)}
    if isinstance(node, Fixed):
        return frozenset([_kind(node.value)])
    return frozenset(["number" if isinstance(node, Position) else "text"])


def _kinds_of_function(node: Apply, known: Mapping[Operation, frozenset[str]]) -> frozenset[str]:
    if node.operator == "if":
        then, _, other = node.arguments
        return known[then] | known[other]
    if node.operator in ("table", "group"):
        return frozenset(_kind(value) for _, value in node.entries)
    if node.operator == "+":
        return frozenset[str]().union(*(known[argument] for argument in node.arguments)) - {"bool"} or frozenset(["number"])
    return frozenset([_RESULTS.get(node.operator, "number")])


_RESULTS = {
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "and", "or", "not", "in", "bool"), "bool"),
    "str": "text",
    "tuple": "tuple",
}


def _kind(value: Item) -> str:
    return "bool" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"


def mixed(node: Operation, known: dict[Operation, frozenset[str]]) -> bool:
    """Return whether `node` can be truth values and numbers: then truth values are the numbers 0 and 1."""
    return {"bool", "number"} <= kinds(node, known)


class Remembered:
    """A node as a function of its arguments, which remembers what it was.

    Args:
        numbers: whether truth values are numbers here, see `mixed`.
    """

    def __init__(self, node: Apply, *, numbers: bool) -> None:
        self._operator, self._entries, self._numbers = node.operator, dict(node.entries), numbers
        self._known: dict[Tuple, Item | _Nothing] = {}

    def __call__(self, arguments: Tuple) -> Item | _Nothing:
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


class Rooted:
    """The value of a node as a function of its roots, or of other nodes on the way to them.

    Args:
        known: see `kinds`.
        roots: the nodes of whose values it is a function; by default its roots.

    Attributes:
        roots: in the order of the arguments.
    """

    def __init__(
        self, node: Operation, known: dict[Operation, frozenset[str]], roots: tuple[Operation, ...] | None = None
    ) -> None:
        self.node, self.roots = node, roots_of([node]) if roots is None else roots
        order = _postorder(node, self.roots)
        place = {each: n for n, each in enumerate(order)}
        self._start: list[Item | _Nothing] = [each.value if isinstance(each, Fixed) else NOTHING for each in order]
        self._inputs = [place[root] for root in self.roots]
        self._steps = [
            (place[each], Remembered(each, numbers=mixed(each, known)), tuple(place[a] for a in each.arguments))
            for each in order
            if isinstance(each, Apply) and each not in self.roots
        ]
        self._known: dict[Tuple, Item | _Nothing] = {}

    def __call__(self, values: Sequence[Item]) -> Item | _Nothing:
        """Return the value where the roots have these; `NOTHING` where there is none."""
        key = tuple(values)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._evaluated(key)
        return found

    def _evaluated(self, values: Tuple) -> Item | _Nothing:
        here = list(self._start)
        for place, value in zip(self._inputs, values, strict=True):
            here[place] = value
        for place, step, takes in self._steps:
            arguments = tuple([here[taken] for taken in takes])
            if NOTHING in arguments:
                return NOTHING
            here[place] = step(arguments)  # type: ignore[arg-type]
        return here[-1]
