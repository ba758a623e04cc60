"""Columns of numbers of which few are different: each different one is computed once, and places have its number.

Equal columns have equal results, bit for bit, in whatever order a result is summed: so this changes no number. A sum of
matrix entries times numbers runs from the first entry to the last, see `tm2tfr.engines.dense`; where every partial sum is
an exact integer the order does not matter, and one matrix product takes its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tm2tfr.engines.dense_heads import exact_sums
from tm2tfr.engines.dense_parts import DenseStream
from tm2tfr.transformer.matrix import Dtype, Ints, Matrix

SPARSE = 2**12
"""A table with so many entries more than four for each place is worth making in place of sorting."""
WORTH, MOST = 8, 2**10
"""Columns are compared with each other where there are more than `WORTH` and at most `MOST` of them."""


SHORT = 3
"""Rows of so many entries are summed one entry after the other."""
TERMS, DENSE = 2**17, 2**20
"""The most products of a matrix that are made at once, and the most entries of a matrix product, zeros included."""


class Coded(NamedTuple):
    """Which of some columns there is at each place.

    Args:
        places: (n or 1, batch or 1) numbers of columns; 1 where they are the same for all. The batch, which is large, is
            last, as numpy's loops want it.
        size: the number of columns.
    """

    places: Ints
    size: int


def numbered_keys(keys: Ints, size: int) -> tuple[Coded, Ints]:
    """Number the keys that occur in increasing order: keys (n or 1, batch or 1), all below `size`.

    Returns:
        The numbers, and the keys that occur: (numbers,).
    """
    if size > 4 * keys.size + SPARSE:
        found, places = np.unique(keys, return_inverse=True)
        return Coded(places.reshape(keys.shape), len(found)), found
    there = np.zeros(size, dtype=np.bool_)
    there[keys] = True
    found = np.flatnonzero(there)
    if len(found) == size:
        return Coded(keys, size), found
    numbers = np.empty(size, dtype=np.int64)
    numbers[found] = np.arange(len(found))
    return Coded(numbers.take(keys), len(found)), found


def joined_codes(parts: Sequence[Coded]) -> tuple[Coded, list[Ints]]:
    """Return which combination of columns there is at each place, and of each combination the column of each part."""
    whole, of = parts[0], [np.arange(parts[0].size)]
    for part in parts[1:]:
        keys = whole.places * part.size + part.places
        if 2 * max(whole.size, part.size) > keys.size:  # nearly all places differ already
            whole, found = Coded(np.arange(keys.size).reshape(keys.shape), keys.size), keys.ravel()
        else:
            whole, found = numbered_keys(keys, whole.size * part.size)
        first, own = np.divmod(found, part.size)
        of = [*(each[first] for each in of), own]
    return whole, of


def distinct_columns(table: DenseStream) -> tuple[Ints, DenseStream]:
    """Return the number of each column among the different ones, and those: (rows, columns) → (columns,), (rows, …)."""
    columns = table.shape[1]
    if not len(table):
        return np.zeros(columns, dtype=np.int64), table[:, :1]
    records = np.ascontiguousarray(table.T + table.dtype.type(0))  # -0 becomes 0
    known: dict[bytes, int] = {}
    numbers = [known.setdefault(each, len(known)) for each in records.view(f"V{records.itemsize * len(table)}")[:, 0].tolist()]
    if len(known) == columns:
        return np.arange(columns), table
    codes = np.array(numbers, dtype=np.int64)
    first = np.empty(len(known), dtype=np.int64)
    first[codes[::-1]] = np.arange(columns)[::-1]
    return codes, table[:, first]


def compressed(coded: Coded, table: DenseStream) -> tuple[Coded, DenseStream]:
    """Return codes and columns without columns that are there twice."""
    if not WORTH < coded.size <= MOST and len(table):
        return coded, table
    codes, found = distinct_columns(table)
    if found.shape[1] == coded.size:
        return coded, table
    if found.shape[1] == 1:
        return Coded(np.zeros((1, 1), dtype=np.int64), 1), found
    return Coded(codes.take(coded.places), found.shape[1]), found


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
            whole: DenseStream = self._dense @ x
            return whole
        if self._columns.size * x.shape[1] > TERMS:
            total: DenseStream = self._values[0] * x[self._columns[0]]
            for columns, values in zip(self._columns[1:], self._values[1:], strict=True):
                total += values * x[columns]
            return total
        products = self._values * x[self._columns]
        for product in products[1:]:
            products[0] += product
        return products[0]
