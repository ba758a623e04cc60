"""Commands about models for other programs: ``export``, ``verify-export``."""

from __future__ import annotations

from pathlib import Path

import click

from tm2tfr.choices import DTYPES, TARGETS
from tm2tfr.cli import options
from tm2tfr.cli.arguments import FILE, MACHINE
from tm2tfr.cli.asked import Asked
from tm2tfr.cli.asked import subject as subject_asked
from tm2tfr.cli.pages import command
from tm2tfr.cli.subject import subject


@command(
    summary="Export a GPT-2, TransformerLens, PyTorch or ONNX model",
    example="tm2tfr export palindromes -o gpt2",
)
@subject_asked(takes_alone=True)
@options.file("--output", "-o", metavar="DIR", required=True, help="The directory to create.")
@options.choice("--to", of=TARGETS, default="gpt2", help="The program to export to. Default: gpt2.")
@options.count(
    "--positions",
    least=1,
    help="The longest run. Default: 1,024, or fewer if the dtype requires it; for a circuit, all.",
)
@options.count("--max-head", metavar="H", help="Only runs with |h| ≤ H, where h is the head position. Default: any.")
@options.choice("--dtype", of=DTYPES, default="float64", help="The type of the model's numbers. Default: float64.")
@options.flag("--stock", help="gpt2: keep its own epsilon and GELU, with narrower margins.")
@options.option(
    "--verify/--no-verify",
    default=True,
    help="Load and run the model in that program before it is written. Default: --verify.",
)
def export(
    output: Path,
    asked: Asked,
    to: str,
    positions: int | None,
    max_head: int | None,
    dtype: str,
    stock: bool,
    verify: bool,
) -> None:
    """Export weights as a model for another program, run it there, and compare it with the reference."""
    from tm2tfr.places import check_folder
    from tm2tfr.targets.common.directory import NAMES

    check_folder(output, reading=[asked.argument], ours=[NAMES])
    found = subject(asked)
    from tm2tfr.api.targets import export_to
    from tm2tfr.cli.cautions import tell_of_size

    tell_of_size(to, found, dtype)
    report = export_to(
        to,
        found,
        output,
        positions=positions,
        max_head=max_head,
        dtype=dtype,
        verify=verify,
        stock=stock,
    )
    click.echo(str(report))


@command(
    "verify-export",
    summary="Check that an export is still its machine",
    example="tm2tfr verify-export gpt2",
)
@options.argument("folder", type=FILE, help="A directory made by 'tm2tfr export'.")
@options.option("--machine", type=MACHINE, help=f"{options.MACHINE_HELP}. Default: the one stored with it.")
@options.word
def verify_export(folder: Path, machine: str | None, word: str | None) -> None:
    """Check that an export is still its machine: compare its weights, run it, and report where it differs."""
    from tm2tfr.api.targets import verify_export

    verdict = verify_export(folder, machine=machine and subject(Asked(argument=machine, takes_alone=True)), word=word)
    click.echo(str(verdict))
    raise click.exceptions.Exit(0 if verdict.same else 1)
