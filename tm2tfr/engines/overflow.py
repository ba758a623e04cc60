"""Numbers that are too large for floats: how an engine refuses them, and weights that cannot lead to any.

An engine that uses floats refuses a position, in the same words on every engine, if one of these is infinite or NaN: a
score of a head, the input of a hidden unit that writes something, the residual stream after a layer, a logit.
Everything else either goes into one of them or is unused. The exact engine has no such limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tm2tfr.base.errors import EngineError, counted
from tm2tfr.engines.dependence import KEPT, WIDEST, Same
from tm2tfr.transformer.matrix import AnyArray, Floats, Matrix
from tm2tfr.transformer.positions import feature
from tm2tfr.transformer.weights import Decoder, FeedForward, Head, Layer, Norm, matrices, norms

MOST_POSITIONS = 2**31
SAFE: Mapping[str, float] = {"float64": 1e290, "float32": 1e30}
"""A bound below this leaves room for all roundings: nothing under it is infinite."""


# ── refusing ────────────────────────────────────────────────────────────────────────────────────────────────
def too_large(where: str, position: int, what: str, dtype: str) -> EngineError:
    """Return the refusal of a position: `what`, at a place of the decoder, is too large for `dtype`."""
    wider = "--dtype float64 or " if dtype == "float32" else ""
    return EngineError(
        f"{where}, position {position:,}: {what} is too large for {dtype}: use {wider}--engine exact, or smaller weights"
    )


def beyond_the_table(position: int) -> EngineError:
    """Return the refusal of a position that the position table does not have."""
    return EngineError(f"position {position:,}: these weights have {counted(position, 'position')}: stop before it")


def layer_called(number: int, layer: Layer) -> str:
    """Return ``layer 4 (read tape)``; number: from 1."""
    return f"layer {number} ({layer.name})"


def check_weights(decoder: Decoder, dtype: str) -> None:
    """Raise EngineError if a weight, or the epsilon of a layer norm, is too large for `dtype`."""
    largest = float(np.finfo(dtype).max)
    for path, matrix in matrices(decoder).items():
        if matrix.nonzero and (found := float(abs(matrix.values).max())) > largest:
            problem = f"{path}: the weight {found:g} is too large for {dtype}"
            raise EngineError(f"{problem}: use --dtype float64 or --engine exact, or smaller weights")
    for path, norm in norms(decoder):
        if norm.epsilon > largest:
            problem = f"{path}: the epsilon {norm.epsilon:g} is too large for {dtype}"
            raise EngineError(f"{problem}: use --dtype float64, or a smaller epsilon")


def first_infinite(numbers: AnyArray, names: Sequence[str]) -> str:
    """Return the name of the first number that is infinite or NaN."""
    return names[int(np.flatnonzero(~np.isfinite(numbers))[0])]


def nearest(number: float | Fraction) -> float:
    """Return a number as a float, infinite if it is too large for one."""
    try:
        return float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf


# ── weights that cannot ─────────────────────────────────────────────────────────────────────────────────────
class Reach(NamedTuple):
    """What is known about the size of numbers, for any tokens, up to 2^31 positions.

    Args:
        scores: by layer and head, whether every score of the head is certain to be finite.
        everything: whether every number is.
    """

    scores: tuple[tuple[bool, ...], ...]
    everything: bool


def reach(decoder: Decoder, dtype: str = "float64") -> Reach:
    """Return which numbers of `decoder` are certain to be finite: absolute values are bounded stage by stage.

    Nothing is certain of weights with loops: the bound of a stream grows with every pass.
    """
    if decoder.loops:
        return Reach(tuple(tuple(False for _ in layer.heads) for layer in decoder.layers), everything=False)
    found: dict[str, Reach] = decoder.__dict__.setdefault(_REACH, {})
    if dtype not in found:
        with np.errstate(over="ignore", invalid="ignore"):
            found[dtype] = _reach(decoder, SAFE[dtype])
    return found[dtype]


_REACH = "_reach"
"""The attribute of a decoder with what is known of it, by the type of numbers: it is used several times."""


def _reach(decoder: Decoder, safe: float) -> Reach:
    small = decoder.layout.width <= WIDEST
    embedded = (_embedded if small else _embedded.__wrapped__)(
        Same(decoder.token_embedding), Same(decoder.position_embedding), decoder.features
    )
    bounds: Floats = np.frombuffer(embedded)
    if decoder.position_table is not None:
        largest = np.zeros(decoder.layout.width)
        np.maximum.at(largest, decoder.position_table.rows, abs(decoder.position_table.values))
        bounds = bounds + largest
    scores, x, fine = [], bounds.tobytes(), _all_small(bounds, safe)
    for layer in decoder.layers:
        of_layer, fine, x = (_through if small else _through.__wrapped__)(Same(layer), x, safe, fine)
        scores.append(of_layer)
    fine, reads = _read(decoder.norm, np.frombuffer(x), safe, fine)
    logits = _times(decoder.unembedding, reads) + _column(decoder.unembedding_bias)
    return Reach(tuple(scores), fine and _all_small(logits, safe))


@lru_cache(maxsize=KEPT)
def _embedded(tokens: Same[Matrix], place: Same[Matrix], names: tuple[str, ...]) -> bytes:
    """Return bounds on the directions after the embedding, without a position table: (width,)."""
    x = np.zeros(tokens.part.shape[0])
    np.maximum.at(x, tokens.part.rows, abs(tokens.part.values))
    features = [feature(name).largest(MOST_POSITIONS + 1) for name in names]
    return (x + _times(place.part, np.array(features))).tobytes()


@lru_cache(maxsize=KEPT)
def _through(same: Same[Layer], before: bytes, safe: float, fine: bool) -> tuple[tuple[bool, ...], bool, bytes]:
    """Return whether the scores of each head of a layer are small, whether all is fine so far, and bounds after it."""
    layer, x = same.part, np.frombuffer(before)
    fine, reads = _read(layer.attention_norm, x, safe, fine)
    sizes = [_of_head(head, reads, safe) for head in layer.heads]
    fine = fine and all(score and value for score, value, _ in sizes)
    for _, _, added in sizes:
        x = x + added
    if layer.feed_forward is not None:
        fine, reads = _read(layer.feed_forward_norm, x, safe, fine)
        hidden, added = _of_feed_forward(layer.feed_forward, reads)
        fine, x = fine and _all_small(hidden, safe), x + added
    return tuple(score for score, _, _ in sizes), fine and _all_small(x, safe), x.tobytes()


def _read(norm: Norm | None, x: Floats, safe: float, fine: bool) -> tuple[bool, Floats]:
    """Return whether all is `fine` so far, with a small variance and epsilon, and a bound on what is read below x.

    An entry of width w is at most √(w - 1) standard deviations away from the mean.
    """
    if norm is None:
        return fine, x
    peak = float(x.max(initial=0.0))
    variance = 4 * len(x) * peak * peak + norm.epsilon  # infinite if it is too large, where peak ** 2 would raise
    bound = _column(norm.gain) * np.sqrt(len(x)) + _column(norm.bias)
    return fine and variance < safe and _all_small(bound, safe), bound


def _of_head(head: Head, x: Floats, safe: float) -> tuple[bool, bool, Floats]:
    """Return whether scores, and sums of values over all positions, are small, and a bound on the head's output."""
    query, key, value = (_times(m, x) for m in (head.query, head.key, head.value))
    both = head.components
    products = query[both] * key[both] * max(1.0, feature(head.inverse_temperature).largest(MOST_POSITIONS + 1))
    score = _all_small(query[both], safe) and _all_small(key[both], safe) and bool(products.sum() < safe)
    return score, _all_small(value * MOST_POSITIONS, safe), _times(head.output, value)


def _of_feed_forward(layer: FeedForward, x: Floats) -> tuple[Floats, Floats]:
    hidden = _times(layer.input, x) + _column(layer.input_bias)
    return hidden, _times(layer.output, hidden) + _column(layer.output_bias)


def _times(matrix: Matrix, x: Floats) -> Floats:
    return np.bincount(matrix.rows, abs(matrix.values) * x[matrix.columns], minlength=matrix.shape[0]).astype(np.float64)


def _column(matrix: Matrix) -> Floats:
    return np.bincount(matrix.rows, abs(matrix.values), minlength=matrix.shape[0]).astype(np.float64)


def _all_small(numbers: Floats, safe: float) -> bool:
    return bool((numbers < safe).all())  # False for NaN
