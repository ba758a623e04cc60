"""Compiled decoders transformed at random, so that they mean the same or not: fast is dense, bit for bit."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from tests.engines.test_fast import followed, given_of, steps
from tests.strategies import tries
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.fast import Fast
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import Decoder, FeedForward, Head

CASES = (("chapter", "1111"), ("palindromes", "abba"), ("left-edge", "11"), ("binary-increment", "101"), ("copy", "01"))


def scaled_rows(matrix: Matrix, factors: dict[int, float]) -> Matrix:
    values = matrix.values * np.array([factors.get(int(row), 1.0) for row in matrix.rows])
    return Matrix(matrix.shape, matrix.rows, matrix.columns, values)


def moved(matrix: Matrix, rows: list[int] | None = None, columns: list[int] | None = None) -> Matrix:
    """Return `matrix` with row r at rows[r] and column c at columns[c]."""
    at = matrix.rows if rows is None else np.array(rows)[matrix.rows]
    to = matrix.columns if columns is None else np.array(columns)[matrix.columns]
    return Matrix(matrix.shape, at, to, matrix.values)


def shuffled(size: int, chance: random.Random) -> list[int]:
    return chance.sample(range(size), size)


def rescaled(head: Head, chance: random.Random) -> Head:
    """Query and key components scaled by numbers whose product is 1, or is not."""
    size = head.query.shape[0]
    up = {c: chance.choice((0.25, 0.5, 2.0, 1024.0, 3.0, -1.0)) for c in range(size) if chance.random() < 0.5}
    down = {c: 1 / v if chance.random() < 0.8 and v != 3.0 else chance.choice((1.0, 0.5)) for c, v in up.items()}
    return replace(head, query=scaled_rows(head.query, up), key=scaled_rows(head.key, down))


def reordered(head: Head, chance: random.Random) -> Head:
    """Components in another order."""
    scores, values = shuffled(head.query.shape[0], chance), shuffled(head.value.shape[0], chance)
    query, key = moved(head.query, rows=scores), moved(head.key, rows=scores)
    return replace(
        head, query=query, key=key, value=moved(head.value, rows=values), output=moved(head.output, columns=values)
    )


def shifted(head: Head, chance: random.Random) -> Head:
    """An entry of a query, key or value more, less or another."""
    name = chance.choice(("query", "key", "value"))
    matrix: Matrix = getattr(head, name)
    if 0 in matrix.shape:
        return head
    row, column = (chance.randrange(size) for size in matrix.shape)
    return replace(head, **{name: matrix.with_entry(row, column, chance.choice((0.0, 1.0, -2.0, 0.5)))})


def split(layer: FeedForward, chance: random.Random) -> FeedForward:
    """A unit made two that write half each; units in another order."""
    hidden = layer.input.shape[0]
    unit, order = chance.randrange(hidden), shuffled(hidden + 1, chance)

    def doubled(matrix: Matrix) -> Matrix:
        more = matrix.rows == unit
        rows = np.concatenate([matrix.rows, np.full(more.sum(), hidden)])
        columns, values = (np.concatenate([a, a[more]]) for a in (matrix.columns, matrix.values))
        return moved(Matrix((hidden + 1, matrix.shape[1]), rows, columns, values), rows=order)

    halved = doubled(scaled_rows(layer.output.transposed, {unit: 0.5})).transposed
    names = [*layer.units, "half"]
    units = tuple(names[order.index(n)] for n in range(hidden + 1))
    return replace(layer, input=doubled(layer.input), input_bias=doubled(layer.input_bias), output=halved, units=units)


def transformed(decoder: Decoder, chance: random.Random) -> Decoder:
    """Return `decoder` after a few transformations."""
    layers = list(decoder.layers)
    for _ in range(chance.randint(1, 6)):
        n = chance.randrange(len(layers))
        layer = layers[n]
        if layer.heads and chance.random() < 0.7:
            heads = list(layer.heads)
            k = chance.randrange(len(heads))
            heads[k] = chance.choice((rescaled, rescaled, reordered, shifted))(heads[k], chance)
            chance.shuffle(heads)
            layers[n] = replace(layer, heads=tuple(heads))
        elif layer.feed_forward is not None:
            layers[n] = replace(layer, feed_forward=split(layer.feed_forward, chance))
    return replace(decoder, layers=tuple(layers))


def compared(seeds: range) -> int:
    """Compare both engines on transformed decoders; return how many of them scan a head."""
    scanned = 0
    for seed in seeds:
        chance = random.Random(seed)
        name, word = CASES[seed % len(CASES)]
        decoder = transformed(compile_machine(load(name)), chance)
        wanted = steps(decoder, word, Dense(), 40)
        assert steps(decoder, word, Fast(), 40) == wanted, seed
        numbers = [decoder.vocabulary.index(token) for token, _ in wanted]
        assert numbers[: len(word) + 1] == given_of(decoder, word)
        session = followed(replace(decoder, stop=()), numbers)
        scanned += any(found.kind == "scan" for layer in session.recognised for found in layer)
    return scanned


@pytest.mark.slow
def test_transformed_decoders_number_by_number() -> None:
    assert 4 < compared(range(40)) < 36


@pytest.mark.slow
def test_many_more_transformed_decoders() -> None:
    compared(range(40, 40 + tries(460)))


def test_a_split_unit_computes_the_same() -> None:
    decoder = compile_machine(load("chapter"))
    layers = [
        layer if layer.feed_forward is None else replace(layer, feed_forward=split(layer.feed_forward, random.Random(n)))
        for n, layer in enumerate(decoder.layers)
    ]
    other = replace(decoder, layers=tuple(layers))
    assert other.hidden == decoder.hidden + sum(layer.feed_forward is not None for layer in decoder.layers)
    assert steps(other, "11", Dense(), 20) == steps(decoder, "11", Dense(), 20)
