"""A run, recorded position by position: as a page for the browser, for the terminal, and as slides."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, islice, product
from typing import TYPE_CHECKING, Any

from tm2tfr.api.softness import for_run
from tm2tfr.api.subject import Subject, judged, recompiled
from tm2tfr.base.errors import CompileError, EngineError, a_or_an
from tm2tfr.contract.options import fields_of
from tm2tfr.runs.plan import HARD, MAX_STEPS, Soft, check_engine, check_steps, needed_path

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tm2tfr.api.subject import Given
    from tm2tfr.base.choices import FrameFormat
    from tm2tfr.runs.comparison import Progress
    from tm2tfr.transformer.weights import Decoder
    from tm2tfr.web.explorer.document import Explorer
    from tm2tfr.web.explorer.moments import Moments
    from tm2tfr.web.explorer.record import Recording


MOST_LABELLED = 500
"""The most positions of a sequence model, whose heads have a score for each pair of them."""


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
        soft: the requested attention; none but hard attention can be shown.

    Raises:
        CompileError, InputError: see `tm2tfr.check`; also for soft weights.
        EngineError: for a sequence model with more than 500 positions, which are recorded all at once.
    """
    from tm2tfr.web.explorer.moments import Moments

    check_steps(max_steps)
    check_engine("dense", dtype)
    found, judge = judged(for_run(Subject.of(subject), soft, word, max_steps), machine)
    if found.decoder.soft:
        what = f"{found.name}: these weights are soft, and only hard attention looks at positions that can be named"
        raise CompileError(f"{what}: draw a head's weights with tm2tfr plot instead")
    right = judge.program if machine is None else judge.right
    if found.decoder.labeller:
        recording = labelled(found, right, judge.word(word), dtype=dtype)
    else:
        limit = None if found.decoder.positions is not None and max_steps == MAX_STEPS else max_steps
        recording = recorded(found, right, judge.word(word), dtype=dtype, max_steps=limit, progress=progress)
    return Moments(recording, nets=found.nets, window=window)


def recorded(
    found: Subject,
    right: Any,
    word: str,
    *,
    decoder: Decoder | None = None,
    dtype: str | None = None,
    max_steps: int | None = None,
    progress: Progress | None = None,
) -> Recording:
    """Return the recording of a decoder that generates, compared with its reference if it has one.

    Args:
        right: the program to compare with; None: the run is not checked.
        decoder: by default the subject's.
        dtype, max_steps, progress: see `moments`.
    """
    from tm2tfr.engines import engine as engine_named
    from tm2tfr.runs.choose import truth_of
    from tm2tfr.web.explorer.record import record

    run = found.decoder if decoder is None else decoder
    return record(
        run,
        word,
        truth=truth_of(right, word, run, max_steps),
        engine=engine_named("dense", dtype),
        max_steps=max_steps,
        progress=progress,
        fed=found.prompt(word) if right is None else None,
    )


def labelled(
    found: Subject,
    right: Any,
    word: str,
    *,
    dtype: str | None = None,
    most: int = MOST_LABELLED,
    what: str = "every pair of positions is recorded",
) -> Recording:
    """Return the recording of a sequence model, whose positions are all computed at once, compared with its reference.

    Args:
        right: the program to compare with; None: the run is not checked.
        most: the most positions; what: why more are too many.

    Raises:
        EngineError: if there are more positions.
    """
    from tm2tfr.engines import engine as engine_named
    from tm2tfr.engines.decode import observe_all
    from tm2tfr.runs.choose import truth_of
    from tm2tfr.runs.comparison import check, run
    from tm2tfr.web.explorer.record import replayed

    tokens, engine = found.prompt(word), engine_named("dense", dtype)
    if len(tokens) > most:
        reason = f"{found.name}: {what}, and {len(tokens):,} positions are too many"
        raise EngineError(f"{reason}: use at most {most:,}")
    truth = truth_of(right, word, found.decoder, None)
    if truth is None:
        trace = replace(run(found.decoder, tokens, engine=engine, keep_rows=True), input=word)
    else:
        trace = check(found.decoder, truth, engine=engine, keep_rows=True)
    return replayed(found.decoder, trace, observe_all(found.decoder, tokens, engine=engine), truth=truth)


# ── The same run as pictures: a slide for each step, or an animation.
def frames(
    subject: Given,
    word: str | None = None,
    *,
    folder: str | Path,
    format: FrameFormat = "both",
    machine: Given | None = None,
    max_steps: int | None = MAX_STEPS,
    counting: Progress | None = None,
) -> tuple[Path, ...]:
    """Run a decoder, write a slide of each step into a folder, and return the paths of the pictures.

    A slide shows the tape with the head and its state (for a circuit, the gate), the answer, the tokens with arcs to the
    positions that the heads attend to, and what each layer adds. A sequence model has one slide per position.

    Args:
        subject, word, machine, max_steps: see `tm2tfr.check`.
        folder: the folder for the slides and ``frames.json``, which lists and describes them. It is written whole or not
            at all, and replaces an earlier folder of slides.
        format: ``svg``, ``png`` (extra ``plot``) or ``both``.
        counting: called with the number of pictures done, and of all.

    Raises:
        CompileError, InputError: see `tm2tfr.check`; also for soft weights.
        EngineError: for more than 500 slides, or 300 in an animation.
        OutputError: if the folder cannot be written, or contains other files; if Pillow is missing.
    """
    from tm2tfr.web.slides.slide import MOST_CELLS
    from tm2tfr.web.slides.write import most_steps, write_frames

    where = _checked(folder, "folder", max_steps, counting)
    run = moments(subject, word, machine=machine, max_steps=most_steps(max_steps), window=MOST_CELLS)
    return write_frames(run, where, format=format, counting=counting)


def animate(
    subject: Given,
    word: str | None = None,
    *,
    path: str | Path,
    seconds: float = 1.0,
    machine: Given | None = None,
    max_steps: int | None = MAX_STEPS,
    counting: Progress | None = None,
) -> None:
    """Run a decoder and write the slides of `frames` as one animation (extra ``plot``).

    Args:
        subject, word, machine, max_steps, counting: see `frames`.
        path: a .gif file, or an animated PNG, .apng or .png.
        seconds: the time for each slide; the last slide is shown three times as long.

    Raises:
        CompileError, InputError, EngineError: see `frames`.
        OutputError: for another extension or an invalid time, or if Pillow is missing or the file cannot be written.
    """
    from tm2tfr.web.slides.slide import MOST_CELLS
    from tm2tfr.web.slides.write import MOST_ANIMATED, check_animation, most_steps, write_animation

    where = _checked(path, "path", max_steps, counting)
    check_animation(where, seconds)
    limit = most_steps(max_steps, MOST_ANIMATED)
    run = moments(subject, word, machine=machine, max_steps=limit, window=MOST_CELLS)
    write_animation(run, where, seconds=seconds, counting=counting)


def _checked(name: object, what: str, max_steps: int | None, counting: object) -> Path:
    """Return where pictures go.

    Raises:
        OutputError: if that is not a name.
        EngineError: if `counting` is not a function, or `max_steps` not a number of steps.
    """
    if counting is not None and not callable(counting):
        raise EngineError(f"counting must be a function, not {counting!r}: omit it, or pass one")
    check_steps(max_steps)
    return needed_path(name, what)


# ── a run for the browser ───────────────────────────────────────────────────────────────────────────────────
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
    standalone: bool = False,
    progress: Progress | None = None,
) -> Explorer:
    """Run a decoder with the dense engine and return the run as one HTML page, which a notebook displays.

    A sequence model, such as a RASP program, answers at all positions at once: its page plays the layers.

    >>> import tm2tfr
    >>> page = tm2tfr.explore("chapter", "11")
    >>> page.traces[0].answer, "</html>" in page.html
    ('accept', True)

    Args:
        subject, word, machine, left_boundary: see `check`; without a machine the run is not checked.
        dtype: ``float64`` (the default) or ``float32``.
        max_steps: stop after this many steps of the machine, at most 50,000; by default a circuit's run is complete.
        compare: show a second run next to the first, with this left boundary: ``chapter`` or ``repaired``. Without `word`,
            the page opens at the first input on which the two differ; if none was found, `Explorer.searched` is the number
            of inputs tried, otherwise None.
        standalone: make a page of a universal decoder in which a reader writes and runs any machine of its class, by
            default of up to 16 states and 8 symbols. It opens with the machine; nothing runs now.

    Raises:
        CompileError, InputError: see `check`; also for soft weights that generate, for `compare` with weights, and for
            `standalone` for anything but a Turing machine.
        EngineError: if `max_steps`, or a run without it, is too long for a page.
    """
    from tm2tfr.web.explorer.document import explorer
    from tm2tfr.web.explorer.weights_data import MOST_IN_A_PAGE

    check_steps(max_steps)
    check_engine("dense", dtype)
    _refuse_more(max_steps, "steps")
    found, judge = judged(recompiled(subject, left_boundary), machine)
    right = judge.program if machine is None else judge.right
    if standalone:
        return _standalone(found, word, max_steps)
    if found.decoder.labeller:
        if compare is not None:
            raise CompileError(f"{found.name}: a left boundary to compare with is that of a machine: omit compare")
        what = "the page shows every pair of positions"
        return explorer(right, [labelled(found, right, judge.word(word), dtype=dtype, most=MOST_IN_A_PAGE, what=what)])
    decoders = [found.decoder]
    if compare is not None:
        if found.compiled:
            raise CompileError("these weights are already compiled, so there is nothing to compare with: name the machine")
        decoders.append(Subject.of(found.right, options={"left_boundary": compare}).decoder)
    for decoder in decoders:
        _refuse_soft(decoder, found)
    limit: int | None = max_steps
    if found.decoder.positions is not None and max_steps == MAX_STEPS:
        limit = None  # the run has an end: the default limit is for those that may have none
        _refuse_more(found.decoder.positions, "positions")
    given, searched = judge.word(word), None
    if compare is not None and word is None:
        given, searched = _first_difference(found, right, decoders, given)
    runs = [recorded(found, right, given, decoder=d, dtype=dtype, max_steps=limit, progress=progress) for d in decoders]
    return explorer(right, runs, searched=searched)


STANDALONE_SIZE = (16, 8)
"""The most states with rules and symbols of a machine in a page in which any machine runs."""


def _standalone(found: Subject, word: str | None, max_steps: int) -> Explorer:
    """Return the page in which any program of the subject's class runs, see `explore`."""
    from tm2tfr.web.explorer.document import page_of
    from tm2tfr.web.explorer.standalone import standalone

    of_class, kind = None if found.program is None else page_of(found.program).standalone, found.construction
    if of_class is None and found.weights is None and kind is not None and "universal" in fields_of(kind.options):
        found = Subject.of(found.program, options={**found.options, "universal": STANDALONE_SIZE})
        of_class = page_of(found.program).standalone
    if of_class is None:
        what = f"{found.name}: --standalone makes a page in which any Turing machine runs"
        other = f"this is {a_or_an(found.noun)}" if found.weights is None else "these are the weights of one source"
        raise CompileError(f"{what}, and {other}: omit it; the page then runs other inputs of {found.name}")
    _refuse_soft(found.decoder, found)
    every = of_class()
    signed = Subject.of(every.program, options={"universal": found.decoder})
    run = recorded(signed, every.program, "", max_steps=1)
    return standalone(every, run, None if word is None else every.checked(word), max_steps=max_steps)


MOST_SEARCHED = 100
"""The most inputs searched for one on which two decoders differ, each for at most `STEPS_SEARCHED` steps."""
STEPS_SEARCHED = 1_000


def _first_difference(found: Subject, right: Any, decoders: Sequence[Decoder], own: str) -> tuple[str, int | None]:
    """Return the first input on which the decoders' runs differ from the reference in different ways, and None.

    If there is none among the program's own input, its examples and all short words, return its own and their number.
    """
    from tm2tfr.runs.plan import RunOptions
    from tm2tfr.runs.run import carried_out

    letters = right.input_alphabet or ()
    short = (word for n in range(MOST_SEARCHED if letters else 1) for word in map("".join, product(letters, repeat=n)))
    words = dict.fromkeys(islice(chain([own], (example.input for example in found.examples), short), MOST_SEARCHED))
    options = RunOptions(max_steps=STEPS_SEARCHED, keep_rows=False)
    for word in words:
        first, second = (carried_out(decoder, word, right, options).divergence for decoder in decoders)
        if first != second:
            return word, None
    return own, len(words)


def _refuse_soft(decoder: Decoder, found: Subject) -> None:
    """Raise CompileError for weights with softmax that generate."""
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
