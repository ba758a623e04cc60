"""Labels: what every position of many runs holds, and where every head looks, aligned with the exported models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tm2tfr.api.datasets import check_engine_name
from tm2tfr.api.subject import Subject
from tm2tfr.base.choices import AUTO, DTYPES
from tm2tfr.base.errors import CompileError, DatasetError, EngineError, InputError
from tm2tfr.runs.plan import check_steps, is_count

if TYPE_CHECKING:
    from tm2tfr.api.subject import Given
    from tm2tfr.lab.labels.make import MadeLabels
    from tm2tfr.lab.line.folder import ShardProgress

MAX_STEPS = 1_000


def make_labels(
    subject: Given,
    folder: str | Path,
    *,
    inputs: Sequence[str] | None = None,
    all_up_to: int | None = None,
    random: int | None = None,
    lengths: tuple[int, int] | None = None,
    seed: int = 0,
    max_steps: int | None = None,
    positions: int | None = None,
    dtype: str = "float64",
    shard_size: int = 10_000,
    engine: str = AUTO,
    workers: int | None = None,
    scheduler: str | None = None,
    resume: bool = False,
    progress: ShardProgress | None = None,
) -> MadeLabels:
    """Write what every position of many runs holds, and where every head looks, as Parquet, and what hook points carry.

    The labels are the reference's, and the decoder's own runs are compared with them. Row p of a run is position p of the
    model that `export_to` writes for PyTorch, as a GPT-2 or for TransformerLens. The first run that differs is
    `Labels.failure`; its shard is not written.

    Args:
        subject: a machine, a circuit, a program or a formula, see `Subject.of`.
        folder: a new or empty folder.
        inputs: as people write them; a list of none asks for none.
        all_up_to: all inputs of up to so many tokens; of a circuit all inputs, if they have no more bits.
        random, lengths, seed: so many different random inputs of these lengths, by default from 1 (of machines 0) to 10.
            Without any inputs: 1,000 of them, or all where there are no more. Inputs that are asked for in several ways
            are put together, and each is labelled once.
        max_steps: of a machine, by default 1,000; a run that this cuts off is labelled as far as it goes.
        positions, dtype: those of the exports that hooks are about, see `export_to`.
        shard_size: the number of runs in a file.
        engine: ``auto`` (fast where Numba is installed, else dense), ``fast``, ``dense`` or ``exact``.
        workers, scheduler, resume, progress: see `make_dataset`.

    Raises:
        DatasetError: if an extra is missing, the cluster is lost, or the folder was made from other inputs or weights.
        InputError: for an input that is none, lengths that are none, or no or too many inputs.
        CompileError: if no program is stored with weights, or they cannot be compared with it.
        EngineError: for an engine that cannot run these weights.
        OutputError: if the folder cannot be written, or is in use.
    """
    from tm2tfr.lab.labels.make import LabelInputs, make
    from tm2tfr.runs.choose import for_many_runs
    from tm2tfr.transformer.provenance import is_hidden

    check_engine_name(engine)
    if dtype not in DTYPES:
        raise DatasetError(f"unknown dtype {dtype!r}: use one of {', '.join(DTYPES)}")
    if not is_count(shard_size, 1):
        raise DatasetError(f"shard_size must be a number of runs, not {shard_size!r}: use 1 or more")
    for name, number, least in (
        ("all_up_to", all_up_to, 0),
        ("random", random, 1),
        ("seed", seed, 0),
        ("positions", positions, 1),
    ):
        if number is not None and not is_count(number, least):
            raise InputError(f"{name} must be a whole number, not {number!r}: use {least} or more")
    check_steps(max_steps)
    found = Subject.of(subject)
    if max_steps is not None and found.program is not None and found.machine is None:
        raise EngineError(f"{found.name} is a {found.noun}, and only machines have steps: omit max_steps")
    if found.weights is not None and is_hidden(found.weights.provenance):
        what = f"{found.name}: these weights are hidden, and say nothing of what they compute"
        raise CompileError(f"{what}: label the program that they were made from, whose positions are the same")
    if found.construction is None:
        raise CompileError(f"{found.name}: nothing says what is right of these weights: label the program itself")
    shortest, longest = (None, None) if lengths is None else _lengths(lengths)
    asked = LabelInputs(
        words=None if inputs is None else tuple(found.word(word) for word in inputs),
        up_to=all_up_to,
        count=random,
        shortest=shortest,
        longest=longest,
        seed=seed,
    )
    if found.labeller and engine not in (AUTO, "dense"):
        what = f"{found.name} answers all positions of a word at once, which the dense engine does for many words"
        raise EngineError(f"{what}: omit --engine")
    return make(
        found.decoder,
        found.right,
        found.construction,
        folder,
        asked,
        engine="dense" if found.labeller else engine if found.decoder.positions is not None else for_many_runs(engine),
        max_steps=MAX_STEPS if max_steps is None else max_steps,
        positions=positions,
        dtype=dtype,
        shard_size=shard_size,
        workers=workers,
        scheduler=scheduler,
        resume=resume,
        progress=progress,
    )


def _lengths(lengths: object) -> tuple[int, int]:
    match lengths:
        case (int(shortest), int(longest)) if 0 <= shortest <= longest:
            return shortest, longest
    raise InputError(f"lengths must be the shortest and the longest, not {lengths!r}: use for example (1, 10)")
