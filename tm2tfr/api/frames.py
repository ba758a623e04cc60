"""A run as pictures: a slide for each step, or an animation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tm2tfr.errors import EngineError
from tm2tfr.runs.options import MAX_STEPS, check_steps, needed_path

if TYPE_CHECKING:
    from pathlib import Path

    from tm2tfr.api.subject import Given
    from tm2tfr.choices import FrameFormat
    from tm2tfr.trace.check import Progress


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
    """Run a decoder and write a slide of each step into a folder; return the paths of the pictures.

    A slide has the tape with the head and its state (of a circuit, the gate), what is answered, the tokens with arcs to
    where the heads look, and what each layer adds. Of a labeller there is one for each position.

    Args:
        subject, word, machine, max_steps: see `tm2tfr.check`.
        folder: where they go, with ``frames.json``, which lists them with what each shows; it is written whole or not at
            all. An earlier one of this kind is replaced.
        format: ``svg``, ``png`` (extra ``plot``) or ``both``.
        counting: called with the number of pictures that are done, and of all.

    Raises:
        CompileError, InputError: see `tm2tfr.check`; also for soft weights.
        EngineError: if there are more than 500 of them, or 300 for an animation.
        OutputError: if the folder cannot be written, or contains anything else; if Pillow is missing.
    """
    from tm2tfr.api.moments import moments
    from tm2tfr.slides.slide import MOST_CELLS
    from tm2tfr.slides.write import most_steps, write_frames

    where = _checked(folder, "folder", counting)
    check_steps(max_steps)
    limit = most_steps(max_steps)
    run = moments(subject, word, machine=machine, max_steps=limit, window=MOST_CELLS)
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
        path: a .gif file, or a .apng or .png file, which is an animated PNG.
        seconds: how long each slide is shown; the last one three times as long.

    Raises:
        CompileError, InputError, EngineError: see `frames`.
        OutputError: for another extension, a time that cannot be, if Pillow is missing, or if the file cannot be written.
    """
    from tm2tfr.api.moments import moments
    from tm2tfr.slides.slide import MOST_CELLS
    from tm2tfr.slides.write import MOST_ANIMATED, check_animation, most_steps, write_animation

    where = _checked(path, "path", counting)
    check_steps(max_steps)
    check_animation(where, seconds)
    limit = most_steps(max_steps, MOST_ANIMATED)
    run = moments(subject, word, machine=machine, max_steps=limit, window=MOST_CELLS)
    write_animation(run, where, seconds=seconds, counting=counting)


def _checked(name: object, what: str, counting: object) -> Path:
    """Return where pictures go.

    Raises:
        OutputError: if that is no name.
        EngineError: if `counting` is no function.
    """
    if counting is not None and not callable(counting):
        raise EngineError(f"counting must be a function, not {counting!r}: omit it, or pass one")
    return needed_path(name, what)
