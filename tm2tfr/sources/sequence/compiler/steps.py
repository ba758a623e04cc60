"""Thermometers: which of some numbers a mean has reached, exactly, in floats as well (Lemma 4).

A step from t1 to t2 = t1 + 2^-p is 2^p (ReLU(x - t1) - ReLU(x - t2)): 0 up to t1, 1 from t2 on. All numbers are dyadic and
x ≥ 0, so that x - t is exact in floats where it is positive, and the difference of two of them is exactly 2^-p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil


@dataclass(frozen=True)
class Threshold:
    """A step between two numbers: 0 up to `start`, 1 from ``start + 2^-power`` on."""

    start: Fraction
    power: int

    @property
    def end(self) -> Fraction:
        """Where it is 1 first."""
        return self.start + Fraction(1, 1 << self.power)

    @property
    def label(self) -> str:
        """It, as labels have it: ``3/8..1/2``."""
        return f"{self.start}..{self.end}"


def between(below: Fraction, above: Fraction) -> Threshold:
    """Return the step of the largest width that is away from both numbers by a quarter of their distance."""
    gap, power = above - below, 0
    while True:
        unit = Fraction(1, 1 << power)
        start = ceil((below + gap / 4) / unit) * unit
        if start + unit <= above - gap / 4:
            return Threshold(start, power)
        power += 1


def steps(numbers: Sequence[Fraction]) -> tuple[Threshold, ...]:
    """Return the steps between neighbours of increasing numbers from 0 on."""
    return tuple(between(below, above) for below, above in pairwise(numbers))
