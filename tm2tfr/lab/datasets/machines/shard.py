"""Carrying out a job of machines: the runs of their decoders, compared with the simulator's, as examples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tm2tfr.base.errors import Tm2tfrError
from tm2tfr.lab.datasets.jobs import Job
from tm2tfr.lab.datasets.machines.examples import MachineExamples
from tm2tfr.lab.datasets.machines.prompting import MachineHow
from tm2tfr.lab.datasets.machines.runs import CheckedRun, ManyChecked, Runs
from tm2tfr.lab.datasets.runs import Failure
from tm2tfr.lab.datasets.shard import Done, Making
from tm2tfr.lab.datasets.tally import Tally

# ── The words of a machine in one call, for data sets: the same checked runs as one after the other.
#
# Every cell is compared as in `tm2tfr.lab.datasets.machines.runs`, with a compiled simulator's rows. Where any differs,
# the runs are made again, one after the other, which says what and why.
PLAIN = 32
"""So many runs of each job are made one after the other, and the plain simulator confirms how they end."""
MOST_ROWS, MOST_RUNS, LEAST_RUNS = 2**21, 2**11, 4
"""The most rows that runs taken together may have, the most runs; fewer than the least are made one after the other."""


def checked_runs(
    runs: Runs, words: Sequence[str], how: MachineHow, *, plain: int
) -> Iterator[CheckedRun | ManyChecked | Failure]:
    """Yield the run on each word, in order, or those on many words together.

    Args:
        plain: the number of words of which the runs are made one after the other.
    """
    yield from map(runs.on, words[:plain])
    longest = max(map(len, words), default=0) + how.max_steps + 2
    size = min(MOST_RUNS, MOST_ROWS // longest)
    if how.engine != "fast" or not how.same_for_all_words:
        size = 0
    for start in range(plain, len(words), size or len(words)):
        some = words[start : start + (size or len(words))]
        found = _together(runs, some, how) if LEAST_RUNS <= len(some) <= size else None
        if found is None:
            yield from map(runs.on, some)
        else:
            yield found


def _together(runs: Runs, words: Sequence[str], how: MachineHow) -> ManyChecked | None:
    """Run a machine on words in one call; None if a run differs, or cannot be made: ask `Runs`."""
    from tm2tfr.runs.batches.generated import batch_of  # noqa: PLC0415  (it needs Numba, which is optional)

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


def made(job: Job, making: Making[MachineHow]) -> Done:
    """Check the runs of a job of machines and make its files."""
    done, found, how = Done.of(job), MachineExamples(making), making.how
    at: Runs | None = None
    for runs, run in done.agreeing(checked_machines(job, how, done.tally)):
        if runs is not at:
            at = runs
            found.begin(runs.machine.name, how.split_key(runs.program), how.vocabulary(runs.decoder))
        found.add(run.columns())
    done.left_out = found.left_out
    done.write(found.of_splits(), found.tokens, making.formats)
    return done


def checked_machines(job: Job, how: MachineHow, tally: Tally) -> Iterator[tuple[Runs, CheckedRun | ManyChecked] | Failure]:
    """Yield each run of a job, or many of one machine, counting those that agree."""
    runs: Runs | None = None
    for piece in job.pieces:
        for machine in piece.programs:
            runs = Runs(machine, how, runs)
            tally.machines += 1
            for run in checked_runs(runs, piece.words, how, plain=max(0, PLAIN - tally.runs)):
                if isinstance(run, Failure):
                    yield run
                else:
                    run.counted_in(tally)
                    yield runs, run
