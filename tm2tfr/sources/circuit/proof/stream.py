"""What a decoder makes of position and bit before its layer: linear forms of the embedding, through a norm if there is one.

Arrays are (rows, positions, bit): a row of the matrix, at a position, fed the bit 0 or 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tm2tfr.sources.circuit.proof.refused import Refused
from tm2tfr.sources.circuit.proof.spans import Interval, Rounding
from tm2tfr.transformer.matrix import Floats, Ints, Matrix
from tm2tfr.transformer.weights import Decoder, Norm


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
        root = whole.inverse_root()
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
