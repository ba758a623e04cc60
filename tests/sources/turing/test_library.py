"""Where machines come from: paths, standard input and the shipped ones, and the errors if there is no such machine."""

from __future__ import annotations

import io
import os
import sys
import threading
from pathlib import Path

import pytest

from tm2tfr.base import resources
from tm2tfr.base.errors import ReadError, SpecError, SpecWarning, Tm2tfrError
from tm2tfr.base.text.source import MACHINE_BYTES
from tm2tfr.sources.turing import library
from tm2tfr.sources.turing.formats import native
from tm2tfr.sources.turing.spec import Machine

MACHINE = "blank: _\nstart state: a\ntable:\n  a:\n"
DOUBTFUL = MACHINE + "  b:\n"
ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def standard_input(monkeypatch: pytest.MonkeyPatch, content: bytes) -> io.BytesIO:
    """Let standard input hold `content`."""
    stream = io.BytesIO(content)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
    return stream


# ── what is shipped ───────────────────────────────────────────────────────────────────────────────────────────
def test_the_machines_are_those_of_the_repository() -> None:
    assert list(library.shipped()) == sorted(path.stem for path in (ROOT / "machines").glob("*.yaml"))
    assert "chapter" in library.shipped()


@pytest.mark.parametrize("name", library.shipped())
def test_there_is_nothing_to_say_about_a_shipped_machine(name: str) -> None:
    loaded = library.load_with_warnings(name)
    assert loaded.warnings == ()
    assert loaded.machine.name == name
    assert (
        loaded.machine.yaml
        == library.shipped_text(name)
        == (ROOT / "machines" / f"{name}.yaml").read_text(encoding="utf-8")
    )
    assert native.read(native.write(loaded.machine), file="f.yaml").machine == loaded.machine


def test_an_installed_package_has_its_own_resources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "_machines").mkdir()
    (tmp_path / "_machines" / "mine.yaml").write_text(MACHINE, encoding="utf-8")
    monkeypatch.setattr(resources, "__file__", str(tmp_path / "base" / "resources.py"))
    resources.files_of.cache_clear()
    try:
        assert library.shipped() == ("mine",)
    finally:
        resources.files_of.cache_clear()


# ── files ───────────────────────────────────────────────────────────────────────────────────────────────
def test_a_path_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(MACHINE.encode())
    for where in (path, str(path), "mine.yaml", "./mine.yaml", Path("mine.yaml")):
        assert library.load(where) == native.read(MACHINE, file="mine.yaml").machine
    assert Machine.load(path) == library.load(path)


def test_a_file_counts_more_than_a_shipped_machine_of_its_name(tmp_path: Path) -> None:
    assert library.load("chapter").start == "q0"
    (tmp_path / "chapter").mkdir()
    assert library.load("chapter").start == "q0"
    (tmp_path / "chapter").rmdir()
    (tmp_path / "chapter").write_text(MACHINE, encoding="utf-8")
    assert library.load("chapter").start == "a"


def test_a_warning_is_issued_by_load_and_returned_by_its_brother(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(DOUBTFUL, encoding="utf-8")
    words = (
        r"^mine\.yaml:5:3: warning: no rule leads from the start state to the state 'b': "
        "fix the rule that should lead there, or "
    )
    with pytest.warns(SpecWarning, match=words) as caught:
        machine = library.load("mine.yaml")
    assert [warning.filename for warning in caught] == [__file__]
    loaded = library.load_with_warnings("mine.yaml")
    assert loaded.machine == machine
    assert [str(warning) for warning in loaded.warnings] == [str(warning.message) for warning in caught]


def test_errors_name_the_file_as_the_user_did(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("", encoding="utf-8")
    with pytest.raises(SpecError, match=r"^\./mine\.yaml: the document is empty"):
        library.load("./mine.yaml")


# ── standard input ──────────────────────────────────────────────────────────────────────────────────────
def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    standard_input(monkeypatch, MACHINE.encode())
    assert library.load("-").name == "machine"
    standard_input(monkeypatch, b"\xff")
    with pytest.raises(SpecError, match="^<stdin>:1:1: byte 0 is 0xff, which is not UTF-8"):
        library.load("-")


def test_standard_input_is_not_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = standard_input(monkeypatch, b"#" * (MACHINE_BYTES + 100))
    with pytest.raises(SpecError, match="^<stdin>: the text is larger than 8 MiB: reading it would take"):
        library.load("-")
    assert stream.tell() == MACHINE_BYTES + 1


def test_no_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ReadError, match="^<stdin>: standard input is closed: name a file$"):
        library.load("-")


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (
            "chaptr",
            "chaptr: there is no such file, and no machine of that name is shipped (did you mean 'chapter'?): "
            "name a file, or a machine that 'tm2tfr list machines' lists",
        ),
        (
            "qqqqqqqq",
            "qqqqqqqq: there is no such file, and no machine of that name is shipped: "
            "name a file, or a machine that 'tm2tfr list machines' lists",
        ),
        (
            "chapter.yaml",
            "chapter.yaml: there is no such file (did you mean 'chapter'?): "
            "name a file, or a machine that 'tm2tfr list machines' lists",
        ),
        (
            "incremnt.yaml",
            "incremnt.yaml: there is no such file (did you mean 'increment.yaml'?): "
            "name a file, or a machine that 'tm2tfr list machines' lists",
        ),
        (
            "nowhere/m.yaml",
            "nowhere/m.yaml: there is no folder 'nowhere': name a file, or a machine that 'tm2tfr list machines' lists",
        ),
        (
            "increment.yaml/m.yaml",
            "increment.yaml/m.yaml: there is no folder 'increment.yaml': "
            "name a file, or a machine that 'tm2tfr list machines' lists",
        ),
        ("folder", "folder: this is a folder: name a file in it, for example 'folder/a.yaml'"),
        (".", ".: this is a folder: name a file in it, for example 'increment.yaml'"),
        ("", "'': this is a folder: name a file in it, for example 'increment.yaml'"),
        ("a\0b", "'a\\x00b': no file can have this name: remove the invalid characters"),
        ("a\ud800b", "'a\\ud800b': no file can have this name: remove the invalid characters"),
        ("x" * 300, f"{'x' * 300}: cannot be read (File name too long): name another file"),
        ("loop", "loop: cannot be read (Too many levels of symbolic links): name another file"),
    ],
)
def test_no_machine_there(where: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "increment.yaml").write_text(MACHINE, encoding="utf-8")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "b.yaml").write_text(MACHINE, encoding="utf-8")
    (tmp_path / "folder" / "a.yaml").write_text(MACHINE, encoding="utf-8")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(Tm2tfrError) as caught:
        library.load(where)
    assert str(caught.value) == message


def test_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(ReadError, match="^folder: this is a folder: name a file in it$"):
        library.load("folder")


def test_a_name_that_no_terminal_should_see(tmp_path: Path) -> None:
    (tmp_path / "a\x1b[2J\n").write_text("", encoding="utf-8")
    with pytest.raises(SpecError, match=r"^'a\\x1b\[2J\\n': the document is empty"):
        library.load("a\x1b[2J\n")


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "mine.yaml").write_text(MACHINE, encoding="utf-8")
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(
        ReadError, match=r"^mine\.yaml: no permission to read this file: change its permissions, or name another file$"
    ):
        library.load("mine.yaml")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no endless file here: run the tests on Linux or macOS")
def test_an_endless_file_is_not_read_whole() -> None:
    with pytest.raises(SpecError, match="^/dev/zero: the text is larger than 8 MiB"):
        library.load("/dev/zero")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here: run the tests on Linux or macOS")
def test_a_pipe_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(MACHINE,))
    writer.start()
    assert library.load("pipe").start == "a"
    writer.join()


def test_a_weight_file_is_no_machine(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_bytes(bytes(range(256)) * 10)
    with pytest.raises(
        SpecError,
        match=r"^w\.yaml:3:115: byte 128 is 0x80, which is not UTF-8: check that it is a text file, and save it as UTF-8",
    ):
        library.load("w.yaml")


def test_a_format_that_is_named_holds_for_shipped_machines_and_texts_too() -> None:
    assert library.load("chapter", format="yaml") == library.load("chapter")
    assert library.load("1RB1LB_1LA1RZ", format="bbchallenge") == library.load("1RB1LB_1LA1RZ")
