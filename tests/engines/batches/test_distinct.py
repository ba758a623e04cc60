"""Batches by different columns: bit for bit what each sequence is alone, on weights about which nothing is right."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from tests.engines.labellers import labeller, scrambled, with_heads
from tests.handmade import turned
from tm2tfr.base.choices import WEIGHTINGS, Float
from tm2tfr.engines import distinct_heads
from tm2tfr.engines.decode import run_whole
from tm2tfr.engines.dense import Dense, DenseDecoder
from tm2tfr.engines.distinct import ColumnMap, joined_codes, numbered_keys
from tm2tfr.engines.reading import read_outputs
from tm2tfr.transformer.claims import Output
from tm2tfr.transformer.gadgets import head, stacked
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder, Layer

HARD = [weighting for weighting in WEIGHTINGS if weighting != "softmax"]


def batches(decoder: Decoder, n: int, *sizes: int) -> list[Any]:
    drawn = np.random.default_rng(n)
    return [drawn.integers(0, len(decoder.vocabulary), (size, n)) for size in sizes]


def same_as_alone(decoder: Decoder, engine: DenseDecoder, tokens: Any, dtype: Float) -> None:
    found = engine.run(tokens)
    for b in range(0, len(tokens), 7):
        alone = run_whole(decoder, tokens[b].tolist(), engine=Dense(dtype))
        assert found.residual[:, b].T.tolist() == [there.residual.tolist() for there in alone]
        assert found.logits[:, b].T.tolist() == [there.logits.tolist() for there in alone]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("weighting", HARD)
@pytest.mark.parametrize("seed", range(3))
def test_batches_are_what_each_sequence_is_alone(seed: int, weighting: Any, dtype: Float) -> None:
    """Integers are packed, other values are not; the second batch meets what is kept of the first one."""
    made = scrambled(seed, integers=seed % 2 == 0, positions=5 if seed else None, weighting=weighting)
    engine = DenseDecoder(made, dtype)
    for tokens in batches(made, 4, 40, 17):
        same_as_alone(made, engine, tokens, dtype)


@pytest.mark.parametrize("most", [2**3, 2**9])
def test_long_values_are_packed_into_several_numbers_or_none_and_pairs_are_looked_at_part_by_part(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    made = scrambled(6, integers=True)
    (tokens,) = batches(made, 5, 30)
    whole = DenseDecoder(made).run(tokens)
    monkeypatch.setattr(distinct_heads, "KEYS", most)
    monkeypatch.setattr(distinct_heads, "MOST_PAIRS", 1)
    parts = DenseDecoder(made).run(tokens)
    assert whole.residual.tolist() == parts.residual.tolist()
    assert whole.logits.tolist() == parts.logits.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("uniform", [True, False])
@pytest.mark.parametrize("mask", ["future", "past", "none"])
def test_sums_that_64_bits_do_not_hold_are_not_packed(mask: Any, uniform: bool) -> None:
    """Each value times n is below 2⁵², so that sums of floats are exact; with the count beside it, it is above 2⁶³."""
    layout, n, value = Residual((Subspace("x"), Subspace("mean"), Subspace("1"))), 4_000, 1e12
    mean = head(layout, "all", "", query=[] if uniform else [{"1": 1.0}], key=[] if uniform else [{"1": 1.0}],
                carries=[({"x": 1.0}, {"mean": 1.0})], mask=mask)  # fmt: skip
    made = Decoder(
        layout=layout,
        vocabulary=("a", "b"),
        bos=None,
        stop=(),
        features=("1",),
        token_embedding=turned(stacked(layout, [{"x": value}, {"x": -value}])),
        position_embedding=turned(stacked(layout, [{"1": 1.0}])),
        layers=(Layer(name="mean", meaning="", source="", heads=(mean,)),),
        unembedding=stacked(layout, [{"mean": 1.0}]),
        unembedding_bias=Matrix.from_entries((1, 1), {}),
        outputs=(Output("mean", None),),
    )
    (tokens,) = batches(made, n, 2)
    numbers = np.where(tokens == 0, int(value), -int(value))
    places = np.arange(n)
    seen = {
        "none": np.full((2, n), n),
        "future": np.broadcast_to(places + 1, (2, n)),
        "past": np.broadcast_to(n - places, (2, n)),
    }
    sums = {
        "none": np.broadcast_to(numbers.sum(axis=1, keepdims=True), (2, n)),
        "future": numbers.cumsum(axis=1),
        "past": numbers[:, ::-1].cumsum(axis=1)[:, ::-1],
    }
    assert (DenseDecoder(made).run(tokens).logits[0] == sums[mask] / seen[mask]).all()


@pytest.mark.parametrize("mask", ["future", "past", "none"])
def test_answers_are_those_of_the_logits(mask: Any) -> None:
    made = with_heads(labeller(), lambda head: dataclasses.replace(head, mask=mask))
    (tokens,) = batches(made, 6, 50)
    (block,) = DenseDecoder(made).blocks(tokens)
    for answer, right in zip(block.answers(), read_outputs(made, block.logits), strict=True):
        assert np.broadcast_to(answer, tokens.shape).tolist() == right.tolist()


def test_keys_are_numbered_the_same_by_a_table_and_by_sorting() -> None:
    keys = np.random.default_rng(0).integers(0, 50, (3, 20)) ** 2
    (by_table, found), (by_sorting, again) = numbered_keys(keys, 2_500), numbered_keys(keys, 10**9)
    assert by_table.places.tolist() == by_sorting.places.tolist()
    assert found.tolist() == again.tolist()
    assert found[by_table.places].tolist() == keys.tolist()


def test_combinations_are_those_of_their_parts() -> None:
    drawn = np.random.default_rng(1)
    for rows, batch in ((3, 20), (30, 400)):  # in the second nearly all places differ
        parts = [numbered_keys(drawn.integers(0, rows * batch, (rows, batch)), rows * batch)[0] for _ in range(3)]
        joined = joined_codes(parts)
        for part, own in zip(parts, joined.of, strict=True):
            assert own[joined.coded.places].tolist() == part.places.tolist()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("integers", [True, False])
def test_a_map_of_columns_adds_from_the_first_entry_to_the_last(integers: bool, dtype: Float) -> None:
    drawn, kind = np.random.default_rng(2), np.dtype(dtype)
    dense = drawn.integers(-3, 4, (6, 30)) if integers else drawn.normal(size=(6, 30))
    made = ColumnMap(Matrix.from_dense(dense.astype(kind).astype(np.float64)), kind)
    x = (drawn.integers(-9, 9, (30, 11)) if integers else drawn.normal(size=(30, 11))).astype(kind)
    total = np.zeros((6, 11), kind)
    for column in range(30):
        total += dense.astype(kind)[:, column, None] * x[column]
    assert made(x[made.reads]).tolist() == total[made.rows].tolist()
