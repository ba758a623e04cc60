"""A run for the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from tm2tfr.api.subject import Subject, judged, recompiled
from tm2tfr.errors import CompileError, EngineError, Tm2tfrError
from tm2tfr.runs.options import MAX_STEPS, check_engine, check_steps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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

    A labeller, such as a RASP program, answers at all positions at once: its page shows everything side by side.

    >>> import tm2tfr
    >>> page = tm2tfr.explore("chapter", "11")
    >>> page.traces[0].answer, "</html>" in page.html
    ('accept', True)

    Args:
        subject, word, machine, left_boundary: see `check`; without a machine the run is not checked.
        dtype: ``float64`` (the default) or ``float32``.
        max_steps: stop after this many steps of the machine, at most 50,000; by default a circuit's run is whole.
        compare: show a second run next to the first, with this left boundary: ``chapter`` or ``repaired``.

    Raises:
        CompileError, InputError: see `check`; also for soft weights, and for `compare` with weights.
        EngineError: if `max_steps` or a run without it is more than a page can contain.
    """
    from tm2tfr.engines import engine as engine_named
    from tm2tfr.explorer import explorer
    from tm2tfr.explorer.record import record
    from tm2tfr.runs.truths import truth_of

    check_steps(max_steps)
    check_engine("dense", dtype)
    _refuse_more(max_steps, "steps")
    found, judge = judged(recompiled(subject, left_boundary), machine)
    decoders = [found.decoder]
    if found.decoder.labeller:
        return _labeller(found, word, machine, compare, dtype)
    if compare is not None:
        if found.compiled:
            raise CompileError("these weights are already compiled, so there is nothing to compare with: name the machine")
        decoders.append(Subject.of(found.right, left_boundary=compare).decoder)
    right = judge.program if machine is None else judge.right
    if any(decoder.soft for decoder in decoders):
        _refuse_soft(found)
    limit: int | None = max_steps
    if found.decoder.positions is not None and max_steps == MAX_STEPS:
        limit = None  # the run has an end: the default limit is for those that may have none
        _refuse_more(found.decoder.positions, "positions")
    engine, given = engine_named("dense", dtype), judge.word(word)
    recordings = [
        record(
            each,
            given,
            truth=truth_of(right, given, each, limit),
            engine=engine,
            max_steps=limit,
            progress=progress,
            fed=found.prompt(word) if right is None else None,
        )
        for each in decoders
    ]
    return explorer(right, recordings)


def _labeller(found: Subject, word: str | None, machine: Given | None, compare: str | None, dtype: str | None) -> Explorer:
    """Return the page of a labeller; that of a RASP program or a formula has its drawings as well."""
    from tm2tfr.api.checking import check
    from tm2tfr.api.drawings import drawn_heads
    from tm2tfr.api.runs import run
    from tm2tfr.engines import engine as engine_named
    from tm2tfr.engines.decode import observe_all
    from tm2tfr.explorer.labeller import MOST_IN_A_PAGE, labeller_page
    from tm2tfr.sources.rasp.program import Program

    if compare is not None:
        raise CompileError(f"{found.name}: a left boundary to compare with is that of a machine: omit compare")
    if found.decoder.soft:
        what = "the page shows where hard attention looks, and these weights are soft"
        raise CompileError(f"{what}: explore the program instead")
    given = found.word(word)
    compared = found.program is not None or machine is not None
    trace = check(found, given, machine=machine, dtype=dtype) if compared else run(found, given, dtype=dtype)
    tokens = found.prompt(given)
    if len(tokens) > MOST_IN_A_PAGE:
        what = f"{found.name}: the page shows every pair of positions, and {len(tokens):,} positions are too many"
        raise EngineError(f"{what}: use at most {MOST_IN_A_PAGE:,}")
    seen = observe_all(found.decoder, tokens, engine=engine_named("dense", dtype))
    plain = isinstance(found.program, Program)
    fed = None if plain else tokens
    drawings, ends, called = _drawings(found, given), ends_of(found, given), drawn_heads(found)
    return labeller_page(trace, found.decoder, seen, drawings, tokens=fed, ends=ends, called=called)


def ends_of(found: Subject, word: str) -> tuple[Sequence[str], Sequence[str]]:
    """Return what a labeller is fed before and after the tokens of any input: nothing, BOS, or BOS and EOS."""
    from tm2tfr.text.words import read_word

    tokens = found.prompt(word)
    more = 0 if found.program is None else len(tokens) - len(read_word(word))
    return tokens[: min(more, 1)], tokens[len(tokens) - max(more - 1, 0) :]


def _drawings(found: Subject, word: str) -> tuple[tuple[str, str], ...]:
    """Return the drawings of a program or a formula, each under its heading; in place of one, why there is none."""
    from tm2tfr.api.drawings import draw_run, drawn_places
    from tm2tfr.sources.logic.drawing import render as render_syntax
    from tm2tfr.sources.logic.program import LogicProgram
    from tm2tfr.sources.rasp.drawing.graphs import render
    from tm2tfr.sources.rasp.program import Program

    made: dict[str, Callable[[], str]] = {}
    if isinstance(found.program, Program):
        made["The run, layer by layer"] = lambda: draw_run(found, word, attention=True)
        made["The flow of the computation"] = lambda: render(found.right, "svg", places=drawn_places(found)).decode()
    elif isinstance(found.program, LogicProgram):
        made[f"The syntax of the {found.noun}"] = lambda: render_syntax(found.right, "svg").decode()
    drawn = []
    for heading, draw in made.items():
        try:
            drawn.append((heading, draw()))
        except Tm2tfrError as reason:
            drawn.append((heading, str(reason)))
    return tuple(drawn)


def _refuse_more(number: int | None, what: str) -> None:
    """Raise EngineError if a page would be too large; None: without a limit."""
    if number is None or number > MOST_EXPLORED:
        many = f"unlimited {what}" if number is None else f"{number:,} {what}"
        remedy = f"use at most {MOST_EXPLORED:,}, or tm2tfr trace --quiet, which keeps no rows"
        if what == "positions":
            remedy = "show the first steps with --max-steps 1000, or use tm2tfr trace --quiet, which keeps no rows"
        raise EngineError(f"a page contains every number of a run, and {many} are too many: {remedy}")


def _refuse_soft(found: Subject) -> NoReturn:
    noun = found.noun
    instead = "explore the machine instead"
    if noun == "circuit":
        instead = "explore the circuit with --variant paper-hard, or with --variant lookup, the default"
    raise CompileError(f"the page shows where hard attention looks, and these weights are soft: {instead}")
