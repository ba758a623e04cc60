"""The slides of a run, as ``explore`` asks for them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tm2tfr.cli.asked import Asked
from tm2tfr.cli.progress import drawing, showing
from tm2tfr.errors import UsageError

if TYPE_CHECKING:
    from tm2tfr.api.subject import Subject
    from tm2tfr.trace.check import Trace


@dataclass(frozen=True)
class Slides:
    """What is to be drawn: a folder with what for each step, and an animation with how many seconds for each.

    Args:
        frames, format, animation, seconds: as they were given.
    """

    frames: Path | None
    format: str | None
    animation: Path | None
    seconds: float | None

    @property
    def wanted(self) -> bool:
        """Whether anything is to be drawn."""
        return self.frames is not None or self.animation is not None

    @property
    def written(self) -> tuple[Path | None, Path | None]:
        """The folder and the file."""
        return self.frames, self.animation

    def check(self, asked: Asked, *, compare: str | None, show: bool) -> None:
        """Refuse what cannot be written, before the work.

        Args:
            compare: the left boundary to compare with, or how a formula compares counts.
            show: whether a page is to be opened that is not written.

        Raises:
            UsageError: for options that do not go together.
            OutputError: if a picture cannot be written there.
        """
        from tm2tfr.choices import LEFT_BOUNDARIES
        from tm2tfr.places import check_file, check_folder

        if self.format is not None and self.frames is None:
            raise UsageError("tm2tfr explore: --frame-format is about the pictures in a folder: add --frames DIR")
        if self.seconds is not None and self.animation is None:
            raise UsageError("tm2tfr explore: --seconds is about an animation: add --animation FILE")
        if not self.wanted:
            return
        from tm2tfr.slides.write import ANIMATIONS, INDEX, check_animation

        if compare in LEFT_BOUNDARIES:
            raise UsageError("tm2tfr explore: a slide shows one run, and --compare is about two: omit one of them")
        if show:
            raise UsageError("tm2tfr explore: --open is about the page, and only slides are asked for: add -o run.html")
        if self.frames is not None:
            check_folder(self.frames, reading=[asked.argument], ours=[INDEX])
        check_file(self.animation, reading=[asked.argument], what="animations", endings=ANIMATIONS)
        if self.animation is not None:
            check_animation(self.animation, 1.0 if self.seconds is None else self.seconds)

    def drawn(self, found: Subject, word: str | None, *, dtype: str | None, max_steps: int) -> Trace:
        """Run, draw, and return the run."""
        from tm2tfr.api.moments import moments
        from tm2tfr.slides.slide import MOST_CELLS
        from tm2tfr.slides.write import MOST_ANIMATED, MOST_FRAMES, most_steps, write_animation, write_frames

        limit = most_steps(max_steps, MOST_ANIMATED if self.frames is None else MOST_FRAMES)
        with showing(limit) as shown:
            run = moments(found, word, dtype=dtype, max_steps=limit, window=MOST_CELLS, progress=shown.progress)
        with drawing() as counting:
            if self.frames is not None:
                format: Any = self.format or "both"
                write_frames(run, self.frames, format=format, counting=counting)
            if self.animation is not None:
                seconds = 1.0 if self.seconds is None else self.seconds
                write_animation(run, self.animation, seconds=seconds, counting=counting)
        return run.trace
