"""The parts of a decoder in the arithmetic of the dense engine: linear maps, layer norms, feed-forward layers.

A stream is an array of shape ``(width, *places)``. There is one place, of shape ``()``, when a session is fed its next
token; there are ``(batch, n)`` places when whole sequences of n tokens are run. Only linear maps and heads (`dense_heads`)
compute the two cases differently, for speed. Both add in the same order, so the numbers are equal bit by bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import EngineError
from tm2tfr.engines.overflow import first_infinite, too_large
from tm2tfr.transformer.matrix import AnyArray, Dtype, Ints, Matrix, occurring
from tm2tfr.transformer.weights import FeedForward, Norm

DenseStream = AnyArray
"""Floats of one dtype: ``(rows, *places)``."""
Bools = NDArray[np.bool_]
Where = Callable[[], str]
"""Returns the name of a layer or a norm for messages."""

FEW, ENTRIES = 64, 24
"""Row by row costs about a microsecond per entry; at fewer than `FEW` places and with more entries than `ENTRIES`, it is
faster to gather all products of a matrix at once."""


class Refusals:
    """Which sequences have a number that is too large, and the refusal of the first such number in each.

    The next position of a session is refused at once; the sequences of a batch run to their ends.

    Args:
        position: the position of a single place; in a batch, positions count from 0.
    """

    def __init__(self, position: int = 0) -> None:
        self._position = position
        self._sequences: NDArray[np.int64] | None = None
        self.errors: dict[int, EngineError] = {}

    @contextmanager
    def of(self, sequences: NDArray[np.int64]) -> Iterator[None]:
        """Take the next places as those of some sequences of the batch: the ones whose loop continues."""
        self._sequences = sequences
        try:
            yield
        finally:
            self._sequences = None

    def note(self, wrong: Bools, error: Callable[[tuple[int, ...], int], EngineError]) -> None:
        """Refuse the places where `wrong`, (*places), is true; error: (place, position) → its refusal."""
        if wrong.ndim == 0:
            if wrong:
                raise error((), self._position)
            return
        for place in np.flatnonzero(wrong.any(axis=1)).tolist():
            sequence = place if self._sequences is None else int(self._sequences[place])
            if sequence not in self.errors:
                position = int(wrong[place].argmax())
                self.errors[sequence] = error((place, position), position)

    def note_infinite(self, numbers: DenseStream, error: Callable[[DenseStream, int], EngineError]) -> None:
        """Refuse the places with an infinite number or NaN; error: (the numbers there: (rows,), position) → its refusal."""
        wrong = np.asarray(~np.isfinite(numbers).all(axis=0))
        self.note(wrong, lambda place, position: error(np.moveaxis(numbers, 0, -1)[place], position))


# ── linear maps ─────────────────────────────────────────────────────────────────────────────────────────────
class LinearMap:
    """The linear map of a sparse matrix without its zero rows: ``map(x) = (matrix · x)[map.rows]``.

    Each row is summed from its first entry to its last, every product and every sum rounded once.
    """

    def __init__(self, matrix: Matrix, dtype: Dtype) -> None:
        self.rows, self._places = np.unique(matrix.rows, return_inverse=True)
        self._columns, self._values = matrix.columns, matrix.values.astype(dtype)

    def __call__(self, x: DenseStream) -> DenseStream:
        """x: (columns, *places) → (non-zero rows, *places)."""
        if not len(self.rows):
            return x[:0]
        if x.ndim == 1:
            return self._sums(self._places, self._values * x[self._columns], len(self.rows))
        shape, places = x.shape[1:], math.prod(x.shape[1:])
        if self._at_once(places):
            products = self._values[:, None] * x.reshape(len(x), places)[self._columns]
            rows = self._places[:, None] * places + np.arange(places)
            return self._sums(rows.ravel(), products.ravel(), len(self.rows) * places).reshape(-1, *shape)
        y = np.empty((len(self.rows), *shape), x.dtype)
        for place, (_, total) in enumerate(self._row_by_row(x)):
            y[place] = total
        return y

    def add_to(self, y: DenseStream, x: DenseStream) -> None:
        """Add the product with x, (columns, *places), to y, (rows, *places), in place."""
        if x.ndim == 1 or self._at_once(math.prod(x.shape[1:])):
            y[self.rows] += self(x)
            return
        for row, total in self._row_by_row(x):
            y[row] += total

    def plus(self, constants: DenseStream, x: DenseStream) -> DenseStream:
        """Return the whole product with x, (columns, *places), plus `constants`, (rows,): (rows, *places)."""
        y = np.empty((len(constants), *x.shape[1:]), x.dtype)
        if x.ndim == 1 or self._at_once(math.prod(x.shape[1:])):
            y[:] = beside(constants, x)
            y[self.rows] += self(x)
            return y
        alone = np.ones(len(constants), dtype=np.bool_)
        alone[self.rows] = False
        y[alone] = beside(constants[alone], x)
        for row, total in self._row_by_row(x):  # each row of y is written once
            np.add(total, constants[row], out=y[row])
        return y

    def _at_once(self, places: int) -> bool:
        """Return whether to gather all products at once: that is faster for many entries at few places."""
        return places < FEW and len(self._values) > ENTRIES

    @staticmethod
    def _sums(places: Ints, terms: DenseStream, number: int) -> DenseStream:
        if terms.dtype == np.float64:
            return np.bincount(places, terms, number)  # adds in the order of the terms, as np.add.at does
        sums = np.zeros(number, dtype=terms.dtype)
        np.add.at(sums, places, terms)
        return sums

    @cached_property
    def _entries(self) -> list[tuple[int, list[tuple[int, float]]]]:
        """Each row with its columns and values, None for a value of 1."""
        rows: list[tuple[int, list[tuple[int, float]]]] = [(row, []) for row in self.rows.tolist()]
        for place, column, value in zip(self._places.tolist(), self._columns.tolist(), self._values, strict=True):
            rows[place][1].append((column, None if value == 1 else value))
        return rows

    def _row_by_row(self, x: DenseStream) -> Iterator[tuple[int, DenseStream]]:
        """Yield each row with its product, (*places), which is overwritten by the next: use it at once."""
        total, product = np.empty(x.shape[1:], x.dtype), np.empty(x.shape[1:], x.dtype)
        for row, entries in self._entries:
            column, value = entries[0]
            found = x[column] if value is None else np.multiply(x[column], value, out=total)
            for column, value in entries[1:]:
                if value == -1:
                    found = np.subtract(found, x[column], out=total)
                    continue
                term = x[column] if value is None else np.multiply(x[column], value, out=product)
                found = np.add(found, term, out=total)
            yield row, found


class ColumnsOf:
    """The columns of a matrix, such as the embeddings of tokens."""

    def __init__(self, matrix: Matrix, dtype: Dtype) -> None:
        order = np.argsort(matrix.columns, kind="stable")
        self._cuts = np.searchsorted(matrix.columns[order], np.arange(matrix.shape[1] + 1))
        self._rows, self._values = matrix.rows[order], matrix.values[order].astype(dtype)
        self._matrix = matrix

    def __len__(self) -> int:
        return len(self._cuts) - 1

    @cached_property
    def _by_row(self) -> list[tuple[int, DenseStream]]:
        """Each row that is not 0 as a dense array: (columns,)."""
        rows = occurring(self._matrix.shape[0], self._rows)
        dense = self._matrix.selected(rows).dense(self._values.dtype)
        return list(zip(rows.tolist(), dense, strict=True))

    def add_to(self, x: DenseStream, columns: int | Ints) -> None:
        """Add a column at each place to x, (rows, *places), in place; columns: a number, or numbers (batch, n) or (n,)."""
        if isinstance(columns, int):
            cut = slice(self._cuts[columns], self._cuts[columns + 1])
            x[self._rows[cut]] += self._values[cut]
            return
        for row, values in self._by_row:
            x[row] += values[columns]


def beside(column: DenseStream, x: DenseStream) -> DenseStream:
    """Return a column, (rows,), in a shape that can be added to streams like x, (rows, *places)."""
    return column.reshape(-1, *(1,) * (x.ndim - 1))


# ── layer norms ─────────────────────────────────────────────────────────────────────────────────────────────
class LayerNorm:
    """A norm, ``gain · ((x - μ) / √(σ² + ε)) + bias`` with ``μ = Σx / width`` and ``σ² = Σ(x - μ)² / width``.

    Each sum runs from the first entry to the last, and each operation is rounded once, in the order of the formula.

    Args:
        where: says where the norm is, in refusals.
    """

    def __init__(self, norm: Norm, where: Where, dtype: Dtype) -> None:
        self._where = where
        self._gain, self._bias = norm.gain.dense(dtype)[:, 0], norm.bias.dense(dtype)[:, 0]
        self._epsilon = dtype.type(norm.epsilon)

    def __call__(self, x: DenseStream, refusals: Refusals) -> DenseStream:
        """x: (width, *places) → the same shape; x stays as it is.

        A place is refused where this would divide by 0, or the variance is too large for the dtype.
        """
        if not len(x):
            return x
        width = x.dtype.type(len(x))
        centred = x - np.add.accumulate(x, axis=0)[-1] / width
        root = np.sqrt(np.add.accumulate(centred * centred, axis=0)[-1] / width + self._epsilon)
        refusals.note(np.asarray(~((root > 0) & (root < np.inf))), lambda at, i: self._refusal(root[at], i))
        normalised: DenseStream = beside(self._gain, x) * (centred / root) + beside(self._bias, x)
        return normalised

    def _refusal(self, root: np.floating, position: int) -> EngineError:
        where, dtype = f"{self._where()}, position {position:,}", root.dtype.name
        if root == 0:
            return EngineError(
                f"{where}: its variance and its epsilon are 0, so that it divides by 0: use an epsilon above 0"
            )
        wider = "--dtype float64 or " if dtype == "float32" else ""
        return EngineError(f"{where}: the variance is too large for {dtype}: use {wider}smaller weights")


def read(norm: LayerNorm | None, x: DenseStream, refusals: Refusals) -> DenseStream:
    """Return the input of a part, from the stream x, (width, *places): x itself without a norm."""
    return x if norm is None else norm(x, refusals)


# ── feed-forward layers ──────────────────────────────────────────────────────────────────────────────────────────────────
class FeedForwardPart:
    """A feed-forward layer."""

    def __init__(self, layer: FeedForward, where: Where, dtype: Dtype, *, careful: bool) -> None:
        self._where, self._units, self._careful = where, layer.units, careful
        self._writes = occurring(layer.output.shape[1], layer.output.columns)
        self._input, self._output = LinearMap(layer.input, dtype), LinearMap(layer.output, dtype)
        self._hidden, bias = layer.input_bias.dense(dtype)[:, 0], layer.output_bias
        self._biased, self._bias = bias.rows, bias.values.astype(dtype)

    def add_to(self, x: DenseStream, reads: DenseStream, refusals: Refusals) -> None:
        """Add the layer's output to x, (width, *places), in place; reads: x itself, or the normalised x.

        A place is refused where the sum of a unit that writes something is too large for the dtype.
        """
        hidden = self._input.plus(self._hidden, reads)
        if self._careful:
            refusals.note_infinite(hidden[self._writes], self._refusal)
        np.maximum(hidden, 0, out=hidden)
        self._output.add_to(x, hidden)
        x[self._biased] += beside(self._bias, x)

    def _refusal(self, sums: DenseStream, position: int) -> EngineError:
        unit = first_infinite(sums, [self._units[u] for u in self._writes])
        return too_large(self._where(), position, f"the sum of hidden unit {unit!r}", sums.dtype.name)


def norm_of(norm: Norm | None, where: Where, dtype: Dtype) -> LayerNorm | None:
    """Return a norm as it is computed; None if there is none."""
    return None if norm is None else LayerNorm(norm, where, dtype)
