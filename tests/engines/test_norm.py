"""Layer norms in the dense engine: the formula, its order of summation, bounds, and what is refused."""

from __future__ import annotations

import dataclasses
import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tm2tfr
from tests.engines.test_dense import LAYOUT, decoder_of, layer, looking
from tests.handmade import majority, normed
from tm2tfr.base.errors import EngineError
from tm2tfr.engines import engine
from tm2tfr.engines.decode import observe
from tm2tfr.engines.dense_heads import _scores
from tm2tfr.engines.dense_parts import LayerNorm, Refusals
from tm2tfr.engines.overflow import reach
from tm2tfr.transformer.gadgets import Unit
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.positions import POSITION_FEATURES
from tm2tfr.transformer.soft import softened
from tm2tfr.transformer.weights import Decoder, Norm


def column(*numbers: float) -> Matrix:
    return Matrix.from_entries((len(numbers), 1), {(n, 0): number for n, number in enumerate(numbers)})


def norm_of(width: int, gain: float = 1.0, bias: float = 0.0, epsilon: float = 0.0) -> Norm:
    return Norm(gain=column(*[gain] * width), bias=column(*[bias] * width), epsilon=epsilon)


def normalised(norm: Norm, x: list[float], dtype: str = "float64") -> Any:
    return LayerNorm(norm, lambda: "here", np.dtype(dtype))(np.array(x, dtype=dtype), Refusals(7))


def test_the_formula_by_hand() -> None:
    norm = Norm(gain=column(1, 2, -1, 0), bias=column(0, 10, 0, 5), epsilon=0.0)
    # mean 3, variance (4 + 0 + 0 + 4) / 4 = 2
    found = normalised(norm, [1.0, 3.0, 3.0, 5.0])
    assert found.tolist() == [-2 / math.sqrt(2), 10.0, 0.0, 5.0]


def test_epsilon_is_added_to_the_variance() -> None:
    assert normalised(norm_of(2, epsilon=3.0), [-1.0, 1.0]).tolist() == [-0.5, 0.5]
    assert normalised(norm_of(2, epsilon=1.0), [4.0, 4.0]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sums_run_from_the_first_entry_to_the_last_each_operation_rounded_once(dtype: str) -> None:
    chance = np.random.default_rng(3)
    x = chance.normal(size=301).astype(dtype) * np.array([1e4, 1.0, 1e-4] * 100 + [1.0], dtype=dtype)
    number, width = np.dtype(dtype).type, np.dtype(dtype).type(301)
    total = number(0)
    for entry in x:
        total = total + entry
    mean, total = total / width, number(0)
    for entry in x:
        total = total + (entry - mean) * (entry - mean)
    root = np.sqrt(total / width + number(0.1))
    wanted = [number(1.5) * ((entry - mean) / root) + number(0.3) for entry in x]
    found = normalised(norm_of(301, 1.5, 0.3, 0.1), x.tolist(), dtype)
    assert found.dtype == dtype
    assert found.tolist() == [float(value) for value in wanted]
    if dtype == "float64":  # and another order is another number: the test can fail
        assert mean != math.fsum(x) / 301


@pytest.mark.parametrize(
    ("x", "words"),
    [
        ([2.0, 2.0, 2.0], "its variance and its epsilon are 0, so that it divides by 0: use an epsilon above 0"),
        ([0.0, 1e-200], "its variance and its epsilon are 0, so that it divides by 0: use an epsilon above 0"),
        ([1e200, 0.0], "the variance is too large for float64: use smaller weights"),
    ],
)
def test_what_cannot_be_divided_by_is_refused(x: list[float], words: str) -> None:
    with np.errstate(over="ignore"), pytest.raises(EngineError, match=f"^{re.escape(f'here, position 7: {words}')}$"):
        normalised(norm_of(len(x)), x)


def test_a_stream_without_directions_stays_empty() -> None:
    assert normalised(norm_of(0), []).tolist() == []


def with_norms(where: str, norm: Norm) -> Decoder:
    """A decoder of a head that reads the number fed, a unit that doubles it, and logits of what is in ``out``."""
    unit = Unit("double", {"number": 2}, {"out": 1})
    one = layer(looking([], [], {"number": 1}), units=(unit,))
    made = decoder_of([3.0, 5.0], one, logits=[{"out": 1}, {}])
    if where == "norm":
        return dataclasses.replace(made, norm=norm)
    return dataclasses.replace(made, layers=(dataclasses.replace(one, **{where: norm}),))


@pytest.mark.parametrize(
    ("where", "seen", "out", "logit"),
    [("attention_norm", 4.0, 6.0, 6.0), ("feed_forward_norm", 3.0, 8.0, 8.0), ("norm", 3.0, 6.0, 4.0)],
)
def test_a_part_reads_what_is_normalised_and_the_stream_stays(where: str, seen: float, out: float, logit: float) -> None:
    session = engine("dense").start(with_norms(where, norm_of(LAYOUT.width, 0.0, 4.0, 1.0)))
    session.feed(0)
    stream = LAYOUT.named(dict(enumerate(session.residual.tolist())))
    assert (stream["number"], stream["seen"], stream["out"]) == (3.0, seen, out)
    assert session.logits.tolist() == [logit, 0.0]


def test_an_epsilon_too_large_for_the_dtype_is_refused_by_name() -> None:
    decoder = with_norms("feed_forward_norm", norm_of(LAYOUT.width, epsilon=1e60))
    said = (
        "layers.1.feed_forward_norm: the epsilon 1e+60 is too large for float32: use dtype='float64', or a smaller epsilon"
    )
    with pytest.raises(EngineError, match=f"^{re.escape(said)}$"):
        engine("dense", "float32").start(decoder)
    engine("dense", "float64").start(decoder).feed(0)


def test_norms_bound_what_is_read() -> None:
    assert reach(with_norms("attention_norm", norm_of(LAYOUT.width, 4.0))).everything
    for where in ("attention_norm", "feed_forward_norm", "norm"):
        assert not reach(with_norms(where, norm_of(LAYOUT.width, 1e290))).everything
        assert not reach(with_norms(where, norm_of(LAYOUT.width, 1.0, 1e290))).everything
        assert not reach(with_norms(where, norm_of(LAYOUT.width, epsilon=1e290))).everything
    huge = with_norms("norm", norm_of(LAYOUT.width))
    small = huge.token_embedding
    tokens = Matrix(small.shape, small.rows, small.columns, small.values * 1e150)
    assert not reach(dataclasses.replace(huge, token_embedding=tokens)).everything


def test_no_entry_is_more_than_the_root_of_the_width_away() -> None:
    x = [1.0] + [0.0] * 99
    assert Fraction(float(normalised(norm_of(100), x)[0])) ** 2 <= 100


def test_a_decoder_with_norms_everywhere_runs_and_shows_its_stream() -> None:
    made = normed(epsilon=0.5)
    seen = observe(made, ["1", "0"], engine=engine("dense"))
    plain = observe(majority(), ["1", "0"], engine=engine("dense"))
    assert seen.streams[0].tolist() == plain.streams[0].tolist()
    assert seen.streams[1].tolist() != plain.streams[1].tolist()


def test_a_query_of_thousands_of_zeros_gives_the_same_scores() -> None:
    chance = np.random.default_rng(1)
    keys = chance.normal(size=(40, 7))
    query = np.where(chance.random(40) < 0.2, chance.normal(size=40), 0.0)
    assert _scores(query, keys, skip=True).tolist() == _scores(query, keys, skip=False).tolist()
    assert _scores(query * 0, keys, skip=True).tolist() == [0.0] * 7


# ── the dense engine under softmax, against a forward pass written from the definitions; who refuses it
def forward(decoder: Decoder, tokens: list[int]) -> NDArray[Any]:
    """Return the logits at every position, (n, vocabulary), from matrix products over the whole sequence."""
    n = len(tokens)
    fractions = [[POSITION_FEATURES[name](i) for i in range(n)] for name in decoder.features]
    features = [[above / below for above, below in row] for row in fractions]
    x = decoder.token_embedding.dense()[:, tokens] + decoder.position_embedding.dense() @ np.array(features)
    for part in decoder.layers:
        added = np.zeros_like(x)
        for head in part.heads:
            scores = (head.query.dense() @ x).T @ (head.key.dense() @ x)
            scores[np.triu_indices(n, 1)] = -np.inf
            powers = np.exp(scores - scores.max(axis=1, keepdims=True))
            weights = powers / powers.sum(axis=1, keepdims=True)
            added += head.output.dense() @ (head.value.dense() @ x) @ weights.T
        x = x + added
        if (f := part.feed_forward) is not None:
            x = x + f.output.dense() @ np.maximum(f.input.dense() @ x + f.input_bias.dense(), 0) + f.output_bias.dense()
    return (decoder.unembedding.dense() @ x + decoder.unembedding_bias.dense()).T


@pytest.mark.parametrize("name", ["chapter", "busy-beaver-3", "left-edge"])
@pytest.mark.parametrize("temperature", [3.0, 0.3, 0.03, 1e-4])
@pytest.mark.parametrize(("dtype", "slack"), [("float64", 1e-9), ("float32", 2e-2)])
def test_dense_is_the_definition(name: str, temperature: float, dtype: str, slack: float) -> None:
    decoder = softened(tm2tfr.compile(name), temperature)
    tokens = [int(t) for t in np.random.default_rng(1).integers(0, len(decoder.vocabulary), 25)]
    session, found = engine("dense", dtype).start(decoder), []
    for token in tokens:
        session.feed(token)
        found.append(session.logits.copy())
    wanted = forward(decoder, tokens)
    if dtype == "float32" and temperature < 1e-2:
        return  # scores near 10^6: their roundings alone move the weights
    assert np.abs(np.array(found) - wanted).max() <= slack * max(1.0, np.abs(wanted).max())


def test_uniform_heads_stay_exactly_uniform() -> None:
    hard = tm2tfr.compile("busy-beaver-3")
    soft = softened(hard, 1e-6)
    place = hard.layout["h/(i+1)"]
    one, two = engine("dense").start(hard), engine("dense").start(soft)
    for token in range(8):
        one.feed(token % len(hard.vocabulary))
        two.feed(token % len(hard.vocabulary))
        assert one.residual[place] == two.residual[place]


def test_a_cold_run_is_the_hard_run_bit_for_bit() -> None:
    hard = tm2tfr.compile("palindromes")
    one, two = engine("dense").start(hard), engine("dense").start(softened(hard, 2.0**-17))
    for token in [0, 1, 1, 0, hard.vocabulary.index("BOS"), 4, 5, 6]:
        assert one.feed(token) == two.feed(token)
        assert (one.residual == two.residual).all()


@pytest.mark.parametrize(("name", "words"), [("exact", "softmax weights are not rational"), ("fast", "not softmax")])
def test_the_others_refuse_softmax_and_name_the_dense_engine(name: str, words: str) -> None:
    decoder = softened(tm2tfr.compile("chapter"), 0.01)
    with pytest.raises(EngineError, match=f"^head 'sum of moves'.*{words}.*: use the dense engine$"):
        engine(name).start(decoder)
    assert tm2tfr.check(decoder, "11").engine == "dense"
    assert tm2tfr.check(decoder, "11", max_steps=None).engine == "dense"
