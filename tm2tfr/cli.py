"""The command line: each command loads, makes a library call, prints, and sets the exit code.

Exit codes: 0, 1 for a check that failed, 2 for bad input, 130 for Ctrl-C. Heavy imports happen inside the
commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tm2tfr import console, soft_console
from tm2tfr._version import __version__
from tm2tfr.errors import OutputError
from tm2tfr.options import (
    MACHINE,
    Attention,
    Checkpoint,
    CheckpointEvery,
    Dtype,
    Engine,
    EngineName,
    ExportTarget,
    Input,
    LeftBoundary,
    MaxSteps,
    Number,
    Out,
    Output,
    ReportFormat,
    Resume,
    SoftFormat,
    Subject,
    TableFormat,
    Temperature,
)
from tm2tfr.progress import showing

if TYPE_CHECKING:
    from tm2tfr.trace.check import Trace

app = typer.Typer(
    name="tm2tfr",
    help="A Turing machine goes in, the weights of a transformer decoder come out, and every token that the decoder "
    "generates is checked against a reference simulator.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    if version:
        typer.echo(f"tm2tfr {__version__}")
        raise typer.Exit


@app.command()
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


@app.command()
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

        typer.echo(table(traced, "text", blank=subject.blank, elide=None if everything else 40))
    typer.echo(console.verdict(traced, subject))
    if out is not None:
        typer.echo(f"wrote {out}", err=True)
    if at is not None:
        typer.echo("\n" + console.vectors(subject.decoder, traced.input, at, engine, dtype))
    _exit(traced)


@app.command()
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
    console.write(table_of(traced, str(named), blank=subject.blank), output, subject.argument)
    if traced.divergence is not None:
        typer.echo(f"the check failed: {traced.divergence}", err=True)
    _exit(traced)


@app.command()
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
        typer.echo(report.line(traced, example, judged=judged))
    if out is not None:
        typer.echo(f"wrote {out}", err=True)
    if format is ReportFormat.text:
        typer.echo(report.summary())
    raise typer.Exit(0 if report.passed else 1)


@app.command()
def certify(
    machine: Subject = "chapter",
    engine: Annotated[str | None, typer.Option(help="dense, fast or exact. Default: all, with --max-steps dense.")] = None,
    dtype: Annotated[Dtype | None, typer.Option(help="float64 or float32. Default: all, with --max-steps float64.")] = None,
    max_steps: Annotated[
        int | None,
        typer.Option(
            "--max-steps",
            "--max-positions",
            min=1,
            metavar="N",
            help="Is a run of N positions certified? They are the prompt, BOS, and one more than the machine's steps.",
        ),
    ] = None,
    max_head: Annotated[
        int | None, typer.Option(min=0, metavar="H", help="Runs with |h| ≤ H only, h the head's cell. Default: any.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the result to this .json file.")] = None,
    left_boundary: LeftBoundary = None,
) -> None:
    """Prove from the weights up to which length an engine generates the simulator's tokens, for every input."""
    subject = console.subject(machine, left_boundary)
    from tm2tfr.api import machine_of
    from tm2tfr.certificate import prove
    from tm2tfr.certificate.report import report

    if output is not None and output.suffix != ".json":
        raise OutputError(f"{output}: certificates are written as .json: name the file {output.stem}.json")
    proof = prove(subject.decoder, subject.machine or machine_of(subject.decoder))
    found = report(proof, engine=engine, dtype=dtype and dtype.value, positions=max_steps, max_head=max_head)
    typer.echo(found.text(), nl=False)
    if output is not None:
        console.write(found.json(), output, subject.argument)
    raise typer.Exit(0 if found.granted else 1)


@app.command()
def soften(
    machine: Subject = "chapter",
    word: Input = None,
    temperature: Annotated[
        str | None,
        typer.Option(metavar="auto|τ", help="Where errors are measured. Default: a quarter of the largest that is right."),
    ] = None,
    max_steps: MaxSteps = 200,
    dtype: Number = None,
    left_boundary: LeftBoundary = None,
    everything: Annotated[bool, typer.Option("--all", help="Show every position, however many there are.")] = False,
    format: Annotated[SoftFormat, typer.Option(help="Tables for people, or all that was measured.")] = SoftFormat.text,
    output: Output = None,
    plot: Annotated[Path | None, typer.Option(help="Draw it into this .png, .svg or .pdf file (extra: plot).")] = None,
) -> None:
    """Measure what softmax makes of a run: errors beside the bounds on them, and the largest temperature that is right."""
    subject = console.subject(machine, left_boundary)
    from tm2tfr.api import measure_softness
    from tm2tfr.export import soft_plot
    from tm2tfr.export.soft_report import report

    if plot is not None:
        soft_plot.checked(plot)
    value = temperature if temperature in (None, soft_console.AUTO) else soft_console.parsed(temperature)
    options: dict[str, Any] = {"machine": subject.machine, "temperature": value, "max_steps": max_steps}
    found = measure_softness(subject.decoder, word, dtype=dtype and dtype.value, **options)
    console.write(report(found, format.value, everything=everything), output, subject.argument)
    if plot is not None:
        soft_plot.plot(found, plot)
        typer.echo(f"wrote {plot}", err=True)
    raise typer.Exit(0 if found.softness.uniform_tieless else 1)


@app.command()
def export(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="The directory to make.")],
    machine: Subject = "chapter",
    to: Annotated[ExportTarget, typer.Option(help="The program to export to.")] = ExportTarget.gpt2,
    positions: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="The longest run. Default: 1,024, or what the dtype allows.")
    ] = None,
    max_head: Annotated[
        int | None, typer.Option(min=0, metavar="H", help="Runs with |h| ≤ H only, h the head's cell. Default: any.")
    ] = None,
    dtype: Annotated[Dtype, typer.Option(help="The numbers of the model.")] = Dtype.float64,
    stock: Annotated[bool, typer.Option("--stock", help="GPT-2's own epsilon and GELU, with narrower margins.")] = False,
    verify: Annotated[
        bool, typer.Option("--verify/--no-verify", help="Load and run it in transformers before it is written.")
    ] = True,
    left_boundary: LeftBoundary = None,
) -> None:
    """Export a machine as a checkpoint that other people's programs load, run there and compared with the simulator."""
    subject = console.subject(machine, left_boundary)
    from tm2tfr.exchange import export_gpt2

    console.refuse_overwriting(subject.argument, output)
    report = export_gpt2(
        subject.decoder,
        output,
        machine=subject.machine,
        positions=positions,
        max_head=max_head,
        dtype=dtype.value,
        stock=stock,
        verify=verify,
    )
    typer.echo(str(report))


@app.command("verify-checkpoint")
def verify_checkpoint(
    folder: Annotated[Path, typer.Argument(help="A directory made by 'tm2tfr export'.")],
    machine: Annotated[str | None, typer.Option(help=f"{MACHINE}. Default: the one that travels with it.")] = None,
    word: Input = None,
) -> None:
    """Is this checkpoint still that machine? Compare its weights, run it, and say where it differs."""
    from tm2tfr.exchange import verify_checkpoint

    verdict = verify_checkpoint(folder, machine=machine and console.loaded(machine), word=word)
    typer.echo(str(verdict))
    raise typer.Exit(0 if verdict.same else 1)


@app.command()
def graph(machine: Annotated[str, typer.Argument(help=f"{MACHINE}.")] = "chapter", output: Output = None) -> None:
    """Draw the state graph: DOT on standard output, or .dot, .mmd, .svg, .png, .pdf by extension."""
    loaded = console.loaded(machine)
    from tm2tfr.machine.drawing import save, to_dot

    if output is None:
        typer.echo(to_dot(loaded), nl=False)
        return
    console.refuse_overwriting(machine, output)
    save(loaded, output)
    typer.echo(f"wrote {output}", err=True)


@app.command()
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


@app.command()
def machines(
    format: Annotated[
        ReportFormat, typer.Option(help="Lines for people, or one JSON object a machine.")
    ] = ReportFormat.text,
) -> None:
    """List the machines that are shipped."""
    for line in console.catalogue(as_json=format is ReportFormat.json):
        typer.echo(line)


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


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    sys.exit(console.guarded(app, list(sys.argv[1:] if arguments is None else arguments)))
