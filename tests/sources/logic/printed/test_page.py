"""The table of docs/logic-paper.md says what the tests of this folder find, row by row."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.readme import ROOT

PAGE = (ROOT / "docs" / "logic-paper.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| (\d+) \| (.*) \|$", PAGE, re.MULTILINE))
TESTS = "".join(path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("test_*.py")))


def test_every_misprint_has_a_row_and_a_test() -> None:
    assert list(ROWS) == [str(number) for number in range(1, 13)]
    assert [n for n in ROWS if not re.search(rf"misprint_{n}_|Misprint {n}:", TESTS)] == []


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("1", ("`Q[a] & prev Q[b]` on `ba` and `bb`",)),
        ("2", ("255 of the 3,586",)),
        ("3", ("(1.0000, 0.9999, 0.9999)", "502 of the 3,586")),
        ("4", ("`1111` at i = 4: the count is 1, and 4 is brought", "2,334 of 3,586")),
        ("5", ("on `11` at i = 2: H is 3, the printed target 1",)),
        ("6", ("22 of 22 (k = 1, up to 8 tokens), 50 of 50 (k = 2, up to 6)", "510 and 5,460")),
        ("7", ("0.2918",)),
        ("8", ("one layer gives 3, the bound is 1",)),
        ("9", ("0.0049", "0.0000033", "0.23 > 0.21")),
        ("11", ("on `ababb` at 5 it answers a, not b",)),
    ],
)
def test_the_numbers_are_those_that_are_found(row: str, said: tuple[str, ...]) -> None:
    assert [text for text in said if text not in ROWS[row]] == []
