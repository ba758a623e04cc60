"""A directory that is replaced, and what it says of itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tm2tfr.base import tempfiles
from tm2tfr.base.errors import OutputError
from tm2tfr.targets.common.directory import NAMES, written

ROOT = Path(__file__).parents[3]
KILLED = """
import os, signal, sys
from pathlib import Path
from tm2tfr.targets.common.directory import NAMES, written
rename = Path.rename
def killed(path, target):
    if path.suffix == ".tmp":
        os.kill(os.getpid(), signal.SIGKILL)
    return rename(path, target)
Path.rename = killed
written(Path(sys.argv[1]), {NAMES: "2", "a": ""})
"""
"""A program that is killed when the earlier export has lost its name and the new one does not have it yet."""
ONE, TWO = {NAMES: "1", "a": b"1"}, {NAMES: "2"}


def held(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
    written(tmp_path / "real", ONE)
    (tmp_path / "link").symlink_to("real")
    assert written(tmp_path / "link", {**TWO, "a": ""}) == tmp_path / "link"
    assert ((tmp_path / "link").is_symlink(), held(tmp_path / "real")) == (True, {NAMES: "2", "a": ""})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]


def test_what_another_kind_of_export_has_is_not_removed(tmp_path: Path) -> None:
    written(tmp_path / "x", ONE)
    with pytest.raises(
        OutputError, match=r"x: this directory is not an export of this kind; it contains 'a': choose another"
    ):
        written(tmp_path / "x", TWO)
    (tmp_path / "y").mkdir()
    (tmp_path / "y" / "a").write_text("mine", encoding="utf-8")
    with pytest.raises(
        OutputError, match=r"y: this directory is not an export; it contains 'a': choose another name, or rem"
    ):
        written(tmp_path / "y", ONE)
    assert (held(tmp_path / "x"), held(tmp_path / "y")) == ({NAMES: "1", "a": "1"}, {"a": "mine"})


def test_an_earlier_export_comes_back_if_the_new_one_cannot_get_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "x", ONE)
    rename = Path.rename

    def refused(path: Path, target: Path) -> Path:
        if path.suffix == ".tmp":
            raise OSError(5, "Input/output error")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", refused)
    with pytest.raises(OutputError, match="x: Input/output error: choose another place"):
        written(tmp_path / "x", {**TWO, "a": ""})
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert held(tmp_path / "x") == {NAMES: "1", "a": "1"}


def test_what_is_put_into_an_export_while_the_new_one_is_looked_at_is_not_removed(tmp_path: Path) -> None:
    folder = written(tmp_path / "x", ONE)

    def busy(_: Path) -> None:
        (folder / "notes.txt").write_text("mine", encoding="utf-8")
        (folder / ".git").mkdir()

    with pytest.raises(OutputError, match=r"x: this directory .* of this kind; it contains '.git', 'notes.txt'"):
        written(folder, {**TWO, "a": ""}, look=busy)
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    (folder / ".git").rmdir()
    assert held(folder) == {NAMES: "1", "a": "1", "notes.txt": "mine"}


def test_a_directory_called_like_a_file_of_an_export_is_not_removed(tmp_path: Path) -> None:
    folder = written(tmp_path / "x", {NAMES: "1"})
    (folder / "a").mkdir()
    with pytest.raises(OutputError, match="it contains 'a'"):
        written(folder, ONE)
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert sorted(path.name for path in folder.iterdir()) == ["a", NAMES]


def test_what_is_put_into_an_export_at_the_last_moment_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = written(tmp_path / "x", ONE)
    rename = Path.rename

    def late(path: Path, target: Path) -> Path:
        if path.suffix == ".tmp":
            (old,) = tmp_path.glob(".tm2tfr-*.old")
            (old / "x" / "notes.txt").write_text("mine", encoding="utf-8")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", late)
    written(folder, {**TWO, "a": ""})
    assert held(folder) == {NAMES: "2", "a": ""}
    (old,) = tmp_path.glob(".tm2tfr-*.old")
    for path in (old, old / "x"):  # and it stays for good
        os.utime(path, (0, 0))
    tempfiles.remove_abandoned(tmp_path)
    assert held(old / "x") == {"notes.txt": "mine"}


@pytest.mark.skipif(os.name != "posix", reason="no POSIX signals here: run the tests on Linux or macOS")
def test_an_earlier_export_comes_back_after_the_process_that_was_replacing_it_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(tmp_path / "x", ONE)
    run = [sys.executable, "-c", KILLED, str(folder)]
    assert subprocess.run(run, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False).returncode == -signal.SIGKILL
    assert not folder.exists()
    if tempfiles._host() is None:  # then it takes a while until it is known that the process is no more
        for path in tmp_path.iterdir():
            os.utime(path, (0, 0))
    monkeypatch.setattr(tempfiles, "_swept", set())

    def bad(_: Path) -> None:
        raise OutputError("not good")

    with pytest.raises(OutputError, match="not good"):
        written(folder, {**TWO, "a": ""}, look=bad)
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert held(folder) == {NAMES: "1", "a": "1"}


def test_the_newest_comes_back_and_what_has_been_replaced_goes(tmp_path: Path) -> None:
    now = time.time()
    for number, age in enumerate((3, 2, 4)):
        holder = tmp_path / f".tm2tfr-{number:016}.old"
        written(holder.parent / "new", {NAMES: str(age), "a": ""})
        holder.mkdir()
        (tmp_path / "new").rename(holder / "x")
        os.utime(holder, (now - age * tempfiles.ASIDE,) * 2)
    busy = tmp_path / f".tm2tfr-{'b' * 16}.old"  # it may still be in use
    busy.mkdir()
    tempfiles.remove_abandoned(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [busy.name, "x"]
    assert held(tmp_path / "x") == {NAMES: "2", "a": ""}
