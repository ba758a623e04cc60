"""Labels as files: Parquet, always the same bytes for the same labels, and the job that makes those of some runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import InputError, visible
from tm2tfr.contract.labelling import Ragged, Scheme
from tm2tfr.lab.datasets.shard import Done
from tm2tfr.lab.labels.runs import LabelledRuns, LabelRows
from tm2tfr.lab.line.manifest import arrow_or_error, parquet, sha256
from tm2tfr.lab.line.pool import Job, stem

if TYPE_CHECKING:
    import pyarrow as pa

DIGITS = 300
"""A number with more digits is beyond all floats."""
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
    columns: dict[str, pa.Array] = {
        "run": arrow.array(np.repeat(numbers, many)),
        "position": arrow.array(rows.positions.astype(np.int32)),
        "token": _texts(arrow, rows.tokens, vocabulary),
        "token_id": arrow.array(rows.tokens),
    }
    if scheme.answers is not None and rows.answers is not None:
        columns |= {"answer": _texts(arrow, rows.answers, scheme.answers), "answer_id": _numbers(arrow, rows.answers)}
    for variable in scheme.variables:
        values = rows.columns[variable.name]
        if variable.numeric:
            columns[variable.name] = _as_numbers(arrow, values, rows.texts[variable.name])
        elif variable.kind in ("label", "text"):
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


def _written(arrow: ModuleType, columns: dict[str, pa.Array], dictionaries: list[str]) -> bytes:
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


def _texts(arrow: ModuleType, places: NDArray[np.int32], texts: Sequence[str]) -> pa.Array:
    """Return places in a list as texts, -1 as null."""
    return arrow.DictionaryArray.from_arrays(_numbers(arrow, places), arrow.array(list(texts), arrow.string()))


def _as_numbers(arrow: ModuleType, places: NDArray[np.int32], texts: Sequence[str]) -> pa.Array:
    """Return places in a list of numbers as texts as these numbers, -1 as null."""
    numbers = np.array([*map(number_of_text, texts), np.nan])
    return arrow.array(numbers[places], mask=places < 0)


def number_of_text(text: str) -> float:
    """Return the float nearest to a number; beyond all floats an infinite one."""
    above, _, below = text.partition("/")
    if max(len(above), len(below)) > DIGITS:
        return -math.inf if text.startswith("-") else math.inf
    return float(Fraction(text))


def _numbers(arrow: ModuleType, places: NDArray[np.int32]) -> pa.Array:
    absent = places < 0
    return arrow.array(places, mask=absent if absent.any() else None)


def _lists(arrow: ModuleType, column: Ragged) -> pa.Array:
    offsets, mask = arrow.array(column.offsets.astype(np.int32)), arrow.array(column.everything)
    return arrow.ListArray.from_arrays(offsets, arrow.array(column.places), mask=mask if column.everything.any() else None)


LABELS, RUNS, FORMAT = "labels", "runs", "parquet"
"""The folders of the files, and their format."""
TRAIN, TEST = "train", "test"
"""The splits."""


@dataclass(frozen=True)
class Labelling:
    """How runs become files.

    Args:
        runs: the subject; shard_size, shards: the number of runs in a shard, and of shards.
        test: the inputs of the split `TEST`, the others are of `TRAIN`; None: there are no splits.
    """

    runs: LabelledRuns
    shard_size: int
    shards: int
    test: frozenset[str] | None = None

    def splits(self, words: Sequence[str]) -> Iterator[tuple[str, NDArray[np.int64]]]:
        """Yield the beginning of the name of a split's files, and the places of its inputs among some."""
        if self.test is None:
            yield "", np.arange(len(words))
            return
        held_back = np.array([word in self.test for word in words], dtype=bool)
        yield f"{TRAIN}-", np.flatnonzero(~held_back)
        yield f"{TEST}-", np.flatnonzero(held_back)


def test_inputs(name: str, words: Sequence[str], share: float, seed: int) -> frozenset[str]:
    """Return the inputs of the split `TEST`: that share of some different ones, at least one and not all.

    They are those with the least digests.

    Raises:
        InputError: if there is one input only.
    """
    if not words[1:]:
        raise InputError(f"{visible(name)}: one input cannot be split: ask for more, or omit the share")
    ordered = sorted(words, key=lambda word: sha256(f"{seed} {word}".encode("utf-8", "surrogatepass")))
    return frozenset(ordered[: min(max(1, round(share * len(words))), len(words) - 1)])


def labelled_shard(job: Job[Sequence[str]], labelling: Labelling) -> Done:
    """Run the inputs of a job and make its files; a job with a run that differs has no files."""
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
    for split, chosen in labelling.splits(rows.words):
        own = rows if labelling.test is None else LabelRows.together([rows], chosen)
        done.files[f"{LABELS}/{split}{name}.{FORMAT}"] = encoded(own, runs.scheme, runs.decoder.vocabulary, numbers[chosen])
        done.files[f"{RUNS}/{split}{name}.{FORMAT}"] = encoded_runs(own, numbers[chosen])
    return done
