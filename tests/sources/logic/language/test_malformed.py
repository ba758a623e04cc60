"""Formulas and programs that cannot be read, or may not be meant: every complaint, word by word."""

from __future__ import annotations

import pytest

from tests.sources.logic.language.malformed import CASES as FILE
from tests.sources.logic.language.malformed import complaints
from tests.sources.malformed import cases

CASES = [*cases(FILE)]


@pytest.mark.parametrize(("title", "text", "messages"), CASES, ids=[case[0] for case in CASES])
def test_the_complaints_about_a_text(title: str, text: str, messages: str) -> None:
    assert complaints(title, text) == messages


def test_there_are_many_and_each_has_a_place_and_a_remedy() -> None:
    assert len(CASES) >= 90
    for _, _, messages in CASES:
        assert messages.startswith(("x.tl:", "x.srasp:"))
        heads = [message for message in messages.splitlines() if message.startswith("x.")]
        assert all(message.count(": ") >= 2 for message in heads)


def test_a_text_of_nothing_but_mistakes_is_left_after_a_hundred_complaints() -> None:
    said = complaints("formula", "Q[a] &\n;" * 500)
    assert said.count("an operand is missing") == 20
    assert "… and 80 more: fix those above first" in said
