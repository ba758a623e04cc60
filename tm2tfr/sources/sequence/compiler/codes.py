"""How a value stands in the residual stream: as a code, as a number, and from when on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

from tm2tfr.sources.sequence.domains import Domains
from tm2tfr.sources.sequence.functions import NOTHING, Tuple
from tm2tfr.sources.sequence.graph import Apply, Fixed, Item, Operation

BitForm = Mapping[str, float]
"""A linear form of the stream: direction -> coefficient, a whole one wherever it is a bit."""
ONE: BitForm = {"1": 1}


class Time(NamedTuple):
    """After how many attention layers, and how many feed-forward sublayers since the last of them, a value is there."""

    depth: int = 0
    slot: int = 0


@dataclass(frozen=True)
class Code:
    """A value as a code.

    Args:
        alternatives: for each value the ways in which it can come about, of which exactly one is the case for exactly one
            value: in each, all of some bits are 1. A bit is a linear form that is 0 or 1.
        time: from when on.
    """

    alternatives: Mapping[Item, tuple[tuple[BitForm, ...], ...]]
    time: Time = field(default=Time())

    @property
    def linear(self) -> bool:
        """Whether the code of each value is one bit."""
        return all(len(ways) == 1 and len(ways[0]) == 1 for ways in self.alternatives.values())

    @property
    def bits(self) -> dict[Item, BitForm]:
        """The bit of each value, where the code is linear."""
        return {value: ways[0][0] for value, ways in self.alternatives.items()}


def of_bits(bits: Mapping[Item, BitForm], time: Time) -> Code:
    """Return the code of which each value is one bit."""
    return Code({value: ((bit,),) for value, bit in bits.items()}, time)


def added(forms: Iterable[BitForm], *, times: Iterable[float] | None = None) -> dict[str, float]:
    """Return the sum of `forms`, each as many times as `times` says."""
    total: dict[str, float] = {}
    for form, factor in zip(forms, times, strict=True) if times is not None else ((form, 1) for form in forms):
        for direction, coefficient in form.items():
            total[direction] = total.get(direction, 0) + factor * coefficient
    return {direction: coefficient for direction, coefficient in total.items() if coefficient}


def complement(bit: BitForm) -> dict[str, float]:
    """Return the bit that is 1 where `bit` is 0."""
    return added([ONE, bit], times=[1, -1])


# ── What a function of several values is tabulated over: its arguments, taken apart where that makes fewer sublayers.
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


# ── Functions of several values as tables of hidden units, one for each combination of classes of values (Lemma 5).
Box = tuple[frozenset[Item], ...]
"""For each source the values of which one is the case."""
Way = tuple[BitForm, ...]
"""Bits that have to be 1, all of them."""


def boxes(table: Mapping[Tuple, Item]) -> list[tuple[Box, Item]]:
    """Return `table` with the values of a source that make no difference taken together.

    Every combination of `table` is in exactly one box, and a box contains no combination with another result.
    """
    if not table:
        return []
    width = len(next(iter(table)))
    found: dict[tuple[frozenset[Item], ...], Item] = {
        tuple(frozenset([v]) for v in values): r for values, r in table.items()
    }
    for place in range(width):
        rows: dict[frozenset[Item], list[tuple[object, Item]]] = {}
        for classes, result in found.items():
            rows.setdefault(classes[place], []).append(((classes[:place], classes[place + 1 :]), result))
        alike: dict[frozenset[tuple[object, Item, type]], list[frozenset[Item]]] = {}
        for own, row in rows.items():
            alike.setdefault(frozenset((rest, result, type(result)) for rest, result in row), []).append(own)
        merged = {own: frozenset[Item]().union(*group) for group in alike.values() for own in group}
        found = {(*c[:place], merged[c[place]], *c[place + 1 :]): result for c, result in found.items()}
    return list(found.items())


def ways(sources: Sequence[Code], classes: Box, every: Sequence[frozenset[Item]]) -> Iterator[Way]:
    """Yield the ways in which the value of each source is in its class; those of all values of a source need no bit."""
    choices = [
        _of_class(source, own)
        for source, own, whole in zip(sources, classes, every, strict=True)
        if own != whole or len(sources) == 1
    ]
    for chosen in product(*choices):
        yield tuple(bit for way in chosen for bit in way)


def _of_class(source: Code, values: frozenset[Item]) -> list[Way]:
    """Return the ways in which the value is one of `values`: those with the same further conditions taken together."""
    grouped: dict[frozenset[tuple[str, float]], tuple[list[BitForm], Way]] = {}
    for value in source.alternatives:
        if value in values:
            for first, *rest in source.alternatives[value]:
                key = frozenset(item for form in rest for item in form.items())
                grouped.setdefault(key, ([], tuple(rest)))[0].append(first)
    return [(added(firsts), *rest) for firsts, rest in grouped.values()]
