"""The commands for the browser: ``explore`` and ``playground``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tm2tfr.base.choices import FRAMES, LEFT_BOUNDARIES, LOGIC_COMPARE
from tm2tfr.base.errors import UsageError, counted
from tm2tfr.cli.about import verdict
from tm2tfr.cli.asked import SAMPLE_SEED, Asked, seed
from tm2tfr.cli.options import (
    PROBABILITIES,
    SLIDES,
    ChangesOption,
    DtypeOption,
    OutputGroup,
    SoftGroup,
    WordOption,
    argument,
    choice,
    count,
    file,
    machines,
    option,
    seconds,
    steps,
)
from tm2tfr.cli.output import judged, write
from tm2tfr.cli.parameters import But
from tm2tfr.cli.progress import drawing, showing
from tm2tfr.cli.subject import subject
from tm2tfr.runs.plan import MAX_STEPS

if TYPE_CHECKING:
    from tm2tfr.api.subject import Subject
    from tm2tfr.runs.comparison import Trace


@dataclass(frozen=True, kw_only=True)
class SlidesGroup:
    """The slides of a run: a folder with a picture of each step, and an animation."""

    frames: Annotated[Path | None, file("Write a slide of each step to this folder.", metavar="DIR", panel=SLIDES)] = None
    frame_format: Annotated[
        str | None,
        choice("The format of these slides. Default: both (PNG needs the extra: plot).", of=FRAMES, panel=SLIDES),
    ] = None
    animation: Annotated[
        Path | None, file("Write the slides as one .gif, .apng or .png (animated PNG) file (extra: plot).", panel=SLIDES)
    ] = None
    seconds: Annotated[
        float | None,
        option("How long the animation shows each slide. Default: 1.", metavar="S", parser=seconds, panel=SLIDES),
    ] = None

    @property
    def wanted(self) -> bool:
        """Whether anything is to be drawn."""
        return self.frames is not None or self.animation is not None

    @property
    def written(self) -> tuple[Path | None, Path | None]:
        """The folder and the file."""
        return self.frames, self.animation

    def check(self, asked: Asked, *, compare: str | None, show: bool) -> None:
        """Refuse slides that cannot be written, before the work.

        Args:
            compare: the left boundary to compare with, or how a formula compares counts.
            show: whether a page is to be opened that is not written.

        Raises:
            UsageError: for options that do not go together.
            OutputError: if a picture cannot be written there.
        """
        from tm2tfr.base.choices import LEFT_BOUNDARIES
        from tm2tfr.base.files import check_file, check_folder

        if self.frame_format is not None and self.frames is None:
            raise UsageError("tm2tfr explore: --frame-format is about the pictures in a folder: add --frames DIR")
        if self.seconds is not None and self.animation is None:
            raise UsageError("tm2tfr explore: --seconds is about an animation: add --animation FILE")
        if not self.wanted:
            return
        from tm2tfr.web.slides.write import ANIMATIONS, INDEX, check_animation

        if compare in LEFT_BOUNDARIES:
            raise UsageError("tm2tfr explore: a slide shows one run, and --compare is about two: omit one of them")
        if show:
            raise UsageError("tm2tfr explore: --open is about the page, and only slides are asked for: add -o run.html")
        if self.frames is not None:
            check_folder(self.frames, reading=asked.reading, ours=[INDEX])
        check_file(self.animation, reading=asked.reading, what="animations", endings=ANIMATIONS)
        if self.animation is not None:
            check_animation(self.animation, 1.0 if self.seconds is None else self.seconds)

    def drawn(self, found: Subject, word: str | None, *, dtype: str | None, max_steps: int) -> Trace:
        """Run, draw, and return the run."""
        from tm2tfr.api.pages import moments
        from tm2tfr.web.slides.slide import MOST_CELLS
        from tm2tfr.web.slides.write import MOST_ANIMATED, MOST_FRAMES, most_steps, write_animation, write_frames

        limit = most_steps(max_steps, MOST_ANIMATED if self.frames is None else MOST_FRAMES)
        with showing(limit) as shown:
            run = moments(found, word, dtype=dtype, max_steps=limit, window=MOST_CELLS, progress=shown.progress)
        with drawing() as counting:
            if self.frames is not None:
                format: Any = self.frame_format or "both"
                write_frames(run, self.frames, format=format, counting=counting)
            if self.animation is not None:
                seconds = 1.0 if self.seconds is None else self.seconds
                write_animation(run, self.animation, seconds=seconds, counting=counting)
        return run.trace


def explore(
    *,
    word: WordOption = None,
    output: Annotated[
        Path | None, file("The .html file to write. Default: run.html, unless slides are asked for.", "-o")
    ] = None,
    show: Annotated[bool, option("Open it in the browser.", "--open")] = False,
    compare: Annotated[
        str | None,
        choice(
            "Show a second run beside the first, with the left boundary 'chapter' or 'repaired'. For a formula: compare "
            "counts by lookup or by sign.",
            of=(*LEFT_BOUNDARIES, *LOGIC_COMPARE),
        ),
    ] = None,
    standalone: Annotated[
        bool,
        option(
            "A page with an editor, in which any machine of a size runs (--universal; default: 16,8). It opens with SOURCE."
        ),
    ] = False,
    slides: SlidesGroup,
    max_steps: Annotated[int, steps()] = MAX_STEPS,
    dtype: DtypeOption = None,
    changes: ChangesOption = None,
    asked: Annotated[Asked, But(compare=None)],
) -> None:
    """Write an HTML page that shows how the transformer computes, with every number; it works offline.

    The run of a machine or a circuit is played step by step. A program, a formula or an automaton answers at all positions
    at once: its page plays the layers, at a position of your choice.
    """
    from tm2tfr.base.files import check_file

    slides.check(asked, compare=compare, show=show and output is None)
    if output is None and not slides.wanted:
        output = Path("run.html")
    check_file(output, reading=asked.reading, what="pages", endings=[".html", ".htm"])
    if compare in LOGIC_COMPARE:
        asked, compare = replace(asked, construction=replace(asked.construction, compare=compare)), None
    if compare is not None and "universal" in asked.options:
        what = "--compare shows the other left boundary, and a universal decoder has the repaired one alone"
        raise UsageError(f"tm2tfr explore: {what}: omit --compare")
    _check_standalone(asked, slides, dtype, standalone=standalone)
    if compare is not None and changes:
        raise UsageError(
            "tm2tfr explore: --compare compiles other weights, and --set changes those of one: omit one of them"
        )
    found = subject(asked, changes=changes)
    traces = []
    if output is not None:
        from tm2tfr.api.pages import explore

        with showing(max_steps) as shown:
            page = explore(
                found,
                word,
                dtype=dtype,
                max_steps=max_steps,
                compare=compare,
                standalone=standalone,
                progress=shown.progress,
            )
        page.save(output)
        traces = list(page.traces)
    if slides.wanted:
        trace = slides.drawn(found, word, dtype=dtype, max_steps=max_steps)
        traces = traces or [trace]
    first = asked.options.get("left_boundary", "repaired")
    for name, trace in zip((first, compare), traces, strict=False):
        if compare is not None:
            typer.echo(f"left boundary: {name}")
        typer.echo(judged(verdict(trace, found)))
    if output is not None and page.searched is not None:
        inputs = counted(page.searched, "input")
        typer.echo(f"note: the two runs are the same on each of {inputs}: name another one with --input", err=True)
    for written in (output, *slides.written):
        if written is not None:
            typer.echo(f"wrote {written}", err=True)
    if show and output is not None:
        _open(output.resolve().as_uri(), str(output))
    raise typer.Exit(1 if any(trace.divergence is not None for trace in traces[:1]) else 0)


def _check_standalone(asked: Asked, slides: SlidesGroup, dtype: str | None, *, standalone: bool) -> None:
    """Refuse options that contradict ``--standalone``.

    Raises:
        UsageError: for options of a run, or of a prompt.
    """
    if not standalone:
        return
    what = "tm2tfr explore: --standalone makes a page in which any machine runs"
    others = {
        "--prompt": asked.decoder.prompt is not None,
        "--seed": asked.options.get("seed") is not None,
        "--frames": slides.frames is not None,
        "--animation": slides.animation is not None,
        "--dtype float32": dtype == "float32",
    }
    for name, given in others.items():
        if given:
            raise UsageError(f"{what}, and {name} is about one run: omit it")


def playground(
    *,
    source: Annotated[
        str | None,
        argument(
            "SOURCE", machines, help="What the page opens with: a file, the name of something shipped, or bbchallenge text."
        ),
    ] = None,
    port: Annotated[int | None, count("The port to listen on; 0 is any that is free. Default: 8465.")] = None,
    hidden: Annotated[bool, option("Print the address without opening it in the browser.", "--no-open")] = False,
) -> None:
    """Serve a page, on this computer only, in which you edit sources and watch their runs. Ctrl-C ends it.

    A file that you name is read once and never written to: the page has buttons to save your changes.
    """
    from tm2tfr.base.errors import required

    required("the playground needs starlette and uvicorn", ["starlette", "uvicorn"], "playground", error=UsageError)
    from tm2tfr.web.playground import query, server

    given = None if source is None else query.opening_source(source)
    found = server.playground(server.PORT if port is None else port, given=given)

    def started() -> None:
        typer.echo(f"the playground is at {found.address}")
        typer.echo("Ctrl-C ends it", err=True)
        if not hidden:
            _open(found.address, found.address)

    found.run(started)
    typer.echo("ended", err=True)


def _open(address: str, shown: str) -> None:
    """Open a page in the browser, or say on stderr that it has to be opened by the user."""
    import webbrowser

    if not webbrowser.open(address):
        typer.echo(f"note: no browser was found: open {shown} in one", err=True)


def plot(
    *,
    word: WordOption = None,
    head: Annotated[
        str,
        option("The head: by name, or by number from 1, as in the explorer. Default: the first.", metavar="[LAYER.]HEAD"),
    ] = "1",
    position: Annotated[
        int | None, count("Draw its scores at position N, counted from 0, instead of a map of the whole run.")
    ] = None,
    output: Annotated[
        Path | None,
        file("Write a picture to this .svg, .png or .pdf file (extra: plot) instead of text to standard output.", "-o"),
    ] = None,
    everything: Annotated[bool, option("With a universal decoder: show where the prompt looks as well.", "--all")] = False,
    dtype: DtypeOption = None,
    read: OutputGroup,
    softness: SoftGroup,
    asked: Annotated[Asked, But(draws="--sample", seed=seed(PROBABILITIES, SAMPLE_SEED))],
) -> None:
    """Draw where a head looks during a run: a map of its attention, or its scores at one position.

    A row of the map is a position that looks, named by the token that it answers (programs and formulas: by the position
    itself). Positions that tie share the weight. With --probabilities or --sample, bars show the next tokens instead.
    """
    from tm2tfr.base.files import check_file
    from tm2tfr.tables.scores import ATTENTION_FORMATS, AttentionMap, plot_attention

    if everything and position is not None:
        raise UsageError("tm2tfr plot: --all is about the rows of a map, and --position shows one: omit one of them")
    check_file(output, reading=asked.reading, what="plots", endings=ATTENTION_FORMATS)
    from tm2tfr.api.attention import MOST_MAPPED, attention_of, next_tokens, scores_of
    from tm2tfr.tables.next_tokens import MOST_STEPS, NextTokens, plot_next_tokens
    from tm2tfr.tables.scores import ScoresAt, plot_scores

    sampling = read.sampling(asked.parameters, "tm2tfr plot")
    of_head = {"--head": "head" in asked.typed, "--position": position is not None, "--all": everything}
    if sampling is not None and any(of_head.values()):
        option = next(name for name, given in of_head.items() if given)
        tokens = "--sample" if read.sample else "--probabilities"
        raise UsageError(f"tm2tfr plot: {option} is about a head, and {tokens} about tokens: omit one of them")
    subjected, soft = subject(asked, seeded=read.sample), softness.soft
    found: AttentionMap | ScoresAt | NextTokens
    if sampling is not None:
        found = next_tokens(subjected, word, sampling=sampling, dtype=dtype, soft=soft)
        if len(found.fed) == MOST_STEPS:
            typer.echo(f"note: these are the first {MOST_STEPS} steps of the run", err=True)
    elif position is None:
        found = attention_of(subjected, word, head=head, dtype=dtype, prompt=everything, soft=soft)
        if len(found.columns) == MOST_MAPPED:
            typer.echo(f"note: these are the first {MOST_MAPPED:,} positions of the run", err=True)
    else:
        found = scores_of(subjected, word, head=head, position=position, dtype=dtype, soft=soft)
    if output is None:
        write(found.text(), None, asked.argument)
        return
    if isinstance(found, NextTokens):
        plot_next_tokens(found, output)
    elif isinstance(found, ScoresAt):
        plot_scores(found, output)
    else:
        plot_attention(found, output)
    typer.echo(f"wrote {output}", err=True)
