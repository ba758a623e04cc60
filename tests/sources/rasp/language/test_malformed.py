"""Texts that are not RASP: every complaint, word by word."""

from __future__ import annotations

import pytest

from tests.sources.malformed import cases
from tests.sources.rasp.language.malformed import CASES as FILE
from tests.sources.rasp.language.malformed import complaints

CASES = [*cases(FILE)]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "messages"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_the_complaints_about_a_text(text: str, messages: str) -> None:
    assert complaints(text) == messages


def test_there_are_many_and_each_has_a_place_and_a_remedy() -> None:
    assert len(CASES) >= 95
    for _, _, messages in CASES:
        assert messages.startswith("x.rasp:")
        assert all(message.count(": ") >= 2 for message in messages.splitlines() if message.startswith("x.rasp:"))


def test_a_text_of_nothing_but_mistakes_is_left_after_a_hundred_complaints() -> None:
    said = complaints("a = ;\n" * 500)
    assert said.count("write a value here") == 20
    assert "… and 80 more: fix those above first" in said
