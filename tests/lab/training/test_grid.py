"""Grids: every combination is a run, resumable, and the same wherever it is trained."""

from __future__ import annotations

import json
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tm2tfr
from tm2tfr.base.errors import SpecError, TrainingError
from tm2tfr.lab.training.grid import load_grid, read_grid

GRID = "data: binary-adder\nbits: 2\nregime: [weak, strong]\nseed: [0, 1]\nsteps: 20\nwidth: 16\nbatch: 4\n"


def test_every_combination_is_a_run() -> None:
    grid = read_grid(GRID, file="grid.yaml")
    assert grid.varied == ("regime", "seed")
    assert [run.name for run in grid.runs] == [
        "regime-weak_seed-0",
        "regime-weak_seed-1",
        "regime-strong_seed-0",
        "regime-strong_seed-1",
    ]
    last = grid.runs[-1]
    assert (last.task.bits, last.task.regime, last.model.width) == (2, "strong", 16)
    assert (last.options.seed, last.options.steps, last.options.batch) == (1, 20, 4)
    numbers = read_grid("data: x\nlr: [1e-3, 0.003]\nweight decay: 0\ntest examples: [1]\n", file="g.yaml")
    assert [run.options.lr for run in numbers.runs] == [0.001, 0.003]
    assert pickle.loads(pickle.dumps(grid)) == grid, "workers get it in this form"
    where = read_grid("data: x\ndevice: [cpu, cuda]\nthreads: 2\n", file="g.yaml")
    assert [(run.options.device, run.options.threads) for run in where.runs] == [("cpu", 2), ("cuda", 2)]


def test_specs_are_looked_for_beside_the_grid(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").touch()
    (tmp_path / "g.yaml").write_text("data: [mine.yaml, palindromes]\n", encoding="utf-8")
    grid = load_grid(tmp_path / "g.yaml")
    assert [run.task.spec for run in grid.runs] == [tmp_path / "mine.yaml", "palindromes"]
    assert [run.name for run in grid.runs] == ["data-mine.yaml", "data-palindromes"]


COMPLAINTS = [
    ("", "g.yaml: the document is empty: a grid has options with lists of values, such as 'seed: [0, 1, 2]'"),
    ("seed: 0\n", "g.yaml: there is nothing to train on: add for example 'data: binary-adder'"),
    ("data: x\nseeds: 0\n", "g.yaml:2:1: unknown key 'seeds' in a grid (did you mean 'seed'?): use the keys data, regime"),
    ("data: x\nseed: one\n", "g.yaml:2:7: seed is 'one', not a whole number: write it with digits"),
    ("data: x\nlr: [fast]\n", "g.yaml:2:6: lr is 'fast', not a number: write it with digits"),
    ("data: x\nseed:\n", "g.yaml:2:1: nothing follows 'seed': write a value, or a list of values in brackets"),
    ("data: x\nseed: [1, 1]\n", "g.yaml:2:11: the value '1' of seed is given a second time"),
    (f"data: x\nseed: {list(range(10_001))}\n", "g.yaml: these are 10,001 runs, and at most 10,000 are possible"),
]


@pytest.mark.parametrize(("text", "said"), COMPLAINTS)
def test_every_complaint_says_where(text: str, said: str) -> None:
    with pytest.raises(SpecError) as found:
        read_grid(text, file="g.yaml")
    assert str(found.value).startswith(said)


def test_options_are_checked_before_anything_is_trained() -> None:
    with pytest.raises(TrainingError, match="unknown positions 'sines'"):
        read_grid("data: x\npositions: sines\n", file="g.yaml")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_trains_the_same_runs(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'tm2tfr[torch]'")
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'tm2tfr[cluster]'")
    (tmp_path / "g.yaml").write_text(GRID.replace("seed: [0, 1]", "seed: 0"), encoding="utf-8")
    one = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "protocol": "tcp", "dashboard_address": None}
    with distributed.LocalCluster(**one) as cluster:
        address = cluster.scheduler_address
        found = tm2tfr.train_grid(tmp_path / "g.yaml", tmp_path / "cluster", scheduler=address)
    alone = tm2tfr.train_grid(tmp_path / "g.yaml", tmp_path / "alone", workers=1)
    assert [run.same() for run in found.runs] == [run.same() for run in alone.runs]
    assert [run.data["regime"] for run in found.runs] == ["weak", "strong"]


@pytest.mark.slow
def test_runs_are_those_that_are_trained_alone(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'tm2tfr[torch]'")
    (tmp_path / "g.yaml").write_text(GRID, encoding="utf-8")
    found = tm2tfr.train_grid(tmp_path / "g.yaml", tmp_path / "runs", workers=1)
    grid = load_grid(tmp_path / "g.yaml")
    for asked, run in zip(grid.runs, found.runs, strict=True):
        alone = tm2tfr.train("binary-adder", bits=2, regime=asked.task.regime, model=asked.model, options=asked.options)
        kept = {key: value for key, value in run.same().items() if key != "weights_sha256"}
        assert kept == {key: value for key, value in alone.same().items() if key != "weights_sha256"}
        assert sorted(each.name for each in (tmp_path / "runs" / asked.name).iterdir()) == [
            "run.json",
            "weights.safetensors",
        ]
    table = json.loads((tmp_path / "runs" / "grid.json").read_text(encoding="utf-8"))
    assert [row["folder"] for row in table["runs"]] == [run.name for run in grid.runs]
    lines = found.table().split("\n")
    titles = "regime seed exact match base rate every scored token loss steps CPU s"
    assert lines[0].split() == titles.split()
    assert [line.split()[:2] for line in lines[1:5]] == [[r, s] for r in ("weak", "strong") for s in "01"]
    assert [line.split()[:3] for line in lines[5:]] == [
        [],
        ["n", "regime", "runs"],
        ["2", "weak", "2"],
        ["2", "strong", "2"],
    ]
    weak, strong = table["best"]
    assert (weak["data"], weak["regime"], weak["runs"], strong["regime"]) == (2, "weak", 2, "strong")
    assert weak["maximum"] == max(run.exact_match for run in found.runs[:2])


KILLED = """
import os, signal, sys
import tm2tfr
from tm2tfr.lab.training import loop

saved, times = loop._saved, iter(range(3))

def killed(run, state):
    saved(run, state)
    if next(times) == 2:
        os.kill(os.getpid(), signal.SIGKILL)

loop._saved = killed
tm2tfr.train_grid(sys.argv[1], sys.argv[2], workers=1)
"""


@pytest.mark.slow
def test_a_killed_grid_goes_on_inside_its_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second checkpoint of the second of four runs is the last that its process does."""
    loop: Any = pytest.importorskip("tm2tfr.lab.training.loop", reason="PyTorch is not installed", exc_type=ImportError)
    grid, folder = tmp_path / "g.yaml", tmp_path / "killed"
    grid.write_text(f"{GRID}evaluate every: 8\ndropout: 0.1\n", encoding="utf-8")
    whole = tm2tfr.train_grid(grid, tmp_path / "whole", workers=1)
    code = subprocess.run([sys.executable, "-c", KILLED, str(grid), str(folder)], check=False).returncode
    assert code == -signal.SIGKILL
    assert sorted(path.parent.name for path in folder.glob("*/checkpoint.safetensors")) == ["regime-weak_seed-1"]
    stepped, steps = loop._stepped, list[int]()

    def counted(state: Any, *batch: Any) -> float:
        steps.append(state.step)
        loss: float = stepped(state, *batch)
        return loss

    monkeypatch.setattr(loop, "_stepped", counted)
    found = tm2tfr.train_grid(grid, folder, workers=1, resume=True)
    assert steps == [*range(8, 20), *range(20), *range(20)], "the first run and 8 steps of the second were kept"
    assert [run.same() for run in found.runs] == [run.same() for run in whole.runs]
    assert not list(folder.glob("*/checkpoint.safetensors"))


ORPHANED = """
import sys, tm2tfr
if __name__ == "__main__":
    tm2tfr.train_grid(sys.argv[1], sys.argv[2], workers=2)
"""


@pytest.mark.slow
def test_workers_end_with_the_process_that_was_killed(tmp_path: Path) -> None:
    """They would go on for hours, in folders that are another process's once the grid is resumed."""
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'tm2tfr[torch]'")
    (tmp_path / "g.yaml").write_text(f"{GRID.replace('20', '1000000')}lr: 0\n", encoding="utf-8")
    (tmp_path / "made.py").write_text(ORPHANED, encoding="utf-8")
    line = [sys.executable, str(tmp_path / "made.py"), str(tmp_path / "g.yaml"), str(tmp_path / "runs")]
    with subprocess.Popen(line, stdout=subprocess.PIPE) as process:
        waited(lambda: len(list((tmp_path / "runs").glob("*/run.json"))) == 2)
        process.kill()
        process.communicate(timeout=120)  # the end of this pipe is the end of all that have inherited it


def waited(asked: Callable[[], object], seconds: float = 120) -> object:
    """Ask until the answer is true."""
    end = time.monotonic() + seconds
    while not (answer := asked()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return answer
