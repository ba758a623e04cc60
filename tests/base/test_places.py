"""Where output is to go is looked at before the work: what is refused, and that nothing is written or lost."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tm2tfr.base.errors import OutputError
from tm2tfr.base.files import check_file, check_folder


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
def test_no_permission(check: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may write anywhere, so that the answer of the system is made up here."""
    monkeypatch.setattr("tm2tfr.base.files.os.access", lambda path, mode: Path(path) != tmp_path.resolve())
    with pytest.raises(OutputError, match="no permission to write there: choose another place"):
        check(tmp_path / "new")


def test_a_file_that_may_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").write_text("kept", encoding="utf-8")
    monkeypatch.setattr("tm2tfr.base.files.os.access", lambda path, mode: Path(path) != tmp_path / "mine")
    with pytest.raises(OutputError, match="no permission to write there"):
        check_file(tmp_path / "mine")
