"""How a value stands in the residual stream: as a code, as a number, and from when on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tm2tfr.sources.sequence.graph import Item

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
