"""YAML -> a grid of training runs: each option has a value or a list of values, and every combination is a run.

For example ``{data: binary-adder, bits: [3, 4], regime: [weak, strong], seed: [0, 1, 2], steps: 1000}`` is twelve runs.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from itertools import product
from multiprocessing import parent_process
from pathlib import Path
from tempfile import TemporaryDirectory

from tm2tfr.base import resources
from tm2tfr.base.errors import visible
from tm2tfr.base.text.nodes import Map, Reading, Scalar, Section, compose, kind
from tm2tfr.base.text.shown import aligned, json_text
from tm2tfr.base.text.source import Log, decoded
from tm2tfr.contract.shown import PlainData
from tm2tfr.lab.line.folder import folder_named, production
from tm2tfr.lab.line.manifest import sha256
from tm2tfr.lab.line.pool import Job, Made
from tm2tfr.lab.training.best import TrainedRuns
from tm2tfr.lab.training.record import GRID, MODELS, RUN, WEIGHTS, ModelOptions, TrainingOptions, TrainingRun, load_run
from tm2tfr.lab.training.task import LearningTask
from tm2tfr.runs.comparison import Progress

MOST_RUNS = 10_000
_BOOLEANS = {"true": True, "false": False}
GridValue = str | int | float | bool
"""The value of an option in a grid."""
Parser = Callable[[str], GridValue]
_PARSERS: Mapping[str, Parser] = {"int": int, "float": float, "bool": lambda text: _BOOLEANS[text.lower()]}


def _keys(
    options: type[LearningTask | ModelOptions | TrainingOptions], *left_out: str, **renamed: str
) -> Mapping[str, Parser]:
    """Return the keys for the fields of a class of options, each with what reads its value."""
    return {
        renamed.get(each.name, each.name).replace("_", " "): _PARSERS.get(str(each.type).split(" ")[0], str)
        for each in fields(options)
        if each.name not in left_out
    }


_TASK = _keys(LearningTask, spec="data")
_MODEL = _keys(ModelOptions, "causal", "config", kind="model")
_TRAINING = _keys(TrainingOptions, "betas")
GRID_KEYS: Mapping[str, Parser] = {**_TASK, **_MODEL, **_TRAINING}
"""The keys of a grid; they have the names of the command's options, and of the library's."""


@dataclass(frozen=True, kw_only=True)
class GridRun:
    """One run of a grid.

    Args:
        name: the name of its folder.
        varied: the options in which the runs differ, and their values here.
    """

    name: str
    varied: Mapping[str, GridValue]
    task: LearningTask
    model: ModelOptions
    options: TrainingOptions


@dataclass(frozen=True, kw_only=True)
class TrainingGrid:
    """All runs of a grid, in the order of the text, the last list running fastest; `text` is the YAML."""

    text: str
    varied: tuple[str, ...]
    runs: tuple[GridRun, ...]


def read_grid(text: str | bytes, *, file: str, folder: Path | None = None, data: str | None = None) -> TrainingGrid:
    """Read a grid from YAML.

    Args:
        file: the name of the text in error messages.
        folder: where specs are looked for; by default the current one.
        data: the examples, if the grid does not name them.

    Raises:
        SpecError: with every error of the document, in the order of the text.
        TrainingError: if a combination of options is impossible.
    """
    source = decoded(text, file=file)
    reading = Reading(Log(source))
    root = compose(source)
    if not isinstance(root, Map):
        what = "the document is empty" if root is None else f"the document is {kind(root)}, not a mapping"
        reading.error(None, what, "a grid has options with lists of values, such as 'seed: [0, 1, 2]'")
        raise reading.log.failure()
    top = Section.of(reading, "a grid", root, tuple(GRID_KEYS))
    values = {key: _values(reading, key, top) for key in top.found}
    if "data" not in values and data is None:
        reading.error(None, "there is nothing to train on", "add for example 'data: binary-adder'")
    number = math.prod(map(len, values.values()))
    if number > MOST_RUNS:
        reading.error(None, f"these are {number:,} runs, and at most {MOST_RUNS:,} are possible", "make several grids")
    reading.log.conclude()
    varied = tuple(key for key, some in values.items() if len(some) > 1)
    runs = [_run(dict(zip(values, chosen, strict=True)), varied, folder, data) for chosen in product(*values.values())]
    return TrainingGrid(text=source.text, varied=varied, runs=tuple(_named_apart(runs)))


def _values(reading: Reading, key: str, top: Section) -> list[GridValue]:
    """Return the values of a key; report invalid and repeated values."""
    name, node = top.found[key]
    items = reading.scalars(node, f"a value of {key}")
    if items is not None and (not items or items[0].empty):
        reading.error(name, f"nothing follows {key!r}", "write a value, or a list of values in brackets")
    found: dict[GridValue, Scalar] = {}
    for item in items or ():
        try:
            value = GRID_KEYS[key](item.text)
        except KeyError:
            reading.error(item, f"{key} is {item.text!r}, neither true nor false", "write one of them")
            continue
        except ValueError:
            wanted = "a whole number" if GRID_KEYS[key] is int else "a number"
            reading.error(item, f"{key} is {item.text!r}, not {wanted}", "write it with digits")
            continue
        if value in found:
            reading.twice(item, found[value], f"the value {item.text!r} of {key}")
        found.setdefault(value, item)
    return list(found)


def _chosen(chosen: Mapping[str, GridValue], keys: Collection[str]) -> PlainData:
    """Return the options that have these keys, as keywords."""
    return {key.replace(" ", "_"): chosen[key] for key in keys if key in chosen}


def _run(chosen: Mapping[str, GridValue], varied: tuple[str, ...], folder: Path | None, data: str | None) -> GridRun:
    """Return a run; options are checked by what takes them."""
    task, model, options = (_chosen(chosen, keys) for keys in (_TASK, _MODEL, _TRAINING))
    spec = str(task.pop("data", data))
    if "model" in model:
        kind = str(model.pop("model"))
        beside = kind if kind in MODELS else _beside(kind, folder)
        model["kind"] = kind if beside is kind else os.path.join(beside, "")  # the slash tells it from a model's name
    name = "_".join(f"{key}-{_plain(chosen[key])}".replace(" ", "-") for key in varied) or "run"
    return GridRun(
        name=name,
        varied={key: chosen[key] for key in varied},
        task=LearningTask(spec=_beside(spec, folder), **task),
        model=ModelOptions(**model),
        options=TrainingOptions(**options),
    )


def _beside(name: str, folder: Path | None) -> Path | str:
    """Return the path of what stands beside the grid; what does not is sought from the current folder."""
    return name if folder is None or not (folder / name).exists() else folder / name


def _plain(value: object) -> str:
    return re.sub(r"[^\w.+-]", "-", str(value), flags=re.ASCII)[-80:]


def _named_apart(runs: list[GridRun]) -> list[GridRun]:
    """Return runs whose folders have different names."""
    met: dict[str, int] = {}
    found = []
    for run in runs:
        met[run.name] = met.get(run.name, 0) + 1
        found.append(run if met[run.name] == 1 else replace(run, name=f"{run.name}_{met[run.name]}"))
    return found


def load_grid(path: str | Path, *, data: str | None = None) -> TrainingGrid:
    """Read a grid from a file; specs are looked for beside it. See `read_grid`.

    Raises:
        ReadError, NotFoundError: if it cannot be read.
        SpecError, TrainingError: see `read_grid`.
    """
    name = str(path)
    return read_grid(
        resources.contents(resources.SPECS, name), file=resources.display(name), folder=Path(path).parent, data=data
    )


# ── The runs of a grid: each one in a folder of its own, on all cores or on a Dask cluster; resumable run by run.
TABLE = "grid.json"


@dataclass(frozen=True, eq=False)
class GridResult:
    """The runs of a grid, all finished, in its order; `reused` of them were there already."""

    grid: TrainingGrid
    folder: Path
    runs: tuple[TrainingRun, ...]
    reused: int

    def as_dict(self) -> dict[str, object]:
        """Return the varied options of the runs, and their results, as plain data."""
        return {
            "varied": list(self.grid.varied),
            "runs": [
                {
                    "folder": asked.name,
                    **asked.varied,
                    "exact_match": run.exact_match,
                    "base_rate": run.base_rate,
                    "every_token": run.every_token,
                    "token_accuracy": run.token_accuracy,
                    "loss": run.loss,
                    "steps": run.steps,
                    "ended": run.ended,
                    "cpu_seconds": run.cpu_seconds,
                }
                for asked, run in zip(self.grid.runs, self.runs, strict=True)
            ],
            **TrainedRuns(self.runs).as_dict(),
        }

    def table(self) -> str:
        """Return a line for each run, what they differ in and their results; then the best runs of each task."""
        titles = [*self.grid.varied, "exact match", "base rate", "every scored token", "loss", "steps", "CPU s"]
        rows = [titles]
        for asked, run in zip(self.grid.runs, self.runs, strict=True):
            shares = [f"{share or 0.0:.4f}" for share in (run.exact_match, run.base_rate, run.every_token)]
            loss = "-" if run.loss is None else f"{run.loss:.4f}"
            varied = [visible(str(value)) for value in asked.varied.values()]
            rows.append([*varied, *shares, loss, f"{run.steps:,}", f"{run.cpu_seconds:.1f}"])
        many, lines = TrainedRuns(self.runs), aligned(rows, set(range(len(titles) - 6, len(titles))))
        return "\n".join([*lines, *(["", many.table()] if len(many.best) < len(self.runs) else [])])


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
        resume: train only what is not finished; interrupted runs go on at their last checkpoint.

    Raises:
        TrainingError: if a run cannot be trained.
        DatasetError: if it cannot be resumed: it has runs of another grid; if Dask is missing, workers keep dying, or the
            cluster is lost.
        OutputError: if the folder is in use, or cannot be written.
    """
    folder = folder_named(folder)
    jobs = [Job(number, run) for number, run in enumerate(grid.runs)]

    with production(
        folder,
        "training runs",
        {"grid_sha256": sha256(grid.text.encode())},
        jobs,
        resume=resume,
        workers=workers,
        scheduler=scheduler,
        folders=[run.name for run in grid.runs],
        texts={GRID: grid.text},
    ) as line:
        line.make(trained, None if scheduler else folder, progress)
        result = GridResult(grid, folder, tuple(load_run(folder / run.name) for run in grid.runs), line.reused)
        line.close({TABLE: json_text(result.as_dict())})
    return result


def trained(job: Job[GridRun], folder: Path | None) -> Made:
    """Train a run, and return its files.

    Args:
        folder: that of the grid, where the run is kept with its checkpoints, so that it continues after a kill; None: a
            temporary one, since the workers of a cluster need not see the grid's.
    """
    from tm2tfr.lab.training.compiled import build, described  # noqa: PLC0415  (it needs torch; a grid is read without)
    from tm2tfr.lab.training.loop import train_model  # noqa: PLC0415

    run = job.work
    examples = run.task.made()
    model = build(run.model, examples, seed=run.options.seed)
    with TemporaryDirectory() if folder is None else nullcontext(folder / run.name) as place:
        made = train_model(
            model,
            examples,
            run.options,
            place,
            about=described(run.model, model),
            resume=folder is not None,
            stop=_orphaned,
        )
        if not made.finished:
            return Made(job.number)
        files = {f"{run.name}/{name}": Path(place, name).read_bytes() for name in (WEIGHTS, RUN)}
    return Made(job.number, files)


def _orphaned() -> bool:
    """Return whether the process that started this worker was killed, so that this worker must save its run and stop."""
    parent = parent_process()
    return parent is not None and not parent.is_alive()
