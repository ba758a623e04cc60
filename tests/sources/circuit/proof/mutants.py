"""Weights of circuits, changed as one would to deceive a proof: terms that cancel, and numbers at the edge of rounding."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests import mutations
from tests.mutations import Aim, cancelling_heads, cancelling_scores, cancelling_units, one_entry
from tests.mutations.weights import READERS, grown, plus, scaled, widened
from tests.sources.circuit.running import all_inputs, wrong_bits
from tm2tfr.base.errors import EngineError
from tm2tfr.engines import engine
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder, FeedForward, matrices, norms, replaced

Unit = tuple[Mapping[int, float], float, Mapping[int, float]]
"""What a hidden unit reads, its bias, and what it writes, by direction."""


def is_right(decoder: Decoder, circuit: Circuit, name: str, dtype: str) -> bool:
    """Return whether an engine answers every bit of every input right, and refuses none."""
    runs = engine(name, dtype) if name == "dense" else engine(name)
    try:
        return wrong_bits(decoder, circuit, all_inputs(circuit), runs) == 0
    except EngineError:
        return False


# ── changing weights ────────────────────────────────────────────────────────────────────────────────────────
def changed(decoder: Decoder, path: str, entries: Mapping[tuple[int, int], float]) -> Decoder:
    return replaced(decoder, {path: plus(matrices(decoder)[path], entries)})


def rescaled(decoder: Decoder, factors: Mapping[str, float]) -> Decoder:
    there = matrices(decoder)
    return replaced(decoder, {path: scaled(there[path], by) for path, by in factors.items()})


def with_layer(decoder: Decoder, **parts: Any) -> Decoder:
    return mutations.weights.with_layer(decoder, 0, **parts)


def units_of(decoder: Decoder) -> FeedForward:
    part = decoder.layers[0].feed_forward
    assert part is not None
    return part


def with_two_more(decoder: Decoder) -> Decoder:
    """Return the same weights with two more directions, the last ones, that nothing reads or writes."""
    names = [f"{name}{decoder.layout.width}" for name in "uv"]
    return widened(decoder, Residual((*decoder.layout.subspaces, *(Subspace(name, holds=name) for name in names))))


def with_units(decoder: Decoder, units: Sequence[Unit]) -> Decoder:
    """Return the decoder with these hidden units behind its own."""
    part, more = units_of(decoder), len(units)
    numbered = list(enumerate(units, start=len(part.units)))
    wider = replace(
        part,
        input=grown(part.input, more, 0, {(n, c): v for n, (reads, _, _) in numbered for c, v in reads.items()}),
        input_bias=grown(part.input_bias, more, 0, {(n, 0): bias for n, (_, bias, _) in numbered}),
        output=grown(part.output, 0, more, {(r, n): v for n, (_, _, writes) in numbered for r, v in writes.items()}),
        units=(*part.units, *(f"more {n}" for n, _ in numbered)),
    )
    return with_layer(decoder, feed_forward=wider)


# ── one change at a time ────────────────────────────────────────────────────────────────────────────────────
def large(chance: random.Random) -> float:
    """A number that takes digits from small ones: often at the edge of what float32, or float64, still adds exactly."""
    if chance.random() < 0.5:
        return 2.0 ** chance.choice((22, 23, 24, 51, 52, 53))
    return 2.0 ** chance.randint(0, 60) * chance.choice((1.0, 1.5, 1 - 2.0**-10))


def small(chance: random.Random) -> float:
    return 2.0 ** -chance.randint(0, 24) * chance.choice((1, -1))


def power(chance: random.Random, most: int) -> float:
    return 2.0 ** chance.randint(-most, most)


def read_by_units(decoder: Decoder, chance: random.Random) -> int:
    return int(chance.choice(units_of(decoder).input.columns.tolist()))


def rows_that_cancel(decoder: Decoder, chance: random.Random) -> Decoder:
    """Two directions hold the same large number, and one row of a matrix reads their difference."""
    decoder, width = with_two_more(decoder), decoder.layout.width
    whole, weight = large(chance), power(chance, 4)
    if chance.random() < 0.5:
        table = {(width + n, i): whole for n in (0, 1) for i in range(decoder.positions or 0)}
        decoder = changed(decoder, "position_table", table)
    else:
        decoder = changed(decoder, "token_embedding", {(width + n, bit): whole for n in (0, 1) for bit in (0, 1)})
    for path, _ in norms(decoder):
        decoder = changed(decoder, f"{path}.gain", {(width, 0): 1.0, (width + 1, 0): 1.0})
    readers = [p for p, m in matrices(decoder).items() if m.nonzero and p.endswith(READERS)]
    path = chance.choice(readers)
    row = chance.choice(matrices(decoder)[path].rows.tolist())
    return changed(decoder, path, {(row, width): weight, (row, width + 1): -weight})


def heads_that_cancel(decoder: Decoder, chance: random.Random) -> Decoder:
    """Copies of a head write a large number, and take it away again."""
    return cancelling_heads(decoder, chance, Aim(large, writes=units_of(decoder).input.columns.tolist()))


def units_that_cancel(decoder: Decoder, chance: random.Random) -> Decoder:
    """Hidden units write a large number, and take it away again."""
    return cancelling_units(decoder, chance, Aim(large, writes=decoder.unembedding.columns.tolist()))


def scores_that_cancel(decoder: Decoder, chance: random.Random) -> Decoder:
    """More components of a query and a key add a large number to each score, and take it away again."""
    reads = [c for head in decoder.layers[0].heads for m in (head.query, head.key) for c in m.columns.tolist()]
    return cancelling_scores(decoder, chance, Aim(large, reads=reads))


def second_writer(decoder: Decoder, chance: random.Random) -> Decoder:
    """A direction that is read is also written by a head, a unit, a bias, or the embedding of a token or a position."""
    return mutations.second_writer(decoder, chance, Aim(writes=units_of(decoder).input.columns.tolist()))


def units_that_vanish(decoder: Decoder, chance: random.Random) -> Decoder:
    """Hundreds of units write so little that each is lost beside what is there, and one takes all of it away."""
    target = chance.choice(matrices(decoder)["unembedding"].columns.tolist())
    many, whole = chance.choice((100, 3000)), chance.choice((1.0, 2.0**12, 2.0**12))
    tiny = 2.0**-12  # the least weight that a certificate in float32 allows
    units: list[Unit] = [({}, 1.0, {target: whole}), *[({}, 1.0, {target: tiny})] * many]
    return with_units(decoder, [*units, ({}, 1.0, {target: -whole - many * tiny})])


def scaled_path(decoder: Decoder, chance: random.Random) -> Decoder:
    """What one matrix multiplies, the next divides."""
    by, heads = power(chance, chance.choice((4, 20, 120, 400))), len(decoder.layers[0].heads)
    k, ffn = f"layers.1.heads.{chance.randrange(heads)}", "layers.1.feed_forward"
    pairs: list[dict[str, float]] = [
        {f"{k}.value": by, f"{k}.output": 1 / by},
        {f"{k}.query": by, f"{k}.key": 1 / by},
        {f"{ffn}.input": by, f"{ffn}.input_bias": by, f"{ffn}.output": 1 / by},
        {f"{ffn}.output": by, "unembedding": 1 / by},
        {"unembedding": by, "unembedding_bias": by},
        {"token_embedding": by},
    ]
    return rescaled(decoder, chance.choice(pairs))


def scaled_norm(decoder: Decoder, chance: random.Random) -> Decoder:
    """An epsilon, a gain or a bias of a norm changes, and often what reads the norm makes up for it."""
    path, norm = chance.choice(list(norms(decoder)))
    name, by = path.rpartition(".")[2], power(chance, chance.choice((2, 12, 40)))
    epsilon = norm.epsilon if chance.random() < 0.3 else 10.0 ** chance.uniform(-45, 62)
    variance = (6 if name == "feed_forward_norm" else 4) / decoder.layout.width
    lost = ((variance + epsilon) / (variance + norm.epsilon)) ** 0.5 / by  # what the norm now reads as 1, it read as `lost`
    new = replace(norm, gain=scaled(norm.gain, by), epsilon=epsilon)
    decoder = replace(decoder, norm=new) if name == "norm" else with_layer(decoder, **{name: new})
    if name == "attention_norm":
        key = lost * power(chance, 30)
        heads = [f"layers.1.heads.{k}." for k in range(len(decoder.layers[0].heads))]
        factors = {f"{h}{part}": f for h in heads for part, f in (("key", key), ("query", lost**2 / key), ("value", lost))}
        return rescaled(decoder, factors) if chance.random() < 0.8 else decoder
    if name == "feed_forward_norm" and chance.random() < 0.8:
        return rescaled(decoder, {"layers.1.feed_forward.input": lost})
    return decoder


def faint_scores(decoder: Decoder, chance: random.Random) -> Decoder:
    """Scores are products of so many small numbers that floats may take them for 0; what is carried makes up for it."""
    wide = chance.random() < 0.5  # for float64, or for float32
    by, epsilon = (2.0 ** -chance.randint(60, 99), 1e270) if wide else (2.0 ** -chance.randint(10, 12), 1e25)
    layer = decoder.layers[0]
    norm = layer.attention_norm
    assert norm is not None
    lost = (epsilon * decoder.layout.width / 4) ** 0.5 / by
    heads = [
        replace(h, weighting="average-hard", query=scaled(h.query, by), key=scaled(h.key, by), value=scaled(h.value, lost))
        for h in layer.heads
    ]
    faint = replace(norm, gain=scaled(norm.gain, by), epsilon=epsilon)
    decoder = with_layer(decoder, heads=tuple(heads), attention_norm=faint)
    return rescaled(decoder, {"token_embedding": by, "position_table": by})


def invisible_unit(decoder: Decoder, chance: random.Random) -> Decoder:
    """What a unit writes, times what reads it, is 0 in float64; in rational numbers it outweighs the other logit."""
    decoder = rescaled(with_two_more(decoder), dict.fromkeys(("unembedding", "unembedding_bias"), 2.0 ** (-80)))
    direction, by = decoder.layout.width - 1, 2.0 ** -chance.choice((40, 400, 540))
    decoder = with_units(decoder, [({}, chance.choice((1.0, 2.0**1000)), {direction: by})])
    return changed(decoder, "unembedding", {(chance.choice((0, 1)), direction): by})


def biases_that_cancel(decoder: Decoder, chance: random.Random) -> Decoder:
    """Both logits get the same large number, or a norm adds it to two directions that are read with opposite signs."""
    whole, found = large(chance), list(norms(decoder))[:2]
    if not found or chance.random() < 0.2:
        return changed(decoder, "unembedding_bias", {(0, 0): whole, (1, 0): whole})
    path, _ = chance.choice(found)
    before_units = "feed_forward" in path
    reader = "layers.1.feed_forward.input" if before_units else "layers.1.heads.0.value"
    up, down = (decoder.layout.index(name) for name in (("mean", "-mean") if before_units else ("s", "-s")))
    halves = {}
    for row, column, value in matrices(decoder)[reader].entries():
        if column in (up, down):
            halves[row, column] = -value / 2
            halves[row, up + down - column] = -value / 2
    decoder = changed(decoder, reader, halves)
    return changed(decoder, f"{path}.bias", {(up, 0): whole, (down, 0): whole})


def crossed_keys(decoder: Decoder, chance: random.Random) -> Decoder:
    """Two keys have a small component besides their own, and one query makes up for its size: they trade places or nearly.

    Positions that nothing looks at lose their keys.
    """
    k = chance.choice([k for k, head in enumerate(decoder.layers[0].heads) if head.query.nonzero and head.key.nonzero])
    path = f"layers.1.heads.{k}."
    query, key = matrices(decoder)[f"{path}query"], matrices(decoder)[f"{path}key"]
    asked, columns = query.rows.tolist(), key.columns.tolist()
    kept = {(r, c): v for r, c, v in key.entries() if r in asked}
    unasked = sorted(set(columns) - {c for _, c in kept}) or columns
    row, size = chance.choice(asked), 2.0 ** -chance.randint(19, 30)
    own = chance.choice([c for r, c in kept if r != row] or columns)
    if chance.random() < 0.8:
        decoder = replaced(decoder, {f"{path}key": Matrix.from_entries(key.shape, kept)})
    decoder = changed(decoder, f"{path}key", {(row, own): size, (row, chance.choice(unasked)): -size})
    much = chance.choice((0.25, 0.75, 0.75, 1.5)) * chance.choice((1, -1, -1)) / size
    return changed(decoder, f"{path}query", {(row, chance.choice(query.columns.tolist())): much})


def features_that_vanish(decoder: Decoder, chance: random.Random) -> Decoder:
    """A direction is the sum of a large number and of many small ones, each of which is lost beside it."""
    many, target = chance.choice((50, 2500)), read_by_units(decoder, chance)
    whole, first = 2.0 ** chance.randint(11, 14), len(decoder.features)
    entries = {(target, first): whole, **{(target, first + 1 + n): 2.0**-11 * 0.99 for n in range(many)}}
    shape = (decoder.layout.width, first + 1 + many)
    place, features = plus(decoder.position_embedding, entries, shape), (*decoder.features, *["1"] * (many + 1))
    decoder = replace(decoder, features=features, position_embedding=place)
    part, total = units_of(decoder), sum(entries.values())
    back = {(r, 0): -v * total for r, c, v in part.input.entries() if c == target}
    return changed(decoder, "layers.1.feed_forward.input_bias", back)


def soft(decoder: Decoder, chance: random.Random) -> Decoder:
    """The other weighting, with queries of another temperature."""
    by = chance.choice((1.0, 4.0, 8.0, 64.0))
    heads = [
        replace(h, weighting="average-hard" if h.weighting == "softmax" else "softmax", query=scaled(h.query, by))
        for h in decoder.layers[0].heads
    ]
    return with_layer(decoder, heads=tuple(heads))


CHANGES: Sequence[Callable[[Decoder, random.Random], Decoder]] = (
    rows_that_cancel,
    heads_that_cancel,
    units_that_cancel,
    units_that_vanish,
    second_writer,
    scaled_path,
    scaled_norm,
    faint_scores,
    invisible_unit,
    biases_that_cancel,
    crossed_keys,
    scores_that_cancel,
    features_that_vanish,
    soft,
    one_entry,
)


def mutant(decoder: Decoder, number: int) -> tuple[str, Decoder]:
    """Return the weights after one or two changes, and what these are called: the same for every run of a number."""
    chance = random.Random(number)
    absent = [scaled_norm, faint_scores] * (not decoder.normed) + [features_that_vanish] * (not decoder.features)
    known = [change for change in CHANGES if change not in absent]
    chosen = [known[number % len(known)], *chance.sample(known, chance.choice((0, 0, 1)))]
    for change in chosen:
        decoder = change(decoder, chance)
    return f"{number}: {', '.join(change.__name__ for change in chosen)}", decoder
