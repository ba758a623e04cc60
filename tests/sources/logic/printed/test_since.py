"""Misprint 12: `since` is not the usual one; for the printed one Theorems 15 and 16 are right as printed."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.sources.logic.printed.model import attend, positions, rounded, softmax_at, words

Bits = tuple[bool, ...]


def since(left: Bits, right: Bits) -> list[bool]:
    """Definition 14, word by word."""
    return [any(right[j] and all(left[k] for k in range(j, i + 1)) for j in range(i + 1)) for i in range(len(left))]


def usual(left: Bits, right: Bits) -> list[bool]:
    """S as elsewhere: the left side is asked for after j only."""
    return [any(right[j] and all(left[k] for k in range(j + 1, i + 1)) for j in range(i + 1)) for i in range(len(left))]


def test_misprint_12_a_letter_since_another_is_never_true() -> None:
    told = {word: ([t == "a" for t in word], [t == "b" for t in word]) for word in words("ab", 8)}
    assert not any(any(since(tuple(a), tuple(b))) for a, b in told.values())
    assert usual((False, True), (True, False)) == [True, True], "ba: a S b"


def test_misprint_12_each_since_is_made_of_the_other() -> None:
    for n in range(1, 6):
        for left, right in product(product((False, True), repeat=n), repeat=2):
            either = tuple(x or y for x, y in zip(left, right, strict=True))
            both = tuple(x and y for x, y in zip(left, right, strict=True))
            assert usual(left, right) == since(either, right)
            assert since(left, right) == usual(left, both)


@pytest.mark.parametrize("theorem", ["15a", "16a"])
def test_theorems_15_and_16_are_right_as_printed_for_the_printed_since(theorem: str) -> None:
    temperature = (lambda _i, n: 1 / n) if theorem == "15a" else (lambda i, _n: 1 / i**2)
    for n in range(1, 6):
        places = positions(n)
        for left, right in product(product((False, True), repeat=n), repeat=2):
            phi1, phi2 = np.array(left, float), np.array(right, float)
            marker = np.maximum(1 - phi1, phi2)
            keys = 6 * (marker + places / (2 * n)) if theorem == "15a" else 3 * (marker - 1 / places)
            found = attend(np.tile(keys, (n, 1)), phi1 * phi2, softmax_at(temperature), "future")
            assert np.allclose(rounded(found), since(left, right), atol=1e-12)
