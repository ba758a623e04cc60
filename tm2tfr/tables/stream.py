"""Rows written to a file as they come, without keeping them: CSV, JSON lines or Parquet, by the file's extension.

They go to FILE.part, which becomes FILE when all are written; until then an existing FILE is unchanged.
A run that is cut off, by an error, an interrupt or a full disk, leaves a readable FILE.part.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import numpy as np

from tm2tfr.base.errors import OutputError
from tm2tfr.contract.source import AnyRow, Column
from tm2tfr.sources.turing.columns import TURING
from tm2tfr.tables.row_file import RowWriter
from tm2tfr.tables.stream_text import Coded, Columns, Lines, TextEncoder, csv_lines, json_lines
from tm2tfr.tables.table import format_for

__all__ = ["EXTENSIONS", "Coded", "Columns", "RowWriter", "open_rows"]

EXTENSIONS = (".csv", ".jsonl", ".parquet")


def open_rows(path: str | Path, *, columns: tuple[Column, ...] = TURING, resume_at: int | None = None) -> RowWriter:
    """Open `path` for rows, in the format of its extension; see `RowWriter`.

    Args:
        columns: those of the rows; by default the chapter's.
        resume_at: continue after the first `resume_at` rows of the FILE.part of a run that was cut off; rows beyond
            them are dropped. Not for Parquet.

    Raises:
        OutputError: for another extension, a place that cannot be written to, a FILE.part of an earlier run that
            is not to be resumed or cannot be, and for Parquet without PyArrow.
    """
    path = Path(path)
    if resume_at is not None and resume_at < 0:
        raise OutputError(f"{path}: it cannot be resumed after {resume_at} rows: use 0 or more")
    if path.suffix.lower() == ".parquet":
        if resume_at is not None:
            what = f"{path}: a Parquet file that was cut off cannot be resumed"
            raise OutputError(f"{what}: start again, or use .csv or .jsonl")
        from tm2tfr.tables.stream_parquet import ParquetWriter  # noqa: PLC0415  (PyArrow is optional, and slow to load)

        return ParquetWriter(path, columns)
    lines = {"csv": csv_lines, "jsonl": json_lines}.get(format_for(path) or "")
    if lines is None:
        kind = f"{path.suffix!r} is not a format for rows" if path.suffix else "a file for rows needs an extension"
        raise OutputError(f"{path}: {kind}: use one of {', '.join(EXTENSIONS)}")
    return TextWriter(path, lines(columns), resume_at)


class TextWriter(RowWriter):
    """Writes CSV or JSON lines. Whole rows only: a row that a failure cuts off in the middle is removed."""

    def __init__(self, path: Path, lines: Lines, resume_at: int | None) -> None:
        super().__init__(path, resume=resume_at is not None)
        self._encoder, self._end = TextEncoder(lines), 0
        if resume_at is None:
            with self._writing():
                self._append([(0, lines.header.encode())])
            return
        try:
            with self._telling():
                self._resume(lines, resume_at)
        except BaseException:
            self._file.close()
            raise

    def _resume(self, lines: Lines, rows: int) -> None:
        header = lines.header.encode()
        found = self._file.read(len(header))
        if found != header:
            raise OutputError(
                f"{self.part}: its first line is not the header of a table of rows: start again with another name"
            )
        end, complete = _end_of_row(self._file, rows, quotes=lines.quotes)
        if end is None:
            what = f"{self.part}: it has {complete:,} rows, fewer than the {rows:,} after which to resume"
            raise OutputError(f"{what}: resume after fewer, or start again")
        self._end = len(header) + end
        self._file.truncate(self._end)
        self._file.seek(self._end)
        self.rows = self.saved = rows

    def _write(self, rows: Sequence[AnyRow]) -> None:
        self._append(self._encoder.rows(rows))

    def _write_columns(self, columns: Columns) -> None:
        self._append(self._encoder.columns(columns))

    def _append(self, pieces: Iterable[tuple[int, bytes]]) -> None:
        for n, data in pieces:
            try:
                rest = memoryview(data)
                while rest:
                    rest = rest[self._file.write(rest) :]
            except BaseException:
                with suppress(OSError):
                    self._file.truncate(self._end)
                    self._file.seek(self._end)
                raise
            self._end += len(data)
            self.rows += n
            self.saved = self.rows


def _end_of_row(file: IO[bytes], rows: int, *, quotes: bool) -> tuple[int | None, int]:
    """Return the size of the first `rows` rows from here, None if there are fewer, and the number seen."""
    if rows <= 0:
        return 0, 0
    before, seen, inside = 0, 0, 0
    while block := file.read(2**22):
        data = np.frombuffer(block, dtype=np.uint8)
        ends = data == ord("\n")
        if quotes:
            odd = (np.cumsum(data == ord('"')) + inside) & 1
            ends &= odd == 0
            inside = int(odd[-1])
        found = np.flatnonzero(ends)
        if seen + len(found) >= rows:
            return before + int(found[rows - seen - 1]) + 1, rows
        before, seen = before + len(block), seen + len(found)
    return None, seen
