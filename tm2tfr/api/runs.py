"""The library in a few lines: load a machine, compile it, run the weights, check every cell.

>>> import tm2tfr
>>> machine = tm2tfr.load("chapter")
>>> decoder = tm2tfr.compile(machine)
>>> trace = tm2tfr.check(decoder, "11")
>>> trace.answer, trace.T, trace.compared, trace.agrees
('accept', 6, 63, True)
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tm2tfr.engines import engine as engine_named
from tm2tfr.errors import CompileError, EngineError
from tm2tfr.machine.library import load
from tm2tfr.machine.spec import Machine

if TYPE_CHECKING:
    from tm2tfr.certificate import Proof
    from tm2tfr.engines import Engine
    from tm2tfr.machine.simulator import Result
    from tm2tfr.softness.run import SoftRun
    from tm2tfr.trace.check import Progress, Trace
    from tm2tfr.transformer.weights import Decoder

MAX_STEPS = 10_000
"""The default limit on the steps of a run."""
AUTO_STEPS = 1_000
"""The engine ``auto`` is dense for this many steps; a longer run starts again with fast."""
SOFT_STEPS = 200
"""The default limit on the steps that are measured under softmax."""
SOFT_LENGTH = 1_024
"""The default number of positions for which a temperature is chosen."""


def compile(machine: Machine | str | Path, *, left_boundary: str | None = None) -> Decoder:
    """Return the decoder that simulates `machine`, a `Machine` or what `load` takes.

    Args:
        left_boundary: on a one-way tape, ``repaired`` (the default) or ``chapter`` (Exercise 8.3 going wrong).

    Raises:
        SpecError, NotFoundError, ReadError: if the machine cannot be loaded.
        CompileError: if `left_boundary` does not apply to the machine.
    """
    from tm2tfr.compiler.turing import compile_machine

    return compile_machine(as_machine(machine), left_boundary=left_boundary)


def soften(
    subject: Decoder | Machine | str | Path,
    *,
    temperature: float | str = "auto",
    length: int = SOFT_LENGTH,
    left_boundary: str | None = None,
) -> Decoder:
    """Return the same weights with softmax attention, the queries divided by a temperature (Theorem 26).

    >>> import tm2tfr
    >>> decoder = tm2tfr.soften("chapter", length=100)
    >>> decoder.provenance["temperature"], tm2tfr.check(decoder, "11").agrees
    ('1.52587890625e-05', True)

    Args:
        subject, left_boundary: see `check`.
        temperature: τ, or ``auto``: the largest power of two for which Theorem 26 guarantees every token of every run
            of at most `length` positions, see `tm2tfr.transformer.soft`.
        length: the number of positions (prompt, BOS, steps + 1) that ``auto`` covers.

    Raises:
        CompileError: if the temperature is not a positive number, or the weights are already soft.
    """
    from tm2tfr.compiler.turing.gaps import smallest_gap
    from tm2tfr.transformer.soft import power_of_two, softened, theorem_26
    from tm2tfr.transformer.weights import Decoder

    decoder = subject if isinstance(subject, Decoder) else compile(subject, left_boundary=left_boundary)
    if temperature == "auto":
        if length < 1:
            raise CompileError(f"the length must be a positive number of positions, not {length}: use 1 or more")
        temperature = power_of_two(theorem_26(decoder, length, smallest_gap(decoder, length)))
    if isinstance(temperature, str):
        raise CompileError(f"{temperature!r} is not a temperature: use auto, or a positive number")
    return softened(decoder, temperature)


def measure_softness(
    subject: Decoder | Machine | str | Path,
    word: str | None = None,
    *,
    machine: Machine | None = None,
    temperature: float | Literal["auto"] | None = None,
    dtype: str | None = None,
    max_steps: int | None = SOFT_STEPS,
    left_boundary: str | None = None,
) -> SoftRun:
    """Measure a run under softmax: errors next to the lemmas' bounds, and the largest temperature that is right.

    >>> import tm2tfr
    >>> found = tm2tfr.measure_softness("chapter", "11", temperature=0.01)
    >>> found.softness.uniform_tieless, found.softness.first_wrong, found.growth[-1].found > 0.07
    (True, None, True)

    Args:
        subject, word, machine, left_boundary: see `check`; a decoder with average-hard attention.
        temperature: where errors are measured; ``auto``: the one that `soften` chooses; by default a quarter of the
            largest that is right.
        dtype: ``float64`` (the default) or ``float32``; the engine is dense.

    Raises:
        EngineError: if the run is not right with average-hard attention.
        CompileError, InputError: see `soften` and `check`.
    """
    from tm2tfr.softness.run import soft_run
    from tm2tfr.transformer.weights import Decoder

    if isinstance(subject, Decoder):
        decoder, machine = subject, machine or machine_of(subject)
    else:
        machine = as_machine(subject)
        decoder = compile(machine, left_boundary=left_boundary)
    if decoder.soft:
        raise CompileError("these weights already have softmax attention: measure the weights they were made from")
    word = default_input(machine) if word is None else word
    options: dict[str, Any] = {"temperature": temperature, "max_steps": max_steps}
    return soft_run(decoder, word, machine=machine, engine=engine_named("dense", dtype), **options)


def simulate(machine: Machine | str | Path, word: str = "", *, max_steps: int | None = MAX_STEPS) -> Result:
    """Run the reference simulator on `word` and return the result.

    Raises:
        InputError: if `word` is not over the input alphabet.
    """
    from tm2tfr.machine.simulator import result

    return result(as_machine(machine), word, max_steps=max_steps)


def run(
    decoder: Decoder,
    word: str = "",
    *,
    engine: str | Engine = "auto",
    dtype: str | None = None,
    max_steps: int | None = MAX_STEPS,
    keep_rows: bool = True,
    checkpoint: str | Path | None = None,
    checkpoint_every: float = 60.0,
    resume: str | Path | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> Trace:
    """Run `decoder` on the prompt `word`, from its weights alone, and return the rows of the chapter's table.

    Args:
        engine: ``auto``, ``dense``, ``exact``, ``fast``, or an engine object. ``auto`` is dense, or
            fast for a run that does not end within 1,000 steps; only dense runs soft attention.
        dtype: ``float64`` (the default) or ``float32``, for ``dense``.
        max_steps: stop after this many steps of the machine; None: run until the verdict.
        keep_rows: keep the rows in the trace.
        checkpoint: write the state of the run to this file every `checkpoint_every` seconds (with the fast engine).
        resume: resume the run from this checkpoint.
        out: write the rows to this .jsonl, .csv or .parquet file as they come.

    Raises:
        EngineError: for an unknown engine or dtype, or a word with symbols that are not in the vocabulary.
        OutputError, CheckpointError: if a file cannot be written, or a checkpoint cannot be resumed.
    """
    order = _Order(
        decoder=decoder,
        word=word,
        machine=None,
        keep_rows=keep_rows,
        checkpoint=_path(checkpoint),
        every=checkpoint_every,
        resume=_path(resume),
        out=_path(out),
        progress=progress,
    )
    return order.carried_out(engine, dtype, max_steps)


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
    checkpoint: str | Path | None = None,
    checkpoint_every: float = 60.0,
    resume: str | Path | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> Trace:
    """Run a decoder and compare every position's x, q, b, m, h, a and y with the reference simulator's.

    Args:
        subject: a decoder, or a machine (or what `load` takes), which is compiled first.
        word: the input; by default the machine's own.
        machine: what to compare a decoder with; by default the machine stored with it.
        keep_rows: keep the rows, and after a difference continue until the decoder halts; otherwise stop there.
        engine, dtype, max_steps, checkpoint, checkpoint_every, resume, out: see `run`.

    Raises:
        CompileError: if no machine is stored with a decoder and none is given.
        InputError: if `word` is not over the input alphabet.
        EngineError, OutputError, CheckpointError: see `run`.
    """
    from tm2tfr.transformer.weights import Decoder

    if isinstance(subject, Decoder):
        decoder, machine = subject, machine or machine_of(subject)
    else:
        machine = as_machine(subject)
        decoder = compile(machine, left_boundary=left_boundary)
    order = _Order(
        decoder=decoder,
        word=default_input(machine) if word is None else word,
        machine=machine,
        keep_rows=keep_rows,
        checkpoint=_path(checkpoint),
        every=checkpoint_every,
        resume=_path(resume),
        out=_path(out),
        progress=progress,
    )
    return order.carried_out(engine, dtype, max_steps)


def _path(name: str | Path | None) -> Path | None:
    return None if name is None else Path(name)


@dataclass(frozen=True, kw_only=True)
class _Order:
    """A requested run: the decoder, what it is compared with, and the files that are read and written."""

    decoder: Decoder
    word: str
    machine: Machine | None
    keep_rows: bool
    checkpoint: Path | None
    every: float
    resume: Path | None
    out: Path | None
    progress: Progress | None

    def carried_out(self, engine: str | Engine, dtype: str | None, max_steps: int | None) -> Trace:
        """Choose the engine and run."""
        from tm2tfr.engines.fast import available

        if not isinstance(engine, str):
            return self.by(engine, max_steps)
        if engine != "auto":
            return self.by(engine_named(engine, dtype), max_steps)
        small = engine_named("dense" if dtype != "rational" else "exact", dtype)
        if self.decoder.soft or dtype not in (None, "float64") or not available():
            return self.by(small, max_steps)
        if not any((self.checkpoint, self.resume, self.out)):
            if max_steps is not None and max_steps <= AUTO_STEPS:
                return self.by(small, max_steps)
            first = self.by(small, AUTO_STEPS)
            if first.answer != "limit" or first.divergence is not None:
                return first
        return self.by(engine_named("fast"), max_steps)

    def by(self, engine: Engine, max_steps: int | None) -> Trace:
        """Run with `engine`: in blocks, without keeping rows, if it can and that is wanted, otherwise row by row."""
        from tm2tfr.engines.fast import MISSING, OTHERWISE, available

        saved = self.checkpoint is not None or self.resume is not None
        if not available() and (saved or engine.name == "fast"):
            without = f"a checkpoint needs the fast engine, and {MISSING.removesuffix(OTHERWISE)}"
            raise EngineError(without if saved else MISSING)
        from tm2tfr.trace.columns import is_turing

        turing = is_turing(self.decoder.layout)
        if engine.name == "fast" and turing and (saved or self.out is not None or not self.keep_rows):
            return self._in_blocks(max_steps)
        if saved and not turing:
            what = "a checkpoint is written of runs with the columns of a Turing machine, which these weights do not have"
            raise EngineError(f"{what}: omit the checkpoint")
        if saved:
            what = f"a checkpoint needs the fast engine, not {engine.name}"
            raise EngineError(f"{what}: use --engine fast")
        return self._by_row(engine, max_steps)

    def _in_blocks(self, max_steps: int | None) -> Trace:
        from tm2tfr.runs.recording import carry_out

        return carry_out(
            self.decoder,
            self.word,
            machine=self.machine,
            max_steps=max_steps,
            checkpoint=self.checkpoint,
            every=self.every,
            resume=self.resume,
            out=self.out,
            progress=self.progress,
        )

    def _by_row(self, engine: Engine, max_steps: int | None) -> Trace:
        from tm2tfr.trace import check as plain

        options: dict[str, Any] = {"engine": engine, "max_steps": max_steps}
        options |= {"keep_rows": self.keep_rows, "progress": self.progress}
        with ExitStack() as stack:
            writer = None
            if self.out is not None:
                from tm2tfr.tables.stream import open_rows
                from tm2tfr.trace.check import comparable
                from tm2tfr.trace.columns import columns_of

                if self.machine is not None:
                    self.machine.check_input(self.word)
                    comparable(self.decoder, self.machine)
                writer = stack.enter_context(open_rows(self.out, columns=columns_of(self.decoder.layout)))
                options["sink"] = writer.write
            if self.machine is None:
                trace = plain.run(self.decoder, self.word, **options)
            else:
                trace = plain.check(self.decoder, self.word, machine=self.machine, **options)
            if writer is not None:
                writer.expect(trace.agreed)
            return trace


def certify(
    subject: Decoder | Machine | str | Path, *, machine: Machine | None = None, left_boundary: str | None = None
) -> Proof:
    """Prove that weights simulate a machine for every input, and up to which length each engine's rounding allows it.

    >>> import tm2tfr
    >>> proof = tm2tfr.certify("chapter")
    >>> proof.refusals, proof.largest("dense", "float32"), proof.largest("exact")
    ((), 161, None)

    Args:
        subject, machine, left_boundary: see `check`.

    Raises:
        CompileError: if no machine is stored with a decoder and none is given.
    """
    from tm2tfr.certificate import prove
    from tm2tfr.transformer.weights import Decoder

    if isinstance(subject, Decoder):
        return prove(subject, machine or machine_of(subject))
    loaded = as_machine(subject)
    return prove(compile(loaded, left_boundary=left_boundary), loaded)


def machine_of(decoder: Decoder) -> Machine:
    """Return the machine that a decoder was compiled from, as stored in its provenance.

    Raises:
        CompileError: if no machine is stored.
        SpecError: if what is stored is not a machine.
    """
    text = decoder.provenance.get("machine")
    if not text:
        raise CompileError("no machine to compare with is stored with these weights: name one, or run them without a check")
    return Machine.from_yaml(text, file=decoder.provenance.get("name", "<provenance>"))


def default_input(machine: Machine) -> str:
    """Return the word that `machine` is run on when none is given: its own, its first example's, or the empty word."""
    if machine.input is not None:
        return machine.input
    return machine.examples[0].input if machine.examples else ""


def as_machine(machine: Machine | str | Path) -> Machine:
    """Return `machine`, or the one that `load` finds."""
    return machine if isinstance(machine, Machine) else load(machine)
