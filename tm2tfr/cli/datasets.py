"""Commands for many runs at once: ``dataset``, ``sweep``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tm2tfr.choices import LEFT_BOUNDARIES
from tm2tfr.cli import options
from tm2tfr.cli.arguments import specs
from tm2tfr.cli.cautions import echoed
from tm2tfr.cli.expanding import but
from tm2tfr.cli.progress import counting
from tm2tfr.cli.universal.options import UniversalGroup
from tm2tfr.options import CONSTRUCTION

SPEC_HELP = (
    "A spec in YAML (machines, circuits, a program or a formula, inputs, …), or a shipped one, a circuit or a program."
)


def dataset(
    *,
    spec: Annotated[str, options.argument("SPEC", specs, help=SPEC_HELP)],
    output: Annotated[Path, options.file("--output", "-o", metavar="DIR", help="The folder to create.")],
    resume: Annotated[bool, options.option("--resume", help="Resume a folder: make only what is missing.")] = False,
    max_length: Annotated[
        int | None,
        options.count(
            "--max-length",
            least=1,
            help="Of a program or a formula: train on words of up to N tokens, test on longer ones, up to 4·N.",
        ),
    ] = None,
    workers: options.WorkersOption = None,
    scheduler: options.SchedulerOption = None,
    engine: options.EngineOption = "auto",
    decoder: Annotated[UniversalGroup, but(prompt=None)],
) -> None:
    """Write checked runs as training examples: JSON Lines and Parquet that datasets.load_dataset reads."""
    from tm2tfr.places import check_folder

    check_folder(output, reading=[spec])
    from tm2tfr.api.datasets import make_dataset
    from tm2tfr.dataset.sweep import dataset_report

    universal = decoder.options()
    with echoed(), counting("resume it with --resume") as progress:
        found = make_dataset(
            spec,
            output,
            workers=workers,
            scheduler=scheduler,
            engine=engine,
            resume=resume,
            max_length=max_length,
            universal=universal.get("universal"),
            tape=universal.get("tape"),
            seed=universal.get("seed"),
            progress=progress,
        )
    typer.echo(dataset_report(found))
    raise typer.Exit(1 if found.failure else 0)


def sweep(
    *,
    spec: Annotated[str, options.argument("SPEC", specs, help=f"{SPEC_HELP} Default: two-states.")] = "two-states",
    max_steps: Annotated[
        int | None,
        options.count("--max-steps", panel=options.RUN, help="Stop after N steps of a machine. Default: the spec's limit."),
    ] = None,
    workers: options.WorkersOption = None,
    scheduler: options.SchedulerOption = None,
    engine: options.EngineOption = "auto",
    left_boundary: Annotated[
        str | None,
        options.choice(
            "--left-boundary",
            of=LEFT_BOUNDARIES,
            panel=CONSTRUCTION,
            help="One-way tapes: 'chapter' to see Exercise 8.3 go wrong.",
        ),
    ] = None,
    decoder: Annotated[UniversalGroup, but(prompt=None)],
) -> None:
    """Compare decoders with the reference on every program and every input of a spec; show the first counter-example."""
    from tm2tfr.api.datasets import sweep
    from tm2tfr.dataset.sweep import sweep_report

    universal = decoder.options()
    with echoed(), counting() as progress:
        found = sweep(
            spec,
            workers=workers,
            scheduler=scheduler,
            engine=engine,
            max_steps=max_steps,
            left_boundary=left_boundary,
            universal=universal.get("universal"),
            tape=universal.get("tape"),
            seed=universal.get("seed"),
            progress=progress,
        )
    typer.echo(sweep_report(found))
    raise typer.Exit(1 if found.failure else 0)
