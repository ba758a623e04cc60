"""Columns for a terminal."""

from __future__ import annotations

import pytest

from tm2tfr.base.text.shown import aligned, width


@pytest.mark.parametrize(("text", "columns"), [("", 0), ("abc", 3), ("⊥…⋮▸≠␣", 6), ("あ", 2), ("e\u0301", 1), ("😀x", 3)])
def test_width(text: str, columns: int) -> None:
    assert width(text) == columns


def test_columns_are_as_wide_as_their_widest_cell_and_end_without_spaces() -> None:
    rows = [["name", "n", "what"], ["あ", "10", "x"], ["b", "7", ""]]
    assert aligned(rows, {1}) == ["name   n  what", "あ    10  x", "b      7"]
    assert aligned(rows) == ["name  n   what", "あ    10  x", "b     7"]
    assert aligned([["x"]]) == ["x"]


def test_rows_are_of_one_length() -> None:
    with pytest.raises(ValueError, match="zip"):
        aligned([["a", "b"], ["c"]])
