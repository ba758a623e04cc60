"""How fast labels are made: ``python benchmarks/labels.py``.

Rows (positions) a second, every one compared with the reference, from the first import of the workers to the last file on
the disk; and as shares of the processor time of one process, where that goes: into runs, into labels, into Parquet.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

import tm2tfr
from tm2tfr.lab.labels.make import LabelInputs, chosen
from tm2tfr.lab.labels.runs import LabelledRuns, encoded

SUBJECTS: tuple[tuple[str, dict[str, Any], int, tuple[int, int]], ...] = (
    ("palindromes", {}, 40_000, (8, 20)),
    ("palindromes", {"universal": (12, 4)}, 4_000, (8, 16)),
    ("hop-1", {}, 10_000, (8, 20)),
    ("sort", {}, 5_000, (6, 10)),
)
"""A subject, the options of its construction, how many random inputs, and their lengths."""


def timed(subject: Any, count: int, lengths: tuple[int, int], workers: int) -> tuple[int, float]:
    """Return the rows made, and the seconds that it took."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        size = -(-count // (4 * workers))
        found = tm2tfr.make_labels(
            subject, Path(folder) / "out", random=count, lengths=lengths, workers=workers, shard_size=size
        )
        assert found.failure is None
        return found.tally.rows, time.perf_counter() - started


def parts(subject: tm2tfr.Subject, count: int, lengths: tuple[int, int]) -> tuple[int, float, float]:
    """Return rows, and the seconds of a processor for the runs with their labels, and for the file."""
    asked = LabelInputs(count=count, shortest=lengths[0], longest=lengths[1])
    space = subject.construction.inputs(subject.right)
    words, _ = chosen(subject.name, subject.noun, space, subject.decoder.positions, asked)
    engine = "dense" if subject.decoder.labeller else "fast"
    runs = LabelledRuns(subject.decoder, subject.right, engine, 1_000)
    runs.labelled(words[:4])
    began = time.process_time()
    rows, differs, _ = runs.labelled(words)
    labelled = time.process_time()
    assert differs is None
    encoded(rows, runs.scheme, subject.decoder.vocabulary, np.arange(len(rows.words), dtype=np.int32))
    return int(rows.offsets[-1]), labelled - began, time.process_time() - labelled


def main() -> None:
    """Measure and print."""
    for name, options, count, lengths in SUBJECTS:
        subject = tm2tfr.Subject.of(name, options=options)
        timed(subject, 8, lengths, 1)  # compiled code is made at its first use, and kept
        rows, two = timed(subject, count, lengths, 2)
        _, one = timed(subject, count, lengths, 1)
        some, running, writing = parts(subject, count // 8, lengths)
        print(f"{' '.join([name, *map(str, options.items())])}: {rows:,} rows")
        print(f"  two processes, start included {rows / two:>20,.0f} rows/s")
        print(f"  one process                   {rows / one:>20,.0f} rows/s")
        print(f"  runs and labels, processor    {some / running:>20,.0f} rows/s")
        print(f"  Parquet, processor            {some / writing:>20,.0f} rows/s", flush=True)


if __name__ == "__main__":
    main()
