"""Misprint 1: the layers of Section 3.1 have no residual connection, so a conjunction cannot see its own position."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sources.logic.printed.model import FeedForward, Rows, attend, positions, rhardmax, softmax_at, words

COLUMNS = "ab"


def embedded(word: str) -> Rows:
    """Return [Q_a, Q_b] at each position, (n, 2)."""
    return np.array([[float(token == each) for each in COLUMNS] for token in word])


def before(values: Rows) -> Rows:
    """Return what the head of ⊖ in the proof of Theorem 12 brings: all weight on j = i - 1, on 1 at 1."""
    places = positions(len(values))
    return attend(-((places[None] - np.maximum(places[:, None] - 1, 1)) ** 2), values, rhardmax)


def wanted(word: str) -> list[bool]:
    """Q_a ∧ ⊖Q_b."""
    return [word[i] == "a" and i > 0 and word[i - 1] == "b" for i in range(len(word))]


@pytest.mark.parametrize("seed", range(5))
def test_as_printed_position_2_of_ba_and_bb_is_the_same_whatever_the_weights(seed: int) -> None:
    pick = np.random.default_rng(seed)
    value = pick.normal(size=(5, 2))
    layer = FeedForward(pick.normal(size=(7, 5)), pick.normal(size=7), pick.normal(size=(1, 7)), pick.normal(size=1))
    ba, bb = (layer(before(embedded(word) @ value.T)) for word in ("ba", "bb"))
    assert (ba[1] == bb[1]).all()
    assert (wanted("ba")[1], wanted("bb")[1]) == (True, False)


def test_as_printed_half_of_all_pairs_of_words_that_differ_in_the_last_token_cannot_be_told_apart() -> None:
    pairs = [(word + "a", word + "b") for word in words("ab", 7)]
    same = [(x, y) for x, y in pairs if (before(embedded(x))[-1] == before(embedded(y))[-1]).all()]
    assert same == pairs
    asked = [(x, y) for x, y in pairs if wanted(x)[-1] != wanted(y)[-1]]
    assert (len(asked), len(pairs)) == (127, 254)


def test_with_the_residual_connection_the_same_head_is_right_at_every_position() -> None:
    conjunction = FeedForward([[1.0, 1.0]], [-1.0], [[1.0]], [0.0])
    for word in words("ab", 8):
        x = embedded(word)
        first = np.arange(len(word)) > 0
        stream = np.column_stack([x, before(x)[:, 1] * first])  # h = x + c: c in a direction of its own
        assert (conjunction(stream[:, [0, 2]])[:, 0] == wanted(word)).all(), word


def test_as_printed_two_layers_lose_every_token_at_an_odd_position_but_the_first() -> None:
    """Theorem 12 with "two future-masked attention layers", since Section 3.1 allows one head only."""
    at = softmax_at(lambda _i, n: 1 / n)

    def second_layer(word: str) -> Rows:
        places, n = positions(len(word)), len(word)
        even, odd = (6 * (sign / 2 * (-1) ** places + places / (2 * n)) for sign in (1, -1))
        hidden = attend(np.tile(even, (n, 1)), embedded(word), at, "future")
        return attend(np.tile(odd, (n, 1)), hidden, at, "future")

    told = np.abs(second_layer("aaba") - second_layer("aaaa")).max(axis=1)
    assert told.max() < 0.01, "position 4 should see that position 3 is b or a"
    assert np.abs(second_layer("baaa") - second_layer("aaaa")).max(axis=1)[0] == 1
