"""Texts that are not RASP: every complaint, word by word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden import Case, Golden
from tm2tfr.base.errors import SpecError
from tm2tfr.sources.rasp.read import read

FILE = Path(__file__).with_name("malformed.txt")


def complaints(text: str) -> str:
    """Return the messages about a text, warnings too."""
    try:
        return "\n".join(map(str, read(text, file="x.rasp", folder=FILE.parent).warnings))
    except SpecError as error:
        return str(error)


def answer(case: Case) -> str:
    return complaints(case.text)


GOLDEN = Golden(FILE, answer)
test_the_complaints_about_a_text = pytest.mark.slow(GOLDEN.test())


def test_there_are_many_and_each_has_a_place_and_a_remedy() -> None:
    assert len(GOLDEN.cases) >= 95
    for case in GOLDEN.cases:
        assert case.says.startswith("x.rasp:")
        assert all(message.count(": ") >= 2 for message in case.says.splitlines() if message.startswith("x.rasp:"))


def test_a_text_of_nothing_but_mistakes_is_left_after_a_hundred_complaints() -> None:
    messages = complaints("a = ;\n" * 500)
    assert messages.count("write a value here") == 20
    assert "… and 80 more: fix those above first" in messages
