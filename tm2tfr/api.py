"""The library in few lines: load a machine, compile it, run the weights, check every cell.

>>> import tm2tfr
>>> machine = tm2tfr.load("chapter")
>>> decoder = tm2tfr.compile(machine)
>>> trace = tm2tfr.check(decoder, "11")
>>> trace.answer, trace.T, trace.compared, trace.agrees
('accept', 6, 63, True)
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tm2tfr.engines import engine as engine_named
from tm2tfr.errors import CompileError, EngineError
from tm2tfr.machine.library import load
from tm2tfr.machine.spec import Machine

if TYPE_CHECKING:
    from tm2tfr.certificate import Proof
    from tm2tfr.engines import Engine
    from tm2tfr.export.gpt2.export import Exported
    from tm2tfr.export.gpt2.verify import Verdict
    from tm2tfr.machine.simulator import Result
    from tm2tfr.trace.check import Progress, Trace
    from tm2tfr.transformer.weights import Decoder

MAX_STEPS = 10_000
"""How many steps of the machine a run makes where nothing else is said."""
AUTO_STEPS = 1_000
"""The engine ``auto`` is dense for so many steps; what goes on longer is run by fast, from the beginning."""


def compile(machine: Machine | str | Path, *, left_boundary: str | None = None) -> Decoder:
    """Return the decoder that simulates `machine`, a `Machine` or what `load` takes.

    Args:
        left_boundary: on a one-way tape ``repaired`` (the default) or ``chapter`` (Exercise 8.3 going wrong).

    Raises:
        SpecError, NotFoundError, ReadError: if the machine cannot be loaded.
        CompileError: if `left_boundary` makes no sense for it.
    """
    from tm2tfr.compiler.turing import compile_machine

    return compile_machine(_machine(machine), left_boundary=left_boundary)


def simulate(machine: Machine | str | Path, word: str = "", *, max_steps: int | None = MAX_STEPS) -> Result:
    """Run the reference simulator on `word` and return what came of it.

    Raises:
        InputError: if `word` is not over the input alphabet.
    """
    from tm2tfr.machine.simulator import result

    return result(_machine(machine), word, max_steps=max_steps)


def run(
    decoder: Decoder,
    word: str = "",
    *,
    engine: str | Engine = "auto",
    dtype: str | None = None,
    max_steps: int | None = MAX_STEPS,
    keep_rows: bool = True,
    checkpoint: Path | None = None,
    checkpoint_every: float = 60.0,
    resume: Path | None = None,
    out: Path | None = None,
    progress: Progress | None = None,
) -> Trace:
    """Run `decoder` on the prompt `word`, from its weights alone, and return the rows of the chapter's table.

    Args:
        engine: ``auto``, ``dense``, ``exact``, ``fast``, or an engine object. ``auto`` is dense, and for runs that
            do not end within 1,000 steps fast.
        dtype: ``float64`` (the default) or ``float32``, for ``dense``.
        max_steps: at most so many steps of the machine; None: until the verdict.
        keep_rows: keep the rows in the trace.
        checkpoint: write the state of the run to this file every `checkpoint_every` seconds (with the fast engine).
        resume: go on from this checkpoint.
        out: write the rows to this .jsonl, .csv or .parquet file as they come.

    Raises:
        EngineError: for an unknown engine or dtype, or a word with symbols that are not in the vocabulary.
        OutputError, CheckpointError: if a file cannot be written or gone on with.
    """
    files = _Files(checkpoint, checkpoint_every, resume, out)
    return _carried_out(decoder, word, None, engine, dtype, max_steps, keep_rows, files, progress)


def check(
    subject: Decoder | Machine | str | Path,
    word: str | None = None,
    *,
    machine: Machine | None = None,
    engine: str | Engine = "auto",
    dtype: str | None = None,
    max_steps: int | None = MAX_STEPS,
    left_boundary: str | None = None,
    keep_rows: bool = True,
    checkpoint: Path | None = None,
    checkpoint_every: float = 60.0,
    resume: Path | None = None,
    out: Path | None = None,
    progress: Progress | None = None,
) -> Trace:
    """Run a decoder and compare every position's x, q, b, m, h, a and y with the reference simulator's.

    Args:
        subject: a decoder, or a machine (or what `load` takes), which is compiled first.
        word: the input; left out, the machine's own default input.
        machine: what to compare a decoder with; left out, the machine that travels with it.
        keep_rows: keep the rows, and after a difference go on to the decoder's own end; else stop there.
        engine, dtype, max_steps, checkpoint, checkpoint_every, resume, out: see `run`.

    Raises:
        CompileError: if a decoder comes with no machine to compare with.
        InputError: if `word` is not over the input alphabet.
        EngineError, OutputError, CheckpointError: see `run`.
    """
    from tm2tfr.transformer.weights import Decoder

    if isinstance(subject, Decoder):
        decoder, machine = subject, machine or machine_of(subject)
    else:
        machine = _machine(subject)
        decoder = compile(machine, left_boundary=left_boundary)
    word = default_input(machine) if word is None else word
    files = _Files(checkpoint, checkpoint_every, resume, out)
    return _carried_out(decoder, word, machine, engine, dtype, max_steps, keep_rows, files, progress)


class _Files(NamedTuple):
    """The files that a run reads and writes."""

    checkpoint: Path | None
    every: float
    resume: Path | None
    out: Path | None


def _carried_out(
    decoder: Decoder,
    word: str,
    machine: Machine | None,
    engine: str | Engine,
    dtype: str | None,
    max_steps: int | None,
    keep_rows: bool,
    files: _Files,
    progress: Progress | None,
) -> Trace:
    """Choose the engine, and the way to use it: rows in memory, or blocks with nothing held."""
    from tm2tfr.engines.fast import available

    def attempt(chosen: Engine, limit: int | None) -> Trace:
        return _with(chosen, decoder, word, machine, limit, keep_rows, files, progress)

    if not isinstance(engine, str):
        return attempt(engine, max_steps)
    if engine != "auto":
        return attempt(engine_named(engine, dtype), max_steps)
    small = engine_named("dense" if dtype != "rational" else "exact", dtype)
    if dtype not in (None, "float64") or not available():
        return attempt(small, max_steps)
    if not any((files.checkpoint, files.resume, files.out)):
        if max_steps is not None and max_steps <= AUTO_STEPS:
            return attempt(small, max_steps)
        first = attempt(small, AUTO_STEPS)
        if first.answer != "limit" or first.divergence is not None:
            return first
    return attempt(engine_named("fast"), max_steps)


def _with(
    engine: Engine,
    decoder: Decoder,
    word: str,
    machine: Machine | None,
    max_steps: int | None,
    keep_rows: bool,
    files: _Files,
    progress: Progress | None,
) -> Trace:
    from tm2tfr.trace import check as plain

    in_blocks = files.checkpoint is not None or files.resume is not None
    if engine.name == "fast" and (in_blocks or files.out is not None or not keep_rows):
        from tm2tfr.export.recording import carry_out

        return carry_out(
            decoder,
            word,
            machine=machine,
            max_steps=max_steps,
            checkpoint=files.checkpoint,
            every=files.every,
            resume=files.resume,
            out=files.out,
            progress=progress,
        )
    if in_blocks:
        what = f"a checkpoint needs the fast engine, and this is the {engine.name} one"
        raise EngineError(f"{what}: use --engine fast, for which: pip install 'tm2tfr[fast]'")
    options: dict[str, Any] = {"engine": engine, "max_steps": max_steps, "keep_rows": keep_rows, "progress": progress}
    with ExitStack() as stack:
        if files.out is not None:
            from tm2tfr.export.stream import open_rows

            if machine is not None:
                machine.check_input(word)
            options["sink"] = stack.enter_context(open_rows(files.out)).write
        if machine is None:
            return plain.run(decoder, word, **options)
        return plain.check(decoder, word, machine=machine, **options)


def certify(
    subject: Decoder | Machine | str | Path, *, machine: Machine | None = None, left_boundary: str | None = None
) -> Proof:
    """Prove that weights simulate a machine for every input, and up to which length each engine's rounding lets them.

    >>> import tm2tfr
    >>> proof = tm2tfr.certify("chapter")
    >>> proof.refusals, proof.largest("dense", "float32"), proof.largest("exact")
    ((), 161, None)

    Args:
        subject, machine, left_boundary: see `check`.

    Raises:
        CompileError: if a decoder comes with no machine.
    """
    from tm2tfr.certificate import prove
    from tm2tfr.transformer.weights import Decoder

    if isinstance(subject, Decoder):
        return prove(subject, machine or machine_of(subject))
    loaded = _machine(subject)
    return prove(compile(loaded, left_boundary=left_boundary), loaded)


def export_gpt2(
    subject: Decoder | Machine | str | Path,
    folder: str | Path,
    *,
    machine: Machine | None = None,
    positions: int | None = None,
    max_head: int | None = None,
    dtype: str = "float64",
    stock: bool = False,
    verify: bool = True,
) -> Exported:
    """Write a decoder as a GPT-2 that unmodified `transformers` loads, and return what was written.

    Args:
        subject, machine: see `check`.
        folder: the directory to make; an earlier export there is replaced.
        positions: the longest run, N; left out 1,024, or as many as fit.
        max_head: the largest |h| of a run; left out, any.
        dtype: ``float64`` or ``float32``; `stock`: GPT-2's own layer norm epsilon and GELU.
        verify: load it in transformers and compare its runs with the simulator's before it gets its name.

    Raises:
        ExportError: if it does not fit, cannot be run, or is not right.
        OutputError: if it cannot be written.
        CompileError: if a decoder comes with no machine.
    """
    from tm2tfr.export.gpt2.export import export
    from tm2tfr.transformer.weights import Decoder

    decoder = subject if isinstance(subject, Decoder) else compile(subject)
    machine = machine or machine_of(decoder)
    options: dict[str, Any] = {"positions": positions, "max_head": max_head, "dtype": dtype, "stock": stock}
    return export(decoder, machine, folder, verify=verify, **options)


def verify_checkpoint(
    folder: str | Path, *, machine: Machine | str | Path | None = None, word: str | None = None
) -> Verdict:
    """Say whether an exported checkpoint is still `machine`: in its weights, and when it is run on `word`.

    Args:
        machine: left out, the machine that travels with the checkpoint.
        word: the input; left out, the machine's own default input.

    Raises:
        ExportError: if `folder` is no export, or cannot be run.
        InputError: if `word` is not over the input alphabet.
    """
    from tm2tfr.export.gpt2.directory import load as opened
    from tm2tfr.export.gpt2.verify import verified

    if machine is None:
        document = opened(folder).provenance
        if "machine" not in document:
            raise CompileError(f"{folder}: no machine travels with this checkpoint: name one with --machine")
        machine = Machine.from_yaml(document["machine"], file=document.get("name", "<provenance>"))
    machine = _machine(machine)
    return verified(folder, compile(machine), machine, default_input(machine) if word is None else word)


def machine_of(decoder: Decoder) -> Machine:
    """Return the machine that a decoder says it was compiled from.

    Raises:
        CompileError: if it says nothing of the kind.
        SpecError: if what it says is not a machine.
    """
    text = decoder.provenance.get("machine")
    if not text:
        raise CompileError("the weights come without a machine to compare them with: name one, or run them without a check")
    return Machine.from_yaml(text, file=decoder.provenance.get("name", "<provenance>"))


def default_input(machine: Machine) -> str:
    """Return the word that `machine` is run on when none is given: its own, its first example's, or none."""
    if machine.input is not None:
        return machine.input
    return machine.examples[0].input if machine.examples else ""


def _machine(machine: Machine | str | Path) -> Machine:
    return machine if isinstance(machine, Machine) else load(machine)
