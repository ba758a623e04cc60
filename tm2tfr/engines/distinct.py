"""Columns of numbers of which few are different: each different one is computed once, and places have its number.

Equal columns have equal results, bit for bit, in whatever order a result is summed: so this changes no number. A sum of
matrix entries times numbers runs from the first entry to the last, see `tm2tfr.engines.dense`; where every partial sum is
an exact integer the order does not matter, and one matrix product takes its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from tm2tfr.engines.dense_heads import exact_sums
from tm2tfr.engines.dense_parts import DenseStream
from tm2tfr.transformer.matrix import AnyArray, Dtype, Ints, Matrix

_Result = TypeVar("_Result")
NONE: Ints = np.zeros(0, dtype=np.int64)
KEPT_NUMBERS = 2**16
"""Results of larger arrays are not kept from batch to batch."""
SPARSE = 2**12
"""A table replaces sorting if it has at most this many entries more than four per place."""
WORTH, MOST = 8, 2**10
"""Columns are compared with each other where there are more than `WORTH` and at most `MOST` of them."""


SHORT = 3
"""Rows of at most this many entries are summed one entry after the other."""
TERMS, DENSE = 2**17, 2**20
"""The most products of a matrix that are made at once, and the most entries of a matrix product, zeros included."""


class ColumnCodes(NamedTuple):
    """Which of some columns there is at each place.

    Args:
        places: (n or 1, batch or 1) numbers of columns; 1 where they are the same for all. The batch, which is large, is
            last, as numpy's loops want it.
        size: the number of columns.
    """

    places: Ints
    size: int


class LastResult(Generic[_Result]):
    """A function of arrays with its last result, which is returned again for the very same arrays.

    From batch to batch the different columns are mostly the same, and only which of them is where differs.
    """

    def __init__(self, function: Callable[..., _Result]) -> None:
        self._function = function
        self._last: tuple[tuple[AnyArray, ...], _Result] | None = None

    def __call__(self, *arrays: AnyArray) -> _Result:
        last = self._last
        if last is not None and len(arrays) == len(last[0]) and all(map(is_, arrays, last[0])):
            return last[1]
        result = self._function(*arrays)
        self._last = (arrays, result) if all(array.size <= KEPT_NUMBERS for array in arrays) else None
        return result


def numbered_keys(keys: Ints, size: int, last: Ints = NONE) -> tuple[ColumnCodes, Ints]:
    """Number the keys that occur in increasing order: keys (n or 1, batch or 1), all below `size`.

    Args:
        last: the keys that occurred last time.

    Returns:
        The numbers, and the keys that occur: (numbers,), `last` itself if they are the same.
    """
    if size > 4 * keys.size + SPARSE:
        found, places = np.unique(keys, return_inverse=True)
        return ColumnCodes(places.reshape(keys.shape), len(found)), _again(found, last)
    there = np.zeros(size, dtype=np.bool_)
    there[keys] = True
    found = np.flatnonzero(there)
    if len(found) == size:
        return ColumnCodes(keys, size), _again(found, last)
    numbers = np.empty(size, dtype=np.int64)
    numbers[found] = np.arange(len(found))
    return ColumnCodes(numbers.take(keys), len(found)), _again(found, last)


def _again(found: Ints, last: Ints) -> Ints:
    return last if len(found) == len(last) and (found == last).all() else found


class Joined(NamedTuple):
    """Which combination of columns there is at each place, and of each combination the column of each part.

    Args:
        sizes, found: those of the parts, and the keys of their combinations, from which `of` follows.
    """

    coded: ColumnCodes
    of: tuple[Ints, ...]
    sizes: tuple[int, ...]
    found: tuple[Ints, ...]


def joined_codes(parts: Sequence[ColumnCodes], last: Joined | None = None) -> Joined:
    """Return which combination of columns there is at each place; last: what was returned for the last batch."""
    sizes, whole, keys_found = tuple(part.size for part in parts), parts[0], list[Ints]()
    known = None if last is None or last.sizes != sizes else last
    for place, part in enumerate(parts[1:]):
        keys = whole.places * part.size + part.places
        if keys.size > SPARSE and 2 * max(whole.size, part.size) > keys.size:  # nearly all places differ already
            whole, found = ColumnCodes(np.arange(keys.size).reshape(keys.shape), keys.size), keys.ravel()
        else:
            before = NONE if known is None or place >= len(known.found) else known.found[place]
            whole, found = numbered_keys(keys, whole.size * part.size, before)
        keys_found.append(found)
    if known is not None and all(map(is_, keys_found, known.found)):
        return Joined(whole, known.of, sizes, known.found)
    of = [np.arange(sizes[0])]
    for found, size in zip(keys_found, sizes[1:], strict=True):
        first, own = np.divmod(found, size)
        of = [*(each[first] for each in of), own]
    return Joined(whole, tuple(of), sizes, tuple(keys_found))


def distinct_columns(table: DenseStream) -> tuple[Ints, DenseStream]:
    """Return the number of each column among the different ones, and those: (rows, columns) → (columns,), (rows, …)."""
    columns = table.shape[1]
    if not len(table):
        return np.zeros(columns, dtype=np.int64), table[:, :1]
    records = np.ascontiguousarray(table.T + table.dtype.type(0))  # -0 becomes 0
    known: dict[bytes, int] = {}
    numbers = [
        known.setdefault(each, len(known)) for each in records.view(f"V{records.itemsize * len(table)}")[:, 0].tolist()
    ]
    if len(known) == columns:
        return np.arange(columns), table
    codes = np.array(numbers, dtype=np.int64)
    first = np.empty(len(known), dtype=np.int64)
    first[codes[::-1]] = np.arange(columns)[::-1]
    return codes, table[:, first]


class DistinctColumns(NamedTuple):
    """Columns without those that are there twice: the new number of each old one, None if all stay; and the columns."""

    codes: Ints | None
    table: DenseStream

    def at(self, coded: ColumnCodes) -> ColumnCodes:
        """Return the new numbers at each place."""
        if self.codes is None:
            return coded
        if self.table.shape[1] == 1:
            return ColumnCodes(np.zeros((1, 1), dtype=np.int64), 1)
        return ColumnCodes(self.codes.take(coded.places), self.table.shape[1])


def compressed(table: DenseStream) -> DistinctColumns:
    """Return columns, (rows, columns), without those that are there twice, where that is worth looking."""
    columns = table.shape[1]
    if not WORTH < columns <= MOST and len(table):
        return DistinctColumns(None, table)
    codes, found = distinct_columns(table)
    return DistinctColumns(None if found.shape[1] == columns else codes, found)


class ColumnMap:
    """A linear map of a sparse matrix without its zero rows and columns: ``map(x[map.reads]) = (matrix · x)[map.rows]``."""

    def __init__(self, matrix: Matrix, dtype: Dtype) -> None:
        self.rows, places, counts = np.unique(matrix.rows, return_inverse=True, return_counts=True)
        self.reads, columns = np.unique(matrix.columns, return_inverse=True)
        values = matrix.values.astype(dtype)
        self._largest = float(np.abs(values).max(initial=0)) if bool((values == np.rint(values)).all()) else np.inf
        self._dense: DenseStream | None = None
        if len(self.rows) * len(self.reads) <= DENSE:
            self._dense = np.zeros((len(self.rows), len(self.reads)), dtype)
            self._dense[places, columns] = values
        # Entry by entry of each row; a row with fewer entries than another adds 0 times a finite number.
        depth = np.arange(len(values)) - np.repeat(np.cumsum(counts) - counts, counts)
        shape = (int(counts.max(initial=0)), len(self.rows))
        self._columns, self._values = np.zeros(shape, dtype=np.int64), np.zeros((*shape, 1), dtype)
        self._columns[depth, places], self._values[depth, places, 0] = columns, values

    def __call__(self, x: DenseStream) -> DenseStream:
        """x: (reads, columns) → (rows, columns)."""
        if not len(self.rows):
            return np.zeros((0, x.shape[1]), x.dtype)
        depth = len(self._columns)
        if depth > SHORT and self._dense is not None and exact_sums(x.dtype, depth * self._largest, x):
            return np.asarray(self._dense @ x)
        if self._columns.size * x.shape[1] > TERMS:
            total: DenseStream = self._values[0] * x[self._columns[0]]
            for columns, values in zip(self._columns[1:], self._values[1:], strict=True):
                total += values * x[columns]
            return total
        products = self._values * x[self._columns]
        for product in products[1:]:
            products[0] += product
        return np.asarray(products[0])
