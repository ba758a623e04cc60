"""Exact products of matrices, and orthogonal matrices with dyadic entries."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from tm2tfr.base.errors import ShapeError
from tm2tfr.lab.hidden.dyadic import Dyadic, Turn, is_orthogonal, padded, product, rounds_for


def by_fractions(left: Dyadic, right: Dyadic) -> list[list[Fraction]]:
    return [
        [sum((Fraction(a) * Fraction(b) for a, b in zip(row, column, strict=True)), Fraction(0)) for column in right.T]
        for row in left
    ]


def test_products_are_exact_whether_floats_can_or_not() -> None:
    draw = random.Random(0)
    for low in (0, 20, 40):  # the last needs integers: partial sums have more than 53 digits
        left, right = (
            np.array([[draw.choice((1, -3, 5)) * 2.0 ** draw.choice((0, -low)) for _ in range(5)] for _ in range(4)])
            for _ in range(2)
        )
        right = right.T.copy()
        right[1] = 0.0
        left[:, 2] = 0.0
        try:
            found = product(left, right)
        except ShapeError:
            assert low == 40
            continue
        assert [[Fraction(v) for v in row] for row in found] == by_fractions(left, right)
    assert product(np.zeros((2, 0)), np.zeros((0, 3))).tolist() == [[0.0] * 3] * 2


def test_a_product_with_too_many_digits_is_refused() -> None:
    third = np.array([[1 / 3, 2.0**-60]])
    with pytest.raises(ShapeError, match=r"the query has more digits than a float64, so the disguise would not be exact"):
        product(third, np.array([[3.0], [1.0]]), "the query")


def test_integers_carry_what_floats_would_round() -> None:
    large = np.array([[2.0**53, 1.0, -(2.0**53)]])
    assert product(large, np.ones((3, 1))).tolist() == [[1.0]]


@pytest.mark.parametrize("size", [4, 8, 64, 100])
def test_a_turn_is_orthogonal_and_full(size: int) -> None:
    turn = Turn.drawn(size, rounds_for(size), random.Random(size))
    assert is_orthogonal(turn.matrix)
    assert np.count_nonzero(turn.matrix) > size * size / 2
    changed = turn.matrix.copy()
    changed[0, 0] += 2.0**-10
    assert not is_orthogonal(changed)


def test_a_turn_that_is_none_is_refused() -> None:
    with pytest.raises(ShapeError, match="a multiple of 4 dimensions, not 6"):
        Turn(6, ())
    for rounds in (((0, 0, 1, 2), (1, 1, 1, 1)), ((0, 1, 2, 3), (1, 1, 1, 2)), ((0, 1, 2, 3), (1, 1, 1))):
        with pytest.raises(ShapeError, match="a permutation of 4 coordinates with a sign for each"):
            Turn(4, (rounds,))
    assert [padded(n) for n in (0, 1, 4, 5)] == [0, 4, 4, 8]
