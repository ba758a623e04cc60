"""Checks every run of a spec, up to the first, in the order of the spec, that differs from the reference's."""

from __future__ import annotations

from dataclasses import dataclass

from tm2tfr.dataset.circuits.spec import CircuitSpec
from tm2tfr.dataset.folder import ShardProgress, refuse_other_versions
from tm2tfr.dataset.jobs import groups, jobs
from tm2tfr.dataset.kinds import AnySpec, again, how_for, sweeper
from tm2tfr.dataset.labels.spec import LabelSpec
from tm2tfr.dataset.pool import pool
from tm2tfr.dataset.runs import Failure, versions
from tm2tfr.dataset.spec import Spec
from tm2tfr.dataset.tally import Tally
from tm2tfr.errors import CompileError, visible
from tm2tfr.sources.registry import whose

JOB = 1_000
"""The most runs in a job: few enough for progress to be shown soon."""


@dataclass(frozen=True)
class Sweep:
    """The result of a sweep.

    Args:
        tally: the runs that agree: all, or those before the failure.
        failure: the first run that does not agree.
        again: a command that reproduces it.
        noun: what a program is called.
        families: whether there are families of machines, whose busy beavers the report names.
    """

    name: str
    tally: Tally
    failure: Failure | None = None
    again: str = ""
    noun: str = "machine"
    families: bool = False


def sweep(
    spec: AnySpec,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    engine: str = "auto",
    max_steps: int | None = None,
    left_boundary: str | None = None,
    universal: object = None,
    tape: str | None = None,
    seed: int | None = None,
    progress: ShardProgress | None = None,
) -> Sweep:
    """Check every run of a spec; see `tm2tfr.sweep`.

    Raises:
        DatasetError, EngineError, CompileError, WeightFileError: as documented there.
    """
    _refuse(spec, max_steps, left_boundary)
    how = how_for(spec, engine, max_steps, left_boundary, universal=universal, tape=tape, seed=seed)
    name = spec.name if how.prompting is None else f"{spec.name} in the prompt of {how.prompting.universal.name}"
    size = min(spec.shard_size, JOB)
    number = sum(1 for _ in jobs(spec, size))
    tally, own = Tally(), versions()
    with pool(workers, scheduler, number) as crew:
        for place, done in enumerate(crew.map(sweeper(spec), jobs(spec, size), how), start=1):
            refuse_other_versions(done.versions, own)
            tally.add(done.tally)
            if progress:
                progress(place, number, tally.rows)
            if done.failure is not None:
                return Sweep(name, tally, done.failure, again(spec, done.failure, how), spec.noun)
    tally.machines = sum(len(piece.programs) for piece in groups(spec))
    families = isinstance(spec, Spec) and bool(spec.families)
    return Sweep(name, tally, noun=spec.noun, families=families)


def _refuse(spec: AnySpec, max_steps: int | None, left_boundary: str | None) -> None:
    """Raise CompileError for what labels words, and for options that make no sense for circuits."""
    if isinstance(spec, LabelSpec):
        labeller = spec.labeller
        what = f"{visible(spec.name)} is about {labeller.kind}, and a sweep compares runs of machines or circuits"
        raise CompileError(f"{what}: use tm2tfr check, which compares its weights with the {labeller.reference}")
    if isinstance(spec, CircuitSpec) and left_boundary is not None:
        raise CompileError(f"{spec.name} is about circuits, and {whose('left_boundary')}: omit --left-boundary")
    if isinstance(spec, CircuitSpec) and max_steps is not None:
        raise CompileError(f"{spec.name} is about circuits, whose runs end with their last gate: omit the limit of steps")
