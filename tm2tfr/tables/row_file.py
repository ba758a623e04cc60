"""A file that rows are written to as they come: FILE.part, which becomes FILE when all are written.

What the formats have in common; `tm2tfr.tables.stream` opens one.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from tm2tfr.base.errors import OutputError
from tm2tfr.base.files import mode_of, refusal
from tm2tfr.contract.source import AnyRow
from tm2tfr.tables.stream_text import Columns


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
        """Write what is still to be written."""

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
