"""Rows as lines of CSV or JSON, the same bytes as `tm2tfr.tables.table` writes; columns of numbers by the million."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.errors import ShapeError
from tm2tfr.tables.sheet import plain
from tm2tfr.trace.rows import COLUMNS, Row

_PAD = 0xFF  # no byte of UTF-8
_BYTES = 2**22  # of one matrix of characters
_ROWS = 2**13  # of one piece of rows


class Coded(NamedTuple):
    """A column of text: ``labels[codes[n]]`` in row n, nothing (⊥) where the code is -1.

    codes: (n,) of integers. Keep the same `labels` from call to call: they are encoded once; more may be appended
    in between.
    """

    codes: NDArray[Any]
    labels: Sequence[str]


class Columns(NamedTuple):
    """Rows by column, for speed: i, m and h are (n,) arrays of integers; the others are text, (n,) codes."""

    i: NDArray[Any]
    x: Coded
    q: Coded
    b: Coded
    m: NDArray[Any]
    h: NDArray[Any]
    a: Coded
    y: Coded

    def checked(self) -> Columns:
        """Return the columns.

        Raises:
            ShapeError: if their lengths differ, or they contain numbers other than integers, or unknown codes.
        """
        each: Iterable[Any] = self
        for name, column in zip(COLUMNS, each, strict=True):
            numbers = column.codes if isinstance(column, Coded) else column
            if numbers.ndim != 1 or len(numbers) != len(self.i):
                what = f"column {name}: shape {numbers.shape} for {len(self.i)} rows"
                raise ShapeError(f"{what}: give every column one entry per row")
            if numbers.dtype.kind not in "iu":
                raise ShapeError(f"column {name}: {numbers.dtype} numbers: use integers, or write for such rows")
            if isinstance(column, Coded) and len(numbers):
                low, high = int(numbers.min()), int(numbers.max())
                if low < -1 or high >= len(column.labels):
                    what = f"column {name}: codes from {low} to {high} for {len(column.labels)} labels"
                    raise ShapeError(f"{what}: a code must be -1 (nothing) or the index of a label")
        return self

    def part(self, start: int, end: int) -> Columns:
        """Return the rows from `start` to before `end`."""
        each: Iterable[Any] = self
        return Columns._make(c._replace(codes=c.codes[start:end]) if isinstance(c, Coded) else c[start:end] for c in each)


class Lines(NamedTuple):
    """A text format: the text above the rows, before each cell and after the last one; and how a cell is written."""

    header: str
    before: Mapping[str, str]
    end: str
    cell: Callable[[str, Any], str]
    plus: frozenset[str]
    """The columns whose numbers have a sign when they are positive."""
    quotes: bool
    """Whether a line break within quotation marks is part of a cell."""


@lru_cache(maxsize=2**14, typed=True)
def _csv_cell(column: str, value: Any) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow([plain(column, value), ""])  # alone, an empty cell has quotes
    return out.getvalue()[:-2]


@lru_cache(maxsize=2**14, typed=True)
def _json_cell(_: str, value: Any) -> str:
    odd = isinstance(value, Fraction) or (isinstance(value, float) and not math.isfinite(value))
    return json.dumps(str(value) if odd else value, ensure_ascii=False)


CSV = Lines(
    header=",".join(COLUMNS) + "\n",
    before={c: "," if c != COLUMNS[0] else "" for c in COLUMNS},
    end="\n",
    cell=_csv_cell,
    plus=frozenset("m"),
    quotes=True,
)
JSONL = Lines(
    header="",
    before={c: f'{", " if c != COLUMNS[0] else "{"}"{c}": ' for c in COLUMNS},
    end="}\n",
    cell=_json_cell,
    plus=frozenset(),
    quotes=False,
)


class TextEncoder:
    """Encodes rows and columns in one of the text formats, a few megabytes at a time."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._tables: dict[str, tuple[Sequence[str], int, NDArray[np.uint8]]] = {}

    def rows(self, rows: Sequence[Row]) -> Iterator[tuple[int, bytes]]:
        """Yield numbers of rows, and their bytes."""
        first, *rest = (self._lines.before[c] for c in COLUMNS)
        cell, end = self._lines.cell, self._lines.end
        for start in range(0, len(rows), _ROWS):
            some, text = rows[start : start + _ROWS], io.StringIO()
            for i, *cells in some:
                text.write(f"{first}{i}")
                for column, before, value in zip(COLUMNS[1:], rest, cells, strict=True):
                    text.write(before)
                    text.write(cell(column, value))
                text.write(end)
            yield len(some), text.getvalue().encode()

    def columns(self, columns: Columns) -> Iterator[tuple[int, bytes]]:
        """Yield numbers of rows, and their bytes: a matrix of characters, one line per row, without its padding."""
        tables = {c: self._table(c, v.labels) for c, v in zip(COLUMNS, columns, strict=True) if isinstance(v, Coded)}
        most = max(1, _BYTES // (sum(table.shape[1] for table in tables.values()) + 64))
        for start in range(0, len(columns.i), most):
            some: Iterable[Any] = columns.part(start, start + most)
            blocks = []
            for c, value in zip(COLUMNS, some, strict=True):
                if isinstance(value, Coded):
                    blocks.append(tables[c].take(value.codes, axis=0, mode="wrap"))  # -1: the last, for nothing
                else:
                    blocks.append(_numbers(self._lines.before[c], value, plus=c in self._lines.plus))
            matrix = np.concatenate(blocks, axis=1)  # (n, characters)
            yield len(matrix), matrix[matrix != _PAD].tobytes()

    def _table(self, column: str, labels: Sequence[str]) -> NDArray[np.uint8]:
        """Return the cells for each label and, last, for nothing: (n_labels + 1, characters)."""
        known = self._tables.get(column)
        if known is None or known[0] is not labels or known[1] != len(labels):
            end = self._lines.end if column == COLUMNS[-1] else ""
            before, cell = self._lines.before[column], self._lines.cell
            cells = [f"{before}{cell(column, label)}{end}".encode() for label in (*labels, None)]
            width = max(map(len, cells))
            padded = b"".join(text.ljust(width, bytes([_PAD])) for text in cells)
            known = labels, len(labels), np.frombuffer(padded, dtype=np.uint8).reshape(len(cells), width)
            self._tables[column] = known
        return known[2]


def _numbers(before: str, values: NDArray[Any], *, plus: bool) -> NDArray[np.uint8]:
    """Return integers in decimal: (n, characters), padded."""
    size = np.abs(values.astype(np.int64))
    width = len(str(int(size.max())))
    start = len(before)
    out = np.full((len(values), start + 1 + width), _PAD, dtype=np.uint8)
    out[:, :start] = np.frombuffer(before.encode(), dtype=np.uint8)
    out[values < 0, start] = ord("-")
    if plus:
        out[values > 0, start] = ord("+")
    rest = size.astype(np.uint32) if width < 10 else size
    for k in range(start + width, start, -1):
        after = rest // 10
        digit = (rest - 10 * after + ord("0")).astype(np.uint8)
        out[:, k] = digit if k == start + width else np.where(rest > 0, digit, _PAD)
        rest = after
    return out
