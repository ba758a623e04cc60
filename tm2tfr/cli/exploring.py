"""The command for the browser: ``explore``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from tm2tfr.choices import FRAMES, LEFT_BOUNDARIES, LOGIC_COMPARE
from tm2tfr.cli import colour, options, wording
from tm2tfr.cli.arguments import SECONDS
from tm2tfr.cli.asked import Asked
from tm2tfr.cli.asked import subject as subject_asked
from tm2tfr.cli.options import SLIDES
from tm2tfr.cli.pages import command
from tm2tfr.cli.pictures.slides import Slides
from tm2tfr.cli.progress import showing
from tm2tfr.cli.subject import subject
from tm2tfr.errors import UsageError


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
