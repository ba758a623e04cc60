"""Settings beside those of a recipe: which values are the same, what may be otherwise, and what is said of the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.targets.common.scripted import DECODER
from tm2tfr.base.errors import ExportError
from tm2tfr.targets.common.directory import (
    MOST_TEXT,
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
)

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
