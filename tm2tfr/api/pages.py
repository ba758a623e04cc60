"""A run for the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tm2tfr.api.subject import Subject, judged, recompiled
from tm2tfr.base.errors import CompileError, EngineError, Tm2tfrError
from tm2tfr.runs.options import MAX_STEPS, check_engine, check_steps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tm2tfr.api.subject import Given
    from tm2tfr.runs.comparison import Progress
    from tm2tfr.transformer.weights import Decoder
    from tm2tfr.web.explorer.document import Explorer

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
    from tm2tfr.api.moments import recorded
    from tm2tfr.web.explorer.document import explorer

    check_steps(max_steps)
    check_engine("dense", dtype)
    _refuse_more(max_steps, "steps")
    found, judge = judged(recompiled(subject, left_boundary), machine)
    if found.decoder.labeller:
        if compare is not None:
            raise CompileError(f"{found.name}: a left boundary to compare with is that of a machine: omit compare")
        return labelled(found, word, machine=machine, dtype=dtype)
    decoders = [found.decoder]
    if compare is not None:
        if found.compiled:
            raise CompileError("these weights are already compiled, so there is nothing to compare with: name the machine")
        decoders.append(Subject.of(found.right, options={"left_boundary": compare}).decoder)
    right = judge.program if machine is None else judge.right
    for decoder in decoders:
        _refuse_soft(decoder, found)
    limit: int | None = max_steps
    if found.decoder.positions is not None and max_steps == MAX_STEPS:
        limit = None  # the run has an end: the default limit is for those that may have none
        _refuse_more(found.decoder.positions, "positions")
    given = judge.word(word)
    runs = [recorded(found, right, given, decoder=d, dtype=dtype, max_steps=limit, progress=progress) for d in decoders]
    return explorer(right, runs)


def labelled(
    found: Subject,
    word: str | None,
    *,
    machine: Given | None = None,
    dtype: str | None = None,
    program: bool = True,
    live: bool = True,
) -> Explorer:
    """Return the page of a labeller, with the drawings that its construction makes of the run and of the program.

    Args:
        word, machine, dtype: see `explore`.
        program: whether the program is drawn as well.
        live: whether the page can run other inputs.
    """
    from tm2tfr.api.drawings import draw_run
    from tm2tfr.api.moments import observed
    from tm2tfr.web.explorer.labeller import MOST_IN_A_PAGE, labeller_page

    _refuse_soft(found.decoder, found)
    what = "the page shows every pair of positions"
    trace, tokens, seen = observed(found, word, machine, dtype, most=MOST_IN_A_PAGE, what=what)
    drawings: list[tuple[str, Callable[[], str]]] = []
    names: Mapping[tuple[int, int], str] = {}
    fed: Sequence[str] | None = tokens
    if found.program is not None:
        if found.kind.draw_run is not None:
            drawings.append(("The run, layer by layer", lambda: draw_run(found, trace.input, attention=True)))
            fed = None  # the drawing of the run has them
        if found.kind.picture is not None and program:
            drawings.append(found.kind.picture(found.program, found.decoder))
        if found.kind.head_names is not None:
            names = found.kind.head_names(found.program, found.decoder)
    drawn, ends = [(heading, _drawn(draw)) for heading, draw in drawings], _ends(found, trace.input)
    return labeller_page(trace, found.decoder, seen, drawn, tokens=fed, ends=ends, called=names, live=live)


def _ends(found: Subject, word: str) -> tuple[Sequence[str], Sequence[str]]:
    """Return what a labeller is fed before and after the tokens of any input: nothing, BOS, or BOS and EOS."""
    from tm2tfr.base.text.words import read_word

    tokens = found.prompt(word)
    more = 0 if found.program is None else len(tokens) - len(read_word(word))
    return tokens[: min(more, 1)], tokens[len(tokens) - max(more - 1, 0) :]


def _drawn(draw: Callable[[], str]) -> str:
    """Return a drawing; in place of it, why there is none."""
    try:
        return draw()
    except Tm2tfrError as reason:
        return str(reason)


def _refuse_soft(decoder: Decoder, found: Subject) -> None:
    """Raise CompileError for weights with softmax."""
    if decoder.soft:
        what = "the page shows where hard attention looks, and these weights are soft"
        raise CompileError(f"{what}: explore the {found.noun} instead, with hard attention, as it is compiled by default")


def _refuse_more(number: int | None, what: str) -> None:
    """Raise EngineError if a page would be too large; None: without a limit."""
    if number is None or number > MOST_EXPLORED:
        many = f"unlimited {what}" if number is None else f"{number:,} {what}"
        remedy = f"use at most {MOST_EXPLORED:,}, or tm2tfr trace --quiet, which keeps no rows"
        if what == "positions":
            remedy = "show the first steps with --max-steps 1000, or use tm2tfr trace --quiet, which keeps no rows"
        raise EngineError(f"a page contains every number of a run, and {many} are too many: {remedy}")
