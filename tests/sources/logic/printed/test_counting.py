"""Misprints 2 to 5: Theorem 20 counts wrongly at 0, under a mask of its own, and with a sign turned round."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sources.logic.printed.counting import marks, retrieved
from tests.sources.logic.printed.model import FeedForward, Rows, cells, positions, rounded, words

BINARY = list(words("01", 8))
ONES = {word: np.cumsum(marks(word)) for word in BINARY}
"""#←[Q1] at every position, counted."""
ONES_AFTER = {word: np.cumsum(marks(word)[::-1])[::-1] for word in BINARY}
"""#→[Q1] at every position, counted."""

Cell = tuple[str, int]
"""A word and a position from 1."""


def wrong(found: dict[str, Rows], expected: dict[str, Rows]) -> list[Cell]:
    """Return the cells that are off by more than 1/4."""
    return [(word, int(i) + 1) for word in found for i in np.flatnonzero(np.abs(found[word] - expected[word]) > 0.25)]


def at_least(counts: Rows, c: int) -> Rows:
    """The third step, H(i) ≥ c: f of Lemma 9, of H(i) - c + 1."""
    return rounded(counts - c + 1)


def with_zero_test(word: str) -> Rows:
    """The count as printed: two retrievals, and 0 if both are within 1 ± 1/4 (C = 1)."""
    bits, places = marks(word), positions(len(word))
    both = np.stack([retrieved(bits, places), retrieved(bits, places, plus=1)], axis=1)
    # both are near 1 if and only if the second is; then 1 is subtracted, by Lemma 9 of 2 - second
    step = FeedForward([[1, 0], [0, -1], [0, -1]], [0, 1.75, 1.25], [[1, -2, 2]], [0])
    return step(both)[:, 0]


def test_misprint_2_the_zero_test_takes_a_1_at_the_first_position_for_none() -> None:
    found = {word: at_least(with_zero_test(word), 1) for word in BINARY}
    expected = {word: (ONES[word] >= 1).astype(float) for word in BINARY}
    bad = wrong(found, expected)
    assert bad[0] == ("1", 1)
    assert bad == [(word, 1) for word in BINARY if word[0] == "1"]
    assert (len(bad), cells("01", 8)) == (255, 3586)


def test_misprint_2_without_the_zero_test_every_count_of_0_is_1() -> None:
    found = {word: retrieved(marks(word), positions(len(word))) for word in BINARY}
    assert wrong(found, ONES) == [(word, i + 1) for word in BINARY for i in range(len(word)) if "1" not in word[: i + 1]]


def test_misprint_2_repaired_a_position_0_is_what_a_count_of_0_finds() -> None:
    found = {word: retrieved(marks(word), positions(len(word), bos=1), bos=1) for word in BINARY}
    assert wrong(found, ONES) == []
    assert all(np.allclose(at_least(found[word], 1), ONES[word] >= 1, atol=1e-12) for word in BINARY)


def test_misprint_3_theta_of_a_count_of_0_is_theta_of_1() -> None:
    odd = {word: retrieved(marks(word), positions(len(word)) % 2) for word in BINARY}
    last = [f"{odd[word][-1]:.4f}" for word in ("0", "00", "0000")]
    assert last == ["1.0000", "0.9999", "0.9999"]
    bad = wrong(odd, {word: ONES[word] % 2 for word in BINARY})
    assert bad == [(word, i + 1) for word in BINARY for i in range(len(word)) if "1" not in word[: i + 1]]
    assert len(bad) == sum(2**n - 1 for n in range(1, 9))


def test_misprint_3_repaired_theta_is_defined_at_0() -> None:
    odd = {word: retrieved(marks(word), positions(len(word), bos=1) % 2, bos=1) for word in BINARY}
    assert wrong(odd, {word: ONES[word] % 2 for word in BINARY}) == []
    assert all(np.allclose(rounded(odd[word]), ONES[word] % 2, atol=1e-12) for word in BINARY)


def test_misprint_4_a_count_to_the_right_is_not_looked_up_under_its_own_mask() -> None:
    after = retrieved(marks("1111"), positions(4), side="past")
    assert (ONES_AFTER["1111"][-1], round(float(after[-1]), 4)) == (1, 4)
    found = {word: retrieved(marks(word), positions(len(word)), side="past") for word in BINARY}
    bad = wrong(found, ONES_AFTER)
    assert bad == [(word, i + 1) for word in BINARY for i in range(len(word)) if ONES_AFTER[word][i] < i + 1]
    assert len(bad) == 2334


def test_misprint_4_repaired_the_look_up_has_no_mask() -> None:
    found = {word: retrieved(marks(word), positions(len(word), bos=1), side="past", mask="none", bos=1) for word in BINARY}
    assert wrong(found, ONES_AFTER) == []


def test_misprint_5_the_sum_of_the_third_step_is_not_what_it_is_compared_with() -> None:
    """#←[Q1] + #→[Q1] ≥ 3, with the repaired look-ups: C = 2."""

    def total(word: str) -> Rows:
        bits, places = marks(word), positions(len(word), bos=1)
        left = retrieved(bits, places, scale=6, bos=1)
        return left + retrieved(bits, places, side="past", mask="none", scale=6, bos=1)

    printed = {word: ONES[word] - ONES_AFTER[word] for word in BINARY}
    repaired = {word: ONES[word] + ONES_AFTER[word] for word in BINARY}
    assert (round(float(total("11")[1])), printed["11"][1], repaired["11"][1]) == (3, 1, 3)
    found = {word: total(word) for word in BINARY}
    assert wrong(found, printed) == [(w, int(i) + 1) for w in BINARY for i in np.flatnonzero(ONES_AFTER[w])]
    assert wrong(found, repaired) == []


@pytest.mark.parametrize("word", ["1", "10", "0110"])
def test_the_witnesses_are_right_where_nothing_is_0(word: str) -> None:
    """The rest of Theorem 20 stands: from the first 1 on, the retrieval as printed is within 1/4."""
    bits = marks(word)
    since_first = np.flatnonzero(np.cumsum(bits))
    assert (np.abs(retrieved(bits, positions(len(word))) - np.cumsum(bits))[since_first] <= 0.25).all()
