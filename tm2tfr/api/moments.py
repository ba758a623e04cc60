"""A run, recorded position by position, for slides and for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tm2tfr.api.softness import for_run
from tm2tfr.api.subject import Subject, judged
from tm2tfr.errors import CompileError, EngineError
from tm2tfr.runs.options import MAX_STEPS, check_engine, check_steps
from tm2tfr.runs.plan import HARD, Soft

if TYPE_CHECKING:
    from tm2tfr.api.subject import Given
    from tm2tfr.explorer.moments import Moments
    from tm2tfr.explorer.record import Recording
    from tm2tfr.trace.check import Progress

MOST_LABELLED = 500
"""The most positions of a labeller, whose heads have a score for each pair of them."""


def moments(
    subject: Given,
    word: str | None = None,
    *,
    machine: Given | None = None,
    dtype: str | None = None,
    max_steps: int | None = MAX_STEPS,
    window: int = 15,
    soft: Soft = HARD,
    progress: Progress | None = None,
) -> Moments:
    """Run a decoder with the dense engine, check and record it, and return the run by position.

    Args:
        subject, word, machine, max_steps, progress: see `tm2tfr.check`; without a machine the run is not
            checked.
        dtype: ``float64`` (the default) or ``float32``.
        window: the most cells of the tape that are shown.
        soft: the attention that is asked for; none but hard attention can be shown.

    Raises:
        CompileError, InputError: see `tm2tfr.check`; also for soft weights.
        EngineError: for a labeller with more than 500 positions, which are recorded all at once.
    """
    from tm2tfr.explorer.moments import Moments
    from tm2tfr.sources.circuit.netlist import Circuit

    check_steps(max_steps)
    check_engine("dense", dtype)
    found, judge = judged(for_run(Subject.of(subject), soft, word, max_steps), machine)
    if found.decoder.soft:
        what = f"{found.name}: these weights are soft, and only hard attention looks at positions that can be named"
        raise CompileError(f"{what}: draw a head's weights with tm2tfr plot instead")
    program = found.program
    names: tuple[str, ...] = ()
    operands: list[int] = []
    if isinstance(program, Circuit):
        names, operands = tuple(program.numbers), [0] * len(program.inputs) + [len(gate.operands) for gate in program.gates]
    if found.decoder.labeller:
        recording = _labelled(found, word, machine, dtype)
    else:
        recording = _generated(found, judge, word, dtype, max_steps, progress, checked=machine is not None)
    return Moments(recording, names=names, operands=operands, window=window)


def _generated(
    found: Subject,
    judge: Subject,
    word: str | None,
    dtype: str | None,
    max_steps: int | None,
    progress: Progress | None,
    *,
    checked: bool,
) -> Recording:
    """Return the recording of a decoder that generates; a run that has an end goes there without a limit."""
    from tm2tfr.engines import engine as engine_named
    from tm2tfr.explorer.record import record
    from tm2tfr.runs.truths import truth_of

    limit = None if found.decoder.positions is not None and max_steps == MAX_STEPS else max_steps
    right, given = judge.right if checked else judge.program, judge.word(word)
    truth = truth_of(right, given, found.decoder, limit)
    engine = engine_named("dense", dtype)
    fed = found.prompt(word) if right is None else None
    return record(found.decoder, given, truth=truth, engine=engine, max_steps=limit, progress=progress, fed=fed)


def _labelled(found: Subject, word: str | None, machine: Given | None, dtype: str | None) -> Recording:
    """Return the recording of a labeller, all of whose positions are computed at once."""
    from tm2tfr.api.checking import check
    from tm2tfr.api.runs import run
    from tm2tfr.engines import engine as engine_named
    from tm2tfr.engines.decode import observe_all
    from tm2tfr.explorer.record import replayed

    given = found.word(word)
    tokens = found.prompt(given)
    if len(tokens) > MOST_LABELLED:
        what = f"{found.name}: every pair of positions is recorded, and {len(tokens):,} positions are too many"
        raise EngineError(f"{what}: use at most {MOST_LABELLED:,}")
    compared = found.program is not None or machine is not None
    trace = check(found, given, machine=machine, dtype=dtype) if compared else run(found, given, dtype=dtype)
    return replayed(found.decoder, trace, observe_all(found.decoder, tokens, engine=engine_named("dense", dtype)))
