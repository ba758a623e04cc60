"""The right run of a program: every output is compared, whatever it is called."""

from __future__ import annotations

from pathlib import Path

import pytest

import tm2tfr


@pytest.mark.parametrize("name", ["x", "i", "first"])
def test_an_s_op_that_is_called_like_a_column_is_compared_too(name: str, tmp_path: Path) -> None:
    path = tmp_path / "named.rasp"
    path.write_text(f'# alphabet: ab\n{name} = tokens == "a";\n', encoding="utf-8")
    found = tm2tfr.check(path, "ab")
    assert (found.agrees, found.compared) == (True, 4)
