"""Both engines against a forward pass that shares nothing with them: dense matrices, whole sequence, no cache.

The pass is written from the definitions (average-hard attention: Eq. 8.1) and runs on Fractions or on floats. A
sequence of n tokens is exact in floats where every value carried is a multiple of lcm(1 … n), as a mean over up
to n positions is then an integer: so the dense engine can be compared with ``==``, ties, tokens and all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tm2tfr.engines import Engine, engine
from tm2tfr.transformer.gadgets import head, stacked
from tm2tfr.transformer.matrix import Matrix, rational
from tm2tfr.transformer.positions import POSITION_FEATURES
from tm2tfr.transformer.residual import Linear, Residual, Subspace
from tm2tfr.transformer.weights import Decoder, FeedForward, Head, Layer

Array = np.ndarray[Any, Any]
Stage = tuple[int, str, list[list[Any]]]
Looks = dict[tuple[int, int], list[tuple[list[Any], list[int]]]]
WIDTH, VOCABULARY = 5, 4


# ── the reference ───────────────────────────────────────────────────────────────────────────────────────────
def rationals(array: Array) -> Array:
    return np.array([Fraction(v) for v in array.ravel()] or [Fraction(0)], dtype=object)[: array.size].reshape(array.shape)


def forward(
    decoder: Decoder, tokens: Sequence[int], numbers: Callable[[Array], Array] = rationals
) -> tuple[list[Stage], Looks, Array]:
    """Return every stage as (layer, part, one row a position), what the heads did, and the logits.

    `numbers` turns an array of floats into one of the numbers to compute with. Columns of X are positions.
    """
    n, looks = len(tokens), {}

    def weights(matrix: Matrix) -> Array:
        return numbers(matrix.dense())

    one = numbers(np.ones(1))[0]
    places = [[POSITION_FEATURES[f](i) for i in range(n)] for f in decoder.features]
    p = np.array([[one * a / b for a, b in row] for row in places], dtype=numbers(np.ones(1)).dtype).reshape(-1, n)
    x = weights(decoder.token_embedding)[:, list(tokens)] + weights(decoder.position_embedding) @ p
    stages = [(-1, "embedding", x.T.tolist())]
    for number, layer in enumerate(decoder.layers):
        new = x
        for k, own in enumerate(layer.heads):
            q, key, value = (weights(m) @ x for m in (own.query, own.key, own.value))
            scores = [[sum(q[:, i] * key[:, j]) for j in range(i + 1)] for i in range(n)]
            hits = [[j for j, s in enumerate(row) if s == max(row)] for row in scores]
            means = np.array([value[:, at].sum(axis=1) / len(at) for at in hits]).T.reshape(len(value), n)
            new = new + weights(own.output) @ means
            looks[number, k] = [(scores[i], hits[i]) for i in range(n)]
        x = new
        stages.append((number, "attention", x.T.tolist()))
        if (layer_ := layer.feed_forward) is not None:
            hidden = weights(layer_.input) @ x + weights(layer_.input_bias)
            hidden = hidden * (hidden > 0)
            x = x + weights(layer_.output) @ hidden + weights(layer_.output_bias)
        stages.append((number, "feed_forward", x.T.tolist()))
    return stages, looks, weights(decoder.unembedding) @ x + weights(decoder.unembedding_bias)


def first_of_the_largest(logits: Array) -> list[int]:
    return [column.index(max(column)) for column in logits.T.tolist()]


# ── the engine's answer in the same form ────────────────────────────────────────────────────────────────────
def plain(numbers: Any) -> list[Any]:
    """Return numbers as Python's own: an array's floats, or the exact engine's integers and fractions."""
    return numbers.tolist() if isinstance(numbers, np.ndarray) else list(numbers)


class Recorder:
    """Keeps everything that a Watch is shown, in order."""

    def __init__(self) -> None:
        self.events: list[Any] = []

    def stage(self, layer: int, part: str, residual: Any) -> None:
        self.events.append((layer, part, plain(residual)))

    def head(self, layer: int, head: int, scores: Any, attended: Any) -> None:
        self.events.append(((layer, head), (plain(scores), plain(attended))))


def watched(decoder: Decoder, tokens: Sequence[int], engine: Engine) -> tuple[list[Stage], Looks, Array, list[int]]:
    session, records, logits, answers = engine.start(decoder), [], [], []
    for token in tokens:
        record = Recorder()
        answers.append(session.feed(token, record))
        records.append(record.events)
        logits.append(plain(session.logits))
        assert plain(session.residual) == record.events[-1][2]
    # every position sees the same stages and heads once, in the same order
    assert [[e[:-1] for e in events] for events in records] == [[e[:-1] for e in records[0]]] * len(tokens)
    stages: list[Stage] = []
    looks: Looks = {}
    for n, event in enumerate(records[0]):
        seen = [events[n][-1] for events in records]
        if len(event) == 3:
            stages.append((event[0], event[1], seen))
        else:
            looks[event[0]] = seen
    return stages, looks, np.array(logits, dtype=object).T, answers


def agree(decoder: Decoder, tokens: Sequence[int], name: str, dtype: str | None = None) -> Array:
    """Compare an engine with the rational reference, ``==`` everywhere; return the last residual stream."""
    stages, looks, logits, answers = watched(decoder, tokens, engine(name, dtype))
    wanted = forward(decoder, tokens)
    assert stages == wanted[0]
    assert looks == wanted[1]
    assert logits.tolist() == wanted[2].tolist()
    assert answers == first_of_the_largest(wanted[2])
    return np.array([abs(v) for _, _, rows in stages for row in rows for v in row])


# ── random decoders ─────────────────────────────────────────────────────────────────────────────────────────
def random_decoder(
    seed: int, *, layers: int, features: tuple[str, ...], carried: float = 1, halves: bool = False, dense: bool = True
) -> Decoder:
    """Return a decoder of small integer weights (or with halves); values are `carried` times as large."""
    rng = np.random.default_rng(seed)

    def some(rows: int, columns: int, scale: float = 1) -> Matrix:
        array = rng.integers(-2, 3, (rows, columns)) * rng.integers(0, 2, (rows, columns)) * scale
        return Matrix.from_dense(array / 2 if halves else array)

    def head(n: int) -> Head:
        d_k, d_v = int(rng.integers(0, 4)), int(rng.integers(0, 3))
        # now and then a head without any scores, or with a query that meets no key
        query, key = (some(d_k, WIDTH) if rng.random() < 0.8 else Matrix.from_entries((d_k, WIDTH), {}) for _ in "qk")
        output = some(WIDTH, d_v)
        return Head(name=f"{n}", source="", query=query, key=key, value=some(d_v, WIDTH, carried), output=output)

    def feed_forward() -> FeedForward:
        hidden = int(rng.integers(0, 5))
        return FeedForward(
            input=some(hidden, WIDTH),
            input_bias=some(hidden, 1),
            output=some(WIDTH, hidden),
            output_bias=some(WIDTH, 1),
            units=tuple(map(str, range(hidden))),
        )

    return Decoder(
        layout=Residual((Subspace("x", tuple(map(str, range(WIDTH)))),)),
        vocabulary=tuple("abcd"),
        bos="a",
        stop=(),
        features=features,
        token_embedding=some(WIDTH, VOCABULARY),
        position_embedding=some(WIDTH, len(features)),
        layers=tuple(
            Layer(
                name=f"{n}",
                meaning="",
                source="",
                heads=tuple(head(k) for k in range(rng.integers(0, 4))),
                feed_forward=feed_forward() if rng.random() < 0.8 else None,
            )
            for n in range(layers)
        ),
        unembedding=some(VOCABULARY, WIDTH),
        unembedding_bias=some(VOCABULARY, 1),
    )


seeds = st.integers(0, 10**6)


def words(length: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=length)


# ── the comparisons ─────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(seeds, words(7), st.integers(0, 3))
def test_exact_is_the_reference_on_rationals(seed: int, tokens: list[int], layers: int) -> None:
    agree(random_decoder(seed, layers=layers, features=tuple(POSITION_FEATURES), halves=True), tokens, "exact")


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(seeds, words(6))
@example(0, [0, 1, 2, 3, 0, 0])
def test_dense_is_the_reference_where_floats_are_exact(seed: int, tokens: list[int]) -> None:
    decoder = random_decoder(seed, layers=2, features=("1", "i", "i^2"), carried=lcm(1, 2, 3, 4, 5, 6))
    assert agree(decoder, tokens, "dense").max() < 2**31
    assert forward(decoder, tokens, np.asarray)[0] == forward(decoder, tokens)[0]  # floats are exact here


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(seeds, words(4))
def test_float32_is_the_reference_where_it_is_exact(seed: int, tokens: list[int]) -> None:
    decoder = random_decoder(seed, layers=1, features=("1", "i", "i^2"), carried=lcm(1, 2, 3, 4))
    assert agree(decoder, tokens, "dense", "float32").max() < 2**20


def counting(scores: str) -> Decoder:
    """Return a decoder with one head whose score is the number of the token, or the position, or its negative."""
    direction = {"token": 0, "place": 2, "beginning": 2, "all": 1}[scores]
    sign = {"beginning": -1.0, "all": 0.0}.get(scores, 1.0)
    pick = Matrix.from_entries((1, WIDTH), {(0, 1): 1.0})
    return Decoder(
        layout=Residual((Subspace("x", tuple("ktivw")),)),
        vocabulary=tuple("abcd"),
        bos="a",
        stop=(),
        features=("1", "i", "1/(i+1)"),
        token_embedding=Matrix.from_entries((WIDTH, 4), {(0, n): float(n) for n in range(4)}),
        position_embedding=Matrix.from_entries((WIDTH, 3), {(1, 0): 1.0, (2, 1): 1.0, (3, 2): 1.0}),
        layers=(
            Layer(
                name="",
                meaning="",
                source="",
                heads=(
                    Head(
                        name="",
                        source="",
                        query=pick,
                        key=Matrix.from_entries((1, WIDTH), {(0, direction): sign}),
                        value=Matrix.from_entries((2, WIDTH), {(0, 2): 1.0, (0, 0): 2.0, (1, 3): 1.0}),
                        output=Matrix.from_entries((WIDTH, 2), {(3, 1): 1.0, (4, 0): 1.0}),
                    ),
                ),
            ),
        ),
        unembedding=Matrix.from_entries((4, WIDTH), {(1, 4): 1.0, (2, 3): 64.0}),
        unembedding_bias=Matrix.from_entries((4, 1), {(0, 0): 50.0}),
    )


@pytest.mark.slow
@pytest.mark.parametrize("scores", ["token", "place", "beginning", "all"])
@pytest.mark.parametrize(("name", "length"), [("dense", 270), ("exact", 140)])
def test_the_cache_grows_past_64_and_128_positions(name: str, length: int, scores: str) -> None:
    decoder, rng = counting(scores), np.random.default_rng(length)
    tokens = rng.integers(0, 4, length).tolist()
    stages, looks, logits, answers = watched(decoder, tokens, engine(name))
    if name == "exact":
        wanted = forward(decoder, tokens)
        assert stages == wanted[0]
    else:  # scores are integers here, but means and 1/(i+1) are rounded
        wanted = forward(decoder, tokens, np.asarray)
        last = np.array(wanted[0][-1][2])
        assert np.allclose(np.array(stages[-1][2]), last, rtol=1e-13, atol=0)
        assert np.allclose(np.array(logits, dtype=float), wanted[2], rtol=1e-13, atol=1e-13)
    assert looks == wanted[1]
    assert answers == first_of_the_largest(wanted[2])
    assert scores == "beginning" or len(set(answers)) > 1


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(seeds, words(6), words(4), words(4), st.sampled_from(["dense", "exact"]))
def test_no_position_sees_what_comes_after_it(
    seed: int, prefix: list[int], one: list[int], other: list[int], name: str
) -> None:
    decoder = random_decoder(seed, layers=2, features=tuple(POSITION_FEATURES))
    first, second = engine(name).start(decoder), engine(name).start(decoder)
    kept = []
    for token in prefix:  # two sessions side by side share nothing
        answers = first.feed(token), second.feed(token)
        assert answers[0] == answers[1]
        kept.append((first.residual, list(first.residual), first.logits, list(first.logits)))
    for token in one:
        first.feed(token)
    for token in other:
        second.feed(token)
    assert [(list(x), list(y)) for x, _, y, _ in kept] == [(x, y) for _, x, _, y in kept]  # nor are they changed
    again = watched(decoder, [*prefix, *other], engine(name))
    assert [rows[: len(prefix)] for _, _, rows in again[0]][-1] == [x for _, x, _, _ in kept]
    assert list(second.residual) == again[0][-1][2][-1]


# ── the exact engine: nothing is ever rounded, so ties are true ties. (Its answers: `test_reference`.)
LAYOUT = Residual(tuple(map(Subspace, ("1", "1/(i+1)", "seen"))))


def decoder_of(heads: tuple[Head, ...], logits: list[Linear]) -> Decoder:
    return Decoder(
        layout=LAYOUT,
        vocabulary=("a", "b"),
        bos="a",
        stop=(),
        features=("1", "1/(i+1)"),
        token_embedding=Matrix.from_entries((3, 2), {}),
        position_embedding=Matrix.from_entries((3, 2), {(0, 0): 1.0, (1, 1): 1.0}),
        layers=(Layer(name="", meaning="", source="", heads=heads),),
        unembedding=stacked(LAYOUT, logits),
        unembedding_bias=Matrix.from_entries((2, 1), {}),
    )


@pytest.mark.parametrize(
    ("value", "number"),
    [(2.0, 2), (-0.0, 0), (0.5, Fraction(1, 2)), (0.1, Fraction(3602879701896397, 2**55)), (1e300, int(1e300))],
)
def test_a_weight_is_the_very_number_that_the_float_is(value: float, number: Fraction | int) -> None:
    assert rational(value) == number
    assert type(rational(value)) is type(number)


def test_a_weight_of_one_tenth_is_not_rounded_along_the_way() -> None:
    session = engine("exact").start(decoder_of((), [{"1": 0.1, "1/(i+1)": 0.2}, {"1": 0.3}]))
    session.feed(0)
    assert session.logits == [Fraction(0.1) + Fraction(0.2), Fraction(0.3)]
    assert session.logits[0] != session.logits[1]


@pytest.mark.parametrize(("name", "first_b"), [("exact", 49), ("dense", 48)])
def test_floats_break_a_tie_of_logits_that_rationals_keep(name: str, first_b: int) -> None:
    # 49/(i+1) against 1: equal at i = 48, where the first token wins; but in float64 1/49 · 49 < 1
    session = engine(name).start(decoder_of((), [{"1/(i+1)": 49}, {"1": 1}]))
    answers = [session.feed(0) for _ in range(60)]
    assert answers == [0] * first_b + [1] * (60 - first_b)


def test_the_mean_of_thirds_is_a_third() -> None:
    # means of 1/(i+1) are the harmonic numbers H_n / n; all of them kept exactly
    uniform = head(LAYOUT, "mean", "", query=[], key=[], carries=[({"1/(i+1)": 1}, {"seen": 1})])
    session, seen = engine("exact").start(decoder_of((uniform,), [{}, {}])), []
    for _ in range(30):
        session.feed(0)
        seen.append(session.residual[2])
    assert seen == [sum(Fraction(1, k) for k in range(1, n + 1)) / n for n in range(1, 31)]


def test_whole_numbers_are_kept_as_integers_so_that_long_runs_stay_fast() -> None:
    session = engine("exact").start(decoder_of((), [{}, {}]))
    for i in range(3):
        session.feed(0)
        assert [type(x) for x in session.residual] == [int, Fraction if i else int, int]
