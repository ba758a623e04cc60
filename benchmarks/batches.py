"""Many inputs in one call, in straight-line code and in the kernel: ``python benchmarks/batches.py``.

Processor time of one thread for a row (position), the least of several rounds in turns: of the decoder alone
(`run_batch`), and with the reference and the comparison of every cell (`check_batch`). All code is compiled before.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import tm2tfr
from tm2tfr.engines.fast import many

ROUNDS = 7
SUBJECTS: tuple[tuple[str, dict[str, Any], int, tuple[int, int]], ...] = (
    ("palindromes", {}, 10_000, (8, 20)),
    ("binary-increment", {}, 20_000, (8, 20)),
    ("busy-beaver-4", {}, 5_000, (0, 0)),
    ("palindromes", {"universal": (12, 4)}, 4_000, (8, 20)),
)
"""A machine, the options of its construction, how many random inputs, and their lengths."""


@contextmanager
def changed(name: str, value: int) -> Iterator[None]:
    """Run with another number of rows from which straight-line code is looked for, or compiled."""
    before = getattr(many, name)
    setattr(many, name, value)
    try:
        yield
    finally:
        setattr(many, name, before)


def words(subject: tm2tfr.Subject, count: int, lengths: tuple[int, int]) -> list[str]:
    """Return random inputs, seed 0."""
    dice, letters = random.Random(0), subject.machine.input_alphabet or () if subject.machine else ()
    return ["".join(dice.choices(letters, k=dice.randint(*lengths))) if letters else "" for _ in range(count)]


def per_row(run: Callable[..., Any], subject: tm2tfr.Subject, inputs: list[str]) -> float:
    """Return the nanoseconds of a processor for a row."""
    began = time.process_time()
    batch = run(subject, inputs, workers=1)
    return 1e9 * (time.process_time() - began) / batch.rows


def main() -> None:
    """Measure and print."""
    print(f"{'ns per row':<34}{'kernel':>10}{'straight-line':>16}{'÷':>8}")
    for name, options, count, lengths in SUBJECTS:
        subject = tm2tfr.Subject.of(name, options=options)
        inputs = words(subject, count, lengths)
        for run in (tm2tfr.run_batch, tm2tfr.check_batch):
            kernel, straight = list[float](), list[float]()
            with changed("COMING", 0):  # compile it, however few rows there are
                per_row(run, subject, inputs)
            for _ in range(ROUNDS):
                with changed("LOOK_AFTER", 2**62):
                    kernel.append(per_row(run, subject, inputs))
                straight.append(per_row(run, subject, inputs))
            what = f"{name}{', in a prompt' if options else ''}, {run.__name__}"
            print(f"{what:<34}{min(kernel):>10.0f}{min(straight):>16.0f}{min(kernel) / min(straight):>8.2f}", flush=True)


if __name__ == "__main__":
    main()
