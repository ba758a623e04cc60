"""Misprints 7 to 9, and 11's Lemma 27: bounds that do not hold as they are derived, with what makes them hold."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from tests.sources.logic.printed.model import FeedForward, Rows, lhardmax, positions, rhardmax, softmax, softmax_at


def sides(c: int, i: int, gamma: float) -> tuple[float, float]:
    """Return Σ α_j |c - j| over j < c and over j > c, with the scores of Lemma 7."""
    j = np.arange(1, i + 1)
    alpha = softmax(gamma * (2 * c * j - j**2).astype(float))
    off = alpha * np.abs(j - c)
    return float(off[j < c].sum()), float(off[j > c].sum())


def test_misprint_7_the_proof_of_lemma_7_leaves_the_left_side_out() -> None:
    left, right = sides(3, 3, 1.0)
    assert (round(abs(left - right), 4), right) == (0.2918, 0.0)
    assert not abs(left - right) <= right


def test_misprint_7_repaired_the_larger_side_bounds_the_difference_and_lemma_7_stands() -> None:
    for gamma in (1.0, 1.5, 3.0):
        for i in range(1, 31):
            for c in range(1, i + 1):
                left, right = sides(c, i, gamma)
                assert abs(left - right) <= max(left, right) <= 1.5 * math.exp(-gamma)


@pytest.mark.parametrize("gamma", [0.5, 1.0, 3.0])
def test_lemma_8_is_right_as_printed(gamma: float) -> None:
    for n in range(1, 6):
        j = positions(n)
        for drawn in product((0.0, 1.0, 2.0), repeat=n):
            s = np.array(drawn)
            for hard, scores in (
                (rhardmax, gamma * n**2 * (s - 1 / j)),
                (rhardmax, 2 * gamma * n * (s + j / (2 * n))),
                (lhardmax, 2 * gamma * n * (s - j / (2 * n))),
            ):
                assert np.abs(softmax(scores) - hard(s)).sum() <= 4 * math.exp(-gamma)


def layer(x: Rows, w: dict[str, Rows]) -> Rows:
    """A layer of Section 3.1 on one position, where attention is the value itself."""
    return FeedForward(w["w1"], w["b1"], w["w2"], w["b2"])(w["value"] @ x)


def ones(d: int) -> dict[str, Rows]:
    return {name: np.ones((d, d)) for name in ("value", "w1", "w2")} | {name: np.ones(d) for name in ("b1", "b2")}


def test_misprint_8_lemma_29_forgets_the_biases() -> None:
    d, largest, x_max = 1, 1, 1
    found = np.abs(layer(np.ones(1), ones(1))).sum()
    assert (found, (d * largest) ** 3 * d * x_max) == (3, 1)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_misprint_8_repaired_each_layer_adds_what_its_biases_can(d: int) -> None:
    pick = np.random.default_rng(d)
    tight = ones(d)
    for weights in [tight] + [{name: pick.uniform(-2, 2, w.shape) for name, w in tight.items()} for _ in range(200)]:
        p = max(np.abs(each).max() for each in weights.values())
        x = np.ones(d) if weights is tight else pick.uniform(-3, 3, d)
        bound = (d * p) ** 3 * np.abs(x).sum() + (d * p) ** 2 + d * p
        found = np.abs(layer(x, weights)).sum()
        assert found <= bound * (1 + 1e-12)
        assert weights is not tight or found == bound, "and no smaller bound holds"


def test_misprint_9_the_exponent_of_lemma_25_s_proof_has_the_gap_with_a_wrong_sign() -> None:
    gap, error, tau = 1.0, 0.2, 0.1
    weights = softmax_at(lambda _i, _n: tau)(np.array([-error, -gap + error]), 1, 2)
    off = float(np.abs(np.array([1.0, 0.0]) - weights).sum())
    printed, lemma_33 = (4 * math.exp(exponent / tau) for exponent in (-(gap + 2 * error), -(gap - 2 * error)))
    assert printed < off <= lemma_33
    assert (round(off, 4), round(printed, 7)) == (0.0049, 0.0000033)


def test_misprint_9_lemma_32_bounds_a_product_with_the_approximation_by_the_exact_entries() -> None:
    u, error = Fraction(1), Fraction(1, 10)  # d = 1, all parameters 1
    approximate = u + error
    terms = [error * approximate, approximate * error, error * error]
    assert sum(terms) == 2 * u * error + 3 * error**2
    assert sum(terms) > 2 * u * error + error**2, "the second line is not larger than the first"
    assert approximate**2 - u**2 == 2 * u * error + error**2, "and yet the lemma holds, here with equality"


def to_even(x: int) -> int:
    """Return x/2, rounded half to even."""
    return round(x / 2)


def test_misprint_11_two_least_preimages_can_be_neighbours() -> None:
    """Lemma 27's proof wants a point strictly between m(1) and m(2); round half to even, p' = p + 1, has none."""
    least = {y: min(x for x in range(16) if to_even(x) == y) for y in range(8)}
    touching = [(a, b) for a, b in pairwise(range(8)) if least[b] == least[a] + 1]
    assert touching == [(1, 2), (3, 4), (5, 6)]


@pytest.mark.parametrize("p", [1, 2, 3, 4, 5, 6])
def test_misprint_11_lemma_27_stands_for_them_all_the_same(p: int) -> None:
    """No line goes through more of these points than two neighbours of different value, or two of the same."""
    points = [(x, min(to_even(x), 2**p - 1)) for x in range(2 ** (p + 1))]
    pieces = 0
    while points:
        slope = points[1][1] - points[0][1] if len(points) > 1 else 0
        on = [y == points[0][1] + slope * k for k, (_, y) in enumerate(points)]
        points = points[[*on, False].index(False) :]
        pieces += 1
    assert pieces == 2**p
