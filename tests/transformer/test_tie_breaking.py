"""Lemma 8 of Yang et al. on random scores, and the sharper bounds on the weight elsewhere that margins stand on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.transformer.test_soft import GAPS, ROUNDING
from tm2tfr.transformer.attention import softmax

BEHIND = st.lists(st.one_of(st.just(0.0), st.just(1.0), st.floats(1, 3), st.floats(1, 1e6)), min_size=1, max_size=40)
"""By how much each score is behind the best: by nothing, or by 1 or more."""


def behind(data: list[float], best: int) -> NDArray[Any]:
    found = -np.array(data)
    found[best % len(data)] = 0.0
    return found


def elsewhere(scores: NDArray[Any], best: int) -> float:
    """The weight of all positions but one, which is not rounded near 0."""
    return float(np.delete(softmax(scores), best).sum())


@pytest.mark.slow
@given(BEHIND, st.integers(0, 39), GAPS)
def test_lemma_8(below: list[float], best: int, gap: float) -> None:
    """The left side is 2w with w the weight elsewhere; (b) and (c) hold with 2e^-γ: from there is a margin of 4."""
    scores, n = behind(below, best), len(below)
    j, ties = np.arange(1, n + 1), np.flatnonzero(scores == 0)
    first, last = int(ties[0]), int(ties[-1])
    bound = math.exp(-gap) * (1 + ROUNDING) + 1e-300
    assert 2 * elsewhere(gap * n * n * (scores - 1 / j), last) <= 4 * bound
    assert 2 * elsewhere(2 * gap * n * (scores + j / (2 * n)), last) <= 2 * bound
    assert 2 * elsewhere(2 * gap * n * (scores - j / (2 * n)), first) <= 2 * bound


@given(GAPS, st.integers(0, 40), st.integers(0, 40))
def test_the_weight_elsewhere_with_rivals_on_both_sides(gap: float, before: int, after: int) -> None:
    """At most 2e^-γ/(1 + e^-γ), so that a margin of 7 leaves 1/4: scores γ(2cj - j²), and the slower γ|c - j|."""
    away = np.abs(np.arange(-before, after + 1)).astype(float)
    bound = 2 * math.exp(-gap) / (1 + math.exp(-gap)) * (1 + ROUNDING) + 1e-300
    assert elsewhere(-gap * away, before) <= bound
    assert elsewhere(-gap * away**2, before) <= bound
    assert elsewhere(-math.log(7) * away, before) <= 1 / 4 + ROUNDING


@given(BEHIND, st.integers(0, 39))
def test_margins_leave_a_quarter(below: list[float], best: int) -> None:
    scores, n = behind(below, best), len(below)
    last = int(np.flatnonzero(scores == 0)[-1])
    assert elsewhere(2 * n * math.log(4) * (scores + np.arange(n) / (2 * n)), last) <= 1 / 4 + ROUNDING


def test_the_bounds_are_reached() -> None:
    away = np.abs(np.arange(-200, 201)).astype(float)
    assert elsewhere(-math.log(7) * away, 200) > 1 / 4 - ROUNDING
    one_side = np.arange(400, dtype=float)
    assert elsewhere(math.log(4) * one_side, 399) > 1 / 4 - ROUNDING
