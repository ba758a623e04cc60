"""The library in few lines: load a machine, compile it, run the weights, check every cell.

>>> import tm2tfr
>>> machine = tm2tfr.load("chapter")
>>> decoder = tm2tfr.compile(machine)
>>> trace = tm2tfr.check(decoder, "11")
>>> trace.answer, trace.T, trace.compared, trace.agrees
('accept', 6, 63, True)
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tm2tfr.engines import engine as engine_named
from tm2tfr.errors import CompileError
from tm2tfr.machine.library import load
from tm2tfr.machine.spec import Machine

if TYPE_CHECKING:
    from tm2tfr.engines import Engine
    from tm2tfr.machine.simulator import Result
    from tm2tfr.trace.check import Progress, Trace
    from tm2tfr.transformer.weights import Decoder

MAX_STEPS = 10_000
"""How many steps of the machine a run makes where nothing else is said."""


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
    engine: str | Engine = "dense",
    dtype: str | None = None,
    max_steps: int | None = MAX_STEPS,
    progress: Progress | None = None,
) -> Trace:
    """Run `decoder` on the prompt `word`, from its weights alone, and return the rows of the chapter's table.

    Args:
        engine: ``dense``, ``exact``, or an engine object.
        dtype: ``float64`` (the default) or ``float32``, for ``dense``.
        max_steps: at most so many steps of the machine; None: until the verdict.

    Raises:
        EngineError: for an unknown engine or dtype, or a word with symbols that are not in the vocabulary.
    """
    from tm2tfr.trace.check import run as run_rows

    return run_rows(decoder, word, engine=_engine(engine, dtype), max_steps=max_steps, progress=progress)


def check(
    subject: Decoder | Machine | str | Path,
    word: str | None = None,
    *,
    machine: Machine | None = None,
    engine: str | Engine = "dense",
    dtype: str | None = None,
    max_steps: int | None = MAX_STEPS,
    left_boundary: str | None = None,
    keep_rows: bool = True,
    progress: Progress | None = None,
) -> Trace:
    """Run a decoder and compare every position's x, q, b, m, h, a and y with the reference simulator's.

    Args:
        subject: a decoder, or a machine (or what `load` takes), which is compiled first.
        word: the input; left out, the machine's own default input.
        machine: what to compare a decoder with; left out, the machine that travels with it.
        engine, dtype, max_steps: see `run`.
        keep_rows: keep the rows, and after a difference go on to the decoder's own end; else stop there.

    Raises:
        CompileError: if a decoder comes with no machine to compare with.
        InputError: if `word` is not over the input alphabet.
    """
    from tm2tfr.trace.check import check as check_rows
    from tm2tfr.transformer.weights import Decoder

    if isinstance(subject, Decoder):
        decoder, machine = subject, machine or machine_of(subject)
    else:
        machine = _machine(subject)
        decoder = compile(machine, left_boundary=left_boundary)
    return check_rows(
        decoder,
        default_input(machine) if word is None else word,
        machine=machine,
        engine=_engine(engine, dtype),
        max_steps=max_steps,
        keep_rows=keep_rows,
        progress=progress,
    )


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


def _engine(engine: str | Engine, dtype: str | None) -> Engine:
    return engine_named(engine, dtype) if isinstance(engine, str) else engine
