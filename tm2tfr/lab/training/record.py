"""The record of a training run: one JSON, ``run.json``, beside the weights.

Times apart, it is a function of the model at the start, the examples, the options and the versions in it, on one kind of
machine.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from tm2tfr.base.errors import TrainingError, counted, first_line
from tm2tfr.base.files import write_text
from tm2tfr.base.text.shown import aligned

FORMAT = 1
RUN, WEIGHTS, CHECKPOINT = "run.json", "weights.safetensors", "checkpoint.safetensors"
GRID = "grid.yaml"
"""The file that the folder of a grid of runs has."""
RIGHT, ALL_STEPS, INTERRUPTED = "exact match", "all steps", "interrupted"
"""Why a run has ended: every unseen answer was right and the loss small; its steps were done; by the user, unfinished."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainingRun:
    """A run of `tm2tfr.train`, finished or interrupted.

    Args:
        model: the options of the model, or what its maker says of it.
        data: what it was trained on, with its digest; see `tm2tfr.lab.training.examples.Examples`.
        options: see `tm2tfr.lab.training.options.TrainingOptions`.
        versions: of the software.
        parameters, trained: the numbers of all parameters and of those that are trained.
        losses: pairs of a step and the mean loss of the steps up to it, since the pair before.
        evaluations: of a step, the shares of the unseen examples whose answer is right, and of which every scored token is.
        exact_match, every_token: the same at the end, on all unseen examples; None in an interrupted run.
        base_rate: the share of the unseen examples whose answer is the most frequent one, which an exact match has to
            exceed to mean anything; None in a record that does not say it.
        steps: those that were done.
        ended: why; see `RIGHT` and the other words here.
        weights_sha256: the digest of the weights' file.
        seconds, cpu_seconds: what it took, all parts of an interrupted run together.
        folder: where it is kept; None if it is not.
    """

    model: Mapping[str, Any]
    data: Mapping[str, Any]
    options: Mapping[str, Any]
    versions: Mapping[str, str]
    parameters: int
    trained: int
    losses: tuple[tuple[int, float], ...]
    evaluations: tuple[tuple[int, float, float], ...]
    exact_match: float | None
    every_token: float | None
    steps: int
    ended: str
    weights_sha256: str = ""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    base_rate: float | None = None
    folder: Path | None = None

    @property
    def finished(self) -> bool:
        """Whether it was not interrupted."""
        return self.ended != INTERRUPTED

    @property
    def loss(self) -> float | None:
        """The mean loss of the last steps; None if there were none."""
        return self.losses[-1][1] if self.losses else None

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        kept = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "folder"}
        return {"format": FORMAT, **kept, "loss": self.loss, "finished": self.finished}

    def json(self) -> str:
        """Return it as JSON."""
        return json.dumps(self.as_dict(), ensure_ascii=False, indent=1) + "\n"

    def write(self) -> None:
        """Write it into its folder, if it has one.

        Raises:
            OutputError: if it cannot be written.
        """
        if self.folder is not None:
            write_text(self.folder / RUN, self.json())

    def same(self) -> dict[str, Any]:
        """Return what is the same whenever the run is repeated: all but the times."""
        return {key: value for key, value in json.loads(self.json()).items() if key not in ("seconds", "cpu_seconds")}


def run_of(found: Mapping[str, Any], folder: Path | None) -> TrainingRun:
    """Return the run that `TrainingRun.as_dict` turned into `found`.

    Raises:
        KeyError, TypeError, ValueError: for anything else.
    """
    given = {each.name: found[each.name] for each in fields(TrainingRun) if each.name not in ("folder", "base_rate")}
    given["base_rate"] = found.get("base_rate")
    given["losses"] = tuple((int(step), float(loss)) for step, loss in found["losses"])
    given["evaluations"] = tuple((int(step), float(a), float(s)) for step, a, s in found["evaluations"])
    return TrainingRun(**given, folder=folder)


def load_run(folder: str | Path) -> TrainingRun:
    """Return the run that is kept in a folder; the file ``run.json`` itself may be named as well.

    Raises:
        TrainingError: if there is none, or it cannot be read.
    """
    where = Path(folder)
    file = where if where.name == RUN else where / RUN
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        if found["format"] != FORMAT:
            raise TrainingError(f"{file}: this run has format {found['format']}, not {FORMAT}: train it again")
        return run_of(found, file.parent)
    except (FileNotFoundError, NotADirectoryError):
        what = "there is no training run here: make one with tm2tfr train"
        if (where / GRID).is_file():
            what = "these are the runs of a grid: name the folder of one of them, in this folder"
        if where.is_file():
            is_weights = where.suffix.lower() == ".safetensors"
            what = "this is a file of weights" if is_weights else "this is a file"
            what = f"{what}, and a training run is a folder: name one that tm2tfr train wrote"
        raise TrainingError(f"{where}: {what}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TrainingError(f"{file}: this run cannot be read ({first_line(error)}): train it again") from error


# ── A training run in words.
_SHOWN = ("kind", "layers", "heads", "width", "positions")
_WHY = {RIGHT: "every answer is right, and the loss is small", ALL_STEPS: "all steps are done"}
_ROWS = 12
"""At most this many evaluations are listed."""


def training_report(run: TrainingRun) -> str:
    """Return the evaluations of a run and its result, as lines."""
    data = run.data
    lines = [
        f"{data['name']}: {data['train']:,} training examples, {data['test']:,} unseen ones",
        f"{_model(run)}{counted(run.parameters, 'parameter')}, {run.trained:,} trained",
        "",
        *_table(run),
    ]
    if run.exact_match is not None:
        right = round(run.exact_match * data["test"])
        every = "" if run.every_token in (None, run.exact_match) else f"; every scored token {run.every_token:.4f}"
        taken = f"{counted(run.steps, 'step')}, {run.cpu_seconds:.1f} seconds of the processor"
        lines += ["", f"Exact match {run.exact_match:.4f} ({right:,} of {data['test']:,} unseen inputs){every}."]
        if run.base_rate is not None:
            same = round(run.base_rate * data["test"])
            lines += [f"The most frequent answer alone would be right for {same:,} of them: {run.base_rate:.4f}."]
        lines += [f"Ended after {taken}: {_WHY.get(run.ended, run.ended)}."]
    return "\n".join(lines)


def _model(run: TrainingRun) -> str:
    told = run.model
    if not all(name in told for name in _SHOWN):
        return f"{told.get('kind', 'model')}: "
    shape = f"{counted(told['layers'], 'layer')}, {counted(told['heads'], 'head')}, width {told['width']}"
    positions = "" if told["kind"] == "gpt2" else f", {told['positions']} positions"
    return f"{told['kind']}, {shape}{positions}: "


def _table(run: TrainingRun) -> list[str]:
    """Return the loss and the shares of exact answers by step."""
    losses = dict(run.losses)
    every = -(-len(run.evaluations) // _ROWS)
    shown = (
        [each for n, each in enumerate(run.evaluations, 1) if n % every == 0 or n == len(run.evaluations)] if every else []
    )
    rows = [["steps", "loss", "exact match", "every scored token"]]
    for step, answer, scored in shown:
        near = [losses[at] for at in losses if at <= step]
        rows.append([f"{step:,}", f"{near[-1]:.4f}" if near else "-", f"{answer:.4f}", f"{scored:.4f}"])
    return aligned(rows, {0, 1, 2, 3}) if shown else []
