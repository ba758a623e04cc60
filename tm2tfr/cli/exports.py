"""Commands about models for other programs: ``export``, ``verify-export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tm2tfr.base.choices import DTYPES, TARGETS
from tm2tfr.cli.arguments import machines
from tm2tfr.cli.asked import Asked
from tm2tfr.cli.expanding import But
from tm2tfr.cli.options import MACHINE_HELP, WordOption, argument, choice, count, file, option
from tm2tfr.cli.subject import subject


def export(
    *,
    output: Annotated[Path, file("The directory to create.", "-o", metavar="DIR")],
    to: Annotated[str, choice("The program to export to. Default: gpt2.", of=TARGETS)] = "gpt2",
    positions: Annotated[
        int | None,
        count("The longest run. Default: 1,024, or fewer if the dtype requires it; for a circuit, all.", least=1),
    ] = None,
    max_head: Annotated[
        int | None, count("Only runs with |h| ≤ H, where h is the head position. Default: any.", metavar="H")
    ] = None,
    dtype: Annotated[str, choice("The type of the model's numbers. Default: float64.", of=DTYPES)] = "float64",
    stock: Annotated[bool, option("gpt2: keep its own epsilon and GELU, with narrower margins.")] = False,
    verify: Annotated[
        bool,
        option("Load and run the model in that program before it is written. Default: --verify.", "--verify/--no-verify"),
    ] = True,
    asked: Annotated[Asked, But(takes_alone=True)],
) -> None:
    """Export weights as a model for another program, run it there, and compare it with the reference."""
    from tm2tfr.base.places import check_folder
    from tm2tfr.targets.common.directory import NAMES

    check_folder(output, reading=asked.reading, ours=[NAMES])
    found = subject(asked)
    from tm2tfr.api.targets import export_to
    from tm2tfr.cli.cautions import tell_of_size

    tell_of_size(to, found, dtype)
    report = export_to(to, found, output, positions=positions, max_head=max_head, dtype=dtype, verify=verify, stock=stock)
    typer.echo(str(report))


def verify_export(
    *,
    folder: Annotated[Path, argument("FOLDER", parser=Path, help="A directory made by 'tm2tfr export'.")],
    machine: Annotated[
        str | None, option(f"{MACHINE_HELP}. Default: the one stored with it.", metavar="NAME", autocompletion=machines)
    ] = None,
    word: WordOption = None,
) -> None:
    """Check that an export is still its machine: compare its weights, run it, and report where it differs."""
    from tm2tfr.api.targets import verify_export

    verdict = verify_export(folder, machine=machine and subject(Asked(machine=machine, takes_alone=True)), word=word)
    typer.echo(str(verdict))
    raise typer.Exit(0 if verdict.same else 1)
