"""Data sets of checked runs, sweeps, and labels of runs, aligned with the exported models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tm2tfr.api.subject import Subject
from tm2tfr.base.choices import AUTO, DTYPES, ENGINES
from tm2tfr.base.errors import CompileError, DatasetError, EngineError, InputError, a_or_an
from tm2tfr.runs.plan import check_steps, is_count

if TYPE_CHECKING:
    from tm2tfr.api.subject import Given
    from tm2tfr.lab.datasets.machines.family import Members
    from tm2tfr.lab.datasets.make import Dataset, Sweep
    from tm2tfr.lab.datasets.spec import DatasetSpec
    from tm2tfr.lab.labels.make import MadeLabels
    from tm2tfr.lab.line.folder import ShardProgress
    from tm2tfr.sources.turing.universal.program import Universal
    from tm2tfr.transformer.weights import Decoder


def make_dataset(
    spec: DatasetSpec | str | Path,
    folder: str | Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    engine: str = "auto",
    resume: bool = False,
    max_length: int | None = None,
    universal: tuple[int, int] | str | Path | Universal | Decoder | None = None,
    tape: str | None = None,
    seed: int | None = None,
    progress: ShardProgress | None = None,
) -> Dataset:
    """Write runs of machines or circuits, compared with the reference at every position, as training examples.

    For a RASP program, a formula or an automaton the examples are words with the reference's values as labels.

    `datasets.load_dataset` reads the folder. Its bytes are a function of the spec and of the versions in its manifest.
    The first run that differs from the reference is `Dataset.failure`; its shard is not written.

    Args:
        spec: a file, the name of a shipped spec, or the name or file of a circuit, a program or a formula.
        folder: a new or empty folder.
        workers: the number of processes, by default one per core; 1 is this process. A script that uses more must be
            importable (``if __name__ == "__main__":``).
        scheduler: the address of a Dask cluster to use instead.
        engine: ``auto`` (fast where Numba is installed, else dense), ``fast``, ``dense`` or ``exact``.
        resume: continue a folder: make only missing shards and those with a wrong digest.
        max_length: for a program or a formula, the longest word of the split ``train``; ``test`` has longer ones, up to
            four times as long. Default: random splits.
        universal, tape: put every machine in the prompt of this universal decoder, see `tm2tfr.compile`; then no machine is
            in two splits. Default: as in the spec.
        seed: with `universal`, shuffle the rules in the prompt of each run. Default: the machine's own order.
        progress: called regularly with the numbers of shards done, of all shards, and of trace rows made.

    Raises:
        SpecError, NotFoundError, ReadError: if the spec cannot be read.
        DatasetError: if an extra is missing, the cluster is lost, or the folder was made from another spec; for `universal`
            beside a spec with this key.
        CompileError: if a machine does not fit the universal decoder, or the spec is not about machines.
        WeightFileError: if `universal` is a weight file that cannot be read.
        OutputError: if the folder cannot be written, or is in use.
    """
    from tm2tfr.lab.datasets.make import make, spec_of

    wanted = spec_of(spec, max_length)
    check_engine_name(engine)
    return make(
        wanted,
        folder,
        workers=workers,
        scheduler=scheduler,
        engine=engine,
        resume=resume,
        universal=universal,
        tape=tape,
        seed=seed,
        progress=progress,
    )


def sweep(
    spec: DatasetSpec | str | Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    engine: str = "auto",
    max_steps: int | None = None,
    left_boundary: str | None = None,
    universal: tuple[int, int] | str | Path | Universal | Decoder | None = None,
    tape: str | None = None,
    seed: int | None = None,
    progress: ShardProgress | None = None,
) -> Sweep:
    """Compare the decoder with the reference on every run of a spec.

    The first run that differs is `Sweep.failure`.

    Args:
        spec, workers, scheduler, engine, progress: see `make_dataset`.
        max_steps: for machines: overrides the spec's own limit.
        left_boundary: on one-way tapes, ``repaired`` (the default) or ``chapter``.
        universal, tape: put every machine in the prompt of this universal decoder, see `tm2tfr.compile`.
        seed: with `universal`, shuffle the rules in the prompt of each run. Default: the machine's own order.

    Raises:
        SpecError, NotFoundError, ReadError, DatasetError: see `make_dataset`.
        WeightFileError: if `universal` is a weight file that cannot be read.
        CompileError: if `left_boundary` does not apply to a machine, or a machine does not fit the universal decoder; for
            these and `max_steps` with a spec of circuits; for a spec of programs or formulas, which `tm2tfr.check` checks.
    """
    from tm2tfr.lab.datasets.make import spec_of
    from tm2tfr.lab.datasets.make import sweep as swept

    wanted = spec_of(spec)
    check_engine_name(engine)
    check_steps(max_steps)
    return swept(
        wanted,
        workers=workers,
        scheduler=scheduler,
        engine=engine,
        max_steps=max_steps,
        left_boundary=left_boundary,
        universal=universal,
        tape=tape,
        seed=seed,
        progress=progress,
    )


def normal_form(states: int, symbols: int = 2, *, steps: int = 1_000, complete: bool = False) -> Members:
    """Return the machines of a size in tree normal form: one per equivalence class of runs from the blank tape.

    >>> import tm2tfr
    >>> machines = tm2tfr.normal_form(2)
    >>> len(machines), machines[3].name
    (61, '0RB---_1RZ---')

    Args:
        states, symbols: the numbers of states, without the halting state Z, and of symbols; 0 is the blank.
        steps: a machine that makes this many steps is taken not to halt.
        complete: also list machines with all rules that do not halt.

    Raises:
        DatasetError: if there are too many machines to list.
    """
    from tm2tfr.lab.datasets.machines.family import NormalForm

    for name, value, least in (("states", states, 1), ("symbols", symbols, 2), ("steps", steps, 1)):
        if not is_count(value, least):
            raise DatasetError(f"{name} must be a number, not {value!r}: use {least} or more")
    return NormalForm(states=states, symbols=symbols, steps=steps, complete=bool(complete)).machines()


def check_engine_name(engine: object) -> None:
    """Raise DatasetError unless `engine` is the name of one, or ``auto``."""
    if engine not in (AUTO, *ENGINES):
        raise DatasetError(f"unknown engine {engine!r}: use one of {', '.join((AUTO, *ENGINES))}")


# ── labels: what every position of many runs holds, and where every head looks ───────────────────────────────────────────
MAX_STEPS = 1_000


def make_labels(
    subject: Given,
    folder: str | Path,
    *,
    inputs: Sequence[str] | None = None,
    all_up_to: int | None = None,
    random: int | None = None,
    lengths: tuple[int, int] | None = None,
    balanced_outcomes: bool = False,
    seed: int = 0,
    max_steps: int | None = None,
    positions: int | None = None,
    dtype: str = "float64",
    shard_size: int = 10_000,
    test: float | None = None,
    engine: str = AUTO,
    workers: int | None = None,
    scheduler: str | None = None,
    resume: bool = False,
    progress: ShardProgress | None = None,
) -> MadeLabels:
    """Write labels for probes as Parquet: the values at every position of a batch of runs, and each head's targets.

    The labels are the reference's, and the decoder's own runs are compared with them; ``hooks.json`` maps them to hook
    points. Row p of a run is position p, from 0, of the model that `export_to` writes for PyTorch, as a GPT-2 or for
    TransformerLens. The first run that differs is `Labels.failure`; its shard is not written.

    Args:
        subject: a machine, a circuit, a program or a formula, see `Subject.of`.
        folder: a new or empty folder.
        inputs: inputs as people write them; an empty list adds none.
        all_up_to: all inputs of at most this many tokens; for a circuit all inputs, if they have at most this many bits.
        random, lengths, seed: the number of different random inputs, their lengths, by default from 1 (for machines 0) to
            10, and their seed. Without any of these options: 1,000 random inputs, or all if there are fewer. Options add
            up; each input is labelled once.
        balanced_outcomes: draw random inputs with the same number for each outcome of the reference, such as accept and
            reject; for a program, the value at the last position. Inputs without an outcome are not drawn.
        max_steps: the most steps of a machine, by default 1,000; a run that this cuts off is labelled up to there.
        positions, dtype: those of the exports that ``hooks.json`` describes, see `export_to`.
        shard_size: the number of runs per file.
        test: the share of inputs in the split ``test``, between 0 and 1; None: no splits.
        engine: ``auto`` (fast where Numba is installed, else dense), ``fast``, ``dense`` or ``exact``.
        workers, scheduler, resume, progress: see `make_dataset`.

    Raises:
        DatasetError: if an extra is missing, the cluster is lost, or the folder was made from other inputs or weights.
        InputError: for an invalid input, invalid lengths, no inputs, or too many; if random inputs cannot be balanced:
            there is one outcome, there are more than ten, or too few inputs with one of them are found.
        CompileError: if no program is stored with weights, or they cannot be compared with it.
        EngineError: for an engine that cannot run these weights.
        OutputError: if the folder cannot be written, or is in use.
    """
    from tm2tfr.lab.labels.inputs import LabelInputs
    from tm2tfr.lab.labels.make import make
    from tm2tfr.runs.choose import for_many_runs
    from tm2tfr.transformer.provenance import is_hidden

    check_engine_name(engine)
    if dtype not in DTYPES:
        raise DatasetError(f"unknown dtype {dtype!r}: use one of {', '.join(DTYPES)}")
    if not is_count(shard_size, 1):
        raise DatasetError(f"shard_size must be a number of runs, not {shard_size!r}: use 1 or more")
    if test is not None and not (isinstance(test, float) and 0 < test < 1):
        raise DatasetError(f"test must be a share of the inputs, not {test!r}: use for example 0.2")
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
        raise EngineError(f"{found.name} is {a_or_an(found.noun)}, and only machines have steps: omit max_steps")
    if found.weights is not None and is_hidden(found.weights.provenance):
        what = f"{found.name}: these weights are hidden, and say nothing of what they compute"
        raise CompileError(f"{what}: label the program that they were made from, whose positions are the same")
    if found.construction is None:
        raise CompileError(f"{found.name}: these weights have no reference: label the program itself")
    if balanced_outcomes and random is None:
        raise InputError("balanced_outcomes is about random inputs: give their number as random")
    shortest, longest = (None, None) if lengths is None else _lengths(lengths)
    asked = LabelInputs(
        words=None if inputs is None else tuple(found.word(word) for word in inputs),
        up_to=all_up_to,
        count=random,
        shortest=shortest,
        longest=longest,
        seed=seed,
        balanced=balanced_outcomes,
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
        test=test,
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
