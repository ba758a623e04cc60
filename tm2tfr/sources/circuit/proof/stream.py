"""What a decoder makes of position and bit before its layer: linear forms of the embedding, through a norm if there is one.

Arrays are (rows, positions, bit): a row of the matrix, at a position, fed the bit 0 or 1.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from tm2tfr.base.errors import visible
from tm2tfr.transformer.matrix import Floats, Ints, Matrix
from tm2tfr.transformer.weights import Decoder, Norm


# ── why a decoder is not certified: the gate, what is wrong, and a witness ────────────────────────────
@dataclass(frozen=True, kw_only=True)
class CircuitRefusal:
    """One thing that is wrong with the weights, or that the proof does not reach.

    Args:
        part: ``shape``, ``embedding``, ``attention``, ``gate`` or ``rounding``.
        net: the net of the gate that it is about; empty if it is about the whole.
        what: the claim that fails.
        witness: the values at which it fails: positions, operand values, numbers.
    """

    part: str
    net: str
    what: str
    witness: str

    def __str__(self) -> str:
        """Return ``attention, gate s1: what: witness``."""
        where = f"{self.part}, gate {self.net}" if self.net else self.part
        return visible(f"{where}: {self.what}: {self.witness}")

    def as_dict(self) -> dict[str, Any]:
        """Return the refusal as plain data."""
        return asdict(self)


class Refused(Exception):  # noqa: N818  (it is caught by `prove`, and never leaves it)
    """A step of the proof that fails; `refusal` says why."""

    def __init__(self, part: str, what: str, witness: str, net: str = "") -> None:
        super().__init__(what)
        self.refusal = CircuitRefusal(part=part, net=net, what=what, witness=witness)


# ── Arrays of intervals, and how much a float may be off: what the proof computes with.
#
# Standard model: an operation is off by at most u of its result, u = 2^-p; so a sum of k products, in any order, with
# weights and terms that are rounded themselves, is off by at most γ_{k+8} of the sum of their absolute values, γ_k =
# ku/(1 - ku). Underflow takes at most the smallest normal number from a product besides; sums lose nothing by it. Where
# all terms are multiples of one power of two and their absolute values sum up to at most 2^p of it, nothing is rounded.
# The bounds themselves are computed in float64, and so every error is taken twice, with at least the u of float64.
DIGITS = {"float32": 24, "float64": 53, "rational": None}
"""dtype -> p, the number of binary digits; None: nothing is rounded."""
_TINY = {24: 2.0**-126, 53: 2.0**-1022}
"""p -> the smallest normal number."""


@dataclass(frozen=True)
class Interval:
    """Intervals [lo, hi], as two arrays of one shape."""

    lo: Floats
    hi: Floats

    @classmethod
    def exactly(cls, value: Any) -> Interval:
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

    def __getitem__(self, place: Any) -> Interval:
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

    def widened(self, by: Any) -> Interval:
        """Return the intervals with `by` more on both sides."""
        return Interval(self.lo - by, self.hi + by)


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
    def unit(self) -> float:
        """The u of the bounds: that of the dtype, at least that of float64, in which they are computed."""
        return 2.0 ** -min(53, self.digits or 53)

    def gamma(self, terms: int) -> float:
        """Return 2γ for a sum of so many products."""
        used = (terms + 8) * self.unit
        return 2 * used / (1 - used) if used < 0.5 else float("inf")

    def lost(self, terms: int) -> float:
        """Return how much so many products may lose by underflow, those of the bounds, which are in float64, included."""
        return 2 * (terms + 8) * _TINY[self.digits or 53]

    def error(self, terms: int, size: Floats) -> Floats:
        """Return how much a sum of products may be off; size: the sum of the absolute values of the terms."""
        exact = self.quantum > 0 and bool((size <= self.quantum * 2.0 ** min(53, self.digits or 53)).all())
        return np.zeros_like(size) if exact else size * self.gamma(terms) + self.lost(terms)


def quantum_of(*arrays: Floats) -> float:
    """Return the largest power of two from 2^-10 to 1 of which all numbers are multiples; 0 if there is none."""
    for power in range(11):
        scaled = [array * 2.0**power for array in arrays]
        if all(bool((array == np.rint(array)).all()) for array in scaled):
            return 2.0**-power
    return 0.0


@dataclass(frozen=True)
class Embedded:
    """The stream of a decoder with a position table after its embedding."""

    decoder: Decoder
    table: Matrix

    @property
    def width(self) -> int:
        """The width d."""
        return self.decoder.layout.width

    @property
    def positions(self) -> int:
        """The number of positions, b."""
        return self.table.shape[1]

    @property
    def terms(self) -> int:
        """The most numbers that are added up where a row of a matrix reads the stream, but for three a direction."""
        return self.width + len(self.decoder.features)

    @property
    def embeddings(self) -> tuple[Matrix, ...]:
        """The matrices whose columns are added up."""
        return self.decoder.token_embedding, self.decoder.position_embedding, self.table

    @cached_property
    def features(self) -> Floats:
        """(features, positions): the value of each position feature."""
        places = np.arange(self.positions, dtype=np.float64)
        known = {"1": np.ones_like(places), "i": places, "i^2": places**2}
        if any(name not in known for name in self.decoder.features):
            unknown = next(name for name in self.decoder.features if name not in known)
            raise Refused("embedding", "the proof knows the position features 1, i and i^2", f"feature {unknown}")
        rows = [known[name] for name in self.decoder.features]
        return np.array(rows, dtype=np.float64).reshape(-1, self.positions)

    @cached_property
    def tokens(self) -> Floats:
        """(width, 2): what each bit adds."""
        return self.decoder.token_embedding.dense()

    def forms(self, matrix: Matrix, *, sizes: bool = False) -> Floats:
        """Return matrix · (embedding): (rows, positions, 2); `sizes`: of the absolute values of all terms instead."""
        table, place, tokens, features = self.table, self.decoder.position_embedding, self.tokens, self.features
        if sizes:
            matrix, table, place = (_absolute(m) for m in (matrix, table, place))
            tokens = np.abs(tokens)
        base = np.zeros((matrix.shape[0], self.positions))
        rows, columns, values = _product(matrix, table)
        np.add.at(base, (rows, columns), values)
        rows, columns, values = _product(matrix, place)
        for row, column, value in zip(rows.tolist(), columns.tolist(), values.tolist(), strict=True):
            base[row] += value * features[column]
        added: Floats = np.zeros((matrix.shape[0], 2))
        np.add.at(added, matrix.rows, matrix.values[:, None] * tokens[matrix.columns])
        whole: Floats = base[:, :, None] + added[:, None, :]
        return whole

    @cached_property
    def total(self) -> Floats:
        """(positions, 2): the sum of the entries."""
        total: Floats = self.forms(_ones(self.width))[0]
        return total

    @cached_property
    def squares(self) -> Floats:
        """(positions, 2): the sum of the squares of the entries; of a stream without position features."""
        both = np.zeros((2, self.positions))
        np.add.at(both.T, self.table.columns, (self.tokens[self.table.rows] * self.table.values[:, None]))
        own = np.bincount(self.table.columns, self.table.values**2, minlength=self.positions)
        squares: Floats = (self.tokens**2).sum(axis=0)[None, :] + own[:, None] + 2 * both.T
        return squares


@dataclass(frozen=True)
class Normed:
    """A stream through a norm: its mean, and 1/√(variance + ε), with what rounding does to both; of any one shape.

    Args:
        off: how much the computed mean may be off.
    """

    norm: Norm
    mean: Interval
    scale: Interval
    off: Floats

    @classmethod
    def of(
        cls, norm: Norm, width: int, terms: int, total: Interval, squares: Interval, size: Floats, rounding: Rounding
    ) -> Normed:
        """Return the norm of streams of `width` entries.

        Args:
            terms: the most numbers that are added up for the sum of the entries.
            total, squares, size: the sum of the entries, that of their squares, and that of the absolute values of all
                that is added up in them.

        Raises:
            Refused: if the norm may divide by 0, which engines refuse.
        """
        mean = Interval(total.lo / width, total.hi / width)
        off = rounding.gamma(terms) * size / width + rounding.lost(terms)
        centred = Interval(squares.lo - width * mean.size**2, squares.hi)
        rounded = rounding.gamma(terms + width) * size**2 + rounding.lost(terms + width)  # size² ≥ Σ of all terms squared
        variance = centred.widened(width * off**2 + rounded)
        whole = Interval(variance.lo / width + norm.epsilon, variance.hi / width + norm.epsilon)
        if not (whole.lo > 0).all():
            raise Refused("embedding", "a layer norm divides by a number that is not shown to be positive", "variance 0")
        root = Interval(1 / np.sqrt(whole.hi), 1 / np.sqrt(whole.lo))
        extra = rounding.gamma(4)
        return cls(norm, mean, Interval(root.lo * (1 - extra), root.hi * (1 + extra)), off)

    def read(self, reading: NormedMatrix, forms: Interval, sizes: Floats, terms: int, rounding: Rounding) -> Interval:
        """Return matrix · LN(x), (rows, …).

        Args:
            forms, sizes: (rows, …) matrix · gain · x, and the sum of the absolute values of its terms.
            terms: the most numbers that are added up in one of them.
        """
        wide, gamma = (-1, *(1,) * self.mean.lo.ndim), rounding.gamma(terms)
        sums, weights, constants, sized, plain = (
            each.reshape(wide) for each in (reading.sums, reading.weights, reading.constants, reading.sizes, reading.plain)
        )
        centred = forms - Interval.exactly(sums) * self.mean
        off = weights * (self.off + gamma * self.mean.size) + gamma * sizes
        scaled = centred.widened(off) * self.scale
        lost = rounding.lost(terms) * (1 + weights + plain)
        return (scaled + Interval.exactly(constants)).widened(gamma * sized + lost)

    def read_embedded(self, stream: Embedded, matrix: Matrix, rounding: Rounding) -> Interval:
        """Return matrix · LN(embedding): (rows, positions, 2)."""
        reading = NormedMatrix.of(matrix, self.norm)
        forms, sizes = stream.forms(reading.matrix), stream.forms(reading.matrix, sizes=True)
        return self.read(reading, Interval.exactly(forms), sizes, stream.terms, rounding)


@dataclass(frozen=True)
class NormedMatrix:
    """What a matrix makes of a norm.

    Args:
        matrix: matrix · gain.
        sums, weights: (rows,) its row sums, and those of its absolute values.
        constants, sizes: (rows,) matrix · bias, and the sum of the absolute values of its terms.
        plain: (rows,) the row sums of the absolute values of the matrix itself.
    """

    matrix: Matrix
    sums: Floats
    weights: Floats
    constants: Floats
    sizes: Floats
    plain: Floats

    @classmethod
    def of(cls, matrix: Matrix, norm: Norm) -> NormedMatrix:
        """Return how `matrix` reads what `norm` makes of a stream."""
        gain, bias = norm.gain.dense()[:, 0], norm.bias.dense()[:, 0]
        gained, shifted = matrix.values * gain[matrix.columns], matrix.values * bias[matrix.columns]
        sums, weights, constants, sizes, plain = (
            np.bincount(matrix.rows, terms, minlength=matrix.shape[0]).astype(np.float64)
            for terms in (gained, np.abs(gained), shifted, np.abs(shifted), np.abs(matrix.values))
        )
        return cls(Matrix(matrix.shape, matrix.rows, matrix.columns, gained), sums, weights, constants, sizes, plain)


def _ones(width: int) -> Matrix:
    return Matrix.from_dense(np.ones((1, width)))


def _absolute(matrix: Matrix) -> Matrix:
    return Matrix(matrix.shape, matrix.rows, matrix.columns, np.abs(matrix.values))


def _product(left: Matrix, right: Matrix) -> tuple[Ints, Ints, Floats]:
    """Return the terms of a product of sparse matrices: rows, columns and values, with places that occur more than once."""
    order = np.argsort(left.columns, kind="stable")
    columns = left.columns[order]
    starts, ends = np.searchsorted(columns, right.rows), np.searchsorted(columns, right.rows, side="right")
    counts = ends - starts
    which = np.repeat(np.arange(len(right.rows)), counts)
    at = order[np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum()))]
    return left.rows[at], right.columns[which], left.values[at] * right.values[which]
