"""Arrays of intervals, and bounds on rounding errors: the arithmetic of proofs about what an engine computes.

Standard model: an operation is off by at most u of its result, u = 2^-p; so a sum of k products, in any order, with weights
and terms that are rounded themselves, is off by at most γ_{k+8} of the sum of their absolute values, γ_k = ku/(1 - ku)
(Higham, Accuracy and Stability of Numerical Algorithms, Section 3.1; the 8 are for those roundings of weights and terms).
Underflow takes at most the smallest normal number from a product besides; sums lose nothing by it. Where all terms are
multiples of one power of two and their absolute values sum up to at most 2^p of it, nothing is rounded.

The bounds themselves are computed in float64, without directed rounding; so every error is taken twice, with at least the u
of float64, which leaves more room than their own rounding takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import ArrayLike

from tm2tfr.certificates.kit import DIGITS
from tm2tfr.transformer.matrix import Floats, Ints

Index = int | slice | Ints | tuple[int | slice | Ints | None, ...]
"""What selects elements of an array."""
_BOUNDS = DIGITS["float64"]
"""The binary digits of the bounds themselves."""
_TINY = {24: 2.0**-126, 53: 2.0**-1022}
"""p -> the smallest normal number."""


@dataclass(frozen=True)
class Interval:
    """Intervals [lo, hi], as two arrays of one shape."""

    lo: Floats
    hi: Floats

    @classmethod
    def exactly(cls, value: ArrayLike) -> Interval:
        """Return intervals that are numbers."""
        array = np.asarray(value, dtype=np.float64)
        return cls(array, array)

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.lo + other.lo, self.hi + other.hi)

    def __sub__(self, other: Interval) -> Interval:
        return Interval(self.lo - other.hi, self.hi - other.lo)

    def __mul__(self, other: Interval) -> Interval:
        products = (self.lo * other.lo, self.lo * other.hi, self.hi * other.lo, self.hi * other.hi)
        return Interval(np.minimum.reduce(products), np.maximum.reduce(products))

    def __getitem__(self, place: Index) -> Interval:
        return Interval(self.lo[place], self.hi[place])

    @property
    def size(self) -> Floats:
        """The largest absolute value of each."""
        return np.maximum(np.abs(self.lo), np.abs(self.hi))

    def squared(self) -> Interval:
        """Return x²."""
        low = np.where((self.lo <= 0) & (self.hi >= 0), 0.0, np.minimum(self.lo**2, self.hi**2))
        return Interval(low, np.maximum(self.lo**2, self.hi**2))

    def rectified(self) -> Interval:
        """Return ReLU(x)."""
        return Interval(np.maximum(self.lo, 0), np.maximum(self.hi, 0))

    def widened(self, by: Floats | float) -> Interval:
        """Return the intervals with `by` more on both sides."""
        return Interval(self.lo - by, self.hi + by)

    def hull(self, axis: int) -> Interval:
        """Return the smallest intervals that contain all those along an axis."""
        return Interval(self.lo.min(axis=axis), self.hi.max(axis=axis))

    def summed(self) -> Interval:
        """Return the sums along the first axis."""
        return Interval(self.lo.sum(axis=0), self.hi.sum(axis=0))


def applied(matrix: Floats, x: Interval) -> Interval:
    """Return matrix · x, for a matrix (rows, n) and x (n, …): (rows, …)."""
    up, down = np.maximum(matrix, 0), np.minimum(matrix, 0)
    shape = (matrix.shape[0], *x.lo.shape[1:])
    lo, hi = (a.reshape(a.shape[0], prod(shape[1:])) for a in (x.lo, x.hi))
    return Interval((up @ lo + down @ hi).reshape(shape), (up @ hi + down @ lo).reshape(shape))


@dataclass(frozen=True)
class Rounding:
    """The rounding of one dtype.

    Args:
        digits: p, None for rationals.
        quantum: a power of two of which all terms are multiples; 0: there is none.
    """

    digits: int | None
    quantum: float

    @property
    def bits(self) -> int:
        """The digits of the bounds: those of the dtype, of rationals those of float64, in which bounds are computed."""
        return self.digits or _BOUNDS

    def gamma(self, terms: int) -> float:
        """Return 2γ for a sum of this many products."""
        used = (terms + 8) * 2.0**-self.bits
        return 2 * used / (1 - used) if used < 0.5 else float("inf")

    def lost(self, terms: int) -> float:
        """Return the largest loss of this many products by underflow, including that of the bounds, in float64."""
        return 2 * (terms + 8) * _TINY[self.bits]

    def error(self, terms: int, size: Floats) -> Floats:
        """Return how much a sum of products may be off; size: the sum of the absolute values of the terms."""
        exact = self.quantum > 0 and bool((size <= self.quantum * 2.0**self.bits).all())
        return np.zeros_like(size) if exact else size * self.gamma(terms) + self.lost(terms)


def quantum_of(*arrays: Floats) -> float:
    """Return the largest power of two from 2^-10 to 1 of which all numbers are multiples; 0 if there is none."""
    for power in range(11):
        scaled = [array * 2.0**power for array in arrays]
        if all(bool((array == np.rint(array)).all()) for array in scaled):
            return 2.0**-power
    return 0.0
