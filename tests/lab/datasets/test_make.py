"""Data sets as folders: the same bytes whoever makes them, resumed after an interruption, and read by `datasets`."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import tm2tfr
from tests import readme
from tm2tfr.base.errors import DatasetError, EngineError, OutputError
from tm2tfr.lab.datasets import make as making
from tm2tfr.lab.datasets.machines import spec as machines
from tm2tfr.lab.datasets.machines.prompting import fingerprint
from tm2tfr.lab.datasets.make import dataset_report
from tm2tfr.lab.datasets.reader import read
from tm2tfr.lab.datasets.shard import Failure
from tm2tfr.sources.turing.library import load, shipped_text

pytest.importorskip("pyarrow", reason="PyArrow is not installed: pip install 'tm2tfr[dataset]'")
NO_DASK = "Dask is not installed: pip install 'tm2tfr[cluster]'"
with_dask = pytest.mark.skipif(find_spec("distributed") is None, reason=NO_DASK)

SPEC = """\
name: mixed
seed: 3
machines:
  named: [palindromes]
  random: {states: 2, symbols: 3, count: 4}
inputs:
  words: ['']
max steps: 60
shard size: 2
"""
PALINDROMES = """\
name: words
seed: 3
machines: [palindromes]
inputs: {up to: 4, random: {count: 60, length: 5 to 9}}
splits: {train: 0.6, validation: 0.2, test: 0.2}
shard size: 20
"""


def contents(folder: Path) -> dict[str, str]:
    """Return the digest of every file of a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("words") / "data"
    making.make(read(PALINDROMES, file="spec.yaml"), folder, workers=1)
    return folder


def document(folder: Path) -> Any:
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


def parsed(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def lines(folder: Path, split: str) -> list[dict[str, Any]]:
    return [line for path in sorted((folder / split).glob("*.jsonl")) for line in parsed(path)]


# ── what is there ───────────────────────────────────────────────────────────────────────────────────────────
def test_the_manifest_says_what_is_there(words: Path) -> None:
    found = document(words)
    files = {name: entry for shard in found["made"] for name, entry in shard["files"].items()}
    there = contents(words)
    assert {name: entry["sha256"] for name, entry in files.items()} == {k: v for k, v in there.items() if "/" in k}
    assert set(there) - set(files) == {"README.md", "machines.jsonl", "manifest.json"}
    assert all((words / name).stat().st_size == entry["bytes"] for name, entry in files.items())
    assert found["machines_sha256"] == there["machines.jsonl"]
    assert found["spec_sha256"] == hashlib.sha256(PALINDROMES.encode()).hexdigest()
    assert (found["spec"], found["seed"], found["shards"]) == (PALINDROMES, 3, 5)
    assert set(found["versions"]) >= {"tm2tfr", "python", "numpy", "pyarrow"}
    counts = {split: len(lines(words, split)) for split in ("train", "validation", "test")}
    assert {split: sum(forms.values()) for split, forms in found["examples"].items()} == counts
    assert sum(counts.values()) == 3 * found["counts"]["runs"] == 3 * 91
    assert found["counts"]["rows"] == sum(len(e["input"]) + 1 + len(e["target"]) - 1 for e in every(words))
    assert found["counts"]["cells"] == 7 * found["counts"]["rows"]


def every(folder: Path) -> Iterator[dict[str, Any]]:
    for split in ("train", "validation", "test"):
        yield from (e for e in lines(folder, split) if e["form"] == "steps scored")


def test_no_run_is_in_two_splits(words: Path) -> None:
    splits = {split: {(e["machine"], e["input"]) for e in lines(words, split)} for split in ("train", "validation", "test")}
    assert all(len(runs) > 8 for runs in splits.values())
    assert len(set.union(*splits.values())) == sum(map(len, splits.values())) == 91


@pytest.mark.slow
def test_a_machine_that_is_there_twice_goes_the_same_way(tmp_path: Path) -> None:
    text = shipped_text("palindromes")
    (tmp_path / "copy.yaml").write_text(text.replace("name: palindromes", "name: copy"), encoding="utf-8")
    spec = read(PALINDROMES.replace("[palindromes]", "[palindromes, copy.yaml]"), file="s.yaml", folder=tmp_path)
    making.make(spec, tmp_path / "data", workers=1)
    ways = {(e["machine"], e["input"]): split for split in ("train", "test") for e in lines(tmp_path / "data", split)}
    assert len(ways) > 100
    assert all(ways[("copy", word)] == split for (name, word), split in ways.items() if name == "palindromes")


@pytest.mark.slow
@pytest.mark.parametrize(("by", "column"), [("machine", "machine"), ("input", "input")])
def test_splits_by_machine_and_by_input(by: str, column: str, tmp_path: Path) -> None:
    text = (
        f"machines: {{random: {{states: 1, symbols: 3, count: 30}}}}\ninputs: {{up to: 3}}\nsplit by: {by}\nmax steps: 20"
    )
    making.make(read(text, file="spec.yaml"), tmp_path / "data", workers=1)
    seen = [{e[column] for e in lines(tmp_path / "data", split)} for split in ("train", "test")]
    assert all(seen)
    assert not seen[0] & seen[1]


def test_every_machine_is_told_with_its_vocabulary(tmp_path: Path) -> None:
    spec = read(SPEC, file="spec.yaml")
    making.make(spec, tmp_path / "data", workers=1)
    told = parsed(tmp_path / "data" / "machines.jsonl")
    machines = [machine for some in spec.machines for machine in some]
    assert [line["machine"] for line in told] == [machine.name for machine in machines]
    for line, machine in zip(told, machines, strict=True):
        assert fingerprint(tm2tfr.Machine.from_yaml(line["yaml"])) == fingerprint(machine)
        assert line["vocabulary"] == list(tm2tfr.compile(machine).vocabulary)


@pytest.mark.slow
def test_datasets_loads_a_folder_as_it_is(words: Path, tmp_path: Path) -> None:
    pytest.importorskip("datasets", reason="datasets is not installed: pip install datasets")
    script = (
        "import json, sys, datasets\n"
        "datasets.disable_progress_bars()\n"
        "files = {split: f'{sys.argv[1]}/{split}/*.jsonl' for split in ('train', 'validation', 'test')}\n"
        "for found in (datasets.load_dataset(sys.argv[1]), datasets.load_dataset('json', data_files=files)):\n"
        "    print(json.dumps({split: found[split].to_list() for split in found}))\n"
        "print(json.dumps(datasets.load_dataset(sys.argv[2], split='rest').to_list()))\n"
    )
    spec = read("machines: [palindromes]\ninputs: {up to: 3}\nsplits: {rest: 1}\nformats: jsonl", file="spec.yaml")
    making.make(spec, tmp_path / "plain", workers=1)
    env = {**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script, words, tmp_path / "plain"],
        env=env,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    parquet, plain, alone = map(json.loads, done.stdout.splitlines())
    assert parquet == plain == {split: lines(words, split) for split in ("train", "validation", "test")}
    assert alone == lines(tmp_path / "plain", "rest")


def test_a_split_without_an_example_is_told_of(tmp_path: Path) -> None:
    spec = "machines: [chapter]\ninputs: [1, 11]\nsupervision: answer\nsplits: {few: 0, all: 1}"
    found = making.make(read(spec, file="spec.yaml"), tmp_path / "made", workers=1)
    assert found.examples == {"few": {}, "all": {"answer": 2}}
    assert dataset_report(found).splitlines()[1:3] == ["few: no examples", "all: 2 examples (answer)"]
    assert "split: few" not in (tmp_path / "made" / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_python_of_the_documentation(tmp_path: Path) -> None:
    pytest.importorskip("datasets", reason="datasets is not installed: pip install datasets")
    text = (readme.ROOT / "docs" / "how-to" / "datasets.md").read_text(encoding="utf-8")
    commands = [command for block in readme.BLOCK.findall(text) for command, _ in readme.shown(block)]
    readme.run(commands[0], tmp_path)
    (script,) = re.findall(r"^```py\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    env = {**os.environ, "HF_HOME": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    script += "\nprint({split: len(data[split]) for split in data}, len(strong), {min(e['loss_mask']) for e in strong})"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=env, capture_output=True, encoding="utf-8", check=False
    )
    assert (done.returncode, done.stdout) == (0, "{'train': 4893, 'validation': 543, 'test': 597} 1631 {1}\n"), done.stderr


def test_runs_that_do_not_end_are_counted_and_left_out(tmp_path: Path) -> None:
    text = "machines: [chapter, never-halts]\ninputs: [1]\nmax steps: 9\nshard size: 1\nsplits: {all: 1}\nformats: jsonl"
    found = making.make(read(text, file="spec.yaml"), tmp_path / "data", workers=1)
    assert (found.left_out, found.examples) == (1, {"all": {"answer": 1, "steps shown": 1, "steps scored": 1}})
    assert "left out: 1 run that did not end within the limit" in dataset_report(found).splitlines()
    assert document(tmp_path / "data")["counts"]["left_out"] == 1
    assert {e["machine"] for e in lines(tmp_path / "data", "all")} == {"chapter"}
    again = making.make(read(text, file="spec.yaml"), tmp_path / "data", workers=1, resume=True)
    assert (again.reused, again.left_out) == (2, 1)


def test_the_card_says_how_many_examples_there_are_and_where(words: Path) -> None:
    text, counts = (words / "README.md").read_text(encoding="utf-8"), document(words)["examples"]
    for split in ("train", "validation", "test"):
        assert f'  - split: {split}\n    path: "{split}/*.parquet"\n' in text
        assert f"| {split} | {sum(counts[split].values())} |" in text
    assert text.endswith("`datasets.load_dataset` reads the parquet files of this folder.\n")


# ── the same bytes ──────────────────────────────────────────────────────────────────────────────────────────


def cluster_script(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "dask", *arguments]


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Yield the address of a scheduler and its worker processes, which are not restarted when they die."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    told, started = folder / "scheduler.json", list[subprocess.Popen[bytes]]()
    local = ("--host", "127.0.0.1", "--no-dashboard")
    try:
        arguments = ("scheduler", *local, "--port", "0", "--scheduler-file", str(told))
        started.append(subprocess.Popen(cluster_script(*arguments), **quiet))  # type: ignore[call-overload]
        deadline = time.monotonic() + 60
        while not told.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        address = json.loads(told.read_text(encoding="utf-8"))["address"]
        for _ in range(workers):
            arguments = ("worker", address, *local, "--nthreads", "1", "--no-nanny", "--memory-limit", "0")
            started.append(subprocess.Popen(cluster_script(*arguments), **quiet))  # type: ignore[call-overload]
        yield address, started[1:]
    finally:
        for process in started:
            process.kill()
            process.wait()


@pytest.mark.slow
@with_dask
@pytest.mark.filterwarnings("ignore")
def test_a_worker_of_a_cluster_that_is_killed_loses_nothing(words: Path, tmp_path: Path) -> None:
    killed: list[int] = []
    with cluster(tmp_path, workers=2) as (address, processes):
        from distributed import Client

        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)

        def kill(done: int, shards: int, rows: int) -> None:
            if not killed:
                processes[0].send_signal(signal.SIGKILL)
                killed.append(done)

        found = making.make(read(PALINDROMES, file="spec.yaml"), tmp_path / "data", scheduler=address, progress=kill)
        assert [process.poll() is None for process in processes] == [False, True]
    assert killed == [1]
    assert (found.failure, found.shards) == (None, 5)
    assert contents(tmp_path / "data") == contents(words)


@pytest.mark.slow
@with_dask
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_that_has_no_workers_is_not_waited_for_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tm2tfr.lab.line import pool

    monkeypatch.setattr(pool, "PATIENCE", 3.0)  # to reach the scheduler takes a part of a second
    with (
        cluster(tmp_path, workers=0) as (address, _),
        pytest.raises(DatasetError, match="has had no worker for 3 seconds: start some with: dask worker ADDRESS"),
    ):
        making.make(read(PALINDROMES, file="spec.yaml"), tmp_path / "data", scheduler=address)


@pytest.mark.slow
@with_dask
@pytest.mark.filterwarnings("ignore")
def test_a_scheduler_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tm2tfr.lab.line import pool

    monkeypatch.setattr(pool, "PATIENCE", 1.0)
    with pytest.raises(DatasetError, match="tcp://127.0.0.1:1: this scheduler cannot be reached .*: use the address that"):
        making.make(read(PALINDROMES, file="spec.yaml"), tmp_path / "data", scheduler="tcp://127.0.0.1:1")
    assert not (tmp_path / "data").exists()


# ── going on ────────────────────────────────────────────────────────────────────────────────────────────────
def cut_short(folder: Path, after: int) -> None:
    """Begin a data set and stop after some shards, as Ctrl-C or a crash would."""

    def stop(done: int, shards: int, rows: int) -> None:
        if done == after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        making.make(read(PALINDROMES, file="spec.yaml"), folder, workers=1, progress=stop)
    assert not (folder / "manifest.json").exists()


@pytest.mark.parametrize("linked", ["train", "train/00001-of-00005.parquet", "manifest.json.part", "README.md"])
def test_resume_does_not_follow_a_link_out_of_its_folder(linked: str, tmp_path: Path) -> None:
    folder, outside = tmp_path / "data", tmp_path / "outside"
    cut_short(folder, after=3)
    path = folder / linked
    if path.exists():
        path.rename(outside)
    else:
        outside.write_text("mine", encoding="utf-8")
    path.symlink_to(outside)
    before = contents(outside) if outside.is_dir() else {"": outside.read_bytes()}
    what = rf"data/{linked}: this is a symbolic link, and files are written within their own folder alone: remove it, or"
    with pytest.raises(OutputError, match=what):
        making.make(read(PALINDROMES, file="spec.yaml"), folder, workers=1, resume=True)
    assert (contents(outside) if outside.is_dir() else {"": outside.read_bytes()}) == before


def test_resume_refuses_another_engine(tmp_path: Path) -> None:
    spec = read("machines: [chapter]\ninputs: [1]\nformats: jsonl", file="spec.yaml")
    making.make(spec, tmp_path / "data", workers=1, engine="dense")
    with pytest.raises(
        DatasetError, match=r"has a data set made with a different engine \(dense, now exact\): choose another"
    ):
        making.make(spec, tmp_path / "data", workers=1, engine="exact", resume=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("circuits: mine.bench", "circuits, or a circuit's file that has"),
        ("program: mine.rasp", "program, or a program's file that has"),
        ("formula: mine.tl", "formula, or a formula's file that has"),
    ],
)
def test_resume_refuses_a_source_whose_file_has_changed(text: str, said: str, tmp_path: Path) -> None:
    path, spec = tmp_path / text.split(": ")[1], f"{text}\ninputs: ['01']\nformats: jsonl\nsplits: {{all: 1}}"
    texts = {
        ".bench": "INPUT(a)\nINPUT(b)\nOUTPUT(c)\nc = {}(a, b)\n",
        ".rasp": "# alphabet: 01\nx = indices == {};\n",
        ".tl": "# alphabet: 01\n{} Q[1]\n",
    }
    one, two = {".bench": ("AND", "OR"), ".rasp": ("0", "1"), ".tl": ("once", "historically")}[path.suffix]
    path.write_text(texts[path.suffix].format(one), encoding="utf-8")
    making.make(read(spec, file="spec.yaml", folder=tmp_path), tmp_path / "data", workers=1)
    path.write_text(texts[path.suffix].format(two), encoding="utf-8")
    with pytest.raises(DatasetError, match=f"made with (a )?different {said} changed: choose"):
        making.make(read(spec, file="spec.yaml", folder=tmp_path), tmp_path / "data", workers=1, resume=True)


def test_resume_refuses_other_versions_and_a_changed_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cut_short(tmp_path / "data", after=1)
    spec = read(PALINDROMES, file="spec.yaml")
    with monkeypatch.context() as patched:
        patched.setattr(making, "versions", lambda: {"tm2tfr": "0.0.1"})
        with pytest.raises(DatasetError, match=r"made with different versions \(tm2tfr 0\.\d+\.\d+, now 0\.0\.1, "):
            making.make(spec, tmp_path / "data", workers=1, resume=True)
    monkeypatch.setattr(machines, "vocabulary", lambda *_: ("changed",))
    with pytest.raises(DatasetError, match="made with different machines, or a machine file that has changed: choose"):
        making.make(spec, tmp_path / "data", workers=1, resume=True)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"made": [{}]}', '{"made": [{"shard": 0}]}', "\0"])
def test_a_manifest_that_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(text, encoding="utf-8")
    with pytest.raises(DatasetError, match="the manifest here cannot be read|made with another format"):
        making.make(read(PALINDROMES, file="spec.yaml"), tmp_path, workers=1, resume=True)


def test_workers_of_other_versions_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tm2tfr.lab.line.folder.versions", lambda: {**making.versions(), "numpy": "1.0"})
    with pytest.raises(
        DatasetError, match=r"a worker has different versions \(numpy .*, here 1\.0\): install the same versions"
    ):
        making.make(read(PALINDROMES, file="spec.yaml"), tmp_path / "data", workers=1)


# ── what is wrong is not in the data ────────────────────────────────────────────────────────────────────────
def test_a_divergence_ends_it_all_and_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tm2tfr.lab.datasets.machines import runs

    honest = runs.Runs.on

    def lying(self: runs.Runs, word: str) -> runs.CheckedRuns | Failure:
        return Failure(self.machine, word, "position 4: h is wrong") if word == "bbbb" else honest(self, word)

    monkeypatch.setattr(runs.Runs, "on", lying)
    found = making.make(read(PALINDROMES, file="spec.yaml"), tmp_path / "data", workers=1)
    assert found.failure == Failure(load("palindromes"), "bbbb", "position 4: h is wrong")
    assert not (tmp_path / "data" / "manifest.json").exists()
    assert "bbbb" not in {e["input"] for e in lines(tmp_path / "data", "train")}
    monkeypatch.undo()
    making.make(read(PALINDROMES, file="spec.yaml"), tmp_path / "data", workers=1, resume=True)
    assert len(list(every(tmp_path / "data"))) == 91


# ── extras that are missing ─────────────────────────────────────────────────────────────────────────────────
def test_extras_are_named_when_they_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = read(PALINDROMES, file="spec.yaml")
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "distributed", None)
        with pytest.raises(DatasetError, match=r"a cluster needs Dask \(.*\): .*'tm2tfr\[cluster\]', or omit scheduler"):
            making.make(spec, tmp_path / "two", scheduler="tcp://127.0.0.1:1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DatasetError, match=r"Parquet needs PyArrow \(.*\): .*'tm2tfr\[dataset\]', or remove parquet"):
        making.make(spec, tmp_path / "three", workers=1)
    plain = read(f"{PALINDROMES}formats: jsonl\n", file="spec.yaml")
    assert making.make(plain, tmp_path / "four", workers=1).tally.runs == 91


@pytest.mark.slow
def test_nothing_optional_is_loaded_before_it_is_needed() -> None:
    loaded = "print([n for n in ('numba', 'dask', 'distributed', 'pyarrow') if n in sys.modules])"
    script = f"import sys\nimport tm2tfr.lab.datasets.make, tm2tfr.lab.datasets.make\n{loaded}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout == "[]\n"


@pytest.mark.slow
def test_without_numba_the_dense_engine_makes_the_same_data(
    words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tm2tfr.runs import choose

    monkeypatch.setattr(choose, "available", lambda: False)
    making.make(read(PALINDROMES, file="spec.yaml"), tmp_path / "data", workers=1)
    with pytest.raises(EngineError, match=r"the fast engine needs Numba: install it with: pip install 'tm2tfr\[fast\]'"):
        making.make(read(PALINDROMES, file="spec.yaml"), tmp_path / "other", workers=1, engine="fast")
    assert document(tmp_path / "data")["engine"] == "dense"
    same = {name: digest for name, digest in contents(words).items() if name != "manifest.json"}
    assert {name: digest for name, digest in contents(tmp_path / "data").items() if name != "manifest.json"} == same
