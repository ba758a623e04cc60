"""No document, message, docstring or comment uses a phrase that has to be read twice."""

from __future__ import annotations

import pytest

from tests.house.words import everything, found, listed


@pytest.mark.parametrize(
    "text",
    [
        "Whoever calls it",
        "a word that is none",
        "so\nmany heads",
        "three at the most",
        "the program is no machine",
        "tracr has, tm2tfr has not.",
    ],
)
def test_phrases_that_are_read_twice_are_found(text: str) -> None:
    assert list(found(text))


@pytest.mark.parametrize(
    "text", ["This is no longer true.", "It returns `None` if there is none.", "There is no machine.", "It has nothing."]
)
def test_plain_sentences_are_left_alone(text: str) -> None:
    assert not list(found(text))


def test_nothing_that_a_person_reads_uses_one() -> None:
    assert [place for path in everything() for place in listed(path)] == []
