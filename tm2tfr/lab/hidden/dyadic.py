"""Exact arithmetic on weights: products of matrices whose entries are fractions with a power of two below.

Every float is such a fraction. A product of two matrices is computed by floats if these are exact whatever the order, which
a bound on all partial sums shows, and by Python's integers otherwise.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import ShapeError

Dyadic = NDArray[np.float64]

EXACT = 2.0**52
"""Floats add whole numbers exactly, in any order, up to this sum of their absolute values, which may be rounded itself."""
HADAMARD = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]], dtype=np.float64) / 2
"""4 × 4 and orthogonal, all entries ±1/2."""
CENTRED = np.full((4, 4), 0.5) - np.eye(4)
"""An orthogonal matrix that also keeps the mean: (1, 1, 1, 1) stays as it is."""
BLOCK = 4
_MOST_BITS = 1_000
_DRAWN = 20


def product(left: Dyadic, right: Dyadic, what: str = "a weight") -> Dyadic:
    """Return the product of two matrices, exactly: (n, k) times (k, m) → (n, m).

    Args:
        what: what is computed, for the refusal.

    Raises:
        ShapeError: if an entry of the product is not a float64.
    """
    if not left.size or not right.size:
        return np.zeros((left.shape[0], right.shape[1]))
    a, low_a = _whole(left)
    b, low_b = _whole(right)
    largest = float(np.abs(a).sum(axis=1).max(initial=0.0)) * float(np.abs(b).max(initial=0.0))
    if largest <= EXACT:
        return shifted(a @ b, low_a + low_b, what)
    return _by_integers(a, b, low_a + low_b, what)


def total(terms: Dyadic, what: str = "a sum of weights") -> Dyadic:
    """Return the sums over the last axis, exactly: (n, k) → (n,).

    Raises:
        ShapeError: if one of them is not a float64.
    """
    return product(terms, np.ones((terms.shape[-1], 1)), what)[:, 0]


def added(left: Dyadic, right: Dyadic, what: str = "a sum of weights") -> Dyadic:
    """Return left + right, exactly, of the shape that both have together. Raises ShapeError if a sum is not a float64."""
    one, other = np.broadcast_arrays(left, right)
    return total(np.stack([one.ravel(), other.ravel()], axis=1), what).reshape(one.shape)


def exponent_of(scale: float) -> int | None:
    """Return n for 2^n; None for any other number."""
    mantissa, exponent = np.frexp(scale)
    return int(exponent) - 1 if mantissa == 0.5 else None


def shifted(array: Dyadic, exponent: int, what: str = "a weight") -> Dyadic:
    """Return array · 2^exponent, exactly.

    Raises:
        ShapeError: if an entry is too large for a float64, or too small for one with all its digits.
    """
    with np.errstate(over="ignore", under="ignore"):
        found: Dyadic = np.ldexp(array, exponent)
        back = np.ldexp(found, -exponent)
    if not np.array_equal(back, array):
        raise ShapeError(f"{what} is too large or too small for a float64, so the disguise would not be exact")
    return found


def _whole(array: Dyadic) -> tuple[Dyadic, int]:
    """Return whole numbers and an exponent: array = whole · 2^exponent."""
    values = array[array != 0]
    if not np.isfinite(values).all():
        raise ShapeError("a weight is not a finite number")
    if not len(values):
        return array, 0
    mantissas, exponents = np.frexp(values)
    digits = np.ldexp(mantissas, 53).astype(np.int64)
    trailing = np.array([(int(d) & -int(d)).bit_length() - 1 for d in np.abs(digits)])
    low = int((exponents - 53 + trailing).min())
    if int(exponents.max()) - low > _MOST_BITS:
        raise ShapeError("the weights differ in size by more than 2^1000: they cannot be disguised exactly")
    return np.ldexp(array, -low), low


def _by_integers(a: Dyadic, b: Dyadic, exponent: int, what: str) -> Dyadic:
    left = np.array([[int(v) for v in row] for row in a], dtype=object)
    right = np.array([[int(v) for v in row] for row in b], dtype=object)
    found = left.dot(right)
    rounded = np.zeros(found.shape)
    for place, whole in np.ndenumerate(found):
        number = float(whole) if abs(whole) < 2**1000 else np.inf
        if not np.isfinite(number) or int(number) != whole:
            raise ShapeError(f"{what} has more digits than a float64, so the disguise would not be exact: use grade 1")
        rounded[place] = number
    return shifted(rounded, exponent, what)


@dataclass(frozen=True)
class Turn:
    """A random orthogonal matrix with dyadic entries: rounds of 4 × 4 Hadamard blocks, halved, and permutations.

    Args:
        size: its number of rows, a multiple of 4.
        rounds: for each round the order in which the coordinates are taken, and the signs that they get.
        centred: whether it keeps the mean of the coordinates, and so their variance, as layer norms need; no sign is -1.

    Raises:
        ShapeError: for a size that is not a multiple of 4, or rounds that are not permutations with signs.
    """

    size: int
    rounds: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    centred: bool = False

    def __post_init__(self) -> None:
        if self.size % BLOCK:
            raise ShapeError(f"a turn has a multiple of {BLOCK} dimensions, not {self.size}")
        for order, signs in self.rounds:
            if sorted(order) != list(range(self.size)) or len(signs) != self.size or not set(signs) <= {1, -1}:
                raise ShapeError(f"a round of a turn is a permutation of {self.size} coordinates with a sign for each")
            if self.centred and -1 in signs:
                raise ShapeError("a turn that keeps the mean has no signs")

    @classmethod
    def drawn(cls, size: int, rounds: int, chance: random.Random, *, centred: bool = False) -> Turn:
        """Return a random one; of several the first one most of whose entries are not 0."""
        found, signs = cls(size, (), centred), (1,) if centred else (1, -1)
        for _ in range(_DRAWN if size else 0):
            made = []
            for _ in range(rounds):
                order = chance.sample(range(size), size)
                made.append((tuple(order), tuple(chance.choice(signs) for _ in range(size))))
            found = cls(size, tuple(made), centred)
            if np.count_nonzero(found.matrix) > 0.6 * min(size * size, size * BLOCK**rounds):
                break
        return found

    @cached_property
    def matrix(self) -> Dyadic:
        """It: (size, size); its transpose is its inverse."""
        found, block = np.eye(self.size), CENTRED if self.centred else HADAMARD
        for order, signs in self.rounds:
            taken = found[list(order)] * np.array(signs, dtype=np.float64)[:, None]
            found = np.einsum("ij,bjk->bik", block, taken.reshape(-1, BLOCK, self.size)).reshape(self.size, self.size)
        found.setflags(write=False)
        return found


def is_orthogonal(matrix: Dyadic) -> bool:
    """Return whether Q·Qᵀ = I, exactly."""
    return matrix.shape[0] == matrix.shape[1] and bool((product(matrix, matrix.T) == np.eye(len(matrix))).all())


def rounds_for(size: int) -> int:
    """Return in how many rounds every coordinate is mixed with every other one, and one more."""
    rounds = 1
    while BLOCK ** (rounds - 1) < size:
        rounds += 1
    return rounds


def padded(size: int) -> int:
    """Return the next multiple of 4."""
    return -(-size // BLOCK) * BLOCK
