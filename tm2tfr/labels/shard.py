"""Carrying out a job: runs of one subject, compared with the reference, as files of labels; for any worker anywhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tm2tfr.dataset.jobs import Job
from tm2tfr.dataset.runs import Failure, versions
from tm2tfr.dataset.shard import Done
from tm2tfr.dataset.tally import Tally
from tm2tfr.labels.columnar import encoded, encoded_runs
from tm2tfr.labels.runs import LabelledRuns

LABELS, RUNS, FORMAT = "labels", "runs", "parquet"
"""The folders of the files, and their format."""


@dataclass(frozen=True)
class Labelling:
    """How runs become files: the subject, and the number of runs in a shard."""

    runs: LabelledRuns
    shard_size: int


def labelled_shard(job: Job, labelling: Labelling) -> Done:
    """Run the inputs of a job and make its files; after a run that differs there are none."""
    done = Done(job.number, Tally(), versions=versions())
    runs, words = labelling.runs, job.pieces[0].words
    rows, differs, undefined = runs.labelled(words)
    done.tally.runs, done.tally.rows, done.tally.cells = len(rows.words), int(rows.offsets[-1]), rows.cells
    done.tally.outcomes.update(outcome for outcome in rows.outcomes if outcome in runs.ends)
    done.left_out = len(undefined)
    if differs is not None:
        done.failure = Failure(runs.program, differs.word, differs.why)
        return done
    kept = np.delete(np.arange(len(words)), list(undefined))
    numbers = (job.number * labelling.shard_size + kept).astype(np.int32)
    done.files[LABELS, FORMAT] = encoded(rows, runs.scheme, runs.decoder.vocabulary, numbers)
    done.files[RUNS, FORMAT] = encoded_runs(rows, numbers)
    return done
