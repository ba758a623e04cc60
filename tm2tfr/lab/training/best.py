"""The best of many runs, as the paper reports them: Table 1, and Figures 3 and 4.

The paper varies the width, the number of training examples and the position encodings, and reports the maximum over all
settings and random trials for each n and regime. A maximum alone hides how often training fails, so the mean over all
runs and their number stand beside it here.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tm2tfr.base.errors import OutputError, TrainingError, counted, first_line, visible
from tm2tfr.base.text.shown import aligned, json_text
from tm2tfr.lab.training.record import REGIMES, RUN, SPEC_FILE, TrainingRun, load_run, run_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

RECORDS = ".jsonl"
"""The ending of a file that has the record of a run in each line."""


@dataclass(frozen=True, eq=False)
class BestOfRuns:
    """The runs of one task.

    Args:
        data: n, of the paper's sums; otherwise the name of the data.
        regime: the regime; of data that has none, what is learned: the form, or a label.
        maximum, mean: of the exact match on unseen inputs.
        base_rate: the largest exact match of the runs that one answer to every input has, see `TrainingRun`; None if no
            record says it.
        best: the first run that has the maximum.
    """

    data: int | str
    regime: str
    runs: int
    maximum: float
    mean: float
    base_rate: float | None
    best: TrainingRun

    @classmethod
    def of(cls, data: int | str, regime: str, runs: Sequence[TrainingRun]) -> BestOfRuns:
        """Return the best of some runs, of which there is one at least."""
        shares = [_share(run) for run in runs]
        base = max((run.base_rate for run in runs if run.base_rate is not None), default=None)
        return cls(data, regime, len(runs), max(shares), float(np.mean(shares)), base, runs[int(np.argmax(shares))])

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        folder = self.best.folder
        kept = {"data": self.data, "regime": self.regime, "runs": self.runs, "maximum": self.maximum, "mean": self.mean}
        return {**kept, "base_rate": self.base_rate, "best": None if folder is None else folder.name}


@dataclass(frozen=True, eq=False)
class TrainedRuns:
    """Finished runs, of one grid or of several; the number of those that are not finished, and are left out."""

    runs: tuple[TrainingRun, ...]
    unfinished: int = 0

    @property
    def best(self) -> list[BestOfRuns]:
        """The best runs of each task, by n and then in the order of the regimes."""
        groups = defaultdict[tuple[int | str, str], list[TrainingRun]](list)
        for run in self.runs:
            groups[_task(run)].append(run)
        return [BestOfRuns.of(*task, groups[task]) for task in sorted(groups, key=_place)]

    def as_dict(self) -> dict[str, object]:
        """Return the best runs as plain data."""
        left_out = {"unfinished": self.unfinished} if self.unfinished else {}
        return {"best": [each.as_dict() for each in self.best], **left_out}

    def json(self) -> str:
        """Return the best runs as JSON."""
        return json_text(self.as_dict())

    def table(self) -> str:
        """Return a line for each task: the maximum, the mean and the number of runs, and the best one's folder."""
        found = self.best
        rows = [["n" if all(isinstance(each.data, int) for each in found) else "data", "regime"]]
        rows[0] += ["runs", "maximum", "mean", "base rate", "best run"]
        for each in found:
            numbers = [f"{each.runs:,}", f"{each.maximum:.4f}", f"{each.mean:.4f}"]
            numbers.append("-" if each.base_rate is None else f"{each.base_rate:.4f}")
            where = "-" if each.best.folder is None else visible(each.best.folder.name)
            rows.append([visible(str(each.data)), visible(each.regime), *numbers, where])
        lines = aligned(rows, {2, 3, 4, 5} | ({0} if rows[0][0] == "n" else set()))
        return "\n".join([*lines, *([f"left out: {counted(self.unfinished, 'unfinished run')}"] * bool(self.unfinished))])


def _share(run: TrainingRun) -> float:
    return run.exact_match or 0.0


def _task(run: TrainingRun) -> tuple[int | str, str]:
    data = run.data
    bits, form = data.get("bits"), str(data.get("regime", data.get("form", "")))
    bits = bits if data.get("regime") in REGIMES and "examples" in data else None  # the paper's sums say all three
    return (bits if isinstance(bits, int) else str(data.get("name", "")), form)


def _place(task: tuple[int | str, str]) -> tuple[bool, int, str, int, str]:
    data, regime = task
    known = list(REGIMES)
    rank = known.index(regime) if regime in REGIMES else len(known)  # type: ignore[arg-type]  # any text may be asked for
    named = isinstance(data, str)
    return named, 0 if isinstance(data, str) else data, data if isinstance(data, str) else "", rank, regime


# ── where runs are kept
def trained_runs(*places: str | Path) -> TrainedRuns:
    """Return the finished runs in the folders of grids or runs, or in files of records, one JSON object per line.

    Runs of the same model, data and options are counted once: grids that vary one option each share a base setting.

    Raises:
        TrainingError: if a place has no finished run, or it cannot be read.
    """
    found: dict[str, TrainingRun] = {}
    unfinished = 0
    for place in map(Path, places):
        runs = list(_runs_in(place))
        if not any(run.finished for run in runs):
            what = "no run here is finished yet" if runs else "there are no training runs here"
            raise TrainingError(f"{place}: {what}: name the folder of a grid that tm2tfr train --grid made")
        for run in runs:
            if run.finished:
                data = {name: value for name, value in run.data.items() if name != SPEC_FILE}
                found.setdefault(json.dumps([run.model, data, run.options], sort_keys=True), run)
        unfinished += sum(not run.finished for run in runs)
    return TrainedRuns(tuple(found.values()), unfinished)


def has_many(place: Path) -> bool:
    """Return whether a place has the runs of a grid, or records, rather than one run."""
    return place.suffix == RECORDS or (not (place / RUN).exists() and any(place.glob(f"*/{RUN}")))


def _runs_in(place: Path) -> Iterator[TrainingRun]:
    if place.suffix == RECORDS and place.is_file():
        try:
            for line in place.read_text(encoding="utf-8").splitlines():
                yield run_of(json.loads(line), None)
        except (OSError, ValueError, KeyError, TypeError) as error:
            what = f"these are not the records of runs ({first_line(error)})"
            raise TrainingError(f"{place}: {what}: use a file of one run.json in each line") from error
    elif (place / RUN).is_file():
        yield load_run(place)
    else:
        yield from (load_run(path.parent) for path in sorted(place.glob(f"*/{RUN}")))


# ── Figures 3 and 4: the maximum by n, for each position encoding, and for each number of training examples
ENCODINGS: Mapping[str, str] = {
    "sinusoidal": "fixed (sinusoidal)",
    "hand-coded": "fixed (hand-coded)",
    "learned": "learned",
}
_COLOURS, _MARKS = ("#1b5e8f", "#c77700", "#2e7d32", "#7b1fa2", "#b3261e"), "osD^v"


def _encoding(run: TrainingRun) -> str:
    positions = str(run.model.get("positions"))
    return ENCODINGS.get(positions, positions) if run.model.get("kind") == "mingpt" else str(run.model.get("kind"))


def _examples(run: TrainingRun) -> str:
    return f"{run.data['examples']:,} examples"


FIGURES: Mapping[str, Callable[[TrainingRun], str]] = {
    "Position encodings (Figure 3)": _encoding,
    "Training examples (Figure 4)": _examples,
}
"""What tells the lines of a figure apart: title -> the value of a run."""


def plot_best(found: TrainedRuns, path: str | Path) -> None:
    """Draw the maximum exact match by n, a panel for each regime: Figure 3 above, Figure 4 below; every run is a dot.

    Raises:
        OutputError: if there are runs on other data than the paper's sums; for another extension, if matplotlib is
            missing, or if the file cannot be written.
    """
    from tm2tfr.lab.softness.report import drawn  # noqa: PLC0415  (a table needs no plots)

    if not all(isinstance(each.data, int) for each in found.best):
        raise OutputError(f"{path}: Figures 3 and 4 are about the sums of n bits: omit runs on other data, or --plot")
    regimes = [regime for regime in REGIMES if any(each.regime == regime for each in found.best)]

    def draw(figure: Figure) -> None:
        rows: Sequence[SubFigure] = figure.subfigures(len(FIGURES), 1)  # type: ignore[assignment]
        for part, (title, value) in zip(rows, FIGURES.items(), strict=True):
            _row(part, title, found.runs, regimes, value)

    drawn(path, draw, size=(max(5.5, 3.1 * len(regimes) + 0.6), 5.6))


def _row(
    part: SubFigure, title: str, runs: Sequence[TrainingRun], regimes: Sequence[str], value: Callable[[TrainingRun], str]
) -> None:
    """Draw a figure of the paper: a panel for each regime, a line for each value."""
    known, bits = list(ENCODINGS.values()), sorted({run.data["bits"] for run in runs})
    values = sorted({value(run) for run in runs}, key=lambda v: (known.index(v) if v in known else 0, len(v), v))
    for panel, regime in zip(part.subplots(1, len(regimes), sharey=True, squeeze=False)[0], regimes, strict=True):
        for number, one in enumerate(values):
            beside = (number - (len(values) - 1) / 2) * 0.015 * max(1, bits[-1] - bits[0])  # equal shares stay in sight
            style: dict[str, Any] = {"color": _COLOURS[number % len(_COLOURS)], "marker": _MARKS[number % len(_MARKS)]}
            _line(panel, [run for run in runs if run.data["regime"] == regime and value(run) == one], beside, one, style)
        panel.set(title=f"{regime} supervision", xlabel="n", ylim=(-0.06, 1.06))
        panel.set_xticks(bits)
        panel.spines[["top", "right"]].set_visible(False)
    part.axes[0].set_ylabel("exact match")
    handles, names = part.axes[0].get_legend_handles_labels()
    part.suptitle(title, fontsize="medium", fontweight="bold")
    part.legend(handles, names, loc="outside lower center", ncols=max(1, len(names)), frameon=False)


def _line(panel: Axes, runs: Iterable[TrainingRun], beside: float, name: str, style: Mapping[str, Any]) -> None:
    """Draw the maximum of some runs by n, and all of them as dots, `beside` the place of n."""
    shares = defaultdict[int, list[float]](list)
    for run in runs:
        shares[run.data["bits"]].append(_share(run))
    for n, some in shares.items():
        panel.plot([n + beside] * len(some), some, ".", color=style["color"], alpha=0.35, markersize=4)
    best = sorted((n + beside, max(some)) for n, some in shares.items())
    panel.plot([at for at, _ in best], [share for _, share in best], label=name, markersize=5, **style)
