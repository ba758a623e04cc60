"""The commands for the browser: ``explore`` and ``playground``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from tm2tfr.choices import FRAMES, LEFT_BOUNDARIES, LOGIC_COMPARE
from tm2tfr.cli import colour, options, wording
from tm2tfr.cli.arguments import MACHINE, SECONDS
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
