"""Rows as CSV and JSON lines: ours beside what libraries would take: ``python benchmarks/rows.py``.

The ratios are those of rows per second in one run; orjson is measured if it is installed.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np

import tm2tfr
from benchmarks.run import seconds
from tm2tfr.sources.turing.columns import TURING
from tm2tfr.tables.stream_text import Coded, Columns, TextEncoder, csv_lines, json_lines

NAMES = [column.name for column in TURING]


def rows_of(word: str, times: int) -> list[Any]:
    """Return the rows of a run of many steps, again and again."""
    return list(tm2tfr.check("palindromes", word, max_steps=10_000).rows) * times


def columns_of(rows: Sequence[Any]) -> Columns:
    """Return the same rows by column."""
    found: list[Any] = []
    for column, values in zip(TURING, zip(*rows, strict=True), strict=True):
        if column.numeric:
            found.append(np.array(values, dtype=np.int64))
            continue
        labels = sorted({value for value in values if value is not None})
        number = {label: n for n, label in enumerate(labels)}
        found.append(Coded(np.array([number.get(value, -1) for value in values], dtype=np.int32), labels))
    return Columns(*found)


def by_csv(rows: Sequence[Any]) -> bytes:
    """The module csv, without our cache of cells."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([c.text(v) for c, v in zip(TURING, row, strict=True)] for row in rows)
    return out.getvalue().encode()


def by_json(rows: Sequence[Any]) -> bytes:
    """The module json, a row at a time."""
    return "".join(json.dumps(dict(zip(NAMES, row, strict=True)), ensure_ascii=False) + "\n" for row in rows).encode()


def by_orjson(rows: Sequence[Any]) -> bytes:
    """The package orjson, a row at a time."""
    dumps: Callable[..., bytes] = import_module("orjson").dumps
    return b"".join(dumps(dict(zip(NAMES, row, strict=True))) + b"\n" for row in rows)


def by_arrow(columns: Columns) -> bytes:
    """PyArrow's writer of CSV, for columns."""
    arrow: Any = import_module("pyarrow")
    write: Any = import_module("pyarrow.csv")
    arrays = []
    for column in columns:
        if isinstance(column, Coded):
            codes = arrow.array(column.codes, mask=column.codes < 0)
            arrays.append(arrow.DictionaryArray.from_arrays(codes, arrow.array(list(column.labels))).dictionary_decode())
        else:
            arrays.append(arrow.array(column))
    out = io.BytesIO()
    options = write.WriteOptions(include_header=False, quoting_style="needed")
    write.write_csv(arrow.table(arrays, names=NAMES), out, write_options=options)
    return out.getvalue()


def main() -> None:
    """Measure and print."""
    rows = rows_of("abbaabbaabba" * 2, 60)
    columns = columns_of(rows)
    ours = {"csv": TextEncoder(csv_lines(TURING)), "json": TextEncoder(json_lines(TURING))}

    def joined(pieces: Any) -> bytes:
        return b"".join(data for _, data in pieces)

    others: list[tuple[str, str, Callable[[], bytes]]] = [
        ("csv", "csv, by row", lambda: by_csv(rows)),
        ("json", "json, by row", lambda: by_json(rows)),
    ]
    if find_spec("orjson"):
        others.append(("json", "orjson, by row", lambda: by_orjson(rows)))
    others.append(("csv", "pyarrow.csv, by column", lambda: by_arrow(columns)))
    print(f"{len(rows):,} rows")
    for kind, title, job in others:
        encoder = ours[kind]
        column = title.endswith("column")
        own = (lambda e=encoder: joined(e.columns(columns))) if column else (lambda e=encoder: joined(e.rows(rows)))
        mine, theirs = seconds(own), seconds(job)
        same = "the same bytes" if own() == job() else "other bytes"
        print(f"  {title:<24}{len(rows) / theirs:>14,.0f} rows/s  ours {len(rows) / mine:>12,.0f}", end="")
        print(f"  ours ÷ theirs, speed {theirs / mine:>6.2f}  {same}", flush=True)


if __name__ == "__main__":
    main()
