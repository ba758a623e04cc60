"""The dense engine under softmax, against a forward pass written from the definitions; who refuses it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tm2tfr
from tm2tfr.base.errors import EngineError
from tm2tfr.engines import engine
from tm2tfr.transformer.positions import POSITION_FEATURES
from tm2tfr.transformer.soft import softened
from tm2tfr.transformer.weights import Decoder


def forward(decoder: Decoder, tokens: list[int]) -> NDArray[Any]:
    """Return the logits at every position, (n, vocabulary), from matrix products over the whole sequence."""
    n = len(tokens)
    fractions = [[POSITION_FEATURES[name](i) for i in range(n)] for name in decoder.features]
    features = [[above / below for above, below in row] for row in fractions]
    x = decoder.token_embedding.dense()[:, tokens] + decoder.position_embedding.dense() @ np.array(features)
    for layer in decoder.layers:
        added = np.zeros_like(x)
        for head in layer.heads:
            scores = (head.query.dense() @ x).T @ (head.key.dense() @ x)
            scores[np.triu_indices(n, 1)] = -np.inf
            powers = np.exp(scores - scores.max(axis=1, keepdims=True))
            weights = powers / powers.sum(axis=1, keepdims=True)
            added += head.output.dense() @ (head.value.dense() @ x) @ weights.T
        x = x + added
        if (f := layer.feed_forward) is not None:
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
