"""Many runs at once: data sets of checked runs, and sweeps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tm2tfr.base.choices import AUTO, ENGINES
from tm2tfr.base.errors import DatasetError
from tm2tfr.runs.plan import check_steps, is_count

if TYPE_CHECKING:
    from tm2tfr.lab.datasets.machines.family import Members
    from tm2tfr.lab.datasets.make import Dataset, Sweep
    from tm2tfr.lab.datasets.spec import DatasetSpec
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
    """Write runs as training examples: of machines, compared with the simulator at every position, or of circuits.

    Of a RASP program, a formula or another program they are words with the reference's values as labels.

    The folder can be passed to `datasets.load_dataset` as it is. Its bytes are a function of the spec and of the versions
    named in its manifest, whoever made it. The first run that differs from the simulator is `Dataset.failure`; its
    shard is not written.

    Args:
        spec: a file, the name of a shipped spec, or a circuit, a program or a formula: its name or its file.
        folder: a new or empty folder.
        workers: the number of processes, by default one per core; 1 is this process. A script that uses more must be
            importable (``if __name__ == "__main__":``).
        scheduler: the address of a Dask cluster to use instead.
        engine: ``auto`` (fast where Numba is installed, else dense), ``fast``, ``dense`` or ``exact``.
        resume: resume a folder: make only what is missing or has the wrong digest.
        max_length: of a program or a formula, the longest word of the split ``train``; ``test`` has longer ones, up to four
            times as long. Default: random splits.
        universal, tape: put every machine in the prompt of this universal decoder, see `tm2tfr.compile`; then no machine is
            in two splits. Default: as the spec says.
        seed: with `universal`, shuffle the rules in each prompt, anew for each run. Default: the machine's own order.
        progress: called regularly with the number of shards done, of all shards, and of trace rows made.

    Raises:
        SpecError, NotFoundError, ReadError: if the spec cannot be read.
        DatasetError: if an extra is missing, the cluster is lost, or the folder was made from another spec; for `universal`
            beside a spec that has it.
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
    """Compare the decoder with the simulator, of circuits the evaluator, on every run of a spec.

    The first run that differs is `Sweep.failure`.

    Args:
        spec, workers, scheduler, engine, progress: see `make_dataset`.
        max_steps: overrides the spec's own limit; of machines.
        left_boundary: on one-way tapes, ``repaired`` (the default) or ``chapter``.
        universal, tape: put every machine in the prompt of this universal decoder, see `tm2tfr.compile`.
        seed: with `universal`, shuffle the rules in each prompt, anew for each run. Default: the machine's own order.

    Raises:
        SpecError, NotFoundError, ReadError, DatasetError: see `make_dataset`.
        WeightFileError: if `universal` is a weight file that cannot be read.
        CompileError: if `left_boundary` does not apply to a machine, or a machine does not fit the universal decoder; for
            these and `max_steps`, if the spec is of circuits; if it is of a program or a formula, see `tm2tfr.check`.
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
    """Return the machines of a size in tree normal form: one for each kind of run from the blank tape.

    >>> import tm2tfr
    >>> machines = tm2tfr.normal_form(2)
    >>> len(machines), machines[3].name
    (61, '0RB---_1RZ---')

    Args:
        states, symbols: their numbers, Z not counted; 0 is the blank.
        steps: a machine that has made so many steps is taken for one that does not halt.
        complete: list machines as well whose rules are all there and do not halt.

    Raises:
        DatasetError: if there are too many to be listed.
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
