"""Soft attention: the lemmas on random scores with ties and gaps at the edge, the temperature, softened weights."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

import tm2tfr
from tests.engines.lookups import looked, looking, random_looks
from tests.handmade import normed, tabled
from tm2tfr.base.errors import CompileError
from tm2tfr.engines import engine, generate
from tm2tfr.transformer.attention import average_hard, softmax
from tm2tfr.transformer.claims import Claim
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.soft import (
    constants,
    largest_entry,
    lemma_6,
    lemma_7,
    lemma_33,
    norm,
    power_of_two,
    smallest_gap,
    softened,
    temperature_of,
    theorem_26,
)
from tm2tfr.transformer.weights import Decoder, matrices

ROUNDING = 1e-12
GAPS = st.one_of(st.sampled_from([0.0, 1e-9, 0.5, 1.0, 30.0, 700.0, 800.0]), st.floats(1e-6, 50))
BEHIND = st.one_of(st.just(0.0), st.floats(0, 5), st.floats(0, 1000))
"""By how much a score is behind the best that it may have: often by nothing, the edge of what a lemma allows."""


def distance(scores: NDArray[Any], best: int) -> float:
    """‖hardmax - softmax‖₁, from the weights of the others, which are not rounded near 1."""
    weights = softmax(scores)
    return 2 * float(np.delete(weights, best).sum())


# ── softmax ─────────────────────────────────────────────────────────────────────────────────────────────────
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30))
def test_softmax_is_the_definition_computed_with_more_digits(scores: list[float]) -> None:
    top = max(scores)
    powers = [math.exp(s - top) for s in scores]
    wanted = [p / math.fsum(powers) for p in powers]
    assert softmax(np.array(scores)).tolist() == pytest.approx(wanted, rel=1e-12, abs=0)


@pytest.mark.parametrize(("dtype", "gap"), [("float32", 104), ("float64", 746)])
def test_from_some_gap_on_softmax_is_hard_attention(dtype: str, gap: int) -> None:
    scores = np.array([0, gap, 0, 0], dtype=dtype) + np.array(1000, dtype=dtype)
    assert softmax(scores).tolist() == [0, 1, 0, 0]
    assert softmax(scores).dtype == dtype
    assert softmax(scores / 2).tolist() != [0, 1, 0, 0]


@given(st.integers(1, 9), st.integers(0, 20), st.floats(0.1, 1e3))
def test_ties_share_the_weight_evenly(ties: int, others: int, gap: float) -> None:
    scores = np.array([gap] * ties + [0.0] * others)
    weights = softmax(scores)
    assert np.unique(weights[:ties]).size == 1
    wanted = np.zeros(ties + others)
    wanted[average_hard(scores)] = 1 / ties
    # the bound of Lemma 33's proof, with ties: 2·(n - ties)·e^{-γ}/ties
    assert abs(weights - wanted).sum() <= 2 * others / ties * math.exp(-gap) + ROUNDING


# ── Lemmas 6, 7 and 33 ──────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
@given(GAPS, st.data())
def test_lemma_6(gap: float, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 40))
    best = data.draw(st.integers(0, n - 1))
    behind = np.array(data.draw(st.lists(BEHIND, min_size=n, max_size=n)))
    scores = -gap * abs(np.arange(n) - best) - behind
    scores[best] = 0
    assert distance(scores, best) <= lemma_6(gap) * (1 + ROUNDING)


@given(GAPS, st.integers(0, 60), st.integers(0, 60), st.sampled_from([0, 1]))
def test_lemma_7(gap: float, c: int, more: int, first: int) -> None:
    bound = lemma_7(gap)
    assert (bound is None) == (gap < 1)
    assume(bound is not None and c >= first)
    j = np.arange(first, c + more + 1, dtype=float)
    weights = softmax(gap * (2 * c * j - j * j))
    off = abs(math.fsum(weights * (j - c)))  # Σα = 1, so this is |c - Σ α_j·j|, and no cancellation hides it
    assert off <= (bound or 0) * (1 + ROUNDING) + 1e-300


@pytest.mark.slow
@given(GAPS, st.floats(0, 0.4999), st.sampled_from([1e-3, 0.25, 1.0, 10.0]), st.data())
def test_lemma_33(gap: float, part: float, temperature: float, data: st.DataObject) -> None:
    error = part * gap
    n = data.draw(st.integers(1, 40))
    bound = lemma_33(n, gap, error, temperature)
    assert (bound is None) == (error >= gap / 2)
    assume(bound is not None)
    behind = np.array(data.draw(st.lists(BEHIND, min_size=n, max_size=n)))
    scores = -gap + error - behind
    scores[0] = -error + data.draw(BEHIND)
    assert distance(scores / temperature, 0) <= (bound or 0) * (1 + 1e-9) + 1e-300


def test_at_the_edge_the_lemmas_say_nothing() -> None:
    assert lemma_33(5, 1.0, 0.5, 0.1) is None
    assert lemma_7(math.nextafter(1, 0)) is None
    assert lemma_7(1.0) == 1.5 * math.exp(-1)
    assert lemma_6(0.0) == 4


# ── softened weights ────────────────────────────────────────────────────────────────────────────────────────
def test_only_queries_and_weightings_change() -> None:
    hard = tm2tfr.compile("chapter")
    soft = softened(hard, 0.25)
    for path, matrix in matrices(soft).items():
        factor = 4 if path.endswith(".query") else 1
        assert (matrix.values == factor * matrices(hard)[path].values).all()
        assert (matrix.rows == matrices(hard)[path].rows).all()
    assert {head.weighting for layer in soft.layers for head in layer.heads} == {"softmax"}
    assert [head.uniform for layer in soft.layers for head in layer.heads] == [True, False, False, False]
    assert (soft.soft, hard.soft) == (True, False)
    assert (temperature_of(soft), temperature_of(hard)) == (0.25, None)


# ── Theorem 26 ──────────────────────────────────────────────────────────────────────────────────────────────
@given(st.floats(1e-300, 1e300))
def test_the_power_of_two_below(value: float) -> None:
    power = power_of_two(value)
    assert math.frexp(power)[0] == 0.5
    assert power <= value < 2 * power


def test_the_norm_is_the_largest_sum_of_a_column() -> None:
    matrix = Matrix.from_dense(np.array([[1.0, -3, 0], [2, 1, 0]]))
    assert norm(matrix) == 4
    assert norm(Matrix.from_dense(np.zeros((2, 2)))) == 0


@given(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3))
def test_a_norm_bounds_what_it_should(x: list[float]) -> None:
    matrix = np.array([[1.0, -3, 0], [2, 1, 0.5]])
    assert abs(matrix @ x).sum() <= norm(Matrix.from_dense(matrix)) * abs(np.array(x)).sum() + ROUNDING


@pytest.mark.parametrize("name", ["chapter", "busy-beaver-4"])
@pytest.mark.parametrize("n", [1, 10, 1000])
def test_the_temperature_solves_the_equations_of_the_theorem(name: str, n: int) -> None:
    decoder = tm2tfr.compile(name)
    known, gap, x_max = constants(decoder), smallest_gap(decoder, n), largest_entry(decoder, n)
    assert gap == 1 / (2 * n)
    assert x_max == 1 + max(1, (n - 1) ** 2)
    temperature = theorem_26(decoder, n, gap)
    errors = [gap / (4 * known.K2 * x_max)]  # E_L, E_{L-1}, … E_1
    while len(errors) < known.layers:
        errors.append(errors[-1] / (2 * known.K1))
    assert math.exp(-gap / (2 * temperature)) == pytest.approx(errors[-1] / (known.K1 * n * x_max), rel=1e-9)
    off = 0.0
    for allowed in reversed(errors):  # Lemma 25, layer by layer
        assert known.K2 * x_max * off < gap / 2
        off = known.K1 * (off + n * x_max * math.exp((-gap + 2 * known.K2 * x_max * off) / temperature))
        assert off <= allowed * (1 + 1e-9)
    assert off <= 1 / 4


def test_one_over_the_temperature_grows_like_n_log_n() -> None:
    decoder = tm2tfr.compile("chapter")
    grown = [1 / (theorem_26(decoder, n, 1 / (2 * n)) * n * math.log(n)) for n in (10**3, 10**6, 10**12, 10**24)]
    assert grown == sorted(grown, reverse=True)
    assert grown[-1] > 4 * 4  # 2/γ = 4n, times log(n·x_max²/γ)/log n, which is 6 in the end


# ── runs ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
@pytest.mark.parametrize("name", ["chapter", "left-edge", "palindromes", "binary-increment", "busy-beaver-3"])
def test_shipped_machines_run_at_the_guaranteed_temperature(name: str) -> None:
    machine = tm2tfr.load(name)
    for example in machine.examples:
        hard = tm2tfr.check(machine, example.input, max_steps=200)
        soft = tm2tfr.check(tm2tfr.soften(machine, length=hard.tokens), example.input, max_steps=200)
        assert soft.agrees
        assert soft.rows == hard.rows
        assert (soft.engine, soft.soft, soft.as_dict()["attention"]) == ("dense", True, "softmax")


def test_a_warm_run_is_read_off_rounded_and_a_hot_one_goes_wrong() -> None:
    decoder = tm2tfr.compile("chapter")
    warm = tm2tfr.check(softened(decoder, 0.02), "11")
    assert warm.agrees
    assert all(isinstance(row.h, int) for row in warm.rows)
    hot = tm2tfr.check(softened(decoder, 1.0), "11", max_steps=20)
    found: Any = hot.divergence
    assert (found.position, found.column, found.found) == (1, "h", pytest.approx(0.3775406688))
    assert found.cause.why == "soft attention: 0.378 of the weight went to other positions: use a lower temperature"


@pytest.mark.slow
def test_a_head_that_attends_elsewhere_is_told_from_wrong_weights() -> None:
    found: Any = tm2tfr.check(softened(tm2tfr.compile("busy-beaver-4"), 2.0**-8), "").divergence
    assert (found.position, found.cause.attention.attended, found.cause.attention.expected) == (66, (61,), (63,))
    assert found.cause.why.startswith("soft attention: the true scores differ by 3.8")


# ── position tables and layer norms ─────────────────────────────────────────────────────────────────────────
def claiming(positions: int) -> tuple[Decoder, list[int]]:
    """Lookups of places in a table, whose scores ``2pj - j²`` have a gap of 1 everywhere, and what is right."""
    looks = random_looks(positions, seed=8)
    decoder = looking(looks)
    (layer,) = decoder.layers
    claim = Claim(attends="operand", gap=1.0)
    heads = tuple(dataclasses.replace(head, claim=claim) for head in layer.heads)
    claimed = dataclasses.replace(decoder, layers=(dataclasses.replace(layer, heads=heads),))
    return claimed, looked(looks, [1, 0, 1])


def test_the_table_counts_in_the_bounds() -> None:
    decoder, _ = claiming(30)
    places = max(max(look[0]) for look in random_looks(30, seed=8))
    assert largest_entry(decoder, 30) == 1 + 29**2 + places
    assert largest_entry(decoder, 1) == 1 + 1 + 1  # only the truth table's bits, at position 0
    plain = dataclasses.replace(decoder, position_table=None)
    assert largest_entry(plain, 30) == 1 + 29**2
    assert constants(decoder).K2 > constants(plain).K2
    assert smallest_gap(decoder, 30) == 1 / 30


def test_lookups_run_at_the_guaranteed_temperature_and_not_at_a_hot_one() -> None:
    decoder, right = claiming(30)
    temperature = power_of_two(theorem_26(decoder, 30, smallest_gap(decoder, 30)))

    def answers(soft: Decoder) -> list[int]:
        return [int(step.output) for step in generate(soft, ["1", "0", "1"], engine=engine("dense"))]

    assert softened(decoder, temperature).position_table == decoder.position_table
    assert answers(softened(decoder, temperature)) == right
    assert answers(softened(decoder, 64.0)) != right


def test_nothing_is_guaranteed_about_layer_norms_but_they_are_softened() -> None:
    words = "Theorem 26 says nothing about layer norms, which these weights have"
    with pytest.raises(CompileError, match=f"^{words}: soften them at a temperature given as a number$"):
        theorem_26(normed(), 10, 0.5)
    soft = softened(normed(0.5), 0.25)
    assert soft.norm == normed(0.5).norm
    assert soft.layers[0].attention_norm == normed(0.5).layers[0].attention_norm
    assert soft.soft
    assert softened(tabled(), 0.5).bos is None


# ── lemma 8 of Yang et al. on random scores, and the sharper bounds on the weight elsewhere that margins stand on
RIVALS_BEHIND = st.lists(st.one_of(st.just(0.0), st.just(1.0), st.floats(1, 3), st.floats(1, 1e6)), min_size=1, max_size=40)
"""By how much each score is behind the best: by nothing, or by 1 or more."""


def behind(data: list[float], best: int) -> NDArray[Any]:
    found = -np.array(data)
    found[best % len(data)] = 0.0
    return found


def elsewhere(scores: NDArray[Any], best: int) -> float:
    """The weight of all positions but one, which is not rounded near 0."""
    return float(np.delete(softmax(scores), best).sum())


@pytest.mark.slow
@given(RIVALS_BEHIND, st.integers(0, 39), GAPS)
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


@given(RIVALS_BEHIND, st.integers(0, 39))
def test_margins_leave_a_quarter(below: list[float], best: int) -> None:
    scores, n = behind(below, best), len(below)
    last = int(np.flatnonzero(scores == 0)[-1])
    assert elsewhere(2 * n * math.log(4) * (scores + np.arange(n) / (2 * n)), last) <= 1 / 4 + ROUNDING


def test_the_bounds_are_reached() -> None:
    away = np.abs(np.arange(-200, 201)).astype(float)
    assert elsewhere(-math.log(7) * away, 200) > 1 / 4 - ROUNDING
    one_side = np.arange(400, dtype=float)
    assert elsewhere(math.log(4) * one_side, 399) > 1 / 4 - ROUNDING
