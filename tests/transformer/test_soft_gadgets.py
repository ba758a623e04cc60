"""The gadgets of Yang et al.: Lemmas 8, 9 and 27 and Proposition 11, by their numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tests.transformer.test_gadgets import by_hand
from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.engines.exact import Exact
from tm2tfr.transformer.claims import Output
from tm2tfr.transformer.gadgets import TieBreakCase, Unit, end_mark, feed_forward, head, stepped, tie_break, truncated
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Linear, Residual, Subspace
from tm2tfr.transformer.soft import lemma_6, softened
from tm2tfr.transformer.weights import Decoder, Layer


def encoder(layout: Residual, features: Sequence[str], tokens: Sequence[Linear], layer: Layer, answer: str) -> Decoder:
    """Return a labeller whose features and tokens are written to directions, and whose output is one direction."""
    rows = [layout.form(token) for token in tokens]
    return Decoder(
        layout=layout,
        vocabulary=tuple(map(str, range(len(tokens)))),
        bos=None,
        stop=(),
        features=tuple(features),
        token_embedding=Matrix.from_columns(rows, layout.width),
        position_embedding=Matrix.from_columns([layout.form({name: 1.0}) for name in features], layout.width),
        layers=(layer,),
        unembedding=Matrix.from_rows([layout.form({answer: 1.0})], layout.width),
        unembedding_bias=Matrix.from_entries((1, 1), {}),
        outputs=(Output(answer, None),),
    )


# ── Lemma 8 ─────────────────────────────────────────────────────────────────────────────────────────────────
def breaking(case: TieBreakCase, gamma: float, *, scaled: bool) -> Decoder:
    """A head whose score is that of the lemma, which carries the position; tokens are the scores 0, 1 and 2."""
    features = ("1", "i", "i^2", "1/(i+1)", "n", "i/n")
    layout = Residual(tuple(map(Subspace, ("s", *features, "place"))))
    tie = tie_break(case, gamma, scaled=scaled)
    found = head(
        layout,
        "tie-break",
        "Lemma 8",
        query=[tie.query],
        key=[{"s": 1.0, **tie.key}],
        carries=[({"i": 1.0}, {"place": 1.0})],
        mask="future" if case == "a" else "none",
    )
    layer = Layer(name="", meaning="", source="", heads=(found,))
    return encoder(layout, features, [{}, {"s": 1.0}, {"s": 2.0}], layer, "place")


def wanted(case: TieBreakCase, s: np.ndarray) -> int:
    best = np.flatnonzero(s == s.max())
    return int(best[0] if case == "c" else best[-1])


@pytest.mark.parametrize("case", ["a", "b", "c"])
@pytest.mark.parametrize("gamma", [1.0, 3.0])
def test_lemma_8_scaled_as_printed_is_within_its_bound_at_temperature_1(case: TieBreakCase, gamma: float) -> None:
    """The mean position is off by at most half of ‖hard - soft‖₁ times the farthest distance."""
    weights = softened(breaking(case, gamma, scaled=True), 1.0)
    for n in range(1, 6):
        words = np.array(list(product(range(3), repeat=n)))
        found = DenseDecoder(weights).run(words).logits[0, :, -1]
        due = np.array([wanted(case, word) for word in words])
        assert (np.abs(found - due) <= lemma_6(gamma) / 2 * max(n - 1, 1)).all()


@pytest.mark.parametrize("case", ["a", "b", "c"])
def test_lemma_8_at_its_temperature_is_the_scaled_one(case: TieBreakCase) -> None:
    words = np.array(list(product(range(3), repeat=4)))
    temperature = 1 / 16 if case == "a" else 1 / 4
    scaled = DenseDecoder(softened(breaking(case, 3.0, scaled=True), 1.0)).run(words).logits[0, :, -1]
    cold = DenseDecoder(softened(breaking(case, 3.0, scaled=False), temperature)).run(words).logits[0, :, -1]
    assert np.allclose(scaled, cold, atol=1e-12)


def test_the_temperature_of_lemma_8_is_needed() -> None:
    words = np.zeros((1, 50), dtype=np.int64)
    warm = DenseDecoder(softened(breaking("b", 3.0, scaled=False), 1.0)).run(words).logits[0, 0, -1]
    assert abs(float(warm) - 49) > 10


# ── Proposition 11 ──────────────────────────────────────────────────────────────────────────────────────────
def marking(*, last: bool) -> Decoder:
    layout = Residual(tuple(map(Subspace, ("(-1)^i", "mean", "mark"))))
    found, units = end_mark(layout, "signs", "mean", "mark", last=last)
    layer = Layer(name="", meaning="", source="", heads=(found,), feed_forward=feed_forward(layout, units))
    return encoder(layout, ("(-1)^i",), [{}, {}], layer, "mark")


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("soft", [False, True])
def test_proposition_11_marks_one_end_at_every_length(last: bool, soft: bool) -> None:
    weights = softened(marking(last=last), 1.0) if soft else marking(last=last)
    for n in (*range(1, 20), 100, 333):
        found = DenseDecoder(weights).run(np.zeros((1, n), dtype=np.int64)).logits[0, 0]
        assert np.array_equal(found, np.eye(n)[n - 1 if last else 0])


def test_proposition_11_is_exact() -> None:
    session, layout = Exact().start(marking(last=False)), marking(last=False).layout
    for i in range(12):
        session.feed(0)
        assert session.residual[layout.index("mark")] == int(i == 0)


# ── Lemmas 9 and 27 ─────────────────────────────────────────────────────────────────────────────────────────
def test_lemma_9_is_a_ramp_from_a_quarter_to_three_quarters() -> None:
    units = stepped("f", {"x": 1.0}, 0.25, 0.75, {"y": 1.0})
    for x in (Fraction(k, 16) for k in range(-16, 33)):
        due = min(max(2 * x - Fraction(1, 2), Fraction(0)), Fraction(1))
        assert by_hand(units, {"x": x})["y"] == due


def truncating(bits: int, to: int, *, deep: bool) -> list[tuple[Unit, ...]]:
    return truncated("round", {"x": 1.0}, "y", bits=bits, to=to, deep=deep)


def results(layers: Sequence[Sequence[Unit]], x: Fraction) -> Fraction:
    values = {"x": x, "y": Fraction(0)}
    for units in layers:
        values["y"] += by_hand(units, values)["y"]
    return values["y"]


@pytest.mark.parametrize(("bits", "to"), [(2, 1), (4, 2), (6, 3), (7, 6), (5, 5)])
@pytest.mark.parametrize("deep", [False, True])
def test_lemma_27_every_number_is_rounded_and_no_network_is_smaller_than_the_bound(bits: int, to: int, deep: bool) -> None:
    layers = truncating(bits, to, deep=deep)
    for k in range(2**bits):
        assert results(layers, Fraction(k, 2**bits)) == Fraction(k >> (bits - to), 2**to)
    width = max(map(len, layers))
    assert (len(layers), width) == ((to, 2) if deep else (1, 2 * (2**to - 1)))
    assert (2 * width) ** len(layers) >= 2**to
    assert math.isfinite(sum(abs(c) for units in layers for unit in units for c in unit.writes.values()))
