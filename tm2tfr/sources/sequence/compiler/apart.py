"""What a function of several values is tabulated over: its arguments, taken apart where that makes fewer sublayers."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tm2tfr.sources.sequence.compiler.codes import Time
from tm2tfr.sources.sequence.domains import Domains
from tm2tfr.sources.sequence.elementwise import NOTHING, Tuple
from tm2tfr.sources.sequence.graph import Apply, Fixed, Item, Operation

JOINT = 2_048
"""An argument is taken apart only if the table has at most so many entries then."""
Earliest = Callable[[Operation], Time]
"""When a node is there at the earliest."""


def taken_apart(node: Operation, domains: Domains, expected: Earliest) -> tuple[Operation, ...]:
    """Return what the function `node` is tabulated over.

    These are its arguments. One that would be a table in the very sublayer that this one could be in is taken apart
    into its
    own arguments, as long as the combinations stay few: so that there are as few sublayers as can be.
    """
    sources = _distinct(node.arguments) if isinstance(node, Apply) else (node,)
    while (further := _further(sources, domains, expected)) is not None:
        sources = further
    return sources


def _further(sources: tuple[Operation, ...], domains: Domains, expected: Earliest) -> tuple[Operation, ...] | None:
    """Return `sources` with one that would be late taken apart; None if none is, or that makes too many combinations."""
    last = max(map(expected, sources))
    for n, source in enumerate(sources):
        late = isinstance(source, Apply) and expected(source) == last
        if late and isinstance(source, Apply) and len(domains.function(source).roots) > 1:
            taken = _distinct((*sources[:n], *source.arguments, *sources[n + 1 :]))
            if domains.count(taken, JOINT) <= JOINT:
                return taken
    return None


def known(function: Callable[[Tuple], object], every: Iterable[Tuple]) -> dict[Tuple, Item]:
    """Return the table of a function: its value on each of some combinations, where it has one."""
    found = {values: function(values) for values in every}
    return {values: value for values, value in found.items() if value is not NOTHING}  # type: ignore[misc]


def _distinct(nodes: Iterable[Operation]) -> tuple[Operation, ...]:
    """Return the nodes that are not constant, each once."""
    return tuple(dict.fromkeys(node for node in nodes if not isinstance(node, Fixed)))
