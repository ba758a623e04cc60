"""The runs of a grid: each one in a folder of its own, on all cores or on a Dask cluster; resumable run by run.

A worker trains in a folder of its own machine and returns the record and the weights, so workers need no common file
system; a run that was begun when the grid was interrupted is begun again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tm2tfr.base.errors import TrainingError, visible
from tm2tfr.base.files import write_bytes, write_text
from tm2tfr.base.text.shown import aligned
from tm2tfr.lab.datasets.folder import prepared
from tm2tfr.lab.datasets.jobs import Job, Piece
from tm2tfr.lab.datasets.pool import pool
from tm2tfr.lab.training.compiled import build
from tm2tfr.lab.training.grid.reader import GridRun, TrainingGrid
from tm2tfr.lab.training.loop import train_model
from tm2tfr.lab.training.options import plain
from tm2tfr.lab.training.record import GRID, RUN, WEIGHTS, TrainingRun, load_run
from tm2tfr.runs.comparison import Progress

TABLE = "grid.json"


@dataclass(frozen=True, eq=False)
class GridResult:
    """The runs of a grid, all finished, in its order; `reused` of them were there already."""

    grid: TrainingGrid
    folder: Path
    runs: tuple[TrainingRun, ...]
    reused: int

    def as_dict(self) -> dict[str, Any]:
        """Return what the runs differ in, and their results, as plain data."""
        return {
            "varied": list(self.grid.varied),
            "runs": [
                {
                    "folder": asked.name,
                    **asked.varied,
                    "exact_match": run.exact_match,
                    "base_rate": run.base_rate,
                    "every_token": run.every_token,
                    "loss": run.loss,
                    "steps": run.steps,
                    "ended": run.ended,
                    "cpu_seconds": run.cpu_seconds,
                }
                for asked, run in zip(self.grid.runs, self.runs, strict=True)
            ],
        }

    def table(self) -> str:
        """Return a line for each run: what they differ in, and their results."""
        titles = [*self.grid.varied, "exact match", "base rate", "every scored token", "loss", "steps", "CPU s"]
        rows = [titles]
        for asked, run in zip(self.grid.runs, self.runs, strict=True):
            shares = [f"{share or 0.0:.4f}" for share in (run.exact_match, run.base_rate, run.every_token)]
            loss = "-" if run.loss is None else f"{run.loss:.4f}"
            varied = [visible(str(value)) for value in asked.varied.values()]
            rows.append([*varied, *shares, loss, f"{run.steps:,}", f"{run.cpu_seconds:.1f}"])
        return "\n".join(aligned(rows, set(range(len(titles) - 6, len(titles)))))


class _Trained(NamedTuple):
    """What a worker returns: the files of a run."""

    record: bytes
    weights: bytes


def train_grid(
    grid: TrainingGrid,
    folder: str | Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> GridResult:
    """Train every run of a grid; the folder gets one for each, ``grid.yaml`` and ``grid.json``.

    Args:
        workers: the number of processes, by default one per core; each trains one model at a time.
        scheduler: the address of a Dask cluster to use instead.
        resume: train only what is not finished.

    Raises:
        TrainingError: if the folder has runs and `resume` is not set, it has those of another grid, or a run cannot be
            trained.
        DatasetError: if Dask is missing, workers keep dying, or the cluster is lost.
        OutputError: if the folder cannot be written.
    """
    folder = Path(folder)
    _begun(folder, grid, resume=resume)
    found = {run.name: there for run in grid.runs if (there := _finished(folder / run.name)) is not None}
    missing = [run for run in grid.runs if run.name not in found]
    reused = len(found)
    jobs = [Job(number, (Piece((run,), ("",)),)) for number, run in enumerate(missing)]
    with pool(workers, scheduler, len(jobs)) as crew:
        for run, done in zip(missing, crew.map(_trained, jobs, None), strict=True):
            found[run.name] = _kept(folder / run.name, done)
            if progress is not None:
                progress(len(found), len(grid.runs))
    result = GridResult(grid, folder, tuple(found[run.name] for run in grid.runs), reused)
    write_text(folder / TABLE, json.dumps(result.as_dict(), ensure_ascii=False, indent=1) + "\n")
    return result


def _trained(job: Job, _how: None) -> _Trained:
    """Train a run in a worker."""
    run: GridRun = job.pieces[0].programs[0]
    examples = run.task.made()
    model = build(run.model, examples, seed=run.options.seed)
    with TemporaryDirectory() as place:
        folder = Path(place)
        train_model(model, examples, run.options, folder, about=plain(run.model))
        return _Trained(*((folder / name).read_bytes() for name in (RUN, WEIGHTS)))


def _kept(folder: Path, done: _Trained) -> TrainingRun:
    """Write the files of a run, the record last."""
    prepared(folder)
    write_bytes(folder / WEIGHTS, done.weights)
    write_bytes(folder / RUN, done.record)
    return load_run(folder)


def _finished(folder: Path) -> TrainingRun | None:
    """Return the run that a folder has, if it is finished."""
    if not (folder / RUN).exists():
        return None
    found = load_run(folder)
    return found if found.finished else None


def _begun(folder: Path, grid: TrainingGrid, *, resume: bool) -> None:
    """Make the folder, with the grid in it."""
    prepared(folder)
    there = folder / GRID
    if there.exists():
        if not resume:
            raise TrainingError(
                f"{folder}: there are training runs here: resume them with --resume, or choose another folder"
            )
        if there.read_text(encoding="utf-8") != grid.text:
            raise TrainingError(f"{folder}: the runs here are of another grid: train this one in another folder")
        return
    if any(folder.iterdir()):
        raise TrainingError(f"{folder}: this folder is not empty: choose another one")
    write_text(there, grid.text)
