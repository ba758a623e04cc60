"""Rows written to a file as they come, without keeping them: CSV, JSON lines or Parquet, by the file's extension.

They go to FILE.part, which becomes FILE when all are written; until then an existing FILE is unchanged.
A run that is cut off, by an error, an interrupt or a full disk, leaves a readable FILE.part.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import OutputError, ShapeError, required
from tm2tfr.base.files import mode_of, refusal
from tm2tfr.contract.source import AnyRow, Column
from tm2tfr.sources.turing.columns import TURING
from tm2tfr.tables.stream_text import Coded, Columns, Lines, TextEncoder, csv_lines, json_lines
from tm2tfr.tables.table import format_for


class RowWriter:
    """Writes rows to `part`, which becomes `path` on `close`; a context manager, which aborts on an exception.

    Attributes:
        path: the file to be.
        part: the file beside it that is written in the meantime.
        rows: the number of rows written so far, including those that were resumed.
        saved: the number of them that an `abort` or a full disk would leave in `part`.

    Raises:
        OutputError: from every method: where writing failed, why, where the rows so far are, what to do.
    """

    def __init__(self, path: Path, *, resume: bool = False) -> None:
        self.path, self.rows, self.saved, self._closed = path, 0, 0, False
        self._torn, self._target, self.part = False, path, path
        with self._telling():
            self._target = Path(os.path.realpath(path))
            self.part = self._target.with_name(f"{self._target.name}.part")
            self._mode = _mode(path)
            self._file: IO[bytes] = self._opened(resume)

    def _opened(self, resume: bool) -> IO[bytes]:
        if not resume:
            try:
                return self.part.open("x+b", buffering=0)
            except FileExistsError as error:
                what = f"{self.part}: this file was left by a run that was cut off, or belongs to one that is running"
                raise OutputError(f"{what}: resume that run, or move or delete the file") from error
        try:
            return self.part.open("r+b", buffering=0)
        except FileNotFoundError as error:
            raise OutputError(f"{self.part}: there is no such file to resume: start again") from error

    # ── for users ───────────────────────────────────────────────────────────────────────────────────────
    def write(self, rows: Sequence[AnyRow]) -> None:
        """Write `rows`. See the class for errors."""
        with self._writing():
            self._write(rows)

    def expect(self, rows: int) -> None:
        """Compare the number of rows written with that of the run, before the file is put in its place.

        Raises:
            OutputError: if rows are missing, or there are too many.
        """
        if self.rows != rows:
            what = f"{self.path}: the run has {rows:,} rows that agree, but {self.rows:,} were written; see {self.part}"
            raise OutputError(f"{what}: this is a bug, please report it with the command")

    def write_columns(self, columns: Columns) -> None:
        """Write rows given by column: the same file as from `write`, at millions of rows per second.

        Raises:
            OutputError: see the class.
            ShapeError: if the columns do not fit together, or the table is not the chapter's.
        """
        columns.checked()
        with self._writing():
            self._write_columns(columns)

    def flush(self) -> None:
        """Wait until the `saved` rows are on disk, for a checkpoint that records where to resume."""
        with self._writing():
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Finish the file and put it in its place."""
        if self._closed:
            return
        with self._writing():
            self._finish()
            os.fsync(self._file.fileno())
            self._file.close()
            if self._mode is not None:
                self.part.chmod(stat.S_IMODE(self._mode))
            self.part.replace(self._target)
            self._closed = True

    def abort(self) -> None:
        """Stop here: `part` stays, with the rows so far, and `path` is unchanged. Without rows nothing stays."""
        if self._closed:
            return
        self._closed = True
        self._torn = not self._file.closed and not self._salvage()
        with suppress(OSError):
            self._file.close()
            if not self.saved and not self._torn:
                self.part.unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    # ── for the formats ─────────────────────────────────────────────────────────────────────────────────
    def _write(self, rows: Sequence[AnyRow]) -> None:
        raise NotImplementedError

    def _write_columns(self, columns: Columns) -> None:
        raise NotImplementedError

    def _finish(self) -> None:
        """Write the remaining rows."""

    def _salvage(self) -> bool:
        """Make the `saved` rows readable; return whether they are."""
        return True

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Abort on failure, and report it."""
        if self._closed:
            raise OutputError(f"{self.path}: the file is closed, so no row can be added: open another one")
        with self._telling():
            try:
                yield
            except (OSError, UnicodeEncodeError):
                self.abort()
                raise

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Turn the system's errors into an `OutputError`."""
        try:
            yield
        except UnicodeEncodeError as error:
            sign = error.object[error.start]
            what = f"{sign!r} (U+{ord(sign):04X}) is half a character and cannot be written as UTF-8"
            raise OutputError(f"{self.path}: {what}{self._left()}: remove it") from error
        except OSError as error:
            raise refusal(self.path, error, self._target.parent, left=self._left()) from error
        except ValueError as error:  # a NUL in the name
            if "null" not in str(error):
                raise
            raise OutputError(f"{str(self.path)!r}: not the name of a file: choose another one") from error

    def _left(self) -> str:
        if self._torn:
            return f"; {self.part} was cut off in the middle and cannot be read"
        return f"; {self.part} has the first {self.saved:,} rows" if self.saved else ""


def _mode(path: Path) -> int | None:
    """Return the mode of the file to be replaced, None if there is none."""
    mode = mode_of(path)
    if mode is None:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise OutputError(f"{path}: it is a pipe or a device, but rows need a file: name one")
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return mode


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


# ── Parquet, with PyArrow, which is optional.
#
# Text is dictionary-coded, nothing (⊥) is null; numbers are doubles, because a decoder that goes wrong may have 0.5 where
# an integer should be. A Parquet file is read from its end: disk space for that is reserved from the beginning.
GROUP = 2**17
"""The rows of a row group, which are kept in memory until it is written."""

_END, _END_OF_GROUP = 2**16, 2**13  # more bytes than the file's end takes, and than a group adds to it
_NO_RESERVING = {errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}


class ParquetWriter(RowWriter):
    """Writes Parquet, one row group at a time. A file whose writer is killed, not aborted, cannot be read."""

    def __init__(self, path: Path, columns: tuple[Column, ...] = TURING) -> None:
        need, modules = f"{path}: Parquet needs PyArrow", ("pyarrow", "pyarrow.parquet")
        pyarrow: Any = required(need, modules, "parquet", otherwise="use .csv or .jsonl", error=OutputError)[0]
        super().__init__(path)
        self._arrow: Any = pyarrow
        text, numbers = pyarrow.dictionary(pyarrow.int32(), pyarrow.string()), pyarrow.float64()
        kinds = {"position": pyarrow.int64(), "number": numbers}
        self._columns = columns
        self._schema = pyarrow.schema([pyarrow.field(c.name, kinds.get(c.kind, text)) for c in columns])
        self._waiting: list[AnyRow] = []
        self._reserved = self._groups = 0
        with self._writing():
            self._reserve(0)
            self._parquet: Any = pyarrow.parquet.ParquetWriter(self._file, self._schema, compression="zstd")

    def _write(self, rows: Sequence[AnyRow]) -> None:
        for start in range(0, len(rows), GROUP):
            columns = zip(*rows[start : start + GROUP], strict=True)
            arrays = [self._array(field.type, column) for field, column in zip(self._schema, columns, strict=True)]
            self._add(self._arrow.table(arrays, schema=self._schema))

    def _array(self, kind: Any, values: Sequence[Any]) -> Any:
        if self._arrow.types.is_dictionary(kind):
            return self._arrow.array(values, kind.value_type).dictionary_encode()
        return self._arrow.array([float(v) for v in values] if self._arrow.types.is_floating(kind) else values, kind)

    def _write_columns(self, columns: Columns) -> None:
        if self._columns != TURING:
            raise ShapeError("rows by column have those of the chapter's table: use write for other columns")
        for start in range(0, len(columns.i), GROUP):
            arrays = []
            each: Iterable[NDArray[np.integer] | Coded] = columns.part(start, start + GROUP)
            for kind, column in zip(self._schema.types, each, strict=True):
                if isinstance(column, Coded):
                    codes = self._arrow.array(column.codes.astype("int32"), mask=column.codes < 0)
                    labels = self._arrow.array(list(column.labels), kind.value_type)
                    arrays.append(self._arrow.DictionaryArray.from_arrays(codes, labels))
                else:
                    arrays.append(self._arrow.array(column.astype(kind.to_pandas_dtype())))
            self._add(self._arrow.table(arrays, schema=self._schema))

    def _add(self, table: Any) -> None:
        self._waiting.append(table)
        self.rows += table.num_rows
        if self.rows - self.saved >= GROUP:
            self._write_group(GROUP)

    def _write_group(self, most: int) -> None:
        """Write the first `most` waiting rows; they are dropped if there is no room for them."""
        waiting, self._waiting = self._waiting, []
        table = self._arrow.concat_tables(waiting).unify_dictionaries().combine_chunks()
        group = table.slice(0, most)
        self._reserve(2 * group.nbytes)  # encoded and compressed it is a fraction of this
        self._parquet.write_table(group, row_group_size=most)
        self._groups += 1
        self.saved += group.num_rows
        if table.num_rows > most:
            self._waiting = [table.slice(most)]

    def _reserve(self, size: int) -> None:
        """Reserve `size` bytes on disk, and those for the file's end."""
        room = size + _END + _END_OF_GROUP * self._groups
        descriptor, at = self._file.fileno(), self._file.tell()
        if not hasattr(os, "posix_fallocate"):
            return
        try:
            os.posix_fallocate(descriptor, at, room)
        except OSError as error:
            if error.errno in _NO_RESERVING:
                return
            with suppress(OSError):
                os.ftruncate(descriptor, max(self._reserved, at))  # what was reserved before is still needed
            raise
        self._reserved = at + room

    def _finish(self) -> None:
        if self._waiting:
            self._write_group(GROUP)
        self._parquet.close()
        os.ftruncate(self._file.fileno(), self._file.tell())

    def _salvage(self) -> bool:
        if not hasattr(self, "_parquet"):
            return True
        with suppress(OSError):
            if self._waiting:
                self._write_group(GROUP)
        try:
            self._parquet.close()
            os.ftruncate(self._file.fileno(), self._file.tell())
            self._file.seek(0)
            return bool(self._arrow.parquet.read_metadata(self._file).num_rows == self.saved)
        except (OSError, self._arrow.ArrowException):
            return False
