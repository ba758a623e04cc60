"""Weights as text: whole listings, layers by number and name, and no weight left out."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from tests.engines.lookups import looking, random_looks
from tests.handmade import majority, normed, tabled
from tm2tfr.transformer.gadgets import Unit, feed_forward, head, mean
from tm2tfr.transformer.listing import TABLED, coefficient, form, html_summary, layer_number, listing, summary
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder, Layer, Norm, matrices, replaced

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


# ── parts that only some decoders have ──────────────────────────────────────────────────────────────────────
def test_a_short_table_is_listed_whole() -> None:
    assert (
        listing(tabled(3)).split("\n\n")[0]
        == """\
embedding
  token 0 → token[0]
  token 1 → token[1]
  table of 3 positions
    at 0 → 0
    at 1 → bit
    at 2 → bit"""
    )
    lines = listing(looking(random_looks(TABLED, seed=2))).splitlines()
    assert len([line for line in lines if line.startswith("    at ")]) == TABLED


def test_a_long_table_is_abbreviated_and_every_weight_of_it_still_counts() -> None:
    decoder = looking(random_looks(1200, seed=2))
    lines = listing(decoder).split("\n\n")[0].splitlines()
    assert lines[6] == "  table of 1,200 positions"
    assert [line.split(" → ")[0] for line in lines[7:22]] == [f"    at {i}" for i in range(15)]
    assert re.fullmatch(r"    … 1,184 more positions; SHA-256 of all of them: [0-9a-f]{64}", lines[22])
    assert lines[23].startswith("    at 1199 → ")
    assert len(lines) == 24
    table = matrices(decoder)["position_table"]
    other = replaced(decoder, {"position_table": table.with_entry(0, 700, 1.0)})
    changed = listing(other).split("\n\n")[0].splitlines()
    assert [n for n, (old, new) in enumerate(zip(lines, changed, strict=True)) if old != new] == [22]


def test_norms_are_listed_before_what_they_are_for() -> None:
    text = listing(normed(1e-5))
    gains = " + ".join(f"{n}·{d}".removeprefix("1·") for n, d in enumerate(majority().layout.directions, start=1))
    own = [f"  gain: {gains}", "  bias: 1/2·token[0]"]
    for before, indent in (("attention", "  "), ("feed-forward", "  "), ("the unembedding", "")):
        lines = [f"layer norm before {before}, epsilon = 1e-05", *own]
        assert "\n".join(indent + line for line in lines) + "\n" in text
    assert text.count("layer norm") == 3
    assert text.index("before attention") < text.index("head 'average'") < text.index("before feed-forward")
    assert text.index("before feed-forward") < text.index("feed-forward, 3 hidden") < text.index("before the unembedding")


def test_gains_that_are_all_equal_are_one_number() -> None:
    made = majority()
    column = Matrix.from_entries((made.layout.width, 1), {(n, 0): 2.0 for n in range(made.layout.width)})
    norm = Norm(gain=column, bias=Matrix.from_entries(column.shape, {}))
    text = listing(dataclasses.replace(made, norm=norm))
    assert "layer norm before the unembedding, epsilon = 0.0\n  gain: 2 everywhere\n  bias: 0 everywhere\n" in text


def test_summaries_name_the_parts() -> None:
    counts = dict(re.split(r" {2,}", line) for line in summary(tabled(1200)).split("\n\n")[1].splitlines())
    assert counts["positions"] == "1,200"
    assert counts["BOS"] == "none"
    assert "layer norms" not in counts
    assert "   layer norm; 1 head (average); layer norm; feed-forward with 3 hidden units\n" in summary(normed())
    counts = dict(re.split(r" {2,}", line) for line in summary(normed()).split("\n\n")[1].splitlines())
    assert counts["layer norms"] == "3"
    assert not {"positions", "BOS"} & counts.keys()
    assert "residual width 5, vocabulary 2, 3 positions, 14 weights not 0" in html_summary(tabled())
    assert "<td>layer norm; 1 head (average); layer norm; feed-forward with 3 hidden units</td>" in normed()._repr_html_()
    assert repr(tabled()) == (
        "<Decoder: 1 layer, 1 head, 2 hidden units, residual width 5, vocabulary 2, 3 positions, 14 non-zero>"
    )
