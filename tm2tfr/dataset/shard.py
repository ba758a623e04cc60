"""Carrying out a job: pure functions from a job to its result, for any worker anywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tm2tfr.dataset.examples import (
    COLUMNS,
    PROMPTED_COLUMNS,
    PromptedTrainingExample,
    Tokens,
    TrainingExample,
    encoded,
    examples,
)
from tm2tfr.dataset.jobs import Job
from tm2tfr.dataset.runs import CheckedRun, Failure, How, Runs, versions
from tm2tfr.dataset.spec import Splitting
from tm2tfr.dataset.tally import Tally


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
    done = Done(job.number, Tally(), versions=versions())
    for _, _, run in _carried_out(job, how, done.tally):
        if isinstance(run, Failure):
            done.failure = run
            break
    return done


def made(job: Job, making: Making) -> Done:
    """Check the runs of a job of machines and make its files."""
    done, tokens = Done(job.number, Tally(), versions=versions()), Tokens()
    in_prompts = making.how.prompting is not None
    found: dict[str, list[TrainingExample | PromptedTrainingExample]] = {name: [] for name, _ in making.splitting.splits}
    at: Runs | None = None
    for runs, word, run in _carried_out(job, making.how, done.tally):
        if isinstance(run, Failure):
            done.failure = run
            return done
        if runs is not at:
            at, key, numbers = runs, runs.split_key, tokens.of(runs.vocabulary)
        if run.trace.T is None and not making.keep_unfinished:
            done.left_out += 1
            continue
        split = making.splitting.of(key, word)
        some = examples(runs.machine.name, numbers[run.prompt], numbers[run.answers], run, making.forms)
        found[split] += (PromptedTrainingExample(*e, e.prompt, e.target) for e in some) if in_prompts else some
    for split, every in found.items():
        for form in making.forms if every else ():
            done.examples[split, form] = sum(e.form == form for e in every)
        for format in making.formats if every else ():
            done.files[split, format] = encoded(every, tokens, format, PROMPTED_COLUMNS if in_prompts else COLUMNS)
    return done


def _carried_out(job: Job, how: How, tally: Tally) -> Iterator[tuple[Runs, str, CheckedRun | Failure]]:
    """Yield each run of a job, counting those that agree."""
    runs: Runs | None = None
    for piece in job.pieces:
        for machine in piece.programs:
            runs = Runs(machine, how, runs)
            tally.machines += 1
            for word in piece.words:
                run = runs.on(word)
                if isinstance(run, CheckedRun):
                    tally.count(run.trace)
                yield runs, word, run
