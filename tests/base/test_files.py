"""Files are written whole or not at all, and their places are checked before the work."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tm2tfr.base.errors import OutputError
from tm2tfr.base.files import check_file, check_folder, refusal, write_bytes, write_text

AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


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


@pytest.mark.skipif(AS_ROOT, reason="root may write everywhere: run the tests as another user")
def test_no_permission(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o400)
    assert refused(path) == f"{path}: no permission to write there: choose another place"
    assert path.read_bytes() == b"old"


@pytest.mark.skipif(AS_ROOT, reason="root may write everywhere: run the tests as another user")
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


def test_a_place_that_is_good_is_let_alone(tmp_path: Path) -> None:
    check_file(None)
    check_file(tmp_path / "new.csv", what="rows", endings=[".csv"])
    check_file(tmp_path / "NEW.CSV", what="rows", endings=[".csv"])
    check_folder(tmp_path / "new")
    check_folder(tmp_path)
    check_file(Path(os.devnull))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("check", [check_file, check_folder])
def test_no_folder_to_be_in(check: Callable[[Path], None], tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"there is no folder .*/no/such: make it first"):
        check(tmp_path / "no" / "such" / "x")
    (tmp_path / "file").write_text("kept", encoding="utf-8")
    with pytest.raises(OutputError, match="is not a folder: choose a place inside a folder"):
        check(tmp_path / "file" / "x")
    with pytest.raises(OutputError, match="not the name of a file: choose another one"):
        check(tmp_path / "a\0b")
    with pytest.raises(OutputError, match="the name is too long: choose a shorter one"):
        check(tmp_path / ("x" * 300))
    (tmp_path / "round").symlink_to(tmp_path / "round")
    with pytest.raises(OutputError, match="its symbolic links form a circle"):
        check(tmp_path / "round")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "kept"


def test_what_is_there_is_of_another_kind(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="it is a folder: name a file in it"):
        check_file(tmp_path)
    (tmp_path / "file").write_text("kept", encoding="utf-8")
    with pytest.raises(OutputError, match="there is a file with that name: choose another name for the folder"):
        check_folder(tmp_path / "file")


@pytest.mark.parametrize(("name", "offered"), [("w.bin", "w.npz"), ("w", "w.npz")])
def test_another_ending(name: str, offered: str, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=rf"weights are written as .npz, .pt: name the file {offered}$"):
        check_file(tmp_path / name, what="weights", endings=[".npz", ".pt"])


def test_what_is_read_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("kept", encoding="utf-8")
    (tmp_path / "link.yaml").symlink_to(tmp_path / "m.yaml")
    for path in ("m.yaml", "link.yaml"):
        with pytest.raises(OutputError, match="that is the machine itself: choose another name for the output"):
            check_file(tmp_path / path, reading=[None, "chapter", tmp_path / "m.yaml"])
    check_file(tmp_path / "m.yaml", reading=["-", "chapter", "a\0b"])
    with pytest.raises(OutputError, match="that is the machine itself"):
        check_folder(tmp_path, reading=[tmp_path])


def test_a_folder_of_somebody_elses_files(tmp_path: Path) -> None:
    check_folder(tmp_path, ours=["made.json"])
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(
        OutputError, match=r"is not empty and was not made by this command; it contains 'thesis.tex': choose"
    ):
        check_folder(tmp_path, ours=["made.json"])
    (tmp_path / "made.json").touch()
    check_folder(tmp_path, ours=["made.json"])


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc here")
@pytest.mark.parametrize("check", [check_file, check_folder])
def test_a_folder_that_takes_no_file(check: Callable[[Path], None]) -> None:
    """Root is allowed to write to /proc, and the system refuses nevertheless, as if there were no such folder."""
    with pytest.raises(OutputError, match="^/proc/x.json: (nothing can be created in /proc|no permission)"):
        check(Path("/proc/x.json"))


@pytest.mark.parametrize("check", [check_file, check_folder])
def test_a_file_system_without_nameless_files(
    check: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("tm2tfr.base.files.os.O_TMPFILE", raising=False)
    check(tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("check", [check_file, check_folder])
def test_no_permission_for_the_output(
    check: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may write anywhere, so that the answer of the system is made up here."""
    monkeypatch.setattr("tm2tfr.base.files.os.access", lambda path, mode: Path(path) != tmp_path.resolve())
    with pytest.raises(OutputError, match="no permission to write there: choose another place"):
        check(tmp_path / "new")


def test_a_file_that_may_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").write_text("kept", encoding="utf-8")
    monkeypatch.setattr("tm2tfr.base.files.os.access", lambda path, mode: Path(path) != tmp_path / "mine")
    with pytest.raises(OutputError, match="no permission to write there"):
        check_file(tmp_path / "mine")
