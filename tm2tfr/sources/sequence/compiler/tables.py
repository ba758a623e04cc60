"""Functions of several values as tables of hidden units, one for each combination of classes of values (Lemma 5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from tm2tfr.sources.sequence.compiler.codes import BitForm, Code, added
from tm2tfr.sources.sequence.elementwise import Tuple
from tm2tfr.sources.sequence.graph import Item

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
