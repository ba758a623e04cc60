"""Commands that prove and measure: ``certify``, ``soften``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tm2tfr import console, soft_console
from tm2tfr.errors import OutputError
from tm2tfr.options import Dtype, Input, LeftBoundary, MaxSteps, Number, Output, SoftFormat, Subject


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
