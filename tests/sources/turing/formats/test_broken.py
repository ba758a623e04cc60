"""What is said about broken files of other programs: every word of it, where it stands, and never much.

``python -m tests.sources.turing.formats.test_broken`` writes what is said now into the files: then read the difference.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.sources.turing.formats.golden import Case, cases, rewrite
from tm2tfr.base.errors import SpecError
from tm2tfr.base.text.source import FEW_DIAGNOSTICS
from tm2tfr.sources.turing.formats import registry

FILES = sorted((Path(__file__).parent / "broken").glob("*.txt"))
CASES = {path.stem: list(cases(path)) for path in FILES}
GOLDEN = [pytest.param(format, case, id=f"{format}: {case.about}") for format, found in CASES.items() for case in found]


def said(format: str, text: str) -> str:
    """Return all that is said about a text that is no machine."""
    try:
        return f"read, with {registry.read(text, file='f', format=format).warnings}"
    except SpecError as error:
        return str(error)


@pytest.mark.parametrize("format", CASES)
def test_no_case_is_lost_and_there_are_enough(format: str) -> None:
    text = (FILES[0].parent / f"{format}.txt").read_text(encoding="utf-8")
    assert len(CASES[format]) == text.count("=== says") >= 40


@pytest.mark.parametrize(("format", "case"), GOLDEN)
def test_what_is_said_about_a_broken_file(format: str, case: Case) -> None:
    found = said(format, case.text)
    assert found == case.said
    heads = [line for line in found.splitlines() if re.match(r"f:", line)]
    assert 1 <= len(heads) <= FEW_DIAGNOSTICS + 1
    assert all(len(head) < 260 for head in heads)
    assert any(re.match(r"f:\d+:\d+: (?!warning)", head) for head in heads) or not case.text.strip()


if __name__ == "__main__":
    for each in FILES:
        rewrite(each, lambda text, format=each.stem: said(format, text))  # type: ignore[misc]
