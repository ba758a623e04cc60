"""The commands for the browser: ``explore`` and ``playground``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tm2tfr.choices import FRAMES, LEFT_BOUNDARIES, LOGIC_COMPARE
from tm2tfr.cli import colour, options, wording
from tm2tfr.cli.arguments import MACHINE, SECONDS
from tm2tfr.cli.asked import Asked
from tm2tfr.cli.asked import subject as subject_asked
from tm2tfr.cli.options import SLIDES
from tm2tfr.cli.output import write
from tm2tfr.cli.pages import command
from tm2tfr.cli.progress import drawing, showing
from tm2tfr.cli.subject import subject
from tm2tfr.errors import UsageError

if TYPE_CHECKING:
    from tm2tfr.api.subject import Subject
    from tm2tfr.trace.check import Trace


# ── The slides of a run, as ``explore`` asks for them.
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


@command(summary="Watch the transformer compute, in the browser", example="tm2tfr explore palindromes --input abba --open")
@subject_asked(without=["compare"])
@options.word
@options.file("--output", "-o", help="The .html file to write. Default: run.html, unless slides are asked for.")
@options.flag("--open", "show", help="Open it in the browser.")
@options.file("--frames", metavar="DIR", panel=SLIDES, help="Write a slide of each step to this folder.")
@options.choice(
    "--frame-format", of=FRAMES, panel=SLIDES, help="What is written there. Default: both (PNG needs the extra: plot)."
)
@options.file(
    "--animation", panel=SLIDES, help="Write the slides as one .gif, .apng or .png (animated PNG) file (extra: plot)."
)
@options.option(
    "--seconds", type=SECONDS, panel=SLIDES, help="How long the animation shows each slide. Default: 1.", metavar="S"
)
@options.choice(
    "--compare",
    of=(*LEFT_BOUNDARIES, *LOGIC_COMPARE),
    help="Show a second run next to the first, with this left boundary: 'chapter'. Of a formula: how it compares counts, "
    "lookup or sign.",
)
@options.max_steps()
@options.dtype
def explore(
    asked: Asked,
    word: str | None,
    output: Path | None,
    show: bool,
    frames: Path | None,
    frame_format: str | None,
    animation: Path | None,
    seconds: float | None,
    compare: str | None,
    max_steps: int,
    dtype: str | None,
) -> None:
    """Write one HTML page that shows how the transformer computes, offline and with every number.

    A machine or a circuit is played step by step. The page of a RASP program or a formula stands still: all positions are
    computed at once, so everything is side by side.
    """
    from tm2tfr.places import check_file

    slides = Slides(frames, frame_format, animation, seconds)
    slides.check(asked, compare=compare, show=show and output is None)
    if output is None and not slides.wanted:
        output = Path("run.html")
    check_file(output, reading=[asked.argument], what="pages", endings=[".html", ".htm"])
    if compare in LOGIC_COMPARE:
        asked, compare = replace(asked, options={**asked.options, "compare": compare}), None
    if compare is not None and "universal" in asked.options:
        what = "--compare shows the other left boundary, and a universal decoder has the repaired one alone"
        raise UsageError(f"tm2tfr explore: {what}: omit --compare")
    found = subject(asked)
    traces = []
    if output is not None:
        from tm2tfr.api.pages import explore

        with showing(max_steps) as shown:
            page = explore(found, word, dtype=dtype, max_steps=max_steps, compare=compare, progress=shown.progress)
        page.save(output)
        traces = list(page.traces)
    if slides.wanted:
        trace = slides.drawn(found, word, dtype=dtype, max_steps=max_steps)
        traces = traces or [trace]
    first = asked.options.get("left_boundary", "repaired")
    for name, trace in zip((first, compare), traces, strict=False):
        if compare is not None:
            click.echo(f"left boundary: {name}")
        click.echo(colour.judged(wording.verdict(trace, found)))
    for written in (output, *slides.written):
        if written is not None:
            click.echo(f"wrote {written}", err=True)
    if show and output is not None:
        click.launch(str(output))
    raise click.exceptions.Exit(1 if traces[0].divergence is not None else 0)


@command(summary="Edit a source and watch its run, in the browser", example="tm2tfr playground binary-increment")
@options.argument(
    "source",
    type=MACHINE,
    required=False,
    help="What the page opens with: a file, the name of something shipped, or bbchallenge text.",
)
@options.count("--port", help="The port to listen on; 0 is any that is free. Default: 8465.")
@options.flag("--no-open", "hidden", help="Print the address without opening it in the browser.")
def playground(source: str | None, port: int | None, hidden: bool) -> None:
    """Serve a page on this computer, and to nobody else, on which sources are edited and run. Ctrl-C ends it.

    A named file is read once and never written to: save what you change with the buttons of the page.
    """
    from tm2tfr.extras import required

    required("the playground needs starlette and uvicorn", ["starlette", "uvicorn"], "playground", error=UsageError)
    from tm2tfr.playground import opened, server

    given = None if source is None else opened.given(source)
    found = server.playground(server.PORT if port is None else port, given=given)

    def started() -> None:
        click.echo(f"the playground is at {found.address}")
        click.echo("Ctrl-C ends it", err=True)
        if not hidden:
            click.launch(found.address)

    found.run(started)
    click.echo("ended", err=True)


# ── The command for one head: ``plot``.
@command(
    summary="Draw where a head looks, or its scores at one position",
    example="tm2tfr plot palindromes --input abba --head 4.1 -o head.svg",
)
@subject_asked()
@options.word
@options.option(
    "--head",
    metavar="[LAYER.]HEAD",
    default="1",
    help="The head: by name, or by number from 1, as in the explorer. Default: the first one.",
)
@options.count("--position", help="Its scores at position N, counted from 0, instead of a map of the whole run.")
@options.file(
    "--output",
    "-o",
    help="Write a picture to this .svg, .png or .pdf file (extra: plot) instead of text to standard output.",
)
@options.flag("--all", "everything", help="Where the prompt looks as well, of a machine in the prompt.")
@options.dtype
@options.attention
@options.temperature
def plot(
    asked: Asked,
    word: str | None,
    head: str,
    position: int | None,
    output: Path | None,
    everything: bool,
    dtype: str | None,
    attention: str | None,
    temperature: str | None,
) -> None:
    """Draw where a head looks in a run, as a map, or its scores at one position.

    A row of the map is called by the token answered, one after the position that looks; of a program or a formula, which
    answer nothing, by the position itself. Positions that tie share the weight of average-hard attention.
    """
    from tm2tfr.places import check_file
    from tm2tfr.tables.scores import ATTENTION_FORMATS, AttentionMap, plot_attention

    if everything and position is not None:
        raise UsageError("tm2tfr plot: --all is about the rows of a map, and --position shows one: omit one of them")
    check_file(output, reading=[asked.argument], what="plots", endings=ATTENTION_FORMATS)
    from tm2tfr.api.attention import MOST_MAPPED, attention_of, scores_of
    from tm2tfr.runs.plan import Soft
    from tm2tfr.tables.scores import ScoresAt, plot_scores

    subjected, soft = subject(asked), Soft(attention, temperature)
    found: AttentionMap | ScoresAt
    if position is None:
        found = attention_of(subjected, word, head=head, dtype=dtype, prompt=everything, soft=soft)
        if len(found.columns) == MOST_MAPPED:
            click.echo(f"note: these are the first {MOST_MAPPED:,} positions of the run", err=True)
    else:
        found = scores_of(subjected, word, head=head, position=position, dtype=dtype, soft=soft)
    if output is None:
        write(found.text(), None, asked.argument)
        return
    if isinstance(found, ScoresAt):
        plot_scores(found, output)
    else:
        plot_attention(found, output)
    click.echo(f"wrote {output}", err=True)
