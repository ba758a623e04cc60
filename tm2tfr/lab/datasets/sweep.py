"""Checks every run of a spec, up to the first, in the order of the spec, that differs from the reference's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tm2tfr.base.choices import AUTO
from tm2tfr.base.errors import counted
from tm2tfr.lab.datasets.folder import ShardProgress, results
from tm2tfr.lab.datasets.pool import pool
from tm2tfr.lab.datasets.runs import Failure
from tm2tfr.lab.datasets.spec import DatasetSpec
from tm2tfr.lab.datasets.tally import Tally

JOB = 1_000
"""The most runs in a job: few enough for progress to be shown soon."""


@dataclass(frozen=True)
class Sweep:
    """The result of a sweep.

    Args:
        name: what reports call it.
        tally: the runs that agree: all, or those before the failure.
        failure: the first run that does not agree.
        again: a command that reproduces it.
    """

    spec: DatasetSpec
    name: str
    tally: Tally
    failure: Failure | None = None
    again: str = ""


def sweep(
    spec: DatasetSpec,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    engine: str = AUTO,
    progress: ShardProgress | None = None,
    **options: Any,
) -> Sweep:
    """Check every run of a spec; see `tm2tfr.sweep`.

    Args:
        options: see `DatasetSpec.how`.

    Raises:
        DatasetError, EngineError, CompileError, WeightFileError: as documented there.
    """
    task, how = spec.sweeper, spec.how(engine, **options)
    title, size, tally = how.title(spec.name), min(spec.shard_size, JOB), Tally()
    number = sum(1 for _ in spec.jobs(size))
    with pool(workers, scheduler, number) as crew:
        for done in results(task, spec.jobs(size), how, crew, progress, 0, number):
            tally.add(done.tally)
            if done.failure is not None:
                return Sweep(spec, title, tally, done.failure, spec.again(done.failure, how))
    tally.machines = sum(len(piece.programs) for piece in spec.pieces())
    return Sweep(spec, title, tally)


def sweep_report(found: Sweep) -> str:
    """Return a line about a sweep, and one about its records, or the counterexample and how to reproduce it."""
    spec, tally = found.spec, found.tally
    if found.failure is None:
        line = f"{found.name}: {counted(tally.machines, spec.noun)}, {spec.summed(tally)}, all agree"
        return f"{line}\n{records}" if (records := spec.records(tally)) else line
    head = f"{found.name}: FAILED after {spec.summed(tally)}, all of which agree"
    return f"{head}\n{found.failure}\nreproduce: {found.again}"
