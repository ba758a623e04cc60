"""Rows as lines of CSV or JSON, by the million: as `tm2tfr.tables.table` writes them, without the tape in CSV."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import ShapeError
from tm2tfr.contract.source import AnyRow, Column, shown
from tm2tfr.sources.turing.columns import COLUMNS, TURING
from tm2tfr.tables.table import plain

_PAD = 0xFF  # no byte of UTF-8
_BYTES = 2**22  # of one matrix of characters
_ROWS = 2**13  # of one piece of rows


class Coded(NamedTuple):
    """A column of text: ``labels[codes[n]]`` in row n, nothing (⊥) where the code is -1.

    codes: (n,) of integers. Keep the same `labels` from call to call: they are encoded once; more may be appended
    in between.
    """

    codes: NDArray[np.integer]
    labels: Sequence[str]


class Columns(NamedTuple):
    """Rows of the chapter's table by column, for speed: i, m and h are (n,) integers; the others are text, (n,) codes."""

    i: NDArray[np.integer]
    x: Coded
    q: Coded
    b: Coded
    m: NDArray[np.integer]
    h: NDArray[np.integer]
    a: Coded
    y: Coded

    def checked(self) -> Columns:
        """Return the columns.

        Raises:
            ShapeError: if their lengths differ, or they contain numbers other than integers, or unknown codes.
        """
        each: Iterable[NDArray[np.integer] | Coded] = self
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
        each: Iterable[NDArray[np.integer] | Coded] = self
        return Columns._make(c._replace(codes=c.codes[start:end]) if isinstance(c, Coded) else c[start:end] for c in each)


class Lines(NamedTuple):
    """A text format: the text above the rows, before each cell and after the last one; and how a cell is written."""

    columns: tuple[Column, ...]
    header: str
    before: tuple[str, ...]
    """By column."""
    end: str
    cell: Callable[[bool, object], str]
    flags: tuple[bool, ...]
    """By column, what `cell` is given: of CSV whether positive numbers have a sign, of JSON whether labels are numbers."""
    quotes: bool
    """Whether a line break within quotation marks is part of a cell."""


@lru_cache(maxsize=2**14, typed=True)
def _csv_cell(signed: bool, value: object) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow([shown(value, signed=signed), ""])  # alone, an empty cell has quotes
    return out.getvalue()[:-2]


@lru_cache(maxsize=2**14, typed=True)
def _json_cell(whole: bool, value: object) -> str:
    value = plain(value, whole=whole)
    odd = isinstance(value, Fraction) or (isinstance(value, float) and not math.isfinite(value))
    return json.dumps(str(value) if odd else value, ensure_ascii=False)


def csv_lines(columns: tuple[Column, ...]) -> Lines:
    """Return CSV for tables with these columns."""
    return Lines(
        columns=columns,
        header=",".join(_csv_cell(False, c.name) for c in columns) + "\n",
        before=("", *("," for _ in columns[1:])),
        end="\n",
        cell=_csv_cell,
        flags=tuple(c.signed for c in columns),
        quotes=True,
    )


def json_lines(columns: tuple[Column, ...]) -> Lines:
    """Return JSON lines for tables with these columns."""
    names = [json.dumps(c.name, ensure_ascii=False) for c in columns]
    return Lines(
        columns=columns,
        header="",
        before=tuple(f"{', ' if n else '{'}{name}: " for n, name in enumerate(names)),
        end="}\n",
        cell=_json_cell,
        flags=tuple(c.whole for c in columns),
        quotes=False,
    )


class TextEncoder:
    """Encodes rows and columns in one of the text formats, a few megabytes at a time."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._tables: dict[int, tuple[Sequence[str], int, NDArray[np.uint8]]] = {}

    def rows(self, rows: Sequence[AnyRow]) -> Iterator[tuple[int, bytes]]:
        """Yield numbers of rows, and their bytes."""
        first, *before = self._lines.before
        rest = list(zip(before, self._lines.flags[1:], strict=True))
        cell, end = self._lines.cell, self._lines.end
        for start in range(0, len(rows), _ROWS):
            some, text = rows[start : start + _ROWS], io.StringIO()
            for i, *cells in some:
                text.write(f"{first}{i}")
                for (between, flag), value in zip(rest, cells, strict=True):
                    text.write(between)
                    text.write(cell(flag, value))
                text.write(end)
            yield len(some), text.getvalue().encode()

    def columns(self, columns: Columns) -> Iterator[tuple[int, bytes]]:
        """Yield numbers of rows, and their bytes: a matrix of characters, one line per row, without its padding.

        Raises:
            ShapeError: if the table is not the chapter's.
        """
        if self._lines.columns != TURING:
            raise ShapeError("rows by column have those of the chapter's table: use write for other columns")
        each: Iterable[NDArray[np.integer] | Coded] = columns
        tables = {n: self._table(n, v.labels) for n, v in enumerate(each) if isinstance(v, Coded)}
        most = max(1, _BYTES // (sum(table.shape[1] for table in tables.values()) + 64))
        for start in range(0, len(columns.i), most):
            some: Iterable[NDArray[np.integer] | Coded] = columns.part(start, start + most)
            blocks = []
            for n, value in enumerate(some):
                if isinstance(value, Coded):
                    blocks.append(tables[n].take(value.codes, axis=0, mode="wrap"))  # -1: the last, for nothing
                else:
                    blocks.append(_numbers(self._lines.before[n], value, plus=self._lines.flags[n]))
            matrix = np.concatenate(blocks, axis=1)  # (n, characters)
            yield len(matrix), matrix[matrix != _PAD].tobytes()

    def _table(self, column: int, labels: Sequence[str]) -> NDArray[np.uint8]:
        """Return the cells for each label and, last, for nothing: (n_labels + 1, characters)."""
        known = self._tables.get(column)
        if known is None or known[0] is not labels or known[1] != len(labels):
            end = self._lines.end if column == len(self._lines.columns) - 1 else ""
            before, cell, flag = self._lines.before[column], self._lines.cell, self._lines.flags[column]
            cells = [f"{before}{cell(flag, label)}{end}".encode() for label in (*labels, None)]
            width = max(map(len, cells))
            padded = b"".join(text.ljust(width, bytes([_PAD])) for text in cells)
            known = labels, len(labels), np.frombuffer(padded, dtype=np.uint8).reshape(len(cells), width)
            self._tables[column] = known
        return known[2]


def _numbers(before: str, values: NDArray[np.integer], *, plus: bool) -> NDArray[np.uint8]:
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
