"""The page for those who come from tracr shows what was measured, and what was measured meets what was asked for."""

from __future__ import annotations

import importlib.util
import json
from typing import Any

from tests.readme import ROOT

DATA: dict[str, Any] = json.loads((ROOT / "docs/rasp-tracr.json").read_text(encoding="utf-8"))


def test_the_tables_are_those_of_the_data() -> None:
    spec = importlib.util.spec_from_file_location("tracr_tables", ROOT / "docs/tracr_tables.py")
    assert spec is not None
    assert spec.loader is not None
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    page = tables.PAGE.read_text(encoding="utf-8")
    assert page == tables.written(page, DATA), "write them anew: python docs/tracr_tables.py"
    assert page.count("<!-- end -->") == len(tables.TABLES)


def test_ours_is_never_wrong() -> None:
    assert [row["program"] for row in DATA["programs"] if row["wrong"]["ours"]] == []
    assert [row["program"] for row in DATA["long"] if row["ours"] is not None] == []


def test_ours_has_at_most_two_blocks_more() -> None:
    for row in DATA["programs"]:
        for size in row["sizes"].values():
            assert size["ours"]["blocks"] <= size["tracr"]["blocks"] + 2, row["program"]


def test_speed_is_what_was_asked_for() -> None:
    for row in DATA["programs"]:
        speed = row["tokens a second"]
        assert speed["ours"] >= 100 * speed["apply"], row["program"]
        assert speed["ours"] >= speed["jit, one input"], row["program"]
