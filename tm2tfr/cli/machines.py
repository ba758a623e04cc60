"""Commands that look at a machine alone: ``graph``, ``convert``, ``machines``."""

from __future__ import annotations

from typing import Annotated

import typer

from tm2tfr import console
from tm2tfr.options import MACHINE, Output, ReportFormat


def graph(machine: Annotated[str, typer.Argument(help=f"{MACHINE}.")] = "chapter", output: Output = None) -> None:
    """Draw the state graph: DOT on standard output, or .dot, .mmd, .svg, .png, .pdf by extension."""
    loaded = console.loaded(machine)
    from tm2tfr.machine.drawing import save, to_dot

    if output is None:
        console.write(to_dot(loaded), None, machine)
        return
    console.refuse_overwriting(machine, output)
    save(loaded, output)
    typer.echo(f"wrote {output}", err=True)


def convert(
    machine: Annotated[str, typer.Argument(help=f"{MACHINE}.")],
    output: Output = None,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT",
            help="yaml, turingmachine.io, bbchallenge, morphett, jflap, automata-lib, mermaid, dot, tikz or latex. "
            "Default: by the extension of the output file.",
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--from",
            "--format",
            metavar="FORMAT",
            help="yaml, turingmachine.io, bbchallenge, morphett, jflap or doty. Default: by extension or content.",
        ),
    ] = None,
) -> None:
    """Write a machine in another program's format, or say why that cannot say it."""
    loaded = console.loaded(machine, format)
    from tm2tfr.export.conversion import convert as converted
    from tm2tfr.export.conversion import format_for

    written = converted(loaded, to or (format_for(output) if output else "yaml"))
    for note in written.notes:
        typer.echo(f"note: {note}", err=True)
    console.write(written.text, output, machine)


def machines(
    format: Annotated[
        ReportFormat, typer.Option(help="Lines for people, or one JSON object a machine.")
    ] = ReportFormat.text,
) -> None:
    """List the machines that are shipped."""
    for line in console.catalogue(as_json=format is ReportFormat.json):
        console.tell(line, as_json=format is ReportFormat.json)
