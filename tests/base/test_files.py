"""Files are written whole or not at all, and every failure says where, what, and what to do."""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from tm2tfr.base.errors import OutputError
from tm2tfr.base.files import refusal, write_bytes, write_text

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def refused(path: Path | str, data: bytes = b"new") -> str:
    with pytest.raises(OutputError) as caught:
        write_bytes(path, data)
    return str(caught.value)


def test_a_new_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "é⊥\r\n\n")
    assert path.read_bytes() == "é⊥\r\n\n".encode()
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_name_as_text(tmp_path: Path) -> None:
    write_bytes(str(tmp_path / "a.bin"), b"\0\1")
    assert (tmp_path / "a.bin").read_bytes() == b"\0\1"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_an_old_file_keeps_its_permissions(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old and long")
    path.chmod(mode)
    write_bytes(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_is_followed(tmp_path: Path, exists: bool) -> None:
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "a", tmp_path / "link"
    if exists:
        target.write_bytes(b"old")
    link.symlink_to("real/a")
    write_bytes(link, b"new")
    assert target.read_bytes() == b"new"
    assert link.is_symlink()
    assert sorted(os.listdir(tmp_path / "real")) == ["a"]


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_bytes(pipe, b"new")
    reader.join()
    assert read == [b"new"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_devices_stay_devices() -> None:
    write_bytes("/dev/null", b"new")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


# ── failures ────────────────────────────────────────────────────────────────────────────────────────────────
def test_no_such_folder(tmp_path: Path) -> None:
    path = tmp_path / "no" / "a"
    assert refused(path) == f"{path}: there is no folder {tmp_path}/no: make it first"


def test_a_folder_that_takes_no_new_files(tmp_path: Path) -> None:
    path = tmp_path / "a"  # as the kernel answers in /proc
    assert str(refusal(path, errno.ENOENT)) == f"{path}: nothing can be created in {tmp_path}: choose another place"


def test_a_link_into_no_folder(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("no/a")
    assert refused(tmp_path / "link") == f"{tmp_path}/link: there is no folder {tmp_path}/no: make it first"


def test_a_folder(tmp_path: Path) -> None:
    assert refused(tmp_path) == f"{tmp_path}: it is a folder: name a file in it"
    assert refused("") == ".: it is a folder: name a file in it"


def test_a_file_for_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    path = tmp_path / "a" / "b"
    assert refused(path) == f"{path}: {tmp_path}/a is not a folder: choose a place inside a folder"


def test_a_circle_of_links(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    message = refused(tmp_path / "a")
    assert message == (f"{tmp_path}/a: its symbolic links form a circle: remove one of them, or choose another place")


def test_too_long_a_name(tmp_path: Path) -> None:
    path = tmp_path / ("a" * 300)
    assert refused(path) == f"{path}: the name is too long: choose a shorter one"
    write_bytes(tmp_path / ("a" * 250), b"new")  # the temporary name is no longer than this


def test_no_name_at_all(tmp_path: Path) -> None:
    assert refused("a\0b") == "'a\\x00b': not the name of a file: choose another one"


@pytest.mark.skipif(ROOT, reason="root may write everywhere: run the tests as another user")
def test_no_permission(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o400)
    assert refused(path) == f"{path}: no permission to write there: choose another place"
    assert path.read_bytes() == b"old"


@pytest.mark.skipif(ROOT, reason="root may write everywhere: run the tests as another user")
def test_no_permission_in_the_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        assert refused(tmp_path / "a") == f"{tmp_path}/a: no permission to write there: choose another place"
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize(
    ("number", "what"),
    [
        (errno.ENOSPC, "the disk is full: free some space, or choose another place"),
        (errno.EDQUOT, "the disk is full: free some space, or choose another place"),
        (errno.EROFS, "no permission to write there: choose another place"),
        (errno.EACCES, "no permission to write there: choose another place"),
        (errno.EIO, "Input/output error: choose another place"),
    ],
)
@pytest.mark.parametrize("step", ["fsync", "replace", "access"])
def test_nothing_is_left_of_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, number: int, what: str
) -> None:
    def fails(*_: Any) -> None:
        raise OSError(number, os.strerror(number))

    path = tmp_path / "a"
    path.write_bytes(b"old")
    monkeypatch.setattr(Path if step == "replace" else os, step, fails)
    assert refused(path) == f"{path}: {what}"
    assert os.listdir(tmp_path) == ["a"]
    assert path.read_bytes() == b"old"


def test_nothing_is_left_of_an_interrupt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_bytes(tmp_path / "a", b"new")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here: run the tests on Linux")
def test_a_full_disk() -> None:
    assert refused("/dev/full") == "/dev/full: the disk is full: free some space, or choose another place"


def test_text_that_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(OutputError) as caught:
        write_text(tmp_path / "a", "ab\ud800")
    assert str(caught.value) == (
        f"{tmp_path}/a: '\\ud800' (U+D800) is half a character and cannot be written as UTF-8: remove it"
    )
    assert os.listdir(tmp_path) == []
