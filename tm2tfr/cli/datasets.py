"""Commands for many runs at once: ``dataset``, ``sweep``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tm2tfr.options import Boundary, EngineName
from tm2tfr.progress import counting

SPEC = "A spec in YAML (machines, inputs, max steps, …), or the name of a shipped one, such as two-states."
Workers = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="So many processes here. Default: as many as there are cores.")
]
Scheduler = Annotated[
    str | None, typer.Option(metavar="tcp://HOST:PORT", help="Use this Dask cluster instead of this machine.")
]
Engine = Annotated[
    EngineName, typer.Option(help="What runs the weights. auto: fast where Numba is installed, else dense (numpy).")
]


def dataset(
    spec: Annotated[str, typer.Argument(help=SPEC)],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="The folder to make.")],
    workers: Workers = None,
    scheduler: Scheduler = None,
    engine: Engine = EngineName.auto,
    resume: Annotated[bool, typer.Option("--resume", help="Make only what is missing in the folder.")] = False,
) -> None:
    """Write checked runs as training examples: JSON Lines and Parquet that datasets.load_dataset reads."""
    from tm2tfr.corpora import make_dataset
    from tm2tfr.dataset.report import dataset_report

    options: dict[str, Any] = {"workers": workers, "scheduler": scheduler, "engine": engine.value, "resume": resume}
    with counting("go on with --resume") as progress:
        found = make_dataset(spec, output, progress=progress, **options)
    typer.echo(dataset_report(found))
    raise typer.Exit(1 if found.failure else 0)


def sweep(
    spec: Annotated[str, typer.Argument(help=SPEC)] = "two-states",
    workers: Workers = None,
    scheduler: Scheduler = None,
    engine: Engine = EngineName.auto,
    max_steps: Annotated[
        int | None, typer.Option(min=0, help="Stop after so many steps of a machine. Default: what the spec says.")
    ] = None,
    left_boundary: Annotated[
        Boundary | None, typer.Option(help="One-way tapes: 'chapter' to see Exercise 8.3 go wrong.")
    ] = None,
) -> None:
    """Compare decoder and simulator on every machine and every input of a spec; show the first counter-example."""
    from tm2tfr.corpora import sweep
    from tm2tfr.dataset.report import sweep_report

    options: dict[str, Any] = {"workers": workers, "scheduler": scheduler, "engine": engine.value}
    options |= {"max_steps": max_steps, "left_boundary": left_boundary and left_boundary.value}
    with counting() as progress:
        found = sweep(spec, progress=progress, **options)
    typer.echo(sweep_report(found))
    raise typer.Exit(1 if found.failure else 0)
