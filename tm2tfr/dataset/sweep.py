"""Checks every run of a spec, up to the first, in the order of the spec, that differs from the reference's."""

from __future__ import annotations

from dataclasses import dataclass

from tm2tfr.dataset.circuits.spec import CircuitSpec
from tm2tfr.dataset.folder import ShardProgress, refuse_other_versions
from tm2tfr.dataset.jobs import groups, jobs
from tm2tfr.dataset.kinds import AnySpec, again, how_for, listed_in, sweeper
from tm2tfr.dataset.labels.spec import LabelSpec
from tm2tfr.dataset.make import Dataset
from tm2tfr.dataset.pool import pool
from tm2tfr.dataset.runs import Failure, versions
from tm2tfr.dataset.spec import Spec
from tm2tfr.dataset.tally import Tally
from tm2tfr.errors import CompileError, counted, visible
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


# ── The result of a data set or a sweep as text.
def summed(tally: Tally, noun: str = "machine", labels_by: str = "") -> str:
    """Return ``12 runs (10 accept, 2 halt), 345 rows, 2,415 cells compared``, of circuits ``8 runs, 16 bits compared``."""
    if noun == "circuit":
        return f"{counted(tally.runs, 'run')}, {counted(tally.cells, 'bit')} compared"
    if labels_by:
        return f"{counted(tally.runs, 'input')}, {counted(tally.cells, 'label')} by the {labels_by}"
    ends = ", ".join(f"{number:,} {outcome}" for outcome, number in sorted(tally.outcomes.items()))
    return f"{counted(tally.runs, 'run')}{ends and f' ({ends})'}, {tally.rows:,} rows, {tally.cells:,} cells compared"


def dataset_report(found: Dataset) -> str:
    """Return a few lines about a data set."""
    if found.failure is not None:
        head = f"{found.name}: FAILED after {summed(found.tally, found.noun)}"
        return f"{head}\n{failed(found.failure)}\nthe data set is not finished: {found.folder} contains nothing of this run"
    labels = found.labels_by
    within = f" in the prompt of {found.universal}" if found.universal else ""
    lines = [f"{found.name}{within}: {summed(found.tally, found.noun, labels)}{'' if labels else ', all agree'}"]
    for split, forms in found.examples.items():
        shown = ", ".join(f"{number:,} {form}" if len(forms) > 1 else form for form, number in forms.items())
        lines.append(f"{split}: {counted(sum(forms.values()), 'example')} ({shown})" if forms else f"{split}: no examples")
    if found.left_out:
        undefined = f"{counted(found.left_out, 'input')} on which the program is undefined"
        unended = f"{counted(found.left_out, 'run')} that did not end within the limit"
        lines.append(f"left out: {undefined if labels else unended}")
    if found.reused:
        lines.append(f"reused: {found.reused:,} of {counted(found.shards, 'shard')}")
    listed = f"{listed_in(found.noun)}, {'vocabulary.json, ' if found.one_vocabulary else ''}README.md"
    lines.append(f"wrote {found.folder}: {counted(found.shards, 'shard')}, manifest.json, {listed}")
    return "\n".join(lines)


def sweep_report(found: Sweep) -> str:
    """Return a line about a sweep, and one about its busy beavers, or the counterexample and how to reproduce it."""
    if found.failure is None:
        line = f"{found.name}: {counted(found.tally.machines, found.noun)}, {summed(found.tally, found.noun)}, all agree"
        return f"{line}\n{beavers}" if (beavers := found.families and _beavers(found.tally)) else line
    head = f"{found.name}: FAILED after {summed(found.tally, found.noun)}, all of which agree"
    return f"{head}\n{failed(found.failure)}\nreproduce: {found.again}"


def _beavers(tally: Tally) -> str:
    """Return the records of the runs from the blank tape; empty if none of them halts."""
    if tally.steps is None or tally.ones is None:
        return ""
    (steps, longest), (ones, fullest) = tally.steps, tally.ones
    most = f"{counted(steps, 'step')} ({visible(longest)}), {counted(ones, 'non-blank symbol')} ({visible(fullest)})"
    return f"the most among those that halt from the blank tape: {most}"


def failed(failure: Failure) -> str:
    """Return two lines or more: what differs, on which input, and how."""
    why = failure.why.replace("\n", "\n  ")
    return f"counterexample: {visible(failure.program.name)} on {failure.word!r}\n  {why}"
