"""Misprint 10: what ⊖ is at the first position, one head where two are needed, and Lemma 8 for masked rows."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.sources.logic.printed.model import Rows, attend, lhardmax, positions, rhardmax, rounded, softmax


def previous(bits: Rows) -> Rows:
    """⊖ by Theorem 13b, future-masked with temperature 1, before position 1 is set to 0."""
    places = positions(len(bits))
    heads = []
    for sign in (1, -1):
        scores = 3 * places[:, None] ** 2 * (sign / 2 * (-1) ** places - 1 / places)[None]
        heads.append(rounded(attend(scores, bits, softmax, "future")))
    return np.where(places % 2 == 1, heads[0], heads[1])


def first(n: int) -> Rows:
    """Proposition 11a."""
    means = attend(np.zeros((n, n)), (-1) ** (positions(n) + 1), softmax, "future")
    return np.maximum(means - 1 / 3, 0) * 1.5


def test_misprint_10_before_the_first_position_is_the_first_position() -> None:
    assert previous(np.array([1.0, 0.0])).tolist() == [1, 1], "Definition 10 leaves w, 0 ⊨ φ open; the proof has 0"
    for n in range(1, 9):
        for bits in product((0.0, 1.0), repeat=n):
            found = np.maximum(previous(np.array(bits)) - first(n), 0)
            assert np.allclose(found, [0, *bits[:-1]], atol=1e-12)


@pytest.mark.parametrize("hard", [rhardmax, lhardmax])
def test_misprint_10_lemma_8_holds_for_masked_rows_with_the_factor_of_the_whole_length(hard: object) -> None:
    """Unsaid: a row under a mask has i scores, and the factor is n; only j ≤ n is used."""
    pick, n, gamma = np.random.default_rng(0), 12, 1.0
    sign = 1 if hard is rhardmax else -1
    for _ in range(500):
        seen = int(pick.integers(1, n + 1))
        s = pick.integers(0, 3, seen).astype(float)
        scores = 2 * gamma * n * (s + sign * positions(seen) / (2 * n))
        wanted = rhardmax(s) if hard is rhardmax else lhardmax(s)
        assert np.abs(softmax(scores) - wanted).sum() <= 4 * np.exp(-gamma)
