"""Softmax by local bounds: each head by its own, and what it carries is rounded right at them and not far above."""

from __future__ import annotations

import dataclasses
import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tm2tfr
from tests.engines.labellers import labeller
from tests.handmade import turned
from tm2tfr.base.errors import CompileError
from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.lab.softness.temperature import one_temperature, parsed_word, softened_by
from tm2tfr.transformer import provenance
from tm2tfr.transformer.claims import Claim, Output, Over
from tm2tfr.transformer.gadgets import Unit, feed_forward, head, stacked
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Linear, Residual, Subspace, at
from tm2tfr.transformer.soft import (
    BITS,
    any_length,
    bounded,
    local_temperature,
    locally_softened,
    needed,
    power_of_two,
    rounded_up,
    smallest_gap,
    softened,
    temperature_of,
    theorem_26,
)
from tm2tfr.transformer.weights import Decoder, Head, Layer

LETTERS = ("BOS", "a", "b", "c")
KINDS = ("latest", "previous")


def latest_is_a(*, steep: bool = False) -> Decoder:
    """Tells whether the latest letter that is not c is a, BOS if there is none, and whether the one before is a.

    Scores are [not c] + j/(2(i+1)), or 3(i+1) times that, and 2(i-1)j - j²; the answers are rounded to bits.
    """
    names = ("1", "i", "i^2", "1/(i+1)", *KINDS)
    layout = Residual((Subspace("token", LETTERS), *map(Subspace, names), *(Subspace(f"{n} rounded") for n in KINDS)))
    marker: Linear = {at("token", x): 1.0 for x in ("BOS", "a", "b")}
    query: list[Linear] = [{"1": 6.0, "i": 6.0}, {"1": 3.0}] if steep else [{"1": 2.0}, {"1/(i+1)": 1.0}]
    gap: dict[str, Any] = {"gap": 3.0, "over": "constant"} if steep else {"gap": 1.0}
    is_a: Linear = {at("token", "a"): 1.0}
    heads = (
        head(
            layout,
            "latest",
            "",
            query=query,
            key=[marker, {"i": 1.0}],
            carries=[(is_a, {"latest": 1.0})],
            claim=Claim(attends="latest", margin=4, **gap),
        ),
        head(
            layout,
            "previous",
            "",
            query=[{"i": 2.0, "1": -2.0}, {"1": -1.0}],
            key=[{"i": 1.0}, {"i^2": 1.0}],
            carries=[(is_a, {"previous": 1.0})],
            claim=Claim(attends="previous", gap=1, over="constant", margin=7),
        ),
    )
    units = [  # Lemma 9
        Unit(f"{name} {way}", {name: 2.0}, {f"{name} rounded": sign}, bias=bias)
        for name in KINDS
        for way, sign, bias in (("up", 1.0, -0.5), ("down", -1.0, -1.5))
    ]
    places: dict[str, Linear] = {name: {name: 1.0} for name in names[:4]}
    return Decoder(
        layout=layout,
        vocabulary=LETTERS,
        bos=None,
        stop=(),
        features=tuple(places),
        token_embedding=turned(stacked(layout, [{at("token", x): 1.0} for x in LETTERS])),
        position_embedding=turned(stacked(layout, list(places.values()))),
        layers=(
            Layer(name="look", meaning="", source="", heads=heads, feed_forward=feed_forward(layout, units)),
            Layer(name="", meaning="", source=""),
        ),
        unembedding=stacked(layout, [{f"{name} rounded": 1.0} for name in KINDS]),
        unembedding_bias=Matrix.from_entries((2, 1), {}),
        outputs=tuple(Output(name, None) for name in KINDS),
        provenance={"name": "latest"},
    )


def claimed(decoder: Decoder, **changes: Any) -> Decoder:
    """Return `decoder` with another claim about its first head."""
    layer = decoder.layers[0]
    first, *rest = layer.heads
    assert first.claim is not None
    changed = dataclasses.replace(first, claim=dataclasses.replace(first.claim, **changes))
    return dataclasses.replace(decoder, layers=(dataclasses.replace(layer, heads=(changed, *rest)), *decoder.layers[1:]))


def all_words(n: int) -> list[list[int]]:
    return [[0, *word] for word in product((1, 2, 3), repeat=n - 1)]


def right(words: list[list[int]]) -> Any:
    """(2, words, n): what `latest_is_a` has to say."""
    found = np.zeros((2, len(words), len(words[0])))
    for w, word in enumerate(words):
        for i in range(len(word)):
            others = [x for x in word[: i + 1] if x != 3]
            found[:, w, i] = others[-1] == 1, word[max(0, i - 1)] == 1
    return found


def answers(decoder: Decoder, words: list[list[int]]) -> Any:
    return DenseDecoder(decoder).run(words).logits


# ── right at the bounds, and not far above ──────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("n", [1, 2, 5, 7])
def test_bits_are_exact_at_the_local_bound(n: int) -> None:
    words, hard = all_words(n), latest_is_a()
    want = right(words)
    assert (answers(hard, words) == want).all()
    assert (answers(locally_softened(hard, n), words) == want).all()
    assert (answers(softened(hard, local_temperature(hard, n)), words) == want).all()
    assert (answers(softened_by(hard, "auto", n), words) == want).all()


def test_twice_as_warm_they_are_not_and_the_theorem_is_colder() -> None:
    words, hard = all_words(7), latest_is_a()
    assert not (answers(softened(hard, 2 * local_temperature(hard, 7)), words) == right(words)).all()
    assert local_temperature(hard, 7) == 1 / (math.log(4) * 7)
    assert local_temperature(hard, 7) / theorem_26(hard, 7, smallest_gap(hard, 7)) > 10


@pytest.mark.slow
def test_steep_queries_need_no_temperature() -> None:
    steep = latest_is_a(steep=True)
    assert any_length(steep)
    assert not any_length(latest_is_a())
    soft = softened_by(steep, "auto", 3)
    assert soft == softened_by(steep, "none", 3) == softened_by(steep, "local", 99) == locally_softened(steep, None)
    assert [h.query.values.max() for h in soft.layers[0].heads] == [6 * 0.46875, 2 * 1.96875]  # ≥ ln 4 / 3, ln 7
    chance = np.random.default_rng(1)
    words = [[0, *chance.choice([1, 2, 3], p=[0.05, 0.05, 0.9], size=999)] for _ in range(5)]
    assert (answers(soft, words) == right(words)).all()


# ── each head by its own ────────────────────────────────────────────────────────────────────────────────────
def test_only_queries_and_weightings_change() -> None:
    hard = latest_is_a()
    soft = locally_softened(hard, 10)
    factors = [rounded_up(10 * math.log(4)), rounded_up(math.log(7))]
    assert factors == [14.0, 1.96875]
    for one, two, factor in zip(hard.layers[0].heads, soft.layers[0].heads, factors, strict=True):
        assert two == dataclasses.replace(
            one,
            weighting="softmax",
            query=Matrix(one.query.shape, one.query.rows, one.query.columns, factor * one.query.values),
        )
    assert dataclasses.replace(soft, layers=hard.layers, provenance=hard.provenance) == hard
    assert soft.provenance == {"name": "latest", "attention": "softmax", "temperature": "local", "length": "10"}
    assert provenance.temperature(soft.provenance) is None
    assert temperature_of(soft) == "local, for at most 10 positions"
    steep = locally_softened(latest_is_a(steep=True), None)
    assert steep.provenance == {"name": "latest", "attention": "softmax", "temperature": "none"}
    assert temperature_of(steep) == "none"


@pytest.mark.parametrize(("over", "n", "bound"), [("position", 6, 6.0), ("length", 6, 6.0), ("constant", 6, 1.0)])
def test_the_bound_of_one_head(over: Over, n: int, bound: float) -> None:
    (first, _) = claimed(latest_is_a(), over=over, margin=math.e).layers[0].heads
    assert needed(first, n) == bound
    assert needed(dataclasses.replace(first, query=Matrix.from_entries(first.query.shape, {})), n) == 0


@pytest.mark.slow
@given(st.floats(1e-6, 1e12))
def test_factors_are_rounded_up_to_few_bits(number: float) -> None:
    up = rounded_up(number)
    assert number <= up <= number * (1 + 2.0 ** (1 - BITS))
    mantissa, _ = math.frexp(up)
    assert (mantissa * 2**BITS).is_integer()
    assert rounded_up(up) == up


# ── what there is none for ──────────────────────────────────────────────────────────────────────────────────
def test_a_head_without_a_margin_is_named() -> None:
    decoder = claimed(latest_is_a(), margin=None)
    why = "^head 'latest' has no local bound under softmax, since what it carries is not rounded: use the temperature theor"
    for refused in (lambda: locally_softened(decoder, 5), lambda: local_temperature(decoder, 5)):
        with pytest.raises(CompileError, match=why):
            refused()
    assert not bounded(decoder)
    assert softened_by(decoder, "auto", 5) == softened_by(decoder, "theorem-26", 5)
    assert softened_by(decoder, "theorem-26", 5) == softened(decoder, power_of_two(theorem_26(decoder, 5, 0.2)))


def test_a_gap_that_shrinks_needs_a_temperature() -> None:
    with pytest.raises(CompileError) as error:
        softened_by(latest_is_a(), "none", 5)
    assert str(error.value) == (
        "layer 1, head 'latest': its gap shrinks with the position, so softmax needs a temperature: use local, with the "
        "length of the runs, or per-position, or compile with steep"
    )
    with pytest.raises(CompileError, match="its gap shrinks with the length, so"):
        softened_by(claimed(latest_is_a(), over="length"), "none", 5)
    numbers = claimed(latest_is_a(steep=True), degree=2)
    assert not any_length(numbers)
    with pytest.raises(
        CompileError, match="^layer 1, head 'latest': what it needs grows with the length, so softmax needs"
    ):
        softened_by(numbers, "none", 5)
    assert needed(numbers.layers[0].heads[0], 10) == (math.log(4) + 2 * math.log(10)) / 3


def test_words_for_temperatures() -> None:
    assert [parsed_word(word) for word in ("auto", "local", "theorem-26", "none", 1)] == [
        "auto",
        "local",
        "theorem-26",
        "none",
        1.0,
    ]
    for wrong in ("warm", None, True, []):
        with pytest.raises(
            CompileError,
            match="is not a temperature: use auto, local, theorem-26, none, per-position, paper, or a positive",
        ):
            parsed_word(wrong)
    hard = latest_is_a()
    assert one_temperature(hard, "auto", 9) == one_temperature(hard, "local", 9) == local_temperature(hard, 9)
    assert one_temperature(hard, 0.5, 9) == 0.5
    with pytest.raises(
        CompileError, match="^the temperature 'none' is not a number to measure at: use local, theorem-26, or"
    ):
        one_temperature(hard, "none", 9)


def test_where_all_heads_are_uniform_softmax_changes_nothing() -> None:
    layer = latest_is_a().layers[0]

    def uniform(head: Head) -> Head:
        return dataclasses.replace(head, query=Matrix.from_entries(head.query.shape, {}), claim=None)

    layers = (dataclasses.replace(layer, heads=tuple(map(uniform, layer.heads))),)
    flat = dataclasses.replace(latest_is_a(), layers=layers)
    assert not bounded(flat)
    assert {h.weighting for h in softened_by(flat, "none", 5).layers[0].heads} == {"softmax"}
    assert local_temperature(flat, 5) == math.inf
    with pytest.raises(CompileError, match="^softmax changes nothing, since every head is uniform: give any number"):
        one_temperature(flat, "local", 5)


def test_in_the_library() -> None:
    decoder = latest_is_a()
    assert (
        tm2tfr.soften(decoder, length=9)
        == tm2tfr.soften(decoder, temperature="local", length=9)
        == locally_softened(decoder, 9)
    )
    assert tm2tfr.soften(decoder) == locally_softened(decoder, 1024)
    assert tm2tfr.soften("chapter", length=9) == tm2tfr.soften("chapter", temperature="theorem-26", length=9)
    with pytest.raises(
        CompileError, match="^length only applies to temperature='auto', 'local' and 'theorem-26', not to 'none'"
    ):
        tm2tfr.soften(decoder, temperature="none", length=9)
    with pytest.raises(CompileError, match="^head '.*' has no local bound"):
        tm2tfr.soften("chapter", temperature="local")
    assert not bounded(labeller())
