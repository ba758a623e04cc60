"""Commands for many runs at once: ``dataset``, ``sweep``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tm2tfr.base.choices import LEFT_BOUNDARIES
from tm2tfr.cli.arguments import specs
from tm2tfr.cli.cautions import echoed
from tm2tfr.cli.expanding import But
from tm2tfr.cli.options import RUN, EngineOption, SchedulerOption, WorkersOption, argument, choice, count, file, option
from tm2tfr.cli.progress import counting
from tm2tfr.cli.universal.options import UniversalGroup
from tm2tfr.contract.options import CONSTRUCTION

SPEC_HELP = (
    "A spec in YAML (machines, circuits, a program or a formula, inputs, …), or a shipped one, a circuit or a program."
)


def dataset(
    *,
    spec: Annotated[str, argument("SPEC", specs, help=SPEC_HELP)],
    output: Annotated[Path, file("The folder to create.", "-o", metavar="DIR")],
    resume: Annotated[bool, option("Resume a folder: make only what is missing.")] = False,
    max_length: Annotated[
        int | None,
        count("Train on words of up to N tokens, test on longer ones, up to 4·N (programs and formulas only).", least=1),
    ] = None,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    engine: EngineOption = "auto",
    decoder: Annotated[UniversalGroup, But(prompt=None)],
) -> None:
    """Write checked runs as training examples: JSON Lines and Parquet that datasets.load_dataset reads."""
    from tm2tfr.base.places import check_folder

    check_folder(output, reading=[spec])
    from tm2tfr.api.datasets import make_dataset
    from tm2tfr.lab.datasets.make import dataset_report

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
    spec: Annotated[str, argument("SPEC", specs, help=f"{SPEC_HELP} Default: two-states.")] = "two-states",
    max_steps: Annotated[
        int | None, count("Stop after N steps of a machine. Default: the spec's limit.", panel=RUN)
    ] = None,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    engine: EngineOption = "auto",
    left_boundary: Annotated[
        str | None, choice("One-way tapes: 'chapter' to see Exercise 8.3 go wrong.", of=LEFT_BOUNDARIES, panel=CONSTRUCTION)
    ] = None,
    decoder: Annotated[UniversalGroup, But(prompt=None)],
) -> None:
    """Compare decoders with the reference on every program and every input of a spec; show the first counter-example."""
    from tm2tfr.api.datasets import sweep
    from tm2tfr.lab.datasets.make import sweep_report

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
