"""The command for the browser: ``explore``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tm2tfr.cli import colour, console, options
from tm2tfr.cli.pages import command
from tm2tfr.cli.progress import showing


@command(summary="Watch the transformer compute, in the browser", example="tm2tfr explore palindromes --input abba --open")
@options.subject
@options.word
@options.file("--output", "-o", default="run.html", help="The .html file to write. Default: run.html.")
@options.flag("--open", "show", help="Open it in the browser.")
@options.choice(
    "--compare", of=options.BOUNDARIES, help="Show a second run next to the first, with this left boundary: 'chapter'."
)
@options.max_steps()
@options.dtype
@options.left_boundary
def explore(
    machine: str,
    word: str | None,
    output: Path,
    show: bool,
    compare: str | None,
    max_steps: int,
    dtype: str | None,
    left_boundary: str | None,
) -> None:
    """Write one HTML page that shows how the transformer computes: step by step, offline, with every number."""
    from tm2tfr.places import check_file

    check_file(output, reading=[machine], what="pages", endings=[".html", ".htm"])
    subject = console.subject(machine, left_boundary)
    from tm2tfr.api.exchange import explore

    recompiled = subject.machine if compare is not None and not console.is_weights(machine) else None
    chosen: dict[str, Any] = {"dtype": dtype, "left_boundary": recompiled and left_boundary, "compare": compare}
    with showing(max_steps) as progress:
        page = explore(
            recompiled or subject.decoder, word, machine=subject.machine, max_steps=max_steps, progress=progress, **chosen
        )
    page.save(output)
    for name, trace in zip((left_boundary or "repaired", compare), page.traces, strict=False):
        if compare is not None:
            click.echo(f"left boundary: {name}")
        click.echo(colour.judged(console.verdict(trace, subject)))
    click.echo(f"wrote {output}", err=True)
    if show:
        click.launch(str(output))
    raise click.exceptions.Exit(1 if page.traces[0].divergence is not None else 0)
