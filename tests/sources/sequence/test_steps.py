"""Steps between numbers: 0 at all numbers below and 1 at all above, exactly, in floats of either width as well."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import tries
from tm2tfr.sources.sequence.compiler.codes import Threshold, between, steps

fractions = st.fractions(min_value=0, max_value=1000, max_denominator=200)


def height(step: Threshold, x: Fraction) -> Fraction:
    """Return what the two hidden units of a step add up to."""
    return (1 << step.power) * (max(x - step.start, Fraction(0)) - max(x - step.end, Fraction(0)))


@pytest.mark.slow
@given(st.lists(fractions, min_size=2, max_size=12, unique=True).map(sorted))
@settings(max_examples=tries(300))
def test_each_separates_its_neighbours(numbers: list[Fraction]) -> None:
    found = steps(numbers)
    assert len(found) == len(numbers) - 1
    for n, step in enumerate(found):
        assert [height(step, x) for x in numbers] == [0] * (n + 1) + [1] * (len(numbers) - n - 1)
        quarter = (numbers[n + 1] - numbers[n]) / 4
        assert step.start >= numbers[n] + quarter
        assert step.end <= numbers[n + 1] - quarter


def test_they_are_as_wide_as_can_be() -> None:
    assert between(Fraction(0), Fraction(1)) == Threshold(Fraction(1, 4), 2)
    assert between(Fraction(0), Fraction(4)) == Threshold(Fraction(1), 0)
    assert between(Fraction(1, 3), Fraction(1, 2)).label == "3/8..7/16"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_means_as_floats_have_them(dtype: str) -> None:
    """Of all a/b with b up to 64, as one float divided by another."""
    numbers = sorted({Fraction(a, b) for b in range(1, 65) for a in range(b + 1)})
    kind = np.dtype(dtype).type
    x = np.array([kind(number.numerator) / kind(number.denominator) for number in numbers])
    for n, step in enumerate(steps(numbers)):
        slope = kind(1 << step.power)
        edges = kind(float(step.start)), kind(float(step.end))
        assert [Fraction(float(edge)) for edge in edges] == [step.start, step.end]
        values = slope * np.maximum(x - edges[0], kind(0)) - slope * np.maximum(x - edges[1], kind(0))
        assert values.dtype == np.dtype(dtype)
        assert not values[: n + 1].any()
        assert (values[n + 1 :] == 1).all()
