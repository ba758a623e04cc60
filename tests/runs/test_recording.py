"""Long runs on disk: checkpoints that are whole or not there, rows in a file, runs that are killed and go on."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tm2tfr as api
from tm2tfr.base.errors import CheckpointError, EngineError, Interrupted, OutputError
from tm2tfr.cli.progress import hearing
from tm2tfr.runs import recording
from tm2tfr.runs.comparison import Trace
from tm2tfr.runs.long_run import LongRun
from tm2tfr.runs.plan import RunOptions
from tm2tfr.runs.recording import About, in_blocks, load, save, weights_digest
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load as machine_called
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.tables.stream import RowWriter
from tm2tfr.transformer.weights import Decoder

ROOT = Path(__file__).parents[2]
BEAVER = machine_called("busy-beaver-5")
DECODER = compile_machine(BEAVER)


def carry_out(decoder: Decoder, word: str, *, machine: Machine | None, max_steps: int | None = None, **files: Any) -> Trace:
    """A run in blocks, without a limit unless one is given."""
    return in_blocks(decoder, word, machine, RunOptions(max_steps=max_steps, **files))


def command(*arguments: str, cwd: Path) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-m", "tm2tfr", *arguments], cwd=cwd, env=env, encoding="utf-8", **pipes)


def told(process: subprocess.Popen[str], code: int) -> tuple[str, str]:
    out, err = process.communicate(timeout=300)
    assert process.returncode == code, err
    assert "Traceback" not in out + err
    return out, err


# ── rows ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl"])
def test_rows_in_a_file_are_those_of_the_table(name: str, tmp_path: Path) -> None:
    trace = api.check("palindromes", "abba", engine="fast", out=tmp_path / name)
    assert trace.agrees
    assert trace.rows == ()
    other = api.check("palindromes", "abba", engine="dense", out=tmp_path / f"dense-{name}")
    assert other.agrees
    text = (tmp_path / name).read_text(encoding="utf-8")
    assert text == (tmp_path / f"dense-{name}").read_text(encoding="utf-8")
    assert len(text.splitlines()) == trace.tokens + name.endswith("csv")


def test_rows_that_differ_are_not_written(tmp_path: Path) -> None:
    trace = api.check(api.compile("left-edge", left_boundary="chapter"), "11", engine="fast", out=tmp_path / "rows.jsonl")
    assert trace.divergence is not None
    lines = (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["i"] for line in lines] == list(range(trace.divergence.position))


# ── checkpoints ─────────────────────────────────────────────────────────────────────────────────────────────
def test_a_checkpoint_is_refused_for_another_run(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    first = carry_out(DECODER, "", machine=BEAVER, max_steps=3000, checkpoint=path)
    again = carry_out(DECODER, "", machine=BEAVER, max_steps=3000, resume=path)
    further = carry_out(DECODER, "", machine=BEAVER, max_steps=9000, resume=path)
    assert first.as_dict() == again.as_dict()
    assert further.as_dict() == api.check(BEAVER, "", engine="fast", max_steps=9000, keep_rows=False).as_dict()
    with pytest.raises(CheckpointError, match=r"from a run with another input: it was made with word='', or start again"):
        carry_out(DECODER, "1", machine=BEAVER, resume=path)
    other = machine_called("busy-beaver-4")
    with pytest.raises(
        CheckpointError, match="from a run with other weights: name the machine or weight file that it was made with"
    ):
        carry_out(compile_machine(other), "", machine=other, resume=path)
    with pytest.raises(
        CheckpointError, match="with another machine to compare with: compare with the same machine as before"
    ):
        carry_out(DECODER, "", machine=other, resume=path)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "there is no such file: start the run with checkpoint"),
        (b"", "it is not a checkpoint, or was changed or damaged: start the run again with checkpoint"),
        (b"PK\x03\x04 not really", "it is not a checkpoint, or was changed or damaged"),
        (b"a: b", "it is not a checkpoint, or was changed or damaged"),
    ],
)
def test_what_is_no_checkpoint_is_refused(data: bytes | None, words: str, tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(CheckpointError, match=words):
        load(path)
    with pytest.raises(CheckpointError, match="it is a folder"):
        load(tmp_path)


def test_checkpoints_of_another_version_and_damaged_ones(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    carry_out(DECODER, "", machine=BEAVER, max_steps=300, checkpoint=path)
    whole = path.read_bytes()
    for cut in range(0, len(whole), len(whole) // 40):
        path.write_bytes(whole[:cut])
        with pytest.raises(CheckpointError, match="it is not a checkpoint, or was changed or damaged"):
            load(path)
    chance = random.Random(1)
    for _ in range(40):  # a flipped bit is noticed, or it is in what a ZIP archive says twice
        at = chance.randrange(len(whole))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        try:
            about, arrays = load(path)
        except CheckpointError:
            continue
        path.write_bytes(whole)
        wanted, same = load(path)
        assert about == wanted
        assert all(np.array_equal(arrays[n], same[n]) for n in same)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recording, "FORMAT", 4)
        save(path, About("", "", ""), {})
    with pytest.raises(
        CheckpointError, match="this checkpoint has format 4, but this version reads 3: resume it with the version"
    ):
        load(path)


def test_a_checkpoint_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="there is no folder .*: make it first"):
        carry_out(DECODER, "", machine=BEAVER, max_steps=300, checkpoint=tmp_path / "none" / "run.npz")
    path = tmp_path / "run.npz"
    carry_out(DECODER, "", machine=BEAVER, max_steps=300, checkpoint=path)
    before = path.read_bytes()
    with pytest.MonkeyPatch.context() as patch:

        def full(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        patch.setattr(np, "savez", full)
        with pytest.raises(OutputError, match="the disk is full: free some space"):
            carry_out(DECODER, "", machine=BEAVER, max_steps=600, resume=path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]


def test_the_digest_sees_every_weight() -> None:
    changed = compile_machine(machine_called("left-edge"), left_boundary="chapter")
    assert weights_digest(DECODER) == weights_digest(compile_machine(BEAVER))
    assert weights_digest(changed) != weights_digest(compile_machine(machine_called("left-edge")))


def test_only_the_fast_engine_has_checkpoints(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="a checkpoint needs the fast engine, not exact: use engine='fast'"):
        api.check("chapter", "11", engine="exact", checkpoint=tmp_path / "run.npz")


def test_rows_can_be_gone_on_with_only_where_they_began(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    carry_out(DECODER, "", machine=BEAVER, max_steps=300, checkpoint=path)
    with pytest.raises(
        CheckpointError, match="this run wrote no rows before, so .*rows.csv would start in the middle of it"
    ):
        carry_out(DECODER, "", machine=BEAVER, max_steps=600, resume=path, out=tmp_path / "rows.csv")


def test_a_run_that_ended_at_its_limit_goes_on_with_its_rows(tmp_path: Path) -> None:
    path, out = tmp_path / "run.npz", tmp_path / "rows.csv"
    carry_out(DECODER, "", machine=BEAVER, max_steps=3000, checkpoint=path, out=out)
    short = out.read_bytes()
    with pytest.raises(CheckpointError, match="this run writes its rows to a file, 3,001 of them so far: add the same out"):
        carry_out(DECODER, "", machine=BEAVER, max_steps=5000, resume=path)
    with pytest.raises(CheckpointError, match="has already done 3,000 steps, more than 2,999: use a larger"):
        carry_out(DECODER, "", machine=BEAVER, max_steps=2999, resume=path, out=out)
    assert out.read_bytes() == short
    carry_out(DECODER, "", machine=BEAVER, max_steps=5000, resume=path, out=out)
    carry_out(DECODER, "", machine=BEAVER, max_steps=5000, out=tmp_path / "whole.csv")
    assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["rows.csv", "run.npz", "whole.csv"]


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (
            {"checkpoint": "a.csv", "out": "a.csv"},
            "the checkpoint and the rows cannot be in one file: rename one of them",
        ),
        ({"checkpoint": "a.csv.part", "out": "a.csv"}, "the checkpoint and the rows cannot be in one file"),
        ({"checkpoint": "a.npz", "out": "a.parquet"}, "a checkpoint would be useless: use .csv or .jsonl, or omit the"),
        (
            {"checkpoint": "old.npz"},
            "this file already exists: resume it with resume='.*old.npz', choose another name",
        ),
        ({"checkpoint": "other.txt"}, "this file already exists: it is not a checkpoint: choose another name"),
    ],
)
def test_no_file_is_lost_to_a_checkpoint(files: dict[str, str], words: str, tmp_path: Path) -> None:
    carry_out(DECODER, "", machine=BEAVER, max_steps=30, checkpoint=tmp_path / "old.npz")
    (tmp_path / "other.txt").write_text("mine", encoding="utf-8")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    with pytest.raises(OutputError, match=words):
        carry_out(DECODER, "", machine=BEAVER, max_steps=60, **{k: tmp_path / v for k, v in files.items()})
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_names_of_files_can_be_text_in_the_library(tmp_path: Path) -> None:
    names = {"checkpoint": str(tmp_path / "run.npz"), "out": str(tmp_path / "rows.jsonl")}
    assert api.check(BEAVER, "", engine="fast", max_steps=100, **names).agrees  # type: ignore[arg-type]
    again = api.check(BEAVER, "", engine="fast", max_steps=200, resume=names["checkpoint"], out=names["out"])
    assert again.tokens == 201


@pytest.mark.slow
@pytest.mark.parametrize("options", [["--quiet"], ["--out", "r.csv"], ["--checkpoint", "r.npz"], ["--at", "3"]])
def test_without_numba_the_install_line_is_shown(options: list[str], tmp_path: Path) -> None:
    asked = ["trace", "--engine", "fast", *options]
    code = f"import sys; sys.modules['numba'] = None; from tm2tfr.cli import main; main({asked})"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, encoding="utf-8", check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    needs = "the fast engine needs Numba: install it with: pip install 'tm2tfr[fast]'"
    if "--checkpoint" in options:  # which no other engine writes
        assert done.stderr == f"a checkpoint needs the fast engine, and {needs}\n"
    else:
        assert done.stderr == f"{needs}, or use the dense engine\n"
    assert list(tmp_path.iterdir()) == []


# ── interruptions ───────────────────────────────────────────────────────────────────────────────────────────
def test_ctrl_c_ends_the_block_writes_the_checkpoint_and_says_where_the_run_stands(tmp_path: Path) -> None:
    path, seen = tmp_path / "run.npz", []

    def press(positions: int, steps: int) -> None:
        seen.append((positions, steps))
        if len(seen) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    words = r"interrupted at position [\d,]+, after [\d,]+ steps; [\d,]+ cells compared, all agree; resume it with resume="
    with hearing() as stop, pytest.raises(Interrupted, match=words):
        carry_out(DECODER, "", machine=BEAVER, checkpoint=path, progress=press, stop=stop)
    _, arrays = load(path)
    run = LongRun(DECODER, "", machine=BEAVER, saved=arrays)
    assert run.standing.positions == seen[-1][0] + (len(seen) == 3) * 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_library_leaves_the_signals_alone(tmp_path: Path) -> None:
    """A handler is the command line's: whoever calls the library may have their own."""

    def own(*_: object) -> None:
        raise AssertionError("nobody sent a signal")

    before = {number: signal.signal(number, own) for number in (signal.SIGINT, signal.SIGTERM)}
    found: list[object] = []
    try:
        api.check(
            BEAVER,
            "",
            engine="fast",
            max_steps=5000,
            out=tmp_path / "rows.csv",
            checkpoint=tmp_path / "run.npz",
            progress=lambda *_: found.extend(signal.getsignal(number) for number in before),
        )
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert found
    assert set(found) == {own}


@pytest.mark.slow
def test_ctrl_c_in_the_library_leaves_the_last_checkpoint(tmp_path: Path) -> None:
    path, seen = tmp_path / "run.npz", list[int]()

    def press(positions: int, _: int) -> None:
        seen.append(positions)
        if len(seen) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        api.check(BEAVER, "", engine="fast", max_steps=None, checkpoint=path, checkpoint_every=0.0, progress=press)
    most = seen[-1] + 100_000
    again = api.check(BEAVER, "", engine="fast", max_steps=most, resume=path)
    assert (again.agrees, again.tokens) == (True, most + 1)
    assert LongRun(DECODER, "", machine=BEAVER, saved=load(path)[1]).standing.positions >= seen[-2]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_on_the_command_line(number: int, tmp_path: Path) -> None:
    asked = ("check", "busy-beaver-5", "--input", "", "--max-steps", "50_000_000", "--checkpoint", "run.npz")
    process = command(*asked, "--checkpoint-every", "0.1", cwd=tmp_path)
    wait_for(tmp_path / "run.npz", process)
    process.send_signal(number)
    _, err = told(process, 130)
    assert "interrupted at position" in err
    assert "resume it with --resume run.npz" in err


def wait_for(path: Path, process: subprocess.Popen[str], *, after: int = 0) -> int:
    """Wait for a file that is written after this time, in ns, or for the end of the process; return when it was."""
    for _ in range(30_000):
        written = path.stat().st_mtime_ns if path.exists() else 0
        if written > after or process.poll() is not None:
            return written
        time.sleep(0.005)
    raise TimeoutError(path)


@pytest.mark.slow
def test_a_run_that_is_killed_at_random_moments_gives_the_same_rows(tmp_path: Path) -> None:
    steps = "1_000_000"
    whole = tmp_path / "whole.csv"
    want = api.check(BEAVER, "", engine="fast", max_steps=1_000_000, out=whole)
    asked = ["trace", "busy-beaver-5", "--quiet", "--max-steps", steps, "--out", "rows.csv"]
    every = ["--checkpoint-every", "0.001"]
    chance, kills = random.Random(3), 0
    process = command(*asked, "--checkpoint", "run.npz", *every, cwd=tmp_path)
    written = wait_for(tmp_path / "run.npz", process)
    while kills < 4:
        time.sleep(chance.random() * 0.05)
        if process.poll() is not None:
            break
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kills += 1
        process = command(*asked, "--resume", "run.npz", *every, cwd=tmp_path)
        written = wait_for(tmp_path / "run.npz", process, after=written)
    out, _ = told(process, 0)
    assert kills > 0
    assert f"{want.compared:,} cells compared with the simulator, all agree" in out
    assert (tmp_path / "rows.csv").read_bytes() == whole.read_bytes()


def test_the_seconds_between_checkpoints(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    written: list[float] = []
    monkeypatch.setattr(recording, "save", lambda *_: written.append(0.0))
    carry_out(DECODER, "", machine=BEAVER, max_steps=200_000, checkpoint=tmp_path / "run.npz", checkpoint_every=1e9)
    assert len(written) == 1
    carry_out(DECODER, "", machine=BEAVER, max_steps=200_000, checkpoint=tmp_path / "run.npz", checkpoint_every=0.0)
    assert len(written) > 3


# ── every row arrives ───────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
@pytest.mark.parametrize("checked", [True, False], ids=["check", "run"])
@pytest.mark.parametrize("steps", [1022, 1500, 3000])
def test_every_row_of_a_dense_run_is_in_the_file(steps: int, checked: bool, tmp_path: Path) -> None:
    """The engine that goes row by row hands its rows on 1,024 at a time, and what is left at the end."""
    out, fast = tmp_path / "rows.csv", tmp_path / "fast.csv"
    machine = {"machine": BEAVER} if checked else {}
    ran = api.check if checked else api.run
    trace = ran(DECODER, "", engine="dense", max_steps=steps, keep_rows=False, out=out, **machine)
    assert trace.tokens == steps + 1 + (not checked)  # the configuration at which a limit cuts a check off has no row
    lines = out.read_text(encoding="utf-8").splitlines()
    assert [line.partition(",")[0] for line in lines] == ["i", *map(str, range(trace.tokens))]
    ran(DECODER, "", engine="fast", max_steps=steps, keep_rows=False, out=fast, **machine)
    assert out.read_bytes() == fast.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["dense", "fast"])
def test_rows_that_are_lost_on_the_way_are_missed(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "write" if engine == "dense" else "write_columns"
    real, calls = getattr(RowWriter, name), []

    def forgetful(writer: RowWriter, rows: Any) -> None:
        calls.append(rows)
        if len(calls) != 2:
            real(writer, rows)

    monkeypatch.setattr(RowWriter, name, forgetful)
    out = tmp_path / "rows.csv"
    with pytest.raises(
        OutputError, match=r"the run has 2,\d{3} rows that agree, but [\d,]+ were written; see .*rows.csv.part"
    ):
        api.check(DECODER, "", machine=BEAVER, engine=engine, max_steps=2100, keep_rows=False, out=out)
    assert not out.exists()


def test_rows_are_on_the_disk_before_the_checkpoint_that_counts_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    flush, written = RowWriter.flush, recording.save
    monkeypatch.setattr(RowWriter, "flush", lambda writer: (events.append(f"flush {writer.rows}"), flush(writer))[1])
    monkeypatch.setattr(recording, "save", lambda p, a, s: (events.append(f"save {a.rows}"), written(p, a, s))[1])
    out = tmp_path / "rows.csv"
    carry_out(DECODER, "", machine=BEAVER, max_steps=3000, checkpoint=tmp_path / "run.npz", checkpoint_every=0.0, out=out)
    assert events[-2:] == ["flush 3001", "save 3001"]
    assert len(events) >= 4
    for at in range(0, len(events), 2):
        assert events[at].split() == ["flush", events[at + 1].removeprefix("save ")]
