"""Commands that compile and run: ``compile``, ``trace``, ``table``, ``check``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tm2tfr import console, soft_console
from tm2tfr.errors import OutputError
from tm2tfr.options import (
    Attention,
    Checkpoint,
    CheckpointEvery,
    Dtype,
    Engine,
    EngineName,
    Input,
    LeftBoundary,
    MaxSteps,
    Number,
    Out,
    Output,
    ReportFormat,
    Resume,
    Subject,
    TableFormat,
    Temperature,
)
from tm2tfr.progress import showing

if TYPE_CHECKING:
    from tm2tfr.trace.check import Trace


def compile(
    machine: Subject = "chapter",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the weights to this .safetensors file.")
    ] = None,
    explain: Annotated[
        str | None,
        typer.Option(metavar="[LAYER]", help="Print the weights as text by name: all, or one layer (number or name)."),
    ] = None,
    left_boundary: LeftBoundary = None,
    attention: Attention = None,
    temperature: Temperature = None,
    length: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Positions that --temperature auto is for. Default: 1,024.")
    ] = None,
) -> None:
    """Compile a machine to a decoder: print a summary, write the weights, or explain them."""
    subject = soft_console.compiled(console.subject(machine, left_boundary), attention, temperature, length)
    from tm2tfr.transformer.listing import listing, summary

    if explain is not None:
        typer.echo(listing(subject.decoder, None if explain == console.ALL else explain), nl=False)
    else:
        typer.echo(console.heading(subject))
        typer.echo(summary(subject.decoder), nl=False)
    if output is not None:
        from tm2tfr.export.weight_file import save

        if output.suffix != ".safetensors":
            raise OutputError(f"{output}: weights are written as .safetensors: name the file {output.stem}.safetensors")
        save(subject.decoder, output)
        typer.echo(f"\nwrote {output} ({output.stat().st_size:,} bytes)", err=explain is not None)


def trace(
    machine: Subject = "chapter",
    word: Input = None,
    max_steps: MaxSteps = 10_000,
    engine: Engine = EngineName.auto,
    dtype: Number = None,
    left_boundary: LeftBoundary = None,
    attention: Attention = None,
    temperature: Temperature = None,
    everything: Annotated[bool, typer.Option("--all", help="Print every row, however many there are.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print no table; hold no rows, however long the run.")
    ] = False,
    checkpoint: Checkpoint = None,
    checkpoint_every: CheckpointEvery = 60.0,
    resume: Resume = None,
    out: Out = None,
    at: Annotated[
        int | None, typer.Option(min=0, help="Print the chapter's activation vectors at this position as well.")
    ] = None,
) -> None:
    """Run a decoder, print the chapter's table, and check every cell against the simulator."""
    subject = console.subject(machine, left_boundary)
    subject = soft_console.for_run(subject, attention, temperature, word, max_steps)
    recording = console.recording(checkpoint, checkpoint_every, resume, out)
    quiet = quiet or bool(recording)
    traced = _traced(subject, word, max_steps, engine, dtype, keep_rows=not quiet, recording=recording)
    if not quiet:
        from tm2tfr.export.tables import table

        typer.echo(table(traced, "text", elide=None if everything else 40))
    typer.echo(console.verdict(traced, subject))
    if out is not None:
        typer.echo(f"wrote {out}", err=True)
    if at is not None:
        typer.echo("\n" + console.vectors(subject.decoder, traced.input, at, engine, dtype))
    _exit(traced)


def table(
    machine: Subject = "chapter",
    word: Input = None,
    format: Annotated[
        TableFormat | None, typer.Option(help="Default: by the extension of the output file, else text.")
    ] = None,
    output: Output = None,
    max_steps: MaxSteps = 10_000,
    engine: Engine = EngineName.auto,
    dtype: Number = None,
    left_boundary: LeftBoundary = None,
) -> None:
    """Export the chapter's table of a run: text, markdown, LaTeX, CSV, JSON or HTML."""
    from tm2tfr.export.tables import format_for
    from tm2tfr.export.tables import table as table_of

    named = format or (format_for(output) if output else TableFormat.text)
    if named is None:
        known = ", ".join(TableFormat)
        raise OutputError(f"{output}: no table format goes with {output and output.suffix!r}: use --format {known}")
    subject = console.subject(machine, left_boundary)
    traced = _traced(subject, word, max_steps, engine, dtype)
    console.write(table_of(traced, str(named)), output, subject.argument)
    if traced.divergence is not None:
        typer.echo(f"the check failed: {traced.divergence}", err=True)
    _exit(traced)


def check(
    machine: Subject = "chapter",
    words: Annotated[
        list[str] | None,
        typer.Option("--input", "-i", help="An input word; can be given several times. Default: the machine's examples."),
    ] = None,
    format: Annotated[ReportFormat, typer.Option(help="Lines for people, or one JSON object a run.")] = ReportFormat.text,
    max_steps: Annotated[
        int | None, typer.Option(min=0, help="Stop after so many steps. Default: 10,000, or what an example says.")
    ] = None,
    engine: Engine = EngineName.auto,
    dtype: Number = None,
    left_boundary: LeftBoundary = None,
    attention: Attention = None,
    temperature: Temperature = None,
    checkpoint: Checkpoint = None,
    checkpoint_every: CheckpointEvery = 60.0,
    resume: Resume = None,
    out: Out = None,
) -> None:
    """Compare the decoder with the simulator at every position of every run."""
    subject = console.subject(machine, left_boundary)
    report = console.Report(subject, as_json=format is ReportFormat.json)
    runs = console.runs(subject, words, max_steps)
    options: dict[str, Any] = {"keep_rows": False, "checked": True}
    options["recording"] = console.recording(checkpoint, checkpoint_every, resume, out, runs=len(runs))
    for example, judged in runs:
        run = soft_console.for_run(subject, attention, temperature, example.input, example.max_steps)
        traced = _traced(run, example.input, example.max_steps, engine, dtype, **options)
        console.tell(report.line(traced, example, judged=judged), as_json=format is ReportFormat.json)
    if out is not None:
        typer.echo(f"wrote {out}", err=True)
    if format is ReportFormat.text:
        typer.echo(report.summary())
    raise typer.Exit(0 if report.passed else 1)


def _traced(
    subject: console.Subject,
    word: str | None,
    max_steps: int | None,
    engine: EngineName,
    dtype: Dtype | None,
    **options: Any,
) -> Trace:
    with showing(max_steps) as progress:
        number = dtype.value if dtype else None
        return console.traced(subject, word, max_steps, engine.value, number, progress=progress, **options)


def _exit(traced: Trace) -> None:
    raise typer.Exit(1 if traced.divergence is not None else 0)
