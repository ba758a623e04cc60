"""A run for the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tm2tfr.api.subject import Subject, recompiled
from tm2tfr.api.subject import judge as judging
from tm2tfr.errors import CompileError, EngineError
from tm2tfr.runs.options import MAX_STEPS, check_engine, check_steps

if TYPE_CHECKING:
    from tm2tfr.api.subject import Given
    from tm2tfr.explorer import Explorer
    from tm2tfr.trace.check import Progress

MOST_EXPLORED = 50_000
"""The largest number of steps in a page: the dense engine takes a minute for them, and the file has about 15 MB."""


def explore(
    subject: Given,
    word: str | None = None,
    *,
    machine: Given | None = None,
    dtype: str | None = None,
    max_steps: int = MAX_STEPS,
    left_boundary: str | None = None,
    compare: str | None = None,
    progress: Progress | None = None,
) -> Explorer:
    """Run a decoder with the dense engine, watch it, and return the run as one HTML page, which a notebook displays.

    >>> import tm2tfr
    >>> page = tm2tfr.explore("chapter", "11")
    >>> page.traces[0].answer, "</html>" in page.html
    ('accept', True)

    Args:
        subject, word, machine, left_boundary: see `check`; without a machine the run is not checked.
        dtype: ``float64`` (the default) or ``float32``.
        max_steps: stop after this many steps of the machine; at most 50,000.
        compare: show a second run next to the first, with this left boundary: ``chapter`` or ``repaired``.

    Raises:
        CompileError, InputError: see `check`; also for soft weights, and for `compare` with weights.
        EngineError: if `max_steps` is more than a page can contain.
    """
    from tm2tfr.engines import engine as engine_named
    from tm2tfr.explorer import explorer
    from tm2tfr.explorer.record import record
    from tm2tfr.runs.run import truth_of

    check_steps(max_steps)
    check_engine("dense", dtype)
    if max_steps is None or max_steps > MOST_EXPLORED:
        steps = "unlimited steps" if max_steps is None else f"{max_steps:,} steps"
        raise EngineError(
            f"a page contains every number of a run, and {steps} are too many: use at most {MOST_EXPLORED:,}, "
            "or tm2tfr trace --quiet, which keeps no rows"
        )
    found = recompiled(subject, left_boundary)
    decoders = [found.decoder]
    if compare is not None:
        if found.compiled:
            raise CompileError("these weights are already compiled, so there is nothing to compare with: name the machine")
        decoders.append(Subject.of(found.right, left_boundary=compare).decoder)
    judge = judging(found, machine)
    right = judge.machine if machine is None else judge.right
    if any(decoder.soft for decoder in decoders):
        raise CompileError(
            "the page shows where hard attention looks, and these weights are soft: explore the machine instead"
        )
    engine, given = engine_named("dense", dtype), judge.word(word)
    recordings = [
        record(
            each,
            given,
            truth=truth_of(right, given, each, max_steps),
            engine=engine,
            max_steps=max_steps,
            progress=progress,
        )
        for each in decoders
    ]
    return explorer(right, recordings)
