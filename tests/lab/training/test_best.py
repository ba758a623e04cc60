"""The best of many runs: maximum, mean and number for each n and regime, and Figures 3 and 4."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_commands import failed, tm2tfr
from tm2tfr.base.errors import OutputError, TrainingError
from tm2tfr.lab.training.best import TrainedRuns, plot_best, trained_runs
from tm2tfr.lab.training.record import INTERRUPTED, ModelOptions, TrainingOptions, TrainingRun, plain


def run(bits: int = 8, regime: str = "weak", share: float | None = 0.5, **told: Any) -> TrainingRun:
    """A run that nobody made."""
    positions, examples = told.get("positions", "learned"), told.get("examples", 1000)
    return TrainingRun(
        model=plain(ModelOptions(positions=positions)),
        data={"task": "binary-adder", "name": "sums", "bits": bits, "regime": regime, "examples": examples},
        options=plain(TrainingOptions(seed=told.get("seed", 0))),
        versions={},
        parameters=1,
        trained=1,
        losses=(),
        evaluations=(),
        exact_match=share,
        every_token=share,
        steps=1,
        ended=INTERRUPTED if share is None else "all steps",
        base_rate=told.get("base_rate"),
        folder=told.get("folder"),
    )


def written(folder: Path, *runs: TrainingRun) -> Path:
    """A grid's folder with these runs."""
    for number, each in enumerate(runs):
        (folder / f"run-{number}").mkdir(parents=True)
        replace(each, folder=folder / f"run-{number}").write()
    return folder


def test_the_maximum_stands_beside_the_mean_and_the_number() -> None:
    found = TrainedRuns(
        (run(16, "strong", 0.25), run(8), run(8, share=1.0, folder=Path("b"), base_rate=0.125), run(16, "weak", 0), run(8))
    )
    assert [(each.data, each.regime, each.runs, each.maximum) for each in found.best] == [
        (8, "weak", 3, 1.0),
        (16, "weak", 1, 0),
        (16, "strong", 1, 0.25),
    ]
    assert found.best[0].mean == pytest.approx(2 / 3)
    assert found.table().split("\n") == [
        " n  regime  runs  maximum    mean  base rate  best run",
        " 8  weak       3   1.0000  0.6667     0.1250  b",
        "16  weak       1   0.0000  0.0000          -  -",
        "16  strong     1   0.2500  0.2500          -  -",
    ]
    other = replace(run(), data={"name": "palindromes", "form": "answer"})
    assert TrainedRuns((other, run())).table().split("\n")[1:] == [
        "8            weak       1   0.5000  0.5000          -  -",
        "palindromes  answer     1   0.5000  0.5000          -  -",
    ]


def test_runs_come_from_grids_and_from_files_of_records(tmp_path: Path) -> None:
    one = written(tmp_path / "one", run(), run(seed=1), run(seed=2, share=None))
    two = written(tmp_path / "two", run(share=0.7), run(16))  # the first is a run of the other grid, too
    found = trained_runs(one, two)
    assert [(each.data["bits"], each.options["seed"], each.exact_match) for each in found.runs] == [
        (8, 0, 0.5),
        (8, 1, 0.5),
        (16, 0, 0.5),
    ]
    assert found.table().endswith("\nleft out: 1 unfinished run")
    assert found.as_dict()["unfinished"] == 1
    lines = [json.dumps(each.as_dict()) + "\n" for each in found.runs]
    (tmp_path / "all.jsonl").write_text("".join(lines), encoding="utf-8")
    assert [each.same() for each in trained_runs(tmp_path / "all.jsonl").runs] == [each.same() for each in found.runs]
    assert len(trained_runs(one / "run-0").runs) == 1
    with pytest.raises(TrainingError, match="no run here is finished yet: name the folder of a grid"):
        trained_runs(one, one / "run-2")
    with pytest.raises(TrainingError, match="there are no training runs here: name the folder of a grid"):
        trained_runs(tmp_path / "nothing")
    (tmp_path / "all.jsonl").write_text("{}\n", encoding="utf-8")
    with pytest.raises(
        TrainingError, match=r"these are not the records of runs \(.*\): use a file of one run.json in each"
    ):
        trained_runs(tmp_path / "all.jsonl")


@pytest.mark.parametrize(("name", "value"), [("data", []), ("model", None), ("options", 1), ("exact_match", "a")])
def test_a_damaged_record_is_refused(name: str, value: object, tmp_path: Path) -> None:
    record = run(3, "weak", 0.5).as_dict()
    (tmp_path / "all.jsonl").write_text(json.dumps(record | {name: value}) + "\n", encoding="utf-8")
    with pytest.raises(TrainingError, match="these are not the records of runs"):
        trained_runs(tmp_path / "all.jsonl")


def test_a_record_without_the_number_of_examples_is_not_drawn(tmp_path: Path) -> None:
    record: Any = run(3, "weak", 0.5).as_dict()
    record["data"] = {name: value for name, value in record["data"].items() if name != "examples"}
    (tmp_path / "all.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    with pytest.raises(OutputError, match="Figures 3 and 4 are about the sums of n bits"):
        plot_best(trained_runs(tmp_path / "all.jsonl"), tmp_path / "f.svg")


@pytest.mark.slow
def test_figures_3_and_4_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'tm2tfr[plot]'")
    runs = [run(8, "weak", 0.5), run(16, "strong", 1.0, positions="sinusoidal", examples=10_000)]
    plot_best(TrainedRuns((*runs, run(16, "weak", positions="hand-coded"))), tmp_path / "both.svg")
    text = (tmp_path / "both.svg").read_text(encoding="utf-8")
    words = ("fixed (sinusoidal)", "fixed (hand-coded)", "learned", "1,000 examples", "10,000 examples")
    for word in (*words, "weak supervision", "strong supervision"):
        assert f"<!-- {word} -->" in text
    assert "<!-- medium supervision -->" not in text
    with pytest.raises(OutputError, match="Figures 3 and 4 are about the sums of n bits: omit runs on other data"):
        plot_best(TrainedRuns((replace(run(), data={"name": "palindromes", "form": "answer"}),)), tmp_path / "none.svg")


@pytest.mark.slow
def test_the_command_compares_the_runs_of_grids(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'tm2tfr[plot]'")
    for name, bits in (("one", 8), ("two", 16)):
        written(tmp_path / name, run(bits), run(bits, seed=1, share=1.0))
    done = tm2tfr("compare", "one", "two", "--plot", "best.svg", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "wrote best.svg\n")
    assert [line.split()[:5] for line in done.stdout.split("\n")[1:3]] == [
        ["8", "weak", "2", "1.0000", "0.7500"],
        ["16", "weak", "2", "1.0000", "0.7500"],
    ]
    assert (tmp_path / "best.svg").read_text(encoding="utf-8").startswith("<?xml")
    message = failed(2, tm2tfr("compare", "one", "two", "--inputs", "3", cwd=tmp_path))
    assert message == "tm2tfr compare: --inputs is about the attention of one run: omit it, or name one run\n"
