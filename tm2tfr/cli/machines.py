"""Commands about machines without a decoder: ``graph``, ``convert``, ``machines``."""

from __future__ import annotations

from pathlib import Path

import click

from tm2tfr.choices import PICTURES, READABLE, WRITABLE
from tm2tfr.cli.asked import Asked
from tm2tfr.cli.asked import subject as subject_asked
from tm2tfr.cli.options import REPORTS, choice, output
from tm2tfr.cli.output import tell, write
from tm2tfr.cli.pages import command
from tm2tfr.cli.subject import loaded


@command(summary="Draw a machine's state graph", example="tm2tfr graph palindromes -o palindromes.svg")
@subject_asked(compiled=False)
@output
def graph(asked: Asked, output: Path | None) -> None:
    """Draw the state graph: DOT on standard output, or a .dot, .mmd, .svg, .png or .pdf file."""
    from tm2tfr.places import check_file
    from tm2tfr.sources.turing.drawing import save, to_dot
    from tm2tfr.text.dot import EXTENSIONS

    check_file(output, reading=[asked.argument], what="drawings", endings=EXTENSIONS)
    found = loaded(asked)
    if output is None:
        write(to_dot(found), None, asked.argument)
        return
    save(found, output)
    click.echo(f"wrote {output}", err=True)


@command(summary="Write a machine in another program's format", example="tm2tfr convert palindromes -o palindromes.jff")
@subject_asked(None, compiled=False)
@output
@choice("--to", of=(*WRITABLE, *PICTURES), help="Default: from the extension of the output file, otherwise yaml.")
@choice(
    "--from",
    "--format",
    "format",
    of=READABLE,
    older=["--format"],
    help="Default: from the extension or the content.",
)
def convert(asked: Asked, output: Path | None, to: str | None, format: str | None) -> None:
    """Write a machine in another program's format, or say why that format cannot express it."""
    from tm2tfr.places import check_file
    from tm2tfr.sources.turing.conversion import convert as converted
    from tm2tfr.sources.turing.conversion import format_for

    target = to or (format_for(output) if output else "yaml")
    check_file(output, reading=[asked.argument])
    written = converted(loaded(asked, format=format), target)
    for note in written.notes:
        click.echo(f"note: {note}", err=True)
    write(written.text, output, asked.argument)


@command(summary="List the shipped machines, or describe one", example="tm2tfr machines palindromes")
@machine("The machine to describe, a name or a file. Default: list all machines.", default=None)
@choice("--format", of=REPORTS, default="text", help="Lines for people, or one JSON object per machine.")
def machines(machine: str | None, format: str) -> None:
    """List the shipped machines, or describe one: its states and rules, its examples, and commands to try."""
    from tm2tfr.cli import catalogue

    if machine is None:
        lines = catalogue.listed(as_json=format == "json")
    else:
        lines = catalogue.described(machine, loaded(machine), as_json=format == "json")
    for line in lines:
        tell(line, as_json=format == "json")
