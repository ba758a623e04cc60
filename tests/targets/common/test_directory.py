"""An export as a directory: written whole or not at all, and which of its values may be other than as they were written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.targets.common.test_verdict import DECODER
from tm2tfr.base import tempfiles
from tm2tfr.base.errors import ExportError, OutputError
from tm2tfr.targets.common.directory import (
    MOST_TEXT,
    NAMES,
    check_plain,
    configured,
    differences,
    inherited,
    mapping,
    parsed_text,
    same,
    strangers,
    texts,
    whole,
    written,
)

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


VALUES = [1, 1.0, True, "1", "true", None, [], [1], [[1]], {}, {"1": 1}, 0, 0.0, -0.0, False, "", "None"]


@pytest.mark.parametrize("value", VALUES)
def test_a_value_is_the_same_as_itself_only(value: Any) -> None:
    assert [repr(other) for other in VALUES if same(other, value)] == [repr(value)]
    assert same({"a": [{"b": value}]}, {"a": [{"b": value}]})


def test_order_matters_in_lists_only() -> None:
    assert same({"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert not same([1, 2], [2, 1])
    assert not same([1, 2], [1])
    assert not same({"a": 1}, {"a": 1, "b": 2})


RIGHT = {"a": 1, "b": [1, 2], "c": {"d": "x", "e": None}, "dtype": "float64"}
LONG = "for every input and every run with at most 64 positions, this is right"


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"a": 1.0}, "f: a is 1.0, should be 1"),
        ({"a": True}, "f: a is True, should be 1"),
        ({"b": [1, 3]}, "f: b[1] is 3, should be 2"),
        ({"b": [1]}, "f: b is [1], should be [1, 2]"),
        ({"b": list(range(9))}, "f: b has 9 elements, should have 2"),
        ({"c": {"d": "x"}}, "f: c.e is missing, should be None"),
        ({"c": {"d": "x", "e": None, "\n": 1}}, r"f: c.'\n' is 1, should be missing"),
        ({"c": []}, "f: c is [], should be {'d': 'x', 'e': None}"),
        ({"z": [[[[1]]]]}, "f: z is [[[[...]]]], should be missing"),
        ({"a\u001b": 3}, r"f: 'a\x1b' is 3, should be missing"),
        ({"neutral": 1.0}, "f: neutral is 1.0, should be missing"),
        ({"neutral": 1, "saved": 1}, "f: saved is 1, should be 2"),
        ({"transformers_version": 5}, "f: transformers_version is 5, should be '5.0'"),
        ({"is_local": True}, "f: is_local is True, should be missing"),
    ],
)
def test_what_is_not_the_recipes_is_said(change: dict[str, Any], line: str) -> None:
    again = {**RIGHT, "saved": 2, "transformers_version": "5.0"}
    assert list(configured("f", {**RIGHT, **change}, RIGHT, again, neutral={"neutral": 1, "a": 2})) == [line]


@pytest.mark.parametrize(
    "change", [{}, {"saved": 2}, {"neutral": 1}, {"transformers_version": "4.9"}, {"neutral": 1, "saved": 2}]
)
def test_what_a_program_adds_may_be_there(change: dict[str, Any]) -> None:
    again = {**RIGHT, "saved": 2, "transformers_version": "5.0"}
    assert list(configured("f", {**RIGHT, **change}, RIGHT, again, neutral={"neutral": 1, "a": 2})) == []


def test_what_a_program_leaves_out_may_be_missing() -> None:
    assert list(configured("f", {"a": 1}, {"a": 1, "torch_dtype": "x"}, {"a": 1})) == []
    assert list(configured("f", {}, {"a": 1, "torch_dtype": "x"}, {"a": 1})) == ["f: a is missing, should be 1"]


def test_of_long_texts_the_place_is_said_where_they_differ() -> None:
    assert list(configured("f", {"a": LONG.replace("64", "63")}, {"a": LONG})) == [
        "f: a differs from character 45 on: it is ' at most 63 positions, this is right', "
        "should be ' at most 64 positions, this is right'"
    ]


def test_files_that_are_missing_damaged_or_not_what_they_should_be(tmp_path: Path) -> None:
    right = {"a.json": {"x": 1}, "b.json": {"x": 1}, "c.json": {}, "d.json": {}}
    (tmp_path / "a.json").write_text('{"x": 1}', encoding="utf-8")
    (tmp_path / "b.json").write_text('{"x": 1, "x": 1}', encoding="utf-8")
    assert list(differences(tmp_path, right, optional="d.json")) == [
        "b.json: damaged (the key 'x' occurs twice)",
        "c.json: missing",
    ]
    asked: list[str] = []
    (tmp_path / "a.json").write_text('{"x": 1, "y": 2}', encoding="utf-8")
    found = differences(tmp_path, {"a.json": {"x": 1}}, again=lambda file: (asked.append(file) or {}, {"y": 2}))
    assert (list(found), asked) == ([], ["a.json"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "the key 'c' occurs twice"),
        ('{"a": NaN}', "NaN is not a number in JSON"),
        ('{"a": -Infinity}', "-Infinity is not a number in JSON"),
        ("[" * 200_000, "nested too deeply"),
        ("\ufeff{}", "BOM"),
        ("{", "Expecting property name"),
    ],
)
def test_json_that_can_be_understood_in_two_ways(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parsed_text(text)


def test_only_plain_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("[1]", encoding="utf-8")
    (tmp_path / "link").symlink_to("x")
    check_plain(tmp_path / "link", 3)
    with pytest.raises(ValueError, match="link has 3 bytes, but at most 2 are allowed"):
        check_plain(tmp_path / "link", 2)
    with pytest.raises(ValueError, match="is not a plain file"):
        check_plain(tmp_path, MOST_TEXT)
    with pytest.raises(ValueError, match="x does not contain a JSON object"):
        mapping(tmp_path / "x")
    with pytest.raises(FileNotFoundError):
        mapping(tmp_path / "y")


def test_what_a_document_holds_is_of_the_right_kind() -> None:
    assert texts({"a": {"b": "c"}}, "a") == {"b": "c"}
    for wrong in ({"b": 1}, ["b"], None):
        with pytest.raises(TypeError, match="'a' is not an object of texts"):
            texts({"a": wrong}, "a")
    whole({"a": 1, "b": 2.0}, "a")
    for number in (True, 1.0, "1"):
        with pytest.raises(TypeError, match=r"'a' is .*, not a whole number"):
            whole({"a": number}, "a")


def test_what_may_stand_beside_an_export(tmp_path: Path) -> None:
    for name in ("a.json", "NOTES.md", ".gitattributes", "LICENSE", "torch.py", "\n"):
        (tmp_path / name).touch()
    for name in (".git", "b.json", "x.md"):
        (tmp_path / name).mkdir()
    rest = "does not belong to such an export and may change what is run: remove it"
    assert list(strangers(tmp_path, {"a.json", "b.json", "c.json"})) == [
        rf"'\n': {rest}",
        "b.json: is not a plain file",
        f"torch.py: {rest}",
        "x.md: is not a plain file",
    ]
    with pytest.raises(ExportError, match="none: cannot be listed"):
        list(strangers(tmp_path / "none", set()))


def test_where_an_export_may_come_from() -> None:
    own = dict(DECODER.provenance)
    assert list(inherited("f", {**own, "name": "another", "tm2tfr": "0.0.1"}, DECODER)) == []
    assert list(inherited("f", {**own, "source": f"# another text\n{own['source']}"}, DECODER)) == []
    assert list(inherited("f", {}, DECODER)) == []
    assert list(inherited("f", {"x\n": "y", "option.left_boundary": "none", "source": "x"}, DECODER)) == [
        r"f: provenance.'x\n' is not part of an export",
        "f: provenance.option.left_boundary is 'none', should be 'repaired'",
        "f: the machine stored with it is a different one",
    ]
