"""A directory that is replaced, and what it says of itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tm2tfr.errors import OutputError
from tm2tfr.export.checkpoints.directory import NAMES, written

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
