"""What docs/logic-scheme.md proves about weights under softmax, in numbers, without any compiled weights."""

from __future__ import annotations

import math
import re
from itertools import product

import numpy as np
import pytest

from tests.readme import ROOT
from tests.sources.logic.printed.model import Rows, positions, rounded, softmax

FRAMED = "tm2tfr/sources/sequence/compiler/framed/"


def test_the_files_that_are_named_are_there() -> None:
    page = (ROOT / "docs" / "logic-scheme.md").read_text(encoding="utf-8")
    table = page[: page.index("## The frame")]
    named = re.findall(r"`([\w/]+\.py)`", table)
    assert len(named) == 7
    assert [name for name in named if not (ROOT / (name if "/" in name else FRAMED + name)).exists()] == []


def elsewhere(losses: Rows) -> float:
    """Return the weight that softmax does not put on the one position with no loss."""
    assert (losses == 0).sum() == 1
    return 1 - float(softmax(-losses)[losses == 0][0])


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("gamma", [0.1, 1.0, math.log(4)])
def test_lemma_g_of_one_side(gamma: float, sign: int) -> None:
    """▶ and ◀ with two bits in the score: all scores of up to five positions."""
    for seen in range(1, 6):
        places = positions(seen) - 1
        for bits in product((0, 1, 2), repeat=seen):
            scores = np.array(bits) * 2 * seen + sign * places
            losses = gamma * (scores.max() - scores)
            assert elsewhere(losses) <= math.exp(-gamma) + 1e-12


@pytest.mark.parametrize("gamma", [0.1, 1.0, math.log(7)])
def test_lemma_g_of_two_sides(gamma: float) -> None:
    x = math.exp(-gamma)
    for seen in range(1, 30):
        for c in range(seen):
            assert elsewhere(gamma * (np.arange(seen) - c) ** 2.0) <= 2 * x / (1 + x)


def test_the_table_of_temperatures_is_what_a_quarter_needs() -> None:
    assert math.exp(-math.log(4)) == pytest.approx(1 / 4)
    assert pytest.approx(1 / 4) == 2 * (1 / 7) / (1 + 1 / 7)
    for c in range(1, 20):
        assert c * 1.5 * math.exp(-math.log(6 * c)) == pytest.approx(1 / 4)


def test_lemma_b_is_exact_in_floats() -> None:
    pick = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        x = pick.uniform(0.75, 1.25, 1000).astype(dtype)
        found = dtype(2) * (x - dtype(0.25)) - dtype(2) * (x - dtype(0.75))
        assert (found == 1).all()
    assert (rounded(pick.uniform(-0.25, 0.25, 1000)) == 0).all()


def test_lemma_h_a_sum_of_counts_has_its_sign_at_the_first_two_positions() -> None:
    for n in range(1, 6):
        for left, right in product(product((0, 1), repeat=n), repeat=2):
            for i in range(1, n + 1):
                t = 2 * sum(left[:i]) - 3 * sum(right[:i]) - 1
                z, late = (t + 0.5) / (i + 1), 10.0
                scores = np.array([z, 0.0, *[-late] * (i - 1)])
                assert int(np.argmax(scores)) == (0 if t >= 0 else 1)
                assert np.diff(np.sort(scores))[-1] >= 1 / (2 * (i + 1)) - 1e-12
    j = np.arange(50.0)
    step = 1 - 16 * np.maximum(1 / (j + 1) - 3 / 8, 0) + 16 * np.maximum(1 / (j + 1) - 7 / 16, 0)
    assert np.allclose(step, j >= 2, atol=1e-12)


def test_lemma_i_equal_numbers_are_found_and_the_latest_of_them() -> None:
    for seen in range(1, 6):
        i = seen - 1
        for d in product(range(-2, 3), repeat=seen):
            scores = np.array([-((d[j] - d[i]) ** 2) + j / (2 * seen) for j in range(seen)])
            assert int(np.argmax(scores)) == max(j for j in range(seen) if d[j] == d[i])
            assert seen == 1 or np.diff(np.sort(scores))[-1] >= 1 / (2 * seen) - 1e-12


@pytest.mark.parametrize(("margin", "enough"), [(3.0, False), (3.01, True)])
def test_the_sign_head_needs_a_little_more_than_a_margin_of_3(margin: float, enough: bool) -> None:
    worst = 0.0
    for i in range(1, 60):
        for sign in (1, -1):
            z = sign / (2 * (i + 1))
            scores = np.array([z, 0.0, *[-(abs(z) + 1.5)] * (i - 1)]) * 2 * (i + 1) * math.log(margin)
            worst = max(worst, elsewhere(scores.max() - scores))
    assert (worst <= 0.25) == enough
    assert worst < 0.2501


@pytest.mark.parametrize("per", [2, 4, 16])
def test_lemma_j_the_nearest_position_is_the_quotient(per: int) -> None:
    for i in range(1, 8):
        for y in range(per * i + per):
            score = -((np.arange(i + 1) - (y - (per - 1) / 2) / per) ** 2) / (i + 1)
            assert int(np.argmax(score)) == y // per
            assert np.diff(np.sort(score))[-1] >= 1 / (per * (i + 1)) - 1e-12
    for own, asked in product(range(6 * per), repeat=2):
        p, q = own // per, asked // per
        score = 2 * p * q - p * p - q * q + (own % per == asked % per)
        assert (score == 1) if own == asked else (score <= 0)
