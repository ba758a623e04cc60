"""The engine of a run, if it is ``auto``, which is only decided here; and its reference.

Dense takes time that grows with the square of the positions; fast takes some time to begin with (it loads its code, or
compiles it), and then the same time for every position. Positions are what counts: the prompt's, BOS and one for every
step.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from tm2tfr.base.choices import AUTO
from tm2tfr.base.errors import CompileError, EngineError
from tm2tfr.base.native.folder import folder, used
from tm2tfr.engines import engine as engine_named
from tm2tfr.engines.fast import MISSING, OTHERWISE, available
from tm2tfr.runs.rows import is_turing
from tm2tfr.sources.registry import of_program
from tm2tfr.transformer.positions import POSITION_FEATURES

if TYPE_CHECKING:
    from tm2tfr.contract.blocks import BlockReference, ManyLabels
    from tm2tfr.contract.source import Truth
    from tm2tfr.engines.decode import Engine
    from tm2tfr.runs.plan import RunOptions
    from tm2tfr.transformer.weights import Decoder

DENSE_POSITIONS = 1_024
"""A run of at most this many positions is dense."""
FEW_POSITIONS = 32
"""The same if it may have more than `MANY_STEPS` steps: what is run by dense is run again by fast if the run continues.

With cached code such a run is fast from the beginning, since nothing has to be compiled.
"""
MANY_STEPS = 100_000


def engines(decoder: Decoder, prompt: int, options: RunOptions) -> Iterator[tuple[Engine, int | None]]:
    """Yield the engines to try, in order, each with the limit on its steps.

    All but the last are given up if the run reaches their limit. ``auto`` is dense for a run that ends within
    `DENSE_POSITIONS`, and fast for others: at once where the position table is longer than that. Where more than
    `MANY_STEPS` are allowed and compiled code can be kept, it is dense within `FEW_POSITIONS`, and not at all where some
    is kept. Where Numba is not installed, under softmax, with leftmost or rightmost attention, with layer norms, with heads
    that look ahead, with outputs by name and with position features other than the chapter's, it is dense.

    Args:
        prompt: the length of the prompt, without BOS.

    Raises:
        EngineError: for an unknown engine or dtype, or one that cannot run these options.
    """
    if options.saved and not is_turing(decoder.layout):
        what = "checkpoints are for runs of Turing machines, whose columns the table of these weights does not have"
        raise EngineError(f"{what}: omit the checkpoint")
    engine, limit = options.engine, options.max_steps
    if not isinstance(engine, str) or engine != AUTO:
        found = engine_named(engine, options.dtype) if isinstance(engine, str) else engine
        _check(found, options)
        yield found, limit
        return
    recorded = options.recorded and is_turing(decoder.layout)  # other tables are read row by row in any case
    small = engine_named("exact" if options.dtype == "rational" else "dense", options.dtype)
    if not _compiles(decoder, options.dtype) or not available():
        _check(small, options)
        yield small, limit
        return
    if decoder.positions is not None and not recorded:  # a run of known length
        length = decoder.positions if limit is None else min(decoder.positions, prompt + limit)
        yield small if length <= DENSE_POSITIONS else engine_named("fast"), limit
        return
    most = DENSE_POSITIONS
    if (limit is None or limit > MANY_STEPS) and folder() is not None:
        most = 0 if used() else FEW_POSITIONS
    steps = most - prompt - 2  # those that fit, beside the prompt, BOS and the answer after the last of them
    positions = decoder.positions
    if not recorded:
        if (limit is not None and limit <= steps) or (positions is not None and positions <= DENSE_POSITIONS):
            yield small, limit
            return
        if steps > 0 and positions is None:
            yield small, steps
    yield engine_named("fast"), limit


def for_many_runs(engine: str) -> str:
    """Return the engine that ``auto`` stands for where one machine runs on many words: fast, which compiles it only once.

    Raises:
        EngineError: if fast is requested and Numba is not installed.
    """
    if engine == "fast" and not available():
        raise EngineError(MISSING)
    return ("fast" if available() else "dense") if engine == AUTO else engine


def to_watch(engine: str | Engine, dtype: str | None = None) -> Engine:
    """Return the engine in which a pass is watched from the inside: dense for ``auto``, otherwise the requested one.

    The number of positions does not matter here: only the dense and the exact engine can be watched.

    Raises:
        EngineError: for an unknown engine or dtype.
    """
    if not isinstance(engine, str):
        return engine
    return engine_named("dense" if engine == AUTO else engine, dtype)


def _check(engine: Engine, options: RunOptions) -> None:
    """Raise EngineError if `engine` is not installed, or the run is to be saved and `engine` cannot do that."""
    if not available() and (options.saved or engine.name == "fast"):
        without = f"a checkpoint needs the fast engine, and {MISSING.removesuffix(OTHERWISE)}"
        raise EngineError(without if options.saved else MISSING)
    if options.saved and engine.name != "fast":
        raise EngineError(f"a checkpoint needs the fast engine, not {engine.name}: use --engine fast")


def _compiles(decoder: Decoder, dtype: str | None) -> bool:
    """Return whether the fast engine runs these weights in this dtype: it has float64 alone."""
    plain = not (decoder.soft or decoder.unique or decoder.normed or decoder.labeller or decoder.looks_ahead)
    return plain and dtype in (None, "float64") and all(name in POSITION_FEATURES for name in decoder.features)


def is_steady(decoder: Decoder, engine: str | Engine, dtype: str | None) -> bool:
    """Return whether every step of a long run takes the same time: whether it is fast."""
    if engine == AUTO:
        return available() and _compiles(decoder, dtype)
    return (engine if isinstance(engine, str) else engine.name) == "fast"


def lacks_numba(decoder: Decoder, engine: str | Engine, dtype: str | None) -> bool:
    """Return whether ``auto`` is not fast for these weights only because Numba is not installed."""
    return engine == AUTO and not available() and _compiles(decoder, dtype)


def for_cases(decoder: Decoder, engine: str | Engine, dtype: str | None) -> Engine:
    """Return the engine for many inputs of one circuit: for ``auto`` fast, which compiles once, if it runs the weights.

    Raises:
        EngineError: for an unknown engine or dtype, or if fast is requested and Numba is not installed.
    """
    if not isinstance(engine, str):
        return engine
    if engine == "fast" and not available():
        raise EngineError(MISSING)
    if engine != AUTO:
        return engine_named(engine, dtype)
    compiled = available() and _compiles(decoder, dtype)
    return engine_named("fast") if compiled else engine_named("exact" if dtype == "rational" else "dense", dtype)


# ── The number of cores.
def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# ── the reference that a decoder is compared with: one run row by row, or a batch as arrays ────────────────────────────
def truth_of(program: object, word: str, decoder: Decoder, max_steps: int | None) -> Truth | None:
    """Return the reference's run that `decoder` has to be compared with; None if there is no program.

    Raises:
        InputError: if `word` is not an input of the program.
        CompileError: if the decoder's table cannot be compared with the program's.
    """
    construction = None if program is None else of_program(program)
    if construction is None:
        return None
    truth = construction.truth(program, word, decoder, max_steps)
    truth.refuse(decoder.layout)
    return truth


class NamedProgram(Protocol):
    """A program of any source."""

    @property
    def name(self) -> str:
        """Its name."""


def blocks_of(program: NamedProgram, decoder: Decoder, max_steps: int | None) -> BlockReference:
    """Return the reference of many runs of a program that generates, as arrays.

    Raises:
        CompileError: if the program labels words, or the decoder's table cannot be compared with the program's.
        EngineError: if what that needs is not installed.
    """
    construction = of_program(program)
    if construction is None or construction.blocks is None:
        what = f"{program.name} labels words, and these weights generate tokens: they are not its weights"
        raise CompileError(f"{what}: compile it again")
    return construction.blocks(program, decoder, max_steps)


def labels_of(program: object, decoder: Decoder) -> ManyLabels:
    """Return the reference's outputs of a sequence model for batches of words.

    Raises:
        CompileError: if the program labels no words, or these are not its weights.
    """
    construction = of_program(program)
    if construction is None or construction.labels is None:
        raise CompileError(
            f"{getattr(program, 'name', program)}: it labels no words: compare one run of it with its reference"
        )
    return construction.labels(program, decoder)
