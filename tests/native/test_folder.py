"""The folder for machine code: whose it is, how large it gets, and that nothing about it is ever an error."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from tm2tfr.base.native import folder

pytestmark = pytest.mark.skipif(not folder.POSIX, reason="nothing is kept here: run it on a POSIX system")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the files lie."""
    monkeypatch.setenv(folder.VARIABLE, str(tmp_path / "a" / "b"))
    return tmp_path / "a" / "b" / "code"


def test_what_is_written_is_read_and_private(cache: Path) -> None:
    assert folder.read("x") is None
    assert not folder.used()
    before = os.umask(0)
    try:
        folder.write("x", b"1")
    finally:
        os.umask(before)
    assert folder.read("x") == b"1"
    assert [path.name for path in cache.iterdir()] == ["x.code"]
    assert [stat.S_IMODE(path.stat().st_mode) for path in (cache, cache / "x.code")] == [0o700, 0o600]
    (cache / "x.code").chmod(0o666)
    folder.write("x", b"2")
    assert folder.read("x") == b"2"
    assert folder.used()
    cache.chmod(0o777)
    assert not folder.used(), "what others may write to is not read"


@pytest.mark.parametrize("named", ["", "0"])
def test_it_can_be_switched_off(named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TM2TFR_CACHE", named)
    assert folder.folder() is None
    folder.write("x", b"1")
    assert folder.read("x") is None
    assert list(tmp_path.iterdir()) == []


def test_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("TM2TFR_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    for platform, usual in (("linux", ".cache"), ("darwin", "Library/Caches")):
        monkeypatch.setattr(sys, "platform", platform)
        assert folder.folder() == tmp_path / usual / "tm2tfr" / "code"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    assert folder.folder() == tmp_path / "elsewhere" / "tm2tfr" / "code"
    monkeypatch.setenv("TM2TFR_CACHE", "here")
    assert folder.folder() == Path.cwd() / "here" / "code"
    monkeypatch.setattr(folder, "POSIX", False)
    assert folder.folder() is None


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_folder_or_a_file_that_others_may_write_to_is_not_used(mode: int, cache: Path) -> None:
    folder.write("x", b"1")
    cache.chmod(mode)
    assert folder.read("x") is None
    folder.write("y", b"1")
    cache.chmod(0o700)
    assert folder.read("y") is None
    (cache / "x.code").chmod(mode)
    assert folder.read("x") is None


def test_nor_is_one_of_somebody_else(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write("x", b"1")
    assert folder.read("x") == b"1"
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert folder.read("x") is None
    folder.write("y", b"1")
    assert [path.name for path in cache.iterdir()] == ["x.code"]


def test_a_file_of_somebody_else_in_it_is_not_read(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write("x", b"1")
    asked = os.fstat

    def told(file: int) -> os.stat_result:
        found = asked(file)
        return found if stat.S_ISDIR(found.st_mode) else os.stat_result([*found[:4], found.st_uid + 1, *found[5:]])

    monkeypatch.setattr(os, "fstat", told)
    assert folder.read("x") is None


def test_links_pipes_and_large_files_are_not_read(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write("x", b"1")
    (cache / "link.code").symlink_to(cache / "x.code")
    (cache / "folder.code").mkdir()
    os.mkfifo(cache / "pipe.code")
    for name in ("link", "folder", "pipe"):
        assert folder.read(name) is None
    for name in ("folder", "pipe"):
        folder.write(name, b"2")
        assert folder.read(name) is None
    monkeypatch.setattr(folder, "LARGEST", 3)
    folder.write("large", b"1234")
    (cache / "x.code").write_bytes(b"1234")
    assert (folder.read("large"), folder.read("x")) == (None, None)


def test_a_folder_that_cannot_be_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    for named in (tmp_path / "file", tmp_path / "file" / "in", "\0", tmp_path / ("x" * 300)):
        monkeypatch.setattr(folder, "folder", lambda named=named: Path(named) / "code")
        folder.write("x", b"1")
        assert folder.read("x") is None


def test_a_full_disk_leaves_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write("x", b"1")

    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    folder.write("y", b"2")
    assert [path.name for path in cache.iterdir()] == ["x.code"]


def test_what_was_not_used_for_longest_goes(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(8):
        folder.write(str(n), bytes(10))
        os.utime(cache / f"{n}.code", (n, n))
    (cache / "other").write_bytes(bytes(1000))
    assert folder.read("0") == bytes(10)  # so it is new
    monkeypatch.setattr(folder, "MOST_BYTES", 80)
    folder.write("8", bytes(10))
    assert sorted(path.name for path in cache.iterdir()) == sorted([*(f"{n}.code" for n in (0, 4, 5, 6, 7, 8)), "other"])
    monkeypatch.setattr(folder, "MOST_FILES", 4)
    folder.write("9", bytes(10))
    assert sorted(path.name for path in cache.iterdir()) == ["0.code", "8.code", "9.code", "other"]
