"""Mutations of weights, for fuzz tests of certificates and proofs: parts that cancel, second writers, other scales.

A mutation takes the decoder of any source and a random generator, and returns another decoder. It knows neither what the
weights compute nor what a certificate looks at; a fuzz test of one source can tell it, in an `Aim`, which directions and
numbers matter there. Heads and units that it adds are called `ADDED`, followed by a number.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tests.mutations.weights import Array, changed_units, dense, made, with_head, with_layer
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import Decoder, FeedForward, Head, Norm, matrices, replaced

Mutation = Callable[[Decoder, random.Random], Decoder]
ADDED = "added "
"""How the names of added heads and units begin; parts that cancel have the same number: ``added 7 0``, ``added 7 1``."""


def power(chance: random.Random) -> float:
    """Return a power of two: a small one, or one near the number of digits of a float32 or a float64."""
    small = (1, -1, 3, -3, chance.randint(-12, 12))
    return 2.0 ** chance.choice((*small, chance.randint(-26, -12), chance.randint(12, 26), chance.randint(40, 56)))


@dataclass(frozen=True)
class Aim:
    """What added parts are mostly made of.

    Args:
        size: draws the weights that cancel.
        reads, writes: the directions of the stream that added parts read and write in 7 of 10 cases; without, any.
    """

    size: Callable[[random.Random], float] = power
    reads: Sequence[int] = ()
    writes: Sequence[int] = ()


ANY = Aim()


# ── one weight ──────────────────────────────────────────────────────────────────────────────────────────────
def filled(decoder: Decoder) -> list[str]:
    """Return the paths of the matrices that have rows and columns."""
    return [path for path, matrix in matrices(decoder).items() if matrix.shape[0] and matrix.shape[1]]


def one_entry(decoder: Decoder, chance: random.Random, path: str | None = None) -> Decoder:
    """Change one weight of the matrix at `path`, by default of any: an entry, or a zero in 3 of 10 cases."""
    matrix = matrices(decoder)[path := path or chance.choice(filled(decoder))]
    entries = list(matrix.entries())
    row, column, old = chance.choice(entries) if entries else (0, 0, 0.0)
    if not entries or chance.random() < 0.3:
        row, column = chance.randrange(matrix.shape[0]), chance.randrange(matrix.shape[1])
        old = float(matrix.dense()[row, column])
    near = old * (1 + 2.0 ** -chance.randint(2, 24))
    values = (0.0, -old, old + 1, old - 1, 2 * old, old / 2, old + 0.5, near, old + 1e-3, 1e-9)
    new = chance.choice([value for value in values if value != old])
    return replaced(decoder, {path: matrix.with_entry(row, column, new)})


def two_rows(decoder: Decoder, chance: random.Random, path: str | None = None) -> Decoder:
    """Exchange two rows of the matrix at `path`, by default of any."""
    matrix = matrices(decoder)[path := path or chance.choice(filled(decoder))]
    order = list(range(matrix.shape[0]))
    one, other = chance.choice(order), chance.choice(order)
    order[one], order[other] = order[other], order[one]
    return replaced(decoder, {path: made(matrix.dense()[order])})


# ── parts that cancel ───────────────────────────────────────────────────────────────────────────────────────
def cancelling_scores(decoder: Decoder, chance: random.Random, aim: Aim = ANY) -> Decoder:
    """Add components to a head's queries and keys whose products have the sum 0, often the first and the last ones."""

    def change(head: Head) -> Head:
        query, key = dense(head.query), dense(head.key)
        copied = len(query) and chance.random() < 0.5
        at = chance.randrange(len(query)) if copied else 0
        asks, has = (query[at], key[at]) if copied else (form(decoder, chance, aim.reads), form(decoder, chance, aim.reads))
        weights = sum_of_0(chance, aim)
        places = around(len(query), len(weights), chance)
        sides = [[weight * asks for weight in weights], [has for _ in weights]]
        if chance.random() < 0.5:  # the weights are those of the keys
            sides = [[asks for _ in weights], [weight * has for weight in weights]]
        query, key = (np.insert(side, places, added, axis=0) for side, added in zip((query, key), sides, strict=True))
        return replace(head, query=made(query), key=made(key))

    return some_head(decoder, chance, change, uniform=False)


def cancelling_values(decoder: Decoder, chance: random.Random, aim: Aim = ANY) -> Decoder:
    """Add components to a head's values, equal ones, and write them so that their sum is 0."""

    def change(head: Head) -> Head:
        value, output = dense(head.value), dense(head.output)
        copied = len(value) and chance.random() < 0.5
        carried = value[chance.randrange(len(value))] if copied else form(decoder, chance, aim.reads)
        target = output[:, chance.randrange(len(value))] if copied else form(decoder, chance, aim.writes)
        weights = sum_of_0(chance, aim)
        places = around(len(value), len(weights), chance)
        written = np.insert(output, places, np.column_stack([weight * target for weight in weights]), axis=1)
        return replace(head, value=made(np.insert(value, places, [carried] * len(weights), axis=0)), output=made(written))

    return some_head(decoder, chance, change)


def cancelling_heads(decoder: Decoder, chance: random.Random, aim: Aim = ANY) -> Decoder:
    """Add copies of a head to its layer, or uniform ones, whose outputs have the sum 0."""
    return with_heads(decoder, chance, sum_of_0(chance, aim), aim)


def cancelling_units(decoder: Decoder, chance: random.Random, aim: Aim = ANY) -> Decoder:
    """Add units to a feed-forward part that read the same, and write it so that the sum is 0."""
    return with_units(decoder, chance, sum_of_0(chance, aim), aim)


def second_writer(decoder: Decoder, chance: random.Random, aim: Aim = ANY) -> Decoder:
    """Add a head, a unit or an entry of an embedding or bias that writes to any direction, often little."""
    weight = power(chance) * chance.choice((1.0, -1.0))
    kind = chance.choice((with_heads, with_heads, with_units, with_units, None))
    if kind is not None:
        return kind(decoder, chance, [weight], aim)
    written = [path for path in filled(decoder) if path.endswith(("_embedding", "table", "output_bias"))]
    path = chance.choice(written)
    matrix = matrices(decoder)[path].dense()
    matrix[direction(decoder, chance, aim.writes), chance.randrange(matrix.shape[1])] += weight
    return replaced(decoder, {path: made(matrix)})


# ── scales ──────────────────────────────────────────────────────────────────────────────────────────────────
def scaled_scores(decoder: Decoder, chance: random.Random) -> Decoder:
    """Multiply a component of a head's queries; its keys by the inverse, or not."""

    def change(head: Head) -> Head:
        query, key = dense(head.query), dense(head.key)
        rows = [chance.randrange(len(query))] if len(query) and chance.random() < 0.7 else list(range(len(query)))
        factor = power(chance)
        query[rows] *= factor
        key[rows] /= factor if chance.random() < 0.6 else 1.0
        return replace(head, query=made(query), key=made(key))

    return some_head(decoder, chance, change)


def scaled_values(decoder: Decoder, chance: random.Random) -> Decoder:
    """Multiply a component of a head's values, and what it writes by the inverse, or not."""

    def change(head: Head) -> Head:
        value, output = dense(head.value), dense(head.output)
        if not len(value):
            return head
        component, factor = chance.randrange(len(value)), power(chance) * chance.choice((1.0, -1.0))
        value[component] *= factor
        output[:, component] /= factor if chance.random() < 0.8 else 1.0
        return replace(head, value=made(value), output=made(output))

    return some_head(decoder, chance, change)


def scaled_direction(decoder: Decoder, chance: random.Random) -> Decoder:
    """Multiply all that is written to a direction, and all that is read off it by the inverse: the same without norms."""
    scales = np.ones(decoder.layout.width)
    scales[chance.randrange(len(scales))] = power(chance)
    return in_scales(decoder, scales)


def scaled_unit(decoder: Decoder, chance: random.Random) -> Decoder:
    """Multiply what a unit reads, and what it writes by the inverse, or not."""

    def change(part: FeedForward) -> FeedForward:
        unit, factor = chance.randrange(len(part.units)), power(chance)
        reads, bias, writes = dense(part.input), dense(part.input_bias), dense(part.output)
        reads[unit], bias[unit] = reads[unit] * factor, bias[unit] * factor
        writes[:, unit] /= factor if chance.random() < 0.8 else 1.0
        return replace(part, input=made(reads), input_bias=made(bias), output=made(writes))

    return some_units(decoder, chance, change)


def scaled_norm(decoder: Decoder, chance: random.Random) -> Decoder:
    """Change a layer norm: its gain, its bias or its epsilon; without norms, add one to a layer."""
    names = ("attention_norm", "feed_forward_norm")
    n, name = chance.randrange(len(decoder.layers)), chance.choice(names)
    norm = getattr(decoder.layers[n], name)
    if norm is None:
        ones = np.ones((decoder.layout.width, 1))
        norm = Norm(gain=made(ones), bias=made(0 * ones), epsilon=chance.choice((0.0, 1e-5)))
    else:
        gain, bias, factor = dense(norm.gain), dense(norm.bias), power(chance)
        row = chance.randrange(len(gain))
        kind = chance.choice(("gain", "gains", "bias", "epsilon"))
        gain[row if kind == "gain" else slice(None)] *= factor if kind.startswith("gain") else 1.0
        bias[row] += factor if kind == "bias" else 0.0
        norm = Norm(gain=made(gain), bias=made(bias), epsilon=factor if kind == "epsilon" else norm.epsilon)
    return with_layer(decoder, n, **{name: norm})


# ── what they are made of ───────────────────────────────────────────────────────────────────────────────────
def sum_of_0(chance: random.Random, aim: Aim = ANY) -> list[float]:
    """Return two to four weights whose sum is 0, but in one of 8 cases."""
    weight = aim.size(chance) * chance.choice((1.0, -1.0))
    *others, last = chance.choice(((1, -1), (1, -1), (1, 1, -1, -1), (1, 1, -2)))
    return [weight * n for n in (*others, last * (1.0 if chance.random() < 7 / 8 else 1 + 2.0 ** -chance.randint(1, 30)))]


def around(size: int, many: int, chance: random.Random) -> list[int]:
    """Return where `many` parts are inserted among `size`: before and behind all others, or anywhere."""
    ends = [0] * (many // 2) + [size] * (many - many // 2)
    return ends if chance.random() < 0.6 else sorted(chance.choices(range(size + 1), k=many))


def direction(decoder: Decoder, chance: random.Random, often: Sequence[int] = ()) -> int:
    """Return a direction of the stream, mostly one of those named `often`."""
    return chance.choice(often) if len(often) and chance.random() < 0.7 else chance.randrange(decoder.layout.width)


def form(decoder: Decoder, chance: random.Random, often: Sequence[int] = ()) -> Array:
    """Return one direction of the stream, mostly one of those named `often`, or the sum or difference of two: (width,)."""
    found = np.zeros(decoder.layout.width)
    for _ in range(chance.choice((1, 1, 1, 2))):
        found[direction(decoder, chance, often)] += chance.choice((1.0, 1.0, -1.0))
    return found


def place_of_head(decoder: Decoder, chance: random.Random, *, uniform: bool = True) -> tuple[int, int]:
    """Return the number of a layer, each as likely, and of one of its heads; without `uniform`, of one that has scores."""
    heads = [
        [(n, k) for k, h in enumerate(layer.heads) if uniform or not h.uniform] for n, layer in enumerate(decoder.layers)
    ]
    return chance.choice(chance.choice([places for places in heads if places]))


def some_head(decoder: Decoder, chance: random.Random, change: Callable[[Head], Head], *, uniform: bool = True) -> Decoder:
    """Return a decoder with one head changed; without `uniform`, one that has scores."""
    n, k = place_of_head(decoder, chance, uniform=uniform)
    return with_head(decoder, n, k, change(decoder.layers[n].heads[k]))


def some_units(decoder: Decoder, chance: random.Random, change: Callable[[FeedForward], FeedForward]) -> Decoder:
    """Return a decoder with one feed-forward part changed that has units."""
    numbers = [n for n, layer in enumerate(decoder.layers) if layer.feed_forward is not None and layer.feed_forward.units]
    return changed_units(decoder, chance.choice(numbers), change)


def with_heads(decoder: Decoder, chance: random.Random, weights: Sequence[float], aim: Aim = ANY) -> Decoder:
    """Return a decoder with copies of a head beside it, that write what it does, or to another direction, so often."""
    n, k = place_of_head(decoder, chance)
    head, heads = decoder.layers[n].heads[k], list(decoder.layers[n].heads)
    value, output = dense(head.value), dense(head.output)
    kind = chance.choice(("copies", "copies", "another target", "another value"))
    if kind == "another target" and len(value):
        component = chance.randrange(len(value))
        value, output = value[[component]], form(decoder, chance, aim.writes)[:, None]
    elif kind == "another value":
        value, output = form(decoder, chance, aim.reads)[None, :], form(decoder, chance, aim.writes)[:, None]
    if chance.random() < 0.2:
        none = made(np.zeros((0, decoder.layout.width)))
        head = replace(head, query=none, key=none)
    inner, outer = of_both(weights, chance)
    number, places = chance.randrange(10**9), around(len(heads), len(weights), chance)
    for i, place in reversed(list(enumerate(places))):
        added = replace(head, name=f"{ADDED}{number} {i}", value=made(inner * value), output=made(outer[i] * output))
        heads.insert(place, added)
    return with_layer(decoder, n, heads=tuple(heads))


def with_units(decoder: Decoder, chance: random.Random, weights: Sequence[float], aim: Aim = ANY) -> Decoder:
    """Return a decoder with units beside the others that read the same, and write it so often."""

    def change(part: FeedForward) -> FeedForward:
        reads, bias, writes = dense(part.input), dense(part.input_bias), dense(part.output)
        copied, at = chance.random() < 0.5, chance.randrange(len(part.units))
        read, added = form(decoder, chance, aim.reads), float(chance.randint(-1, 1))
        if copied:
            read, added = reads[at], float(bias[at, 0])
        elif chance.random() < 0.3:
            read, added = 0 * read, 1.0
        target = writes[:, at] if copied and chance.random() < 0.5 else form(decoder, chance, aim.writes)
        number, places = chance.randrange(10**9), around(len(part.units), len(weights), chance)
        inner, outer = of_both(weights, chance)
        units = list(part.units)
        for i, place in reversed(list(enumerate(places))):
            units.insert(place, f"{ADDED}{number} {i}")
        return FeedForward(
            input=made(np.insert(reads, places, inner * read, axis=0)),
            input_bias=made(np.insert(bias, places, inner * added, axis=0)),
            output=made(np.insert(writes, places, np.column_stack([weight * target for weight in outer]), axis=1)),
            output_bias=part.output_bias,
            units=tuple(units),
        )

    return some_units(decoder, chance, change)


def of_both(weights: Sequence[float], chance: random.Random) -> tuple[float, list[float]]:
    """Return these weights as a product: the size is often that of what is read, and the rest that of what is written."""
    inner = abs(weights[0]) if chance.random() < 0.3 else 1.0
    return inner, [weight / inner for weight in weights]


def in_scales(decoder: Decoder, scales: Array, *, gains: bool = True) -> Decoder:
    """Return a decoder whose stream is multiplied by scales, (width,): what is written, and what is read by the inverse.

    Args:
        gains: whether gains and biases of layer norms are multiplied too; either way these see other numbers.
    """
    changed: dict[str, Matrix] = {}
    for path, matrix in matrices(decoder).items():
        array: Any = dense(matrix)
        if path == "unembedding" or path.endswith((".query", ".key", ".value", ".input")):
            changed[path] = made(array / scales)
        elif path != "unembedding_bias" and not path.endswith(".input_bias") and (gains or "norm" not in path):
            changed[path] = made(array * scales[:, None])
    return replaced(decoder, changed)


CANCELLING: tuple[Mutation, ...] = (cancelling_scores, cancelling_values, cancelling_heads, cancelling_units)
SCALED: tuple[Mutation, ...] = (scaled_scores, scaled_values, scaled_direction, scaled_unit)
STRUCTURED: tuple[Mutation, ...] = (*CANCELLING, *CANCELLING, second_writer, *SCALED, one_entry)
"""Those from which fuzz tests draw; with layer norms `scaled_norm` too."""


def mutated(decoder: Decoder, chance: random.Random, among: Sequence[Mutation] = STRUCTURED) -> tuple[str, Decoder]:
    """Return a decoder after one to three mutations, and their names."""
    chosen = chance.choices(among, k=chance.choice((1, 1, 1, 2, 3)))
    for mutation in chosen:
        decoder = mutation(decoder, chance)
    return ", ".join(mutation.__name__ for mutation in chosen), decoder
