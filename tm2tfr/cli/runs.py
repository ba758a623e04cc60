"""Commands that compile and run: ``compile``, ``trace``, ``table``, ``check``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tm2tfr.cli import colour, console, options
from tm2tfr.cli import softness as soft_console
from tm2tfr.cli.pages import command
from tm2tfr.cli.progress import showing
from tm2tfr.errors import OutputError

if TYPE_CHECKING:
    from tm2tfr.trace.check import Trace


@command(summary="Compile a machine to the weights of a decoder", example="tm2tfr compile chapter -o chapter.safetensors")
@options.subject
@options.file("--output", "-o", help="Write the weights to this .safetensors file.")
@options.option(
    "--explain",
    is_flag=False,
    flag_value=console.ALL,
    metavar="[LAYER]",
    help="Print the weights as text, by name: of all layers, or of one (number or name).",
)
@options.left_boundary
@options.attention
@options.temperature
@options.count(
    "--length",
    least=1,
    panel=options.CONSTRUCTION,
    help="The number of positions that --temperature auto covers. Default: 1,024.",
)
def compile(
    machine: str,
    output: Path | None,
    explain: str | None,
    left_boundary: str | None,
    attention: str | None,
    temperature: str | None,
    length: int | None,
) -> None:
    """Compile a machine to a decoder: print a summary, write the weights, or explain them."""
    from tm2tfr.places import check_file

    check_file(output, reading=[machine], what="weights", endings=[".safetensors"])
    subject = soft_console.compiled(console.subject(machine, left_boundary), attention, temperature, length)
    from tm2tfr.transformer.listing import listing, summary

    if explain is not None:
        click.echo(listing(subject.decoder, None if explain == console.ALL else explain), nl=False)
    else:
        click.echo(console.heading(subject))
        click.echo(summary(subject.decoder), nl=False)
    if output is not None:
        from tm2tfr.transformer.storage import save

        save(subject.decoder, output)
        click.echo(f"\nwrote {output} ({output.stat().st_size:,} bytes)", err=explain is not None)


@command(summary="Run a machine's decoder and print the chapter's table", example="tm2tfr trace palindromes --input abba")
@options.subject
@options.word
@options.rows
@options.flag("--all", "everything", help="Print every row, however many there are.")
@options.flag("--quiet", "-q", help="Print no table, and keep no rows, however long the run.")
@options.count("--at", help="Print the chapter's activation vectors at position N as well.")
@options.max_steps()
@options.engine
@options.dtype
@options.checkpoint
@options.checkpoint_every
@options.resume
@options.left_boundary
@options.attention
@options.temperature
def trace(
    machine: str,
    word: str | None,
    output: Path | None,
    everything: bool,
    quiet: bool,
    at: int | None,
    max_steps: int,
    engine: str,
    dtype: str | None,
    checkpoint: Path | None,
    checkpoint_every: float,
    resume: Path | None,
    left_boundary: str | None,
    attention: str | None,
    temperature: str | None,
) -> None:
    """Run a decoder, print the chapter's table, and check every cell against the simulator."""
    recording = console.recording(machine, checkpoint, checkpoint_every, resume, output)
    subject = console.subject(machine, left_boundary)
    subject = soft_console.for_run(subject, attention, temperature, word, max_steps)
    quiet = quiet or bool(recording)
    traced = _traced(subject, word, max_steps, engine, dtype, keep_rows=not quiet, recording=recording)
    if quiet:
        click.echo(console.input_line(traced))
    else:
        from tm2tfr.tables.table import table

        click.echo(colour.judged(table(traced, "text", elide=None if everything else 40)))
    click.echo(colour.judged(console.verdict(traced, subject)))
    if output is not None:
        click.echo(f"wrote {output}", err=True)
        console.warn_of_formulas(subject, output.suffix.lower()[1:])
    if at is not None:
        click.echo("\n" + console.vectors(subject.decoder, traced.input, at, engine, dtype))
    _exit(traced)


@command(summary="Write the table as markdown, LaTeX, CSV, JSON or HTML", example="tm2tfr table --input 11 -o run.tex")
@options.subject
@options.word
@options.choice(
    "--format", of=options.TABLE_FORMATS, help="Default: from the extension of the output file, otherwise text."
)
@options.output
@options.max_steps()
@options.engine
@options.dtype
@options.left_boundary
@options.attention
@options.temperature
def table(
    machine: str,
    word: str | None,
    format: str | None,
    output: Path | None,
    max_steps: int,
    engine: str,
    dtype: str | None,
    left_boundary: str | None,
    attention: str | None,
    temperature: str | None,
) -> None:
    """Export the chapter's table of a run: text, markdown, LaTeX, CSV, JSON or HTML."""
    from tm2tfr.places import check_file
    from tm2tfr.tables.table import format_for
    from tm2tfr.tables.table import table as table_of

    named = format or (format_for(output) if output else "text")
    if named is None:
        known = ", ".join(options.TABLE_FORMATS)
        raise OutputError(f"{output}: no table format has the extension {output and output.suffix!r}: use --format {known}")
    check_file(output, reading=[machine])
    subject = soft_console.for_run(console.subject(machine, left_boundary), attention, temperature, word, max_steps)
    traced = _traced(subject, word, max_steps, engine, dtype)
    text = table_of(traced, named)
    console.write(colour.judged(text) if named == "text" and output is None else text, output, subject.argument)
    console.warn_of_formulas(subject, named)
    if traced.divergence is not None:
        click.echo(f"the check failed: {traced.divergence}", err=True)
    _exit(traced)


@command(summary="Compare decoder and simulator on a machine's examples", example="tm2tfr check palindromes --input abba")
@options.subject
@options.option(
    "--input",
    "-i",
    "words",
    multiple=True,
    metavar="WORD",
    help="An input word; can be repeated. Default: the machine's examples.",
)
@options.rows
@options.choice("--format", of=options.REPORT_FORMATS, default="text", help="Lines for people, or one JSON object per run.")
@options.count("--max-steps", panel=options.RUN, help="Stop after N steps. Default: 10,000, or the limit of an example.")
@options.engine
@options.dtype
@options.checkpoint
@options.checkpoint_every
@options.resume
@options.left_boundary
@options.attention
@options.temperature
def check(
    machine: str,
    words: tuple[str, ...],
    output: Path | None,
    format: str,
    max_steps: int | None,
    engine: str,
    dtype: str | None,
    checkpoint: Path | None,
    checkpoint_every: float,
    resume: Path | None,
    left_boundary: str | None,
    attention: str | None,
    temperature: str | None,
) -> None:
    """Compare the decoder with the simulator at every position of every run."""
    recording = console.recording(machine, checkpoint, checkpoint_every, resume, output)
    subject = console.subject(machine, left_boundary)
    as_json = format == "json"
    report = console.Report(subject, as_json=as_json)
    runs = console.runs(subject, words or None, max_steps)
    console.refuse_several(recording, len(runs))
    for example, judged in runs:
        run = soft_console.for_run(subject, attention, temperature, example.input, example.max_steps)
        held: dict[str, Any] = {"keep_rows": False, "checked": True, "recording": recording}
        traced = _traced(run, example.input, example.max_steps, engine, dtype, **held)
        line = report.line(traced, example, judged=judged)
        console.tell(line if as_json else colour.judged(line), as_json=as_json)
    if output is not None:
        click.echo(f"wrote {output}", err=True)
        console.warn_of_formulas(subject, output.suffix.lower()[1:])
    if not as_json:
        click.echo(colour.judged(report.summary()))
    raise click.exceptions.Exit(0 if report.passed else 1)


def _traced(
    subject: console.Subject, word: str | None, max_steps: int | None, engine: str, dtype: str | None, **options: Any
) -> Trace:
    with showing(max_steps) as progress:
        return console.traced(subject, word, max_steps, engine, dtype, progress=progress, **options)


def _exit(traced: Trace) -> None:
    raise click.exceptions.Exit(1 if traced.divergence is not None else 0)
