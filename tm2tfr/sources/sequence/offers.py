"""The possible values of an attention if each position offers values or can be left out: sums by count, as sets of bits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import lcm

from tm2tfr.sources.sequence.functions import is_number, ratio
from tm2tfr.sources.sequence.graph import Item

MOST_BITS = 1 << 18
"""The largest range of sums that is kept as a set of bits."""


@dataclass(frozen=True)
class Offer:
    """What one position can bring: whether it can be left out, and the values with which it can be selected."""

    skip: bool
    values: frozenset[Item]


@dataclass(frozen=True)
class Picked:
    """The possible results of a selection: values, whether it can be empty, and whether it can have several positions."""

    values: frozenset[Item]
    empty: bool
    several: bool


class TooManyError(Exception):
    """There are more values than are allowed, or sums that are too far apart."""


def picked(offers: tuple[tuple[Offer, int], ...], most: int) -> Picked:
    """Return the possible results of a selection among positions with these offers, each made by a number of positions.

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
    many = sum(times for offer, times in offers if offer.values)
    span = int((max(numbers) - least) * scale) * many
    if span > MOST_BITS:
        raise TooManyError
    size = span // 8 + 1  # bytes of a row of bits; rows are the sets of sums by count: a position adds a row and its value
    row = 8 * size
    reached = 1
    for offer, times in offers:
        moves = [row + int((Fraction(value) - least) * scale) for value in offer.values]  # type: ignore[arg-type]
        reached = _added(reached, moves, times, skip=offer.skip)
    if reached.bit_count() > 64 * most:
        raise TooManyError
    means_of = _known_means if row <= LARGE else _means_of
    rows, means = reached.to_bytes(reached.bit_length() // 8 + 1, "little"), set[Item]()
    for count in range(1, len(rows) // size + 1):  # a slice of bytes each: shifting the whole number takes as long as it is
        if sums := int.from_bytes(rows[count * size : (count + 1) * size], "little"):
            means.update(means_of(sums, count, scale, least.numerator, least.denominator))
            if len(means) > most:
                raise TooManyError
    return frozenset(means)


def _means_of(sums: int, count: int, scale: int, above: int, below: int) -> tuple[Item, ...]:
    """Return the means of `count` numbers that are multiples of 1/scale from above/below on, with these sums as bits."""
    return tuple(ratio(total * below + above * count * scale, count * scale * below) for total in _bits(sums))


LARGE = 1 << 10
"""Sets of more bits are not remembered."""
_known_means = lru_cache(maxsize=1 << 15)(_means_of)


def _added(reached: int, moves: Sequence[int], times: int, *, skip: bool) -> int:
    """Return the places that `times` moves reach from others; with `skip`, at most `times` moves."""
    if len(moves) == 1 and skip:
        (move,), reach = moves, 1
        while times:  # after steps of 1, 1, 2, 4, … moves, all numbers of moves are there
            step = min(reach, times)
            reached |= reached << (move * step)
            times, reach = times - step, reach + step
        return reached
    for _ in range(times if moves else 0):
        grown = reached if skip else 0
        for move in moves:
            grown |= reached << move
        reached = grown
    return reached


def _bits(mask: int) -> Iterator[int]:
    """Yield the places of the bits of `mask` that are 1."""
    text = bin(mask)[:1:-1]
    place = text.find("1")
    while place >= 0:
        yield place
        place = text.find("1", place + 1)
