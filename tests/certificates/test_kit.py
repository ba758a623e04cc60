"""The kit of certificates: questions, refusals, the search for the largest number, intervals."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

import tm2tfr
from tm2tfr.base.errors import EngineError
from tm2tfr.certificates.intervals import Interval, Rounding, applied, quantum_of
from tm2tfr.certificates.kit import ENGINES, Questions, Refusal, Refused, largest, roundoff, unrepresentable
from tm2tfr.transformer.weights import matrices, replaced


@pytest.mark.parametrize(
    ("engine", "dtype", "pairs"),
    [
        ("dense", None, [("dense", "float32"), ("dense", "float64")]),
        (None, "float64", [("dense", "float64"), ("fast", "float64")]),
        ("exact", "rational", [("exact", "rational")]),
    ],
)
def test_questions_name_engines_and_dtypes(engine: str | None, dtype: str | None, pairs: list[tuple[str, str]]) -> None:
    assert Questions(engine, dtype).pairs(ENGINES) == pairs


@pytest.mark.parametrize(
    ("engine", "dtype", "message"),
    [
        (None, "float16", "^no engine computes in 'float16': use one of float32, float64, rational$"),
        ("exact", "float32", "^the exact engine does not compute in 'float32': omit the dtype$"),
        ("sparse", None, "^unknown engine 'sparse': use one of dense, fast, exact$"),
    ],
)
def test_unknown_engines_and_dtypes_are_rejected(engine: str | None, dtype: str | None, message: str) -> None:
    with pytest.raises(EngineError, match=message):
        Questions(engine, dtype).pairs(ENGINES)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ({"part": "attention"}, "attention: w: x"),
        ({"part": "gate", "net": "s1"}, "gate, gate s1: w: x"),
        ({"part": "attention", "layer": 2}, "attention, layer 2: w: x"),
        ({"part": "feed_forward", "layer": 4, "layer_name": "read"}, "layer 4 (read), feed-forward: w: x"),
        ({"part": "layout", "layer": 0, "layer_name": "layout"}, "layout: w: x"),
    ],
)
def test_a_refusal_says_where(place: dict[str, object], text: str) -> None:
    assert str(Refusal(what="w", witness="x", **place)) == text  # type: ignore[arg-type]
    assert Refused("attention", "w", "x", layer=3).refusal == Refusal(part="attention", what="w", witness="x", layer=3)


def test_every_proof_is_shown_in_notebooks() -> None:
    shown = tm2tfr.certify("full-adder")._repr_html_()
    assert shown.startswith("<pre>full-adder, weights ")
    assert "claim: for all 2^3 inputs" in shown


@pytest.mark.parametrize("most", [0, 1, 2, 7, 2**53])
def test_the_largest_number_is_found(most: int) -> None:
    for bound in {-1, 0, 1, most // 2, most - 1, most, most + 5}:
        assert largest(lambda n, bound=bound: n <= bound, most) == max(0, min(bound, most))  # type: ignore[misc]


def test_a_weight_that_a_dtype_rounds_is_found() -> None:
    decoder = tm2tfr.compile("chapter")
    assert unrepresentable(decoder, "float32") is None
    path = "layers.3.heads.0.query"
    column = int(matrices(decoder)[path].columns[0])
    row = int(matrices(decoder)[path].rows[0])
    odd = replaced(decoder, {path: matrices(decoder)[path].with_entry(row, column, 1 / 3)})
    assert (unrepresentable(odd, "float32"), unrepresentable(odd, "float64")) == (path, None)


def test_intervals_contain_every_value() -> None:
    chance, random_array = random.Random(0), np.random.default_rng(0)
    matrix = random_array.normal(size=(3, 4))
    ends = np.sort(random_array.normal(size=(2, 4, 5)), axis=0)
    span = Interval(ends[0], ends[1])
    for _ in range(50):
        x = ends[0] + chance.random() * (ends[1] - ends[0])
        for interval, value in (
            (applied(matrix, span), matrix @ x),
            (span.squared(), x**2),
            (span * span, x * x),
            (span.rectified(), np.maximum(x, 0)),
            (span - span, 0 * x),
            (span.hull(axis=1), x[:, 0]),
            (span.summed(), x.sum(axis=0)),
        ):
            assert (interval.widened(1e-12).lo <= value).all()
            assert (interval.widened(1e-12).hi >= value).all()


def test_the_bound_on_a_sum_contains_its_rounding_error() -> None:
    rounding = Rounding(24, 0.0)
    values = np.random.default_rng(1).normal(size=(200, 50)).astype(np.float32)
    exact = np.array([float(sum(map(Fraction, map(float, row)), Fraction(0))) for row in values])
    off = np.abs(values.sum(axis=1, dtype=np.float32).astype(np.float64) - exact)
    size = np.abs(values.astype(np.float64)).sum(axis=1)
    assert (off <= rounding.error(50, size)).all()
    assert roundoff("float32") == Fraction(1, 2**24)


def test_sums_of_multiples_of_one_power_of_two_are_exact_up_to_its_digits() -> None:
    assert quantum_of(np.array([0.5, 3.0]), np.array([0.25])) == 0.25
    assert quantum_of(np.array([1 / 3])) == 0.0
    assert not Rounding(24, 0.25).error(9, np.array([0.25 * 2**24])).any()
    assert Rounding(24, 0.25).error(9, np.array([0.25 * 2**24 + 1])).all()
