"""Commands for other programs' checkpoints: ``export``, ``verify-checkpoint``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tm2tfr import console
from tm2tfr.options import MACHINE, Dtype, ExportTarget, Input, LeftBoundary, Subject


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
    stock: Annotated[bool, typer.Option("--stock", help="gpt2: its own epsilon and GELU, with narrower margins.")] = False,
    verify: Annotated[
        bool, typer.Option("--verify/--no-verify", help="Load and run it in that program before it is written.")
    ] = True,
    left_boundary: LeftBoundary = None,
) -> None:
    """Export a machine as a checkpoint that other people's programs load, run there and compared with the simulator."""
    subject = console.subject(machine, left_boundary)
    from tm2tfr.exchange import export_to

    console.refuse_overwriting(subject.argument, output)
    report = export_to(
        to.value,
        subject.decoder,
        output,
        machine=subject.machine,
        positions=positions,
        max_head=max_head,
        dtype=dtype.value,
        verify=verify,
        **({"stock": True} if stock else {}),
    )
    typer.echo(str(report))


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
