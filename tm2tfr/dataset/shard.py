"""Carrying out a job: pure functions from a job to its result, for any worker anywhere."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from tm2tfr.dataset.jobs import Job
from tm2tfr.dataset.runs import CheckedRun, Failure, How, ManyChecked, Runs, versions
from tm2tfr.dataset.spec import Splitting
from tm2tfr.dataset.tally import Tally
from tm2tfr.dataset.writing.files import encoded
from tm2tfr.dataset.writing.machines import MachineExamples
from tm2tfr.errors import Tm2tfrError

# ── The words of a machine in one call, for data sets: the same checked runs as one after the other.
#
# Every cell is compared as in `tm2tfr.dataset.runs`, with a compiled simulator's rows. Where any differs, the runs are
# made again, one after the other, which says what and why.
PLAIN = 32
"""So many runs of each job are made one after the other, and the plain simulator confirms how they end."""
MOST_ROWS, MOST_RUNS, LEAST_RUNS = 2**21, 2**11, 4
"""The most rows that runs taken together may have, the most runs; fewer than the least are made one after the other."""


def checked_runs(runs: Runs, words: Sequence[str], how: How, *, plain: int) -> Iterator[CheckedRun | ManyChecked | Failure]:
    """Yield the run on each word, in order, or those on many words together.

    Args:
        plain: the number of words of which the runs are made one after the other.
    """
    yield from map(runs.on, words[:plain])
    longest = max(map(len, words), default=0) + how.max_steps + 2
    size = min(MOST_RUNS, MOST_ROWS // longest)
    if how.engine != "fast" or not runs.same_for_all_words:
        size = 0
    for start in range(plain, len(words), size or len(words)):
        some = words[start : start + (size or len(words))]
        found = _together(runs, some, how) if LEAST_RUNS <= len(some) <= size else None
        if found is None:
            yield from map(runs.on, some)
        else:
            yield found


def _together(runs: Runs, words: Sequence[str], how: How) -> ManyChecked | None:
    """Run a machine on words in one call; None if a run differs, or cannot be made: ask `Runs`."""
    from tm2tfr.runs.batches.carried import batch_of  # noqa: PLC0415  (it needs Numba, which is optional)

    try:
        batch = batch_of(runs.decoder, runs.program, words, checked=True, max_steps=how.max_steps, workers=1)
        before = len(runs.fed(words[0])) - len(words[0])
    except Tm2tfrError:  # which `Runs` raises as well
        return None
    right = batch.results
    if not batch.agrees or right is None or (right.outcomes != batch.outcomes).any():
        return None
    sizes = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
    return ManyChecked(words, batch, right, before + sizes)


@dataclass(frozen=True)
class Making:
    """How runs become files; see `tm2tfr.dataset.spec.Spec`."""

    how: How
    forms: tuple[str, ...]
    keep_unfinished: bool
    splitting: Splitting
    formats: tuple[str, ...]


@dataclass
class Done:
    """The result of a job.

    Args:
        failure: the first run that differs from the reference's; then there are no files.
        versions: those of the worker's software.
        files: (split, format) -> the bytes of the file.
        examples: (split, form) -> their number.
        left_out: the number of runs that are not examples because they did not end, or are undefined.
    """

    number: int
    tally: Tally
    failure: Failure | None = None
    versions: dict[str, str] = field(default_factory=dict)
    files: dict[tuple[str, str], bytes] = field(default_factory=dict)
    examples: Counter[tuple[str, str]] = field(default_factory=Counter)
    left_out: int = 0


def swept(job: Job, how: How) -> Done:
    """Check the runs of a job of machines, up to the first that fails."""
    with _no_search_for_cycles():
        return _swept(job, how)


@contextmanager
def _no_search_for_cycles() -> Iterator[None]:
    """Leave Python's search for cyclic garbage for later: it looks at everything again and again, and there is little."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _swept(job: Job, how: How) -> Done:
    done = Done(job.number, Tally(), versions=versions())
    for _, _, run in _carried_out(job, how, done.tally):
        if isinstance(run, Failure):
            done.failure = run
            return done
    return done


def made(job: Job, making: Making) -> Done:
    """Check the runs of a job of machines and make its files."""
    done = Done(job.number, Tally(), versions=versions())
    in_prompts = making.how.prompting is not None
    found = MachineExamples(making.forms, making.splitting, making.keep_unfinished, in_prompts)
    at: Runs | None = None
    for runs, word, run in _carried_out(job, making.how, done.tally):
        if isinstance(run, Failure):
            done.failure = run
            return done
        if runs is not at:
            at = runs
            found.begin(runs.machine.name, runs.split_key, runs.vocabulary)
        if isinstance(run, ManyChecked):
            found.add_many(run)
        else:
            found.add(word, run)
    done.left_out = found.left_out
    for split, columns, numbers in found.of_splits():
        for form, number in numbers.items():
            done.examples[split, form] = number
        for format in making.formats:
            done.files[split, format] = encoded(columns, found.tokens, format)
    return done


def _carried_out(job: Job, how: How, tally: Tally) -> Iterator[tuple[Runs, str, CheckedRun | ManyChecked | Failure]]:
    """Yield each run of a job with its word, or many of one machine with the first word, counting those that agree."""
    runs: Runs | None = None
    for piece in job.pieces:
        for machine in piece.programs:
            runs = Runs(machine, how, runs)
            tally.machines += 1
            at, plain = 0, max(0, PLAIN - tally.runs)
            for run in checked_runs(runs, piece.words, how, plain=plain):
                if isinstance(run, CheckedRun):
                    tally.count(run.trace)
                elif isinstance(run, ManyChecked):
                    tally.count_many(run.batch)
                yield runs, piece.words[at], run
                at += len(run) if isinstance(run, ManyChecked) else 1
