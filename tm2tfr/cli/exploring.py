"""The command for the browser: ``explore``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tm2tfr import console
from tm2tfr.errors import OutputError
from tm2tfr.options import Boundary, Input, LeftBoundary, MaxSteps, Number, Subject
from tm2tfr.progress import showing


def explore(
    machine: Subject = "chapter",
    word: Input = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The .html file to write.")] = Path("run.html"),
    show: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    compare: Annotated[
        Boundary | None, typer.Option(help="A second run beside the first, with this left boundary: 'chapter'.")
    ] = None,
    max_steps: MaxSteps = 10_000,
    dtype: Number = None,
    left_boundary: LeftBoundary = None,
) -> None:
    """Write one HTML page that shows how the transformer computes: step by step, offline, with every number."""
    subject = console.subject(machine, left_boundary)
    from tm2tfr.exchange import explore

    if output.suffix.lower() not in (".html", ".htm"):
        raise OutputError(f"{output}: the page is written as .html: name the file {output.stem}.html")
    console.refuse_overwriting(subject.argument, output)
    recompiled = subject.machine if compare is not None and not console.is_weights(machine) else None
    options: dict[str, Any] = {
        "dtype": dtype and dtype.value,
        "left_boundary": recompiled and left_boundary,
        "compare": compare,
    }
    with showing(max_steps) as progress:
        page = explore(
            recompiled or subject.decoder, word, machine=subject.machine, max_steps=max_steps, progress=progress, **options
        )
    page.save(output)
    for name, trace in zip((left_boundary or "repaired", compare), page.traces, strict=False):
        if compare is not None:
            typer.echo(f"left boundary: {name}")
        typer.echo(console.verdict(trace, subject))
    typer.echo(f"wrote {output}", err=True)
    if show:
        typer.launch(str(output))
    raise typer.Exit(1 if page.traces[0].divergence is not None else 0)
