"""What an attention can be where each position offers some values, or can be left out: sums by count, as sets of bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from tm2tfr.sources.sequence.functions import is_number, whole
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
    """What can come of a selection: the values, whether it can be empty, and whether several positions can be in it."""

    values: frozenset[Item]
    empty: bool
    several: bool


class TooManyError(Exception):
    """There are more values than are allowed, or sums that are too far apart."""


def picked(offers: tuple[tuple[Offer, int], ...], most: int) -> Picked:
    """Return what can come of a selection among positions with these offers, each made by so many positions.

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
