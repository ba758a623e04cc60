"""Carrying out a job: runs of one subject, compared with the reference, as files of labels; for any worker anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.contract.labelling import Ragged, Scheme
from tm2tfr.lab.datasets.shard import Done
from tm2tfr.lab.labels.runs import LabelledRuns, LabelRows
from tm2tfr.lab.line.plan import Job, stem
from tm2tfr.lab.line.writing import arrow_or_error, parquet

# ── Labels as Parquet: always the same bytes for the same labels.
GROUP = 1 << 18
"""Rows of a row group."""


def encoded(rows: LabelRows, scheme: Scheme, vocabulary: Sequence[str], numbers: NDArray[np.int32]) -> bytes:
    """Return a file of labels.

    Args:
        numbers: (runs,), the number of each run.

    Raises:
        DatasetError: if PyArrow is missing.
    """
    arrow = arrow_or_error()
    many = np.diff(rows.offsets)
    columns: dict[str, Any] = {
        "run": arrow.array(np.repeat(numbers, many)),
        "position": arrow.array(rows.positions.astype(np.int32)),
        "token": _texts(arrow, rows.tokens, vocabulary),
        "token_id": arrow.array(rows.tokens),
    }
    if scheme.answers is not None and rows.answers is not None:
        columns |= {"answer": _texts(arrow, rows.answers, scheme.answers), "answer_id": _numbers(arrow, rows.answers)}
    for variable in scheme.variables:
        values = rows.columns[variable.name]
        if variable.kind in ("label", "text"):
            labels = rows.texts[variable.name] if variable.kind == "text" else variable.labels or ()
            columns[variable.name] = _texts(arrow, values, labels)
        else:
            kind = np.float64 if variable.kind == "number" else np.int32
            columns[variable.name] = arrow.array(values.astype(kind, copy=False))
    for head in scheme.heads:
        column = rows.attended.get(head.column)
        if isinstance(column, Ragged):
            columns[head.column] = _lists(arrow, column)
        elif column is not None:
            columns[head.column] = arrow.array(column)
    return _written(arrow, columns, [name for name, of in columns.items() if arrow.types.is_dictionary(of.type)])


def encoded_runs(rows: LabelRows, numbers: NDArray[np.int32]) -> bytes:
    """Return a file with a line for each run: its number, its input, the number of its rows, and what came out.

    Raises:
        DatasetError: if PyArrow is missing.
    """
    arrow = arrow_or_error()
    columns = {
        "run": arrow.array(numbers),
        "input": arrow.array(list(rows.words), arrow.string()),
        "rows": arrow.array(np.diff(rows.offsets).astype(np.int32)),
        "outcome": arrow.array(list(rows.outcomes), arrow.string()),
    }
    return _written(arrow, columns, [])


def longest_run(files: Iterable[Path]) -> int:
    """Return the most rows of a run in files of runs; 0 if there are no runs.

    Raises:
        DatasetError: if PyArrow is missing.
    """
    parquet, longest = arrow_or_error().parquet, 0
    for file in files:
        rows = parquet.read_table(file, columns=["rows"], use_threads=False)["rows"].to_numpy()
        longest = max(longest, int(rows.max(initial=0)))
    return longest


def _written(arrow: Any, columns: dict[str, Any], dictionaries: list[str]) -> bytes:
    schema = arrow.schema([arrow.field(name, of.type) for name, of in columns.items()])
    table = arrow.table(list(columns.values()), schema=schema)
    return parquet(
        [table],
        schema,
        level=1,
        group=GROUP,
        use_dictionary=dictionaries or False,
        store_schema=False,  # so that texts are read as such, and not as dictionaries
        write_statistics=True,
    )


def _texts(arrow: Any, places: NDArray[np.int32], texts: Sequence[str]) -> Any:
    """Return places in a list as texts, -1 as null."""
    return arrow.DictionaryArray.from_arrays(_numbers(arrow, places), arrow.array(list(texts), arrow.string()))


def _numbers(arrow: Any, places: NDArray[np.int32]) -> Any:
    absent = places < 0
    return arrow.array(places, mask=absent if absent.any() else None)


def _lists(arrow: Any, column: Ragged) -> Any:
    offsets = column.offsets.astype(np.int32)
    mask = arrow.array(column.everything) if column.everything.any() else None
    return arrow.ListArray.from_arrays(arrow.array(offsets), arrow.array(column.places), mask=mask)


LABELS, RUNS, FORMAT = "labels", "runs", "parquet"
"""The folders of the files, and their format."""


@dataclass(frozen=True)
class Labelling:
    """How runs become files: the subject, the number of runs in a shard, and the number of shards."""

    runs: LabelledRuns
    shard_size: int
    shards: int


def labelled_shard(job: Job[Sequence[str]], labelling: Labelling) -> Done:
    """Run the inputs of a job and make its files; after a run that differs there are none."""
    done, runs, words = Done(job.number), labelling.runs, job.work
    rows, done.failure, undefined = runs.labelled(words)
    done.tally.count(
        len(rows.words), int(rows.offsets[-1]), rows.cells, (o for o in rows.outcomes if o in runs.scheme.ends)
    )
    done.left_out = len(undefined)
    if done.failure is not None:
        return done
    kept = np.delete(np.arange(len(words)), list(undefined))
    numbers, name = (job.number * labelling.shard_size + kept).astype(np.int32), stem(job.number, labelling.shards)
    done.files[f"{LABELS}/{name}.{FORMAT}"] = encoded(rows, runs.scheme, runs.decoder.vocabulary, numbers)
    done.files[f"{RUNS}/{name}.{FORMAT}"] = encoded_runs(rows, numbers)
    return done
