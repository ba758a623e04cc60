"""Weights as text: whole listings, layers by number and name, and no weight left out."""

from __future__ import annotations

import numpy as np
import pytest

from tm2tfr.errors import ShapeError
from tm2tfr.transformer.gadgets import Unit, feed_forward, head, mean
from tm2tfr.transformer.listing import coefficient, form, layer_number, listing, summary
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder, Layer, matrices, replaced

LAYOUT = Residual((Subspace("e", ("a", "b")), Subspace("1")))
DECODER = Decoder(
    layout=LAYOUT,
    vocabulary=("a", "BOS"),
    bos="BOS",
    stop=(),
    features=("1",),
    token_embedding=Matrix.from_entries((3, 2), {(0, 0): 1.0}),
    position_embedding=Matrix.from_entries((3, 1), {(2, 0): 1.0}),
    layers=(
        Layer(
            name="look",
            meaning="look around",
            source="Eq. 1",
            heads=(
                head(
                    LAYOUT,
                    "one",
                    "Eq. 2",
                    query=[{"1": 2.0, "e[a]": -1.0}],
                    key=[{"e[b]": 0.5}],
                    carries=[({"e[a]": 1}, {"e[b]": -1})],
                ),
                mean(LAYOUT, "all", "Eq. 3", [({"1": 1}, {"e[a]": 1, "1": -0.25})]),
            ),
        ),
        Layer(
            name="2 think",
            meaning="think",
            source="Eq. 4",
            feed_forward=feed_forward(
                LAYOUT, [Unit("u", {"e[a]": 1, "1": -2}, {"e[b]": 1}, bias=-1), Unit("v", {}, {"1": 0.1}, bias=1)]
            ),
        ),
        Layer(name="rest", meaning="do nothing", source="Eq. 5"),
    ),
    unembedding=Matrix.from_entries((2, 3), {(0, 0): 1.0, (0, 2): -1.0}),
    unembedding_bias=Matrix.from_entries((2, 1), {(0, 0): 3.0}),
)
LAYER_1 = """\
layer 1: look
  look around [Eq. 1]
  head 'one' [Eq. 2]: future-masked, average-hard
    query[0] = -e[a] + 2·1
    key[0] = 1/2·e[b]
    value[0] = e[a] → -e[b]
  head 'all' [Eq. 3]: future-masked, average-hard
    query = key = 0 (uniform attention)
    value[0] = 1 → e[a] - 1/4·1
"""
LAYER_2 = """\
layer 2: 2 think
  think [Eq. 4]
  feed-forward, 2 hidden units
    hidden[0] = ReLU(e[a] - 2·1 - 1) → e[b]  # u
    hidden[1] = ReLU(1) → 0.1·1  # v
"""
LAYER_3 = "layer 3: rest\n  do nothing [Eq. 5]\n"


def test_the_whole_listing() -> None:
    embedding = "embedding\n  token a → e[a]\n  token BOS → 0\n  position 1 → 1\n"
    unembedding = "unembedding\n  logit a = e[a] - 1 + 3\n  logit BOS = 0\n"
    assert listing(DECODER) == "\n".join([embedding, LAYER_1, LAYER_2, LAYER_3, unembedding])


@pytest.mark.parametrize(
    ("layer", "text"),
    [("1", LAYER_1), ("look", LAYER_1), ("2", LAYER_2), ("2 think", LAYER_2), ("3", LAYER_3), ("rest", LAYER_3)],
)
def test_one_layer_by_number_or_by_name(layer: str, text: str) -> None:
    assert listing(DECODER, layer) == text
    assert layer_number(DECODER, layer) == int(text[6])


@pytest.mark.parametrize(
    ("layer", "close"),
    [("0", ""), ("4", ""), ("-1", ""), ("²", ""), ("", ""), ("lok", r" \(did you mean 'look'\?\)")],
)
def test_a_layer_that_is_not_there(layer: str, close: str) -> None:
    with pytest.raises(ShapeError, match=f"^there is no layer '{layer}'{close}: the layers are 1 look, 2 2 think, 3 rest$"):
        listing(DECODER, layer)


def test_every_single_weight_shows() -> None:
    texts = {listing(DECODER)}
    changes = 0
    for path, matrix in matrices(DECODER).items():
        for place in np.ndindex(matrix.shape):
            changes += 1
            texts.add(listing(replaced(DECODER, {path: matrix.with_entry(*place, 7.0)})))
    assert changes == DECODER.parameters
    assert len(texts) == changes + 1


@pytest.mark.parametrize(
    ("value", "text"),
    [(2.0, "2"), (-0.5, "-1/2"), (1 / 64, "1/64"), (1 / 128, "0.0078125"), (0.1, "0.1"), (1e20, "1e+20"), (0.0, "0")],
)
def test_a_weight_is_a_simple_fraction_or_all_its_digits(value: float, text: str) -> None:
    assert coefficient(value) == text


def test_a_linear_form() -> None:
    assert form(LAYOUT, {}) == "0"
    assert form(LAYOUT, {2: -1.0, 0: -3.0}) == "-3·e[a] - 1"
    assert form(LAYOUT, {1: 1.0}, constant=-2.0) == "e[b] - 2"
    assert form(LAYOUT, {}, constant=-2.0) == "-2"


def test_the_summary() -> None:
    assert summary(DECODER).splitlines() == [
        "1  look: look around [Eq. 1]",
        "   2 heads (one, all)",
        "2  2 think: think [Eq. 4]",
        "   feed-forward with 2 hidden units",
        "3  rest: do nothing [Eq. 5]",
        "   nothing",
        "",
        "layers                      3",
        "attention heads             2",
        "hidden units                2",
        "residual width              3",
        "vocabulary                  2",
        "parameters                 52",
        "non-zero                   19",
        "largest weight              3",
    ]
