"""Rows as Parquet, with PyArrow, which is optional.

Text is dictionary-coded, nothing (⊥) is null; numbers are doubles, because a decoder that goes wrong may have 0.5
where an integer should be. A Parquet file is read from its end: disk space for that is reserved from the beginning.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tm2tfr.base.errors import OutputError, ShapeError, required
from tm2tfr.contract.source import AnyRow, Column
from tm2tfr.sources.turing.columns import TURING
from tm2tfr.tables.row_file import RowWriter
from tm2tfr.tables.stream_text import Coded, Columns

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
        self._waiting: list[Any] = []
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
            each: Iterable[Any] = columns.part(start, start + GROUP)
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
