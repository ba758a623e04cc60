"""The words that model cards show."""

from __future__ import annotations

import pytest

from tm2tfr.targets.common.card import argument, typed

TOKENS = ("B", "O", "S", "BOS", "(q,B,0)")


@pytest.mark.parametrize(
    ("word", "vocabulary", "shown"),
    [
        ("BOB", TOKENS, "BOB"),
        ("BOS", TOKENS, "B O S"),
        ("OBOS", TOKENS, "O B O S"),
        ("", TOKENS, ""),
        ("BOS", (*TOKENS, " "), "BOS"),  # a space is a symbol there: nothing may be put between
    ],
)
def test_a_word_as_it_is_given_to_a_tokenizer(word: str, vocabulary: tuple[str, ...], shown: str) -> None:
    assert typed(word, vocabulary) == shown


def test_a_word_as_an_argument() -> None:
    assert [argument(word) for word in ("11", "-1", "a b", "")] == ["11", "-- -1", "'a b'", "''"]
