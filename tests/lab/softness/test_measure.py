"""What is measured under softmax: the property behind it, every bound on every head and layer, the search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

import tm2tfr
from tests.strategies import machines_with_inputs
from tm2tfr.base.errors import CompileError, EngineError
from tm2tfr.engines import engine
from tm2tfr.engines.decode import Observation, observe
from tm2tfr.lab.softness.measure import LayerError, _Layer, gap_of, measure, slope_of
from tm2tfr.lab.softness.temperature import Search, exponent, lengths
from tm2tfr.transformer.attention import softmax
from tm2tfr.transformer.claims import Claim
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.soft import claimed, smallest_gap, softened
from tm2tfr.transformer.weights import Decoder, FeedForward, Head, Layer, matrices, replaced

DENSE = engine("dense")
RUNS = [
    ("chapter", "1111"),
    ("left-edge", "11"),
    ("palindromes", "abba"),
    ("busy-beaver-3", ""),
    ("binary-increment", "1011"),
]


def tokens_of(decoder: Decoder, word: str, most: int = 120) -> list[str]:
    return [str(row.x) for row in tm2tfr.run(decoder, word, engine="dense", max_steps=most).rows]


# ── uniform-tieless, checked ────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
@settings(max_examples=40)
@given(machines_with_inputs())
def test_every_head_is_uniform_or_tieless_with_the_claimed_gap_in_exact_arithmetic(found: tuple[Any, str]) -> None:
    machine, word = found
    decoder = tm2tfr.compile(machine)
    trace = tm2tfr.run(decoder, word, engine="exact", max_steps=12)
    tokens = [str(row.x) for row in trace.rows]
    for i in range(len(tokens)):
        seen = observe(decoder, tokens[: i + 1], engine=engine("exact"))
        for (layer, k), (scores, attended) in seen.heads.items():
            per_position = claimed(decoder.layers[layer].heads[k]).gap
            if per_position is None:
                assert set(scores) == {0}
                continue
            assert len(attended) == 1
            behind = [max(scores) - s for j, s in enumerate(scores) if j != attended[0]]
            assert all(gap * (i + 1) * 2 >= per_position * 2 for gap in behind)  # rationals and integers
            away = [abs(j - attended[0]) for j in range(i + 1) if j != attended[0]]
            assert all(g * 2 * (i + 1) >= per_position * 2 * d for g, d in zip(behind, away, strict=True))  # Lemma 6's


@pytest.mark.slow
@settings(max_examples=25)
@given(machines_with_inputs())
def test_the_measurement_finds_the_property_too(found: tuple[Any, str]) -> None:
    machine, word = found
    decoder = tm2tfr.compile(machine)
    assert measure(decoder, tokens_of(decoder, word, 30), 0.01, engine=DENSE).uniform_tieless


def test_a_tie_or_a_smaller_gap_is_told() -> None:
    decoder = tm2tfr.compile("chapter")
    query = matrices(decoder)["layers.4.heads.0.query"]
    for factor, gap in ((0.0, 0.0), (0.5, 0.125)):
        column = decoder.layout.index("1/(i+1)")
        changed = replaced(decoder, {"layers.4.heads.0.query": query.with_entry(2, column, 0.5 * factor)})
        found = measure(changed, ["1", "1"], 0.1, engine=DENSE)
        bad = [head for head in found.heads if not head.holds]
        assert [(head.position, head.head, head.gap) for head in bad] == [(1, "latest write", gap)]
        assert not found.uniform_tieless


def test_a_head_that_should_be_uniform_and_is_not_is_told() -> None:
    decoder = tm2tfr.compile("chapter")
    layers = list(decoder.layers)
    said = layers[1].heads[0]
    layers[1] = replace(layers[1], heads=(replace(layers[2].heads[0], name=said.name, claim=said.claim),))
    found = measure(replace(decoder, layers=tuple(layers)), ["1", "1"], 0.1, engine=DENSE)
    assert {head.head for head in found.heads if not head.holds} == {"sum of moves"}


def test_the_claims_are_those_of_the_construction() -> None:
    assert [claimed(h) for layer in tm2tfr.compile("chapter").layers for h in layer.heads] == [
        Claim(attends="all", gap=None),
        Claim(attends="h", gap=1, lookup=True),
        Claim(attends="h_{i-1}", gap=1, lookup=True),
        Claim(attends="j*", gap=0.5),
    ]
    assert claimed(tm2tfr.compile("busy-beaver-2").layers[2].heads[3]) == Claim(attends="h_{i-1}-", gap=1, lookup=True)
    assert smallest_gap(tm2tfr.compile("chapter"), 10) == 0.05
    decoder = tm2tfr.compile("chapter")
    layer = replace(decoder.layers[3], heads=(replace(decoder.layers[3].heads[0], name="mine", claim=None),))
    changed = replace(decoder, layers=(*decoder.layers[:3], layer, *decoder.layers[4:]))
    with pytest.raises(CompileError, match="^the gap of head 'mine' is not known: give the temperature as a number$"):
        tm2tfr.soften(changed)


def test_gaps_and_slopes_of_scores() -> None:
    assert gap_of(np.array([1.0])) == slope_of(np.array([1.0])) == inf
    assert gap_of(np.array([1.0, 3, 3, 0])) == 0
    assert gap_of(np.array([1.0, 3, 2.5, 0])) == 0.5
    assert slope_of(np.array([0.0, 3, 2.5, 2])) == 0.5
    assert slope_of(np.array([0.0, 0, 1, 0.5, 0.9])) == pytest.approx(0.05)


# ── bounds ──────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
@pytest.mark.parametrize(("name", "word"), RUNS)
@pytest.mark.parametrize("temperature", [1.0, 2.0**-3, 0.02, 2.0**-8, 2.0**-11])
def test_no_measured_error_exceeds_a_bound(name: str, word: str, temperature: float) -> None:
    decoder = tm2tfr.compile(name)
    found = measure(decoder, tokens_of(decoder, word), temperature, engine=DENSE)
    said = 0
    for head in found.heads:
        pairs = ((head.weights, head.lemma_6), (head.weights, head.lemma_33), (head.place, head.lemma_7))
        for measured, bound in pairs:
            if measured is not None and bound is not None:
                said += 1
                assert measured <= bound * (1 + 1e-9) + 1e-300, head
    for layer in found.layers:
        if layer.lemma_25 is not None:
            said += 1
            assert layer.after <= layer.lemma_25 * (1 + 1e-9) + 1e-12 * found.positions**2 * 1e-3, layer
    assert said > 50


ENTRIES = st.one_of(st.sampled_from([0.0, 1.0, -1.0, 2.0]), st.floats(-2, 2))
WIDTH, KEYS = 4, 2


def random_layer(matrix: Callable[[int, int], Matrix]) -> Layer:
    head = Head(
        name="any",
        source="",
        query=matrix(KEYS, WIDTH),
        key=matrix(KEYS, WIDTH),
        value=matrix(2, WIDTH),
        output=matrix(WIDTH, 2),
        claim=Claim(attends="", gap=0.5),
    )
    ffn = FeedForward(
        input=matrix(3, WIDTH),
        input_bias=matrix(3, 1),
        output=matrix(WIDTH, 3),
        output_bias=matrix(WIDTH, 1),
        units=("a", "b", "c"),
    )
    return Layer(name="", meaning="", source="", heads=(head,), feed_forward=ffn)


def layer_errors(layer: Layer, u: NDArray[Any], soft_u: NDArray[Any], temperature: float) -> list[LayerError]:
    """What is measured of a layer whose attention and feed-forward parts are computed here; streams: (n, width)."""
    measuring, found = _Layer(0, layer, temperature, "float64", len(u)), []
    head, ffn = layer.heads[0], layer.feed_forward
    assert ffn is not None
    for i in range(len(u)):
        one, two = Observation(), Observation()
        for seen, streams, soft in ((one, u, False), (two, soft_u, True)):
            scores = (streams[: i + 1] @ head.key.dense().T) @ (head.query.dense() @ streams[i])
            best = (scores == scores.max()) / (scores == scores.max()).sum()
            weights = softmax(scores / temperature) if soft else best
            x = streams[i] + head.output.dense() @ (head.value.dense() @ (weights @ streams[: i + 1]))
            hidden = np.maximum(ffn.input.dense() @ x + ffn.input_bias.dense()[:, 0], 0)
            seen.stage(-1, "embedding", streams[i])
            seen.head(0, 0, scores / temperature if soft else scores, np.flatnonzero(best))
            seen.stage(0, "feed_forward", x + ffn.output.dense() @ hidden + ffn.output_bias.dense()[:, 0])
        found.append(measuring.layer(i, one, two, list(measuring.heads(i, one, two))))
    return found


@pytest.mark.slow
@settings(max_examples=150)
@given(
    st.data(),
    st.integers(1, 6),
    st.sampled_from([1.0, 0.1, 0.01]),
    st.sampled_from([0.0, 1e-12, 1e-6, 1e-3, 0.1]),
)
def test_lemma_25_on_random_layers(data: st.DataObject, n: int, temperature: float, off: float) -> None:
    """Ties, and errors so large that the premise fails, included."""
    layer = random_layer(lambda r, c: Matrix.from_dense(data.draw(arrays(float, (r, c), elements=ENTRIES))))
    u = data.draw(arrays(float, (n, WIDTH), elements=ENTRIES))
    soft_u = u + off * data.draw(arrays(float, (n, WIDTH), elements=st.floats(-1, 1)))
    for found in layer_errors(layer, u, soft_u, temperature):
        if found.lemma_25 is not None:
            assert found.after <= found.lemma_25 + 1e-11 * (1 + found.lemma_25)


@pytest.mark.slow
def test_lemma_25_says_something_of_most_layers() -> None:
    chance, said = np.random.default_rng(0), 0
    for _ in range(200):
        layer = random_layer(lambda r, c: Matrix.from_dense(chance.normal(size=(r, c))))
        u = chance.normal(size=(6, WIDTH))
        soft_u = u + 1e-3 * chance.uniform(-1, 1, size=(6, WIDTH))
        for found in layer_errors(layer, u, soft_u, 0.1):
            if found.lemma_25 is not None:
                said += 1
                assert 0 < found.after <= found.lemma_25
    assert said > 1000


# ── the search ──────────────────────────────────────────────────────────────────────────────────────────────
def test_the_largest_temperature_is_right_and_just_above_it_is_wrong() -> None:
    decoder = tm2tfr.compile("chapter")
    trace = tm2tfr.run(decoder, "11", engine="dense")
    tokens, answers = [str(row.x) for row in trace.rows], [row.y for row in trace.rows]
    found = Search(decoder, tokens, answers, engine=DENSE).largest(len(tokens), 1e-6)
    assert found == pytest.approx(0.0743, rel=1e-2)
    tokens_at = [tm2tfr.run(softened(decoder, t), "11", max_steps=20) for t in (found or 0, (found or 0) * 2 ** (1 / 32))]
    assert [row.y for row in tokens_at[0].rows] == answers
    assert [row.y for row in tokens_at[1].rows][: len(answers)] != answers


def test_a_run_that_nothing_warms_up_enough_and_one_that_cannot_be_right() -> None:
    decoder = tm2tfr.compile("chapter")
    numbers = Search(decoder, ["1", "1"], ["1", "1"], engine=DENSE)
    assert numbers.largest(2, 1e-3) == 1024
    assert Search(decoder, ["1"], ["BOS"], engine=DENSE).largest(1, 1e-3) is None


def test_lengths_and_exponents() -> None:
    assert lengths(109) == [13, 27, 54, 109]
    assert lengths(5) == [5]
    assert exponent([(n, 3.0 * n**-1.5) for n in (10, 20, 70)]) == pytest.approx(1.5)
    assert exponent([(10, 0.1)]) is None


@pytest.mark.slow
def test_a_whole_measurement() -> None:
    found = tm2tfr.measure_softness("busy-beaver-4", "")
    last = found.growth[-1]
    assert (last.positions, found.softness.first_wrong, found.softness.uniform_tieless) == (109, None, True)
    assert last.found == pytest.approx(0.00183, rel=0.01)
    assert all(w.found is not None and w.found > 20 * w.guaranteed for w in found.growth)
    assert found.softness.temperature == 2.0**-12
    assert 1.1 < (found.found_exponent or 0) < 1.5
    assert 1.0 < (found.guaranteed_exponent or 0) < 1.1
    rows = list(found.rows())
    assert len(rows) == 109 * (1 + 1 + 4 + 1 + 1 + 1)
    assert found.as_dict()["errors"] == rows


def test_a_given_temperature_and_a_wrong_token() -> None:
    found = tm2tfr.measure_softness("chapter", "11", temperature=0.5, dtype="float32")
    assert (found.softness.temperature, found.dtype, found.softness.first_wrong) == (0.5, "float32", 6)


def test_what_cannot_be_measured() -> None:
    with pytest.raises(EngineError, match=r"^the run is wrong even with average-hard attention \(position 5, h\): see"):
        tm2tfr.measure_softness(tm2tfr.compile("left-edge", left_boundary="chapter"), "11")
    words = "^these weights already have softmax attention: measure the weights they were made from$"
    with pytest.raises(CompileError, match=words):
        tm2tfr.measure_softness(tm2tfr.soften("chapter"), "11")
    with pytest.raises(CompileError, match="^the temperature must be positive, not -1: use for example"):
        tm2tfr.measure_softness("chapter", "11", temperature=-1)
