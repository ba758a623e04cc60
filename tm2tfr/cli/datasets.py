"""Commands for many runs at once: ``dataset``, ``sweep``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tm2tfr.choices import LEFT_BOUNDARIES
from tm2tfr.cli import options
from tm2tfr.cli.arguments import SPEC
from tm2tfr.cli.cautions import echoed
from tm2tfr.cli.pages import command
from tm2tfr.cli.progress import counting
from tm2tfr.cli.universal.options import of_the_class
from tm2tfr.options import CONSTRUCTION

SPEC_HELP = (
    "A spec in YAML (machines, circuits, a program or a formula, inputs, …), or a shipped one, a circuit or a program."
)
workers = options.count("--workers", least=1, panel=options.RUN, help="Use N processes. Default: one per core.")
scheduler = options.option(
    "--scheduler", metavar="tcp://HOST:PORT", panel=options.RUN, help="Use this Dask cluster instead of this machine."
)
engine = options.choice(
    "--engine",
    of=options.ENGINE_WORDS,
    default="auto",
    panel=options.RUN,
    help="The engine that runs the weights. Default: auto (fast if Numba is installed, otherwise dense).",
)


@command(summary="Write checked runs as training data", example="tm2tfr dataset palindromes -o data")
@options.argument("spec", type=SPEC, help=SPEC_HELP)
@options.file("--output", "-o", metavar="DIR", required=True, help="The folder to create.")
@options.flag("--resume", help="Resume a folder: make only what is missing.")
@options.count(
    "--max-length",
    least=1,
    help="Of a program or a formula: train on words of up to N tokens, test on longer ones, up to 4·N.",
)
@workers
@scheduler
@engine
@of_the_class
def dataset(
    spec: str,
    output: Path,
    workers: int | None,
    scheduler: str | None,
    engine: str,
    resume: bool,
    max_length: int | None,
    universal: dict[str, Any],
) -> None:
    """Write checked runs as training examples: JSON Lines and Parquet that datasets.load_dataset reads."""
    from tm2tfr.places import check_folder

    check_folder(output, reading=[spec])
    from tm2tfr.api.datasets import make_dataset
    from tm2tfr.dataset.make import dataset_report

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
    click.echo(dataset_report(found))
    raise click.exceptions.Exit(1 if found.failure else 0)


@command(summary="Compare them on every program and input of a spec", example="tm2tfr sweep two-states")
@options.argument("spec", type=SPEC, default="two-states", help=f"{SPEC_HELP} Default: two-states.")
@options.count("--max-steps", panel=options.RUN, help="Stop after N steps of a machine. Default: the spec's limit.")
@workers
@scheduler
@engine
@options.choice(
    "--left-boundary",
    of=LEFT_BOUNDARIES,
    panel=CONSTRUCTION,
    help="One-way tapes: 'chapter' to see Exercise 8.3 go wrong.",
)
@of_the_class
def sweep(
    spec: str,
    workers: int | None,
    scheduler: str | None,
    engine: str,
    max_steps: int | None,
    left_boundary: str | None,
    universal: dict[str, Any],
) -> None:
    """Compare decoders with the reference on every program and every input of a spec; show the first counter-example."""
    from tm2tfr.api.datasets import sweep
    from tm2tfr.dataset.sweep import sweep_report

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
    click.echo(sweep_report(found))
    raise click.exceptions.Exit(1 if found.failure else 0)
