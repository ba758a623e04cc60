"""Checks every run of a spec, up to the first, in the order of the spec, that differs from the simulator's."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from tm2tfr.dataset.jobs import groups, jobs
from tm2tfr.dataset.make import ShardProgress, refuse_other_versions
from tm2tfr.dataset.pool import pool
from tm2tfr.dataset.runs import Failure, How, versions
from tm2tfr.dataset.shard import swept
from tm2tfr.dataset.spec import Spec
from tm2tfr.dataset.tally import Tally
from tm2tfr.runs.choose import for_many_runs
from tm2tfr.sources.turing.formats import native
from tm2tfr.sources.turing.formats.bbchallenge import is_argument

JOB = 1_000
"""The most runs in a job: few enough for progress to be shown soon."""


@dataclass(frozen=True)
class Sweep:
    """The result of a sweep.

    Args:
        tally: the runs that agree: all, or those before the failure.
        failure: the first run that does not agree.
        again: a command that reproduces it.
    """

    name: str
    tally: Tally
    failure: Failure | None = None
    again: str = ""


def sweep(
    spec: Spec,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    engine: str = "auto",
    max_steps: int | None = None,
    left_boundary: str | None = None,
    progress: ShardProgress | None = None,
) -> Sweep:
    """Check every run of a spec; see `tm2tfr.sweep`.

    Raises:
        DatasetError, EngineError, CompileError: as documented there.
    """
    how = How(for_many_runs(engine), spec.max_steps if max_steps is None else max_steps, left_boundary)
    size = min(spec.shard_size, JOB)
    number = sum(1 for _ in jobs(spec, size))
    tally, own = Tally(), versions()
    with pool(workers, scheduler, number) as crew:
        for place, done in enumerate(crew.map(swept, jobs(spec, size), how), start=1):
            refuse_other_versions(done.versions, own)
            tally.add(done.tally)
            if progress:
                progress(place, number, tally.rows)
            if done.failure is not None:
                return Sweep(spec.name, tally, done.failure, again(spec, done.failure, how))
    tally.machines = sum(len(piece.machines) for piece in groups(spec))
    return Sweep(spec.name, tally)


def again(spec: Spec, failure: Failure, how: How) -> str:
    """Return a command that reproduces a failure."""
    named = {machine.name: argument for argument, machine in spec.named}
    name = failure.machine.name
    argument = named.get(name, name if is_argument(name) else "-")
    options = ["--input", failure.word, "--max-steps", str(how.max_steps), "--engine", how.engine]
    if how.left_boundary is not None:
        options += ["--left-boundary", how.left_boundary]
    command = shlex.join(["tm2tfr", "trace", argument, *options])
    return command if argument != "-" else f"{command} <<'END'\n{native.write(failure.machine)}END"
