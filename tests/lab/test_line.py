"""The production line, as its five users have it: what is made, when it is interrupted, and what becomes of it then.

A killed process, a killed worker, a full disk, Ctrl-C, a second process and another request behave alike for data sets,
labels, interventions, grids of training runs and suites of hidden models, and the folder has the same bytes after all.
"""

from __future__ import annotations

import errno
import importlib.util
import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import tm2tfr
from tests.lab.hidden.cases import hidden
from tm2tfr.base import files
from tm2tfr.base.errors import DatasetError, OutputError
from tm2tfr.lab.datasets.reader import read
from tm2tfr.lab.hidden import suite
from tm2tfr.lab.hidden.disguise import Disguised
from tm2tfr.lab.interventions import pairs
from tm2tfr.lab.line.manifest import JOURNAL, MANIFEST
from tm2tfr.lab.training.grid import read_grid

Progress = Callable[..., None]
SPEC = "name: words\nseed: {seed}\nmachines: [palindromes]\ninputs: {{up to: 3}}\nshard size: 4\n"
GRID = "data: binary-adder\nbits: 2\nregime: [weak, strong]\nseed: [{seed}, 7]\nsteps: 2\nwidth: 16\nbatch: 4\n"


def dataset(folder: Path, seed: int, workers: int, **options: Any) -> object:
    spec = read(SPEC.format(seed=seed), file="spec.yaml")
    return tm2tfr.make_dataset(spec, folder, workers=workers, engine="dense", **options)


def labels(folder: Path, seed: int, workers: int, **options: Any) -> object:
    asked: dict[str, Any] = {"random": 15, "lengths": (0, 5), "shard_size": 4, "engine": "dense"}
    return tm2tfr.make_labels("palindromes", folder, seed=seed, workers=workers, **asked, **options)


def interventions(folder: Path, seed: int, workers: int, **options: Any) -> object:
    return tm2tfr.intervene_many("chapter", 16, words=["1", "11"], seed=seed, folder=folder, **options)


def grid(folder: Path, seed: int, workers: int, **options: Any) -> object:
    text = read_grid(GRID.format(seed=seed), file="grid.yaml")
    return tm2tfr.train_grid(text, folder, workers=workers, **options)


def models(folder: Path, seed: int, workers: int, **options: Any) -> object:
    return suite.make_suite(folder, half_adder, seed=seed, workers=workers, **options)


def half_adder(_member: suite.Member, grade: int, _seed: int) -> Disguised:
    return hidden("half-adder", 1)


class Kind(NamedTuple):
    """Something that is made on the line.

    Args:
        make: (folder, seed, workers, resume, progress) -> the result.
        noun: what messages call it.
        shards: their number.
        pooled: whether it is made by several processes.
        needs: the modules that it needs.
    """

    make: Callable[..., object]
    noun: str
    shards: int
    pooled: bool = True
    needs: tuple[str, ...] = ()


KINDS = {
    "dataset": Kind(dataset, "a data set", 4, needs=("pyarrow",)),
    "labels": Kind(labels, "labels", 4, needs=("pyarrow",)),
    "interventions": Kind(interventions, "interventions", 4, pooled=False),
    "grid": Kind(grid, "training runs", 4, needs=("torch", "safetensors")),
    "suite": Kind(models, "hidden models", 40),
}
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> Iterator[Kind]:
    found = KINDS[request.param]
    if missing := [name for name in found.needs if importlib.util.find_spec(name) is None]:
        pytest.skip(f"{missing[0]} is not installed: pip install 'tm2tfr[torch,dataset]'")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pairs, "SHARD", 4)
        yield found


@pytest.fixture(scope="module")
def whole(kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The folder that nothing has disturbed."""
    folder = tmp_path_factory.mktemp("whole") / "made"
    told: list[tuple[int, ...]] = []
    kind.make(folder, 0, 1, progress=lambda *numbers: told.append(numbers))
    shards = [numbers[:2] for numbers in told if numbers[0]]  # interventions are shown within a shard, too
    assert list(dict.fromkeys(shards)) == [(n, kind.shards) for n in range(1, kind.shards + 1)]
    return contents(folder)


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files; of training runs, which say how long they took, without times and what depends on them."""
    found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    if "grid.json" not in found:
        return found
    for name, data in found.items():
        if name.endswith(".json"):
            found[name] = json.dumps(_timeless(json.loads(data))).encode()
    return found


def _timeless(value: Any) -> Any:
    if isinstance(value, list):
        return [_timeless(item) for item in value]
    if not isinstance(value, dict):
        return value
    timed = ("seconds", "cpu_seconds", *(name for name in value if name.endswith("run.json")))
    return {name: _timeless(item) for name, item in value.items() if name not in timed}


def interrupting(after: int) -> Progress:
    def progress(done: int, *_: int) -> None:
        if done == after:
            raise KeyboardInterrupt

    return progress


def test_an_interrupted_folder_is_resumed(kind: Kind, whole: dict[str, bytes], tmp_path: Path) -> None:
    folder = tmp_path / "made"
    with pytest.raises(KeyboardInterrupt):
        kind.make(folder, 0, 1, progress=interrupting(2))
    assert (folder / JOURNAL).exists()
    assert not (folder / MANIFEST).exists()
    with pytest.raises(
        OutputError, match="made: this folder is not empty: resume it with resume=True, or choose another folder$"
    ):
        kind.make(folder, 0, 1)
    different = f"made: this folder has {kind.noun} made with a? ?different .*: choose another folder$"
    with pytest.raises(DatasetError, match=different):
        kind.make(folder, 1, 1, resume=True)
    *_, last = (folder / JOURNAL).read_text(encoding="utf-8").splitlines()
    damaged = folder / next(iter(json.loads(last)["files"]))
    damaged.write_bytes(b"damaged")
    with (folder / JOURNAL).open("a", encoding="utf-8") as journal:  # a process was killed while it wrote a line
        journal.write('{"shard": 3, "ru')
    if damaged.parent != folder:  # and while it wrote a file
        (damaged.parent / ".tm2tfr-0123456789abcdef.tmp").write_bytes(b"half")
    made: list[int] = []
    kind.make(folder, 0, 1, resume=True, progress=lambda done, *_: made.append(done))
    assert [n for n in dict.fromkeys(made) if n > 1] == list(range(2, kind.shards + 1))
    assert min(made) >= 1  # within a shard, interventions are shown, too
    assert contents(folder) == whole
    made.clear()
    kind.make(folder, 0, 1, resume=True, progress=lambda done, *_: made.append(done))
    assert made == []
    damaged.unlink()
    kind.make(folder, 0, 1, resume=True, progress=lambda done, *_: made.append(done))
    assert (set(made) - {kind.shards - 1}, made[-1]) == ({kind.shards}, kind.shards)
    assert contents(folder) == whole


def test_a_full_disk(kind: Kind, whole: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, written = tmp_path / "made", files._write
    full: list[bool] = []

    def write(path: Path, *arguments: Any) -> None:
        if full and folder in path.parents:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written(path, *arguments)

    monkeypatch.setattr(files, "_write", write)
    with pytest.raises(OutputError, match=r"made/.*: the disk is full: free some space, or choose another place$"):
        kind.make(folder, 0, 1, progress=lambda done, *_: full.append(True) if done == 2 else None)
    full.clear()
    kind.make(folder, 0, 1, resume=True)
    assert contents(folder) == whole


def test_a_worker_that_is_killed(kind: Kind, whole: dict[str, bytes], tmp_path: Path) -> None:
    if not kind.pooled:
        return  # it is made by this process, see the next test
    killed: list[int] = []

    def kill(done: int, *_: int) -> None:
        for child in multiprocessing.active_children()[: not killed]:
            child.kill()
            killed.append(done)

    kind.make(tmp_path / "made", 0, 2, progress=kill)
    assert killed
    assert contents(tmp_path / "made") == whole
    assert multiprocessing.active_children() == []


SCRIPT = """
import sys, time
from pathlib import Path
from tests.lab.test_line import KINDS, pairs

def progress(done, *_):
    if done == 1:
        print("writing", flush=True)
        time.sleep(600)

pairs.SHARD = 4
KINDS[sys.argv[1]].make(Path(sys.argv[2]), 0, 1, progress=progress)
"""


def test_another_process_is_refused_and_may_go_on_once_the_first_is_killed(
    kind: Kind, whole: dict[str, bytes], tmp_path: Path
) -> None:
    pytest.importorskip("fcntl", reason="folders are locked on POSIX systems alone")
    folder, name = tmp_path / "made", next(name for name, known in KINDS.items() if known is kind)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, name, str(folder)], env=environment, stdout=subprocess.PIPE, text=True
    ) as first:
        try:
            assert first.stdout is not None
            assert first.stdout.readline() == "writing\n"
            for resume in (False, True):
                said = "made: another process is writing to this folder: wait until it ends, or choose another folder$"
                with pytest.raises(OutputError, match=said):
                    kind.make(folder, 0, 1, resume=resume)
        finally:
            first.kill()
    kind.make(folder, 0, 1, resume=True)
    assert contents(folder) == whole


def test_resuming_what_is_not_there_begins_it(kind: Kind, whole: dict[str, bytes], tmp_path: Path) -> None:
    kind.make(tmp_path / "made", 0, 1, resume=True)
    assert contents(tmp_path / "made") == whole
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(OutputError, match="other: this folder is not empty: choose another folder$"):
        kind.make(tmp_path / "other", 0, 1)
    with pytest.raises(DatasetError, match="other: this folder has nothing to resume: choose another folder$"):
        kind.make(tmp_path / "other", 0, 1, resume=True)
    with pytest.raises(OutputError, match="thesis.tex: this is not a folder: choose another name$"):
        kind.make(tmp_path / "other" / "thesis.tex", 0, 1)
    with pytest.raises(OutputError, match="there is no folder .*: make it first$"):
        kind.make(tmp_path / "no" / "folder", 0, 1)
