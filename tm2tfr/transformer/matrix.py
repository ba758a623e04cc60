"""A frozen sparse matrix: the only container for weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tm2tfr.base.errors import ShapeError

Rational = int | Fraction
"""An exact number: an int where it is an integer."""
Int = int | np.int64
"""A whole number in compiled code, where both are the same."""
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Ints32 = NDArray[np.int32]
"""Tokens, labels and other small whole numbers."""
Dtype = np.dtype[Any]
AnyArray = NDArray[Any]
"""Numbers of any dtype: float64, float32, or exact ones as objects."""
Vector = Any
"""Numbers in a row: an array of floats, or a list of exact numbers."""


def rational(value: float) -> Rational:
    """Return the exact value of a float, as an int if it is an integer."""
    return int(value) if value.is_integer() else Fraction(value)


_every = np.logical_and.reduce


def occurring(size: int, *numbers: Ints) -> Ints:
    """Return the numbers from 0 to size - 1 that occur in every array, in order.

    np.unique and np.intersect1d do the same, but import numpy.ma, which takes a tenth of the time of a short run.
    """
    return np.flatnonzero(np.all([np.bincount(each, minlength=size) for each in numbers], axis=0))


@dataclass(frozen=True, eq=False)
class Matrix:
    """A real matrix by its non-zero entries, sorted by row and then column.

    Values are float64; the compiler writes only small integers and halves, so nothing is rounded.

    Args:
        shape: ``(rows, columns)``.
        rows, columns: (n_nonzero,) the places of the entries.
        values: (n_nonzero,) the entries; finite.

    Raises:
        ShapeError: entries outside the shape, twice in one place, or not finite.
    """

    shape: tuple[int, int]
    rows: Ints
    columns: Ints
    values: Floats

    def __post_init__(self) -> None:
        rows, columns = (np.asarray(a, dtype=np.int64) for a in (self.rows, self.columns))
        values = np.asarray(self.values, dtype=np.float64)
        if not rows.shape == columns.shape == values.shape or rows.ndim != 1:
            raise ShapeError("a sparse matrix needs equally many rows, columns and values, each as a vector")
        n, m = self.shape
        places = rows * m + columns
        if len(rows):
            # A negative number is large without its sign: one comparison asks for both ends.
            inside = (rows.view(np.uint64) < max(n, 0)) & (columns.view(np.uint64) < max(m, 0))
            if not _every(inside):
                at = int(np.flatnonzero(~inside)[0])
                raise ShapeError(f"entry ({rows[at]}, {columns[at]}) lies outside a matrix of shape {self.shape}")
            if not _every(np.isfinite(values)):
                raise ShapeError("a weight is not a finite number: weights must be finite")
            if not _every(values != 0) or not _every(places[1:] > places[:-1]):
                keep = np.flatnonzero(values)
                keep = keep[np.argsort(places[keep], kind="stable")]
                rows, columns, values, places = rows[keep], columns[keep], values[keep], places[keep]
                if (places[1:] == places[:-1]).any():
                    raise ShapeError("a sparse matrix has two entries in one place")
        for name, array in (("rows", rows), ("columns", columns), ("values", values)):
            given = array is getattr(self, name) and (array.flags.writeable or array.base is not None)
            own = array.copy() if given else array  # nobody else can write to it
            own.setflags(write=False)
            object.__setattr__(self, name, own)

    @classmethod
    def from_entries(cls, shape: tuple[int, int], entries: Mapping[tuple[int, int], float]) -> Matrix:
        """Return the matrix of `shape` with ``entries[row, column]`` and zeros elsewhere."""
        places = np.array(list(entries), dtype=np.int64).reshape(-1, 2)
        return cls(shape, places[:, 0], places[:, 1], np.array(list(entries.values()), dtype=np.float64))

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[int, float]], width: int) -> Matrix:
        """Return the matrix whose rows are these mappings ``column -> value``, with zeros elsewhere: (len(rows), width)."""
        numbers = [n for n, row in enumerate(rows) for _ in row]
        columns, values = [c for row in rows for c in row], [value for row in rows for value in row.values()]
        ints = np.array([numbers, columns], dtype=np.int64)
        return cls((len(rows), width), ints[0], ints[1], np.array(values, dtype=np.float64))

    @classmethod
    def from_columns(cls, columns: Sequence[Mapping[int, float]], height: int) -> Matrix:
        """Return the matrix whose columns are these mappings ``row -> value``: (height, len(columns))."""
        entries = sorted([(r, n, value) for n, column in enumerate(columns) for r, value in column.items()])
        rows, numbers, values = zip(*entries, strict=True) if entries else ((), (), ())
        ints = np.array([rows, numbers], dtype=np.int64)
        return cls((height, len(columns)), ints[0], ints[1], np.array(values, dtype=np.float64))

    @classmethod
    def from_dense(cls, array: AnyArray) -> Matrix:
        """Return the sparse form of a dense two-dimensional `array`."""
        if array.ndim != 2:
            raise ShapeError(f"a matrix has two dimensions, not {array.ndim}")
        keep = array != 0  # a NaN is kept, and so refused
        rows, columns = np.nonzero(keep)
        return cls((array.shape[0], array.shape[1]), rows, columns, array[keep])

    @property
    def nonzero(self) -> int:
        """The number of entries that are not 0."""
        return len(self.values)

    @property
    def transposed(self) -> Matrix:
        """The matrix with rows and columns exchanged."""
        return Matrix((self.shape[1], self.shape[0]), self.columns, self.rows, self.values)

    def selected(self, rows: Ints) -> Matrix:
        """Return the matrix of these rows alone, in increasing order: (len(rows), columns)."""
        places = np.full(self.shape[0], -1)
        places[rows] = np.arange(len(rows))
        keep = np.flatnonzero(places[self.rows] >= 0)
        return Matrix((len(rows), self.shape[1]), places[self.rows[keep]], self.columns[keep], self.values[keep])

    def dense(self, dtype: DTypeLike = np.float64) -> AnyArray:
        """Return the matrix as a dense array: (rows, columns)."""
        array = np.zeros(self.shape, dtype=dtype)
        array[self.rows, self.columns] = self.values
        return array

    def times(self, x: Sequence[Rational]) -> dict[int, Rational]:
        """Return the product with a vector, exactly: the rows that have entries; x: (columns,)."""
        total: dict[int, Rational] = {}
        for row, column, value in self.entries():
            total[row] = total.get(row, 0) + rational(value) * x[column]
        return total

    def entries(self) -> Iterator[tuple[int, int, float]]:
        """Yield ``(row, column, value)`` for each non-zero entry, by row and then column."""
        yield from zip(self.rows.tolist(), self.columns.tolist(), self.values.tolist(), strict=True)

    def by_row(self) -> list[dict[int, float]]:
        """Return for each row the mapping ``column -> value`` of its non-zero entries."""
        table: list[dict[int, float]] = [{} for _ in range(self.shape[0])]
        for row, column, value in self.entries():
            table[row][column] = value
        return table

    def with_entry(self, row: int, column: int, value: float) -> Matrix:
        """Return a copy in which the entry at (`row`, `column`) is `value`."""
        if not (0 <= row < self.shape[0] and 0 <= column < self.shape[1]):
            raise ShapeError(f"entry ({row}, {column}) lies outside a matrix of shape {self.shape}")
        entries = {(r, c): v for r, c, v in self.entries()}
        return Matrix.from_entries(self.shape, {**entries, (row, column): value})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Matrix):
            return NotImplemented
        same = (np.array_equal(a, b) for a, b in zip(self._key(), other._key(), strict=True))
        return self.shape == other.shape and all(same)

    def __hash__(self) -> int:
        return hash((self.shape, *(a.tobytes() for a in self._key())))

    def __reduce__(self) -> tuple[type[Matrix], tuple[Any, ...]]:
        return Matrix, (self.shape, *self._key())  # through the constructor: a copy is read-only too

    def _key(self) -> tuple[AnyArray, ...]:
        return self.rows, self.columns, self.values

    def __repr__(self) -> str:
        return f"<Matrix {self.shape[0]}×{self.shape[1]}, {self.nonzero} non-zero>"
