"""How far one changed symbol can move the logits, by the matrices alone: lemma 5 of Hahn (2020), with its constants.

The lemma: under softmax attention with bounded scores no position has more than C/n of the weight, so that one changed
symbol moves what another position computes by O(1/n). Here C is not one constant for all heads and positions. Each number
of the stream is enclosed at every position, for all words of a length at once; from these enclosures follow those of all
scores, and from these the largest weight w that position i can give position j. Then, coordinate by coordinate, let d be
how far two words that differ in one symbol can be apart:

Linear maps: d becomes ``|W|·d``. ReLU: d stays, and is at most the length of the enclosure. Layer norms: the derivative of
``(x - μ)/√(σ² + ε)`` is at most ``1/√(σ² + ε)``.
Attention: a mean of values that are d_j apart moves by at most ``min(Σ_j w_j·d_j, max_j d_j)``. Scores that are σ_j apart
move it further, by the integral of the covariance of σ and the values over the scores between, which is at most
``r·min(Σ_j w_j·σ_j, max_j σ_j)``, where r is the range of the values. For hard attention there is no such integral: it is
r as soon as any score can change.

Nothing is ever further apart than its enclosure is long, so the bound is a number of the size of the logits even where
scores are not bounded. It is computed in float64, without directed rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tm2tfr.base.errors import CompileError
from tm2tfr.certificates.intervals import Interval, applied
from tm2tfr.engines.dense_parts import Bools
from tm2tfr.transformer.matrix import Floats
from tm2tfr.transformer.positions import feature
from tm2tfr.transformer.weights import Decoder, FeedForward, Head, Mask, Norm

_EXPONENT = 700.0
"""e to a larger number is not a float64."""


class EnclosedStreams(NamedTuple):
    """All words of a length at once.

    Args:
        x: (width, n) where the stream can be at each position.
        apart: (width, changed, n) how far the streams of two words can be apart that differ at one position.
    """

    x: Interval
    apart: Floats

    def capped(self) -> EnclosedStreams:
        """Return them with nothing further apart than it can be."""
        return EnclosedStreams(self.x, np.minimum(self.apart, (self.x.hi - self.x.lo)[:, None]))


@dataclass(frozen=True)
class WeightShare:
    """The largest weight that a head can give to one position.

    Args:
        layer: its number, from 1; head: its name.
        weighting: ``uniform``, or as of `tm2tfr.transformer.weights.Head`.
        most: seen from the last position.
    """

    layer: int
    head: str
    weighting: str
    most: float


@dataclass(frozen=True)
class SensitivityBound:
    """The bound from the matrices for words of one length.

    Args:
        logits: (answers, changed, n) how far each logit can move, by the position that is changed.
        shares: of every head.
    """

    logits: Floats
    shares: tuple[WeightShare, ...]


def sensitivity_bound(decoder: Decoder, allowed: Bools, changed: Sequence[int]) -> SensitivityBound:
    """Return the bound for all words that have one of the `allowed` tokens at each position.

    Args:
        allowed: (vocabulary, n).
        changed: the positions at one of which two words differ.

    Raises:
        CompileError: for weights that run layers again, so that the number of passes can differ.
    """
    if decoder.loops:
        what = "these weights run layers again, as often as the word needs: no bound is known"
        raise CompileError(f"{what}: compile without 'repeat', or give other weights")
    streams, shares = _embedded(decoder, allowed, changed), list[WeightShare]()
    for number, layer in enumerate(decoder.layers, start=1):
        read = _normalised(layer.attention_norm, streams)
        x, apart = streams
        for head in layer.heads:
            added, moved, most = _attended(head, read)
            x, apart = x + added, apart + moved
            shares.append(WeightShare(number, head.name, "uniform" if is_mean(head) else head.weighting, most))
        streams = EnclosedStreams(x, apart).capped()
        if layer.feed_forward is not None:
            streams = _fed_forward(layer.feed_forward, streams, _normalised(layer.feed_forward_norm, streams))
    last = _normalised(decoder.norm, streams)
    return SensitivityBound(_mapped(decoder.unembedding.dense(), last).capped().apart, tuple(shares))


def _embedded(decoder: Decoder, allowed: Bools, changed: Sequence[int]) -> EnclosedStreams:
    columns, n = decoder.token_embedding.dense(), allowed.shape[1]
    low = np.where(allowed[None], columns[:, :, None], np.inf).min(axis=1)
    high = np.where(allowed[None], columns[:, :, None], -np.inf).max(axis=1)
    numbers = [[above / below for above, below in (feature(name)(i, n) for i in range(n))] for name in decoder.features]
    place = decoder.position_embedding.dense() @ np.array(numbers, dtype=np.float64).reshape(-1, n)
    if decoder.position_table is not None:
        place = place + decoder.position_table.dense()[:, :n]
    apart = np.zeros((len(low), len(changed), n))
    for k, p in enumerate(changed):
        apart[:, k, p] = high[:, p] - low[:, p]
    return EnclosedStreams(Interval(low, high) + Interval.exactly(place), apart)


def _mapped(matrix: Floats, streams: EnclosedStreams) -> EnclosedStreams:
    """Return a linear map of what is read."""
    moved = np.tensordot(np.abs(matrix), streams.apart, axes=1)
    return EnclosedStreams(applied(matrix, streams.x), moved)


def _fed_forward(layer: FeedForward, streams: EnclosedStreams, read: EnclosedStreams) -> EnclosedStreams:
    before = _mapped(layer.input.dense(), read)
    hidden = (before.x + Interval.exactly(layer.input_bias.dense())).rectified()
    units = EnclosedStreams(hidden, before.apart).capped()
    added, moved = _mapped(layer.output.dense(), units)
    x = streams.x + added + Interval.exactly(layer.output_bias.dense())
    return EnclosedStreams(x, streams.apart + moved).capped()


def _normalised(norm: Norm | None, streams: EnclosedStreams) -> EnclosedStreams:
    if norm is None:
        return streams
    x, width = streams.x, len(streams.x.lo)
    between = np.maximum(x.lo.max(axis=0) - x.hi.min(axis=0), 0.0)  # two coordinates are at least this far apart
    least = between**2 / (2 * width) + norm.epsilon
    gain, most = norm.gain.dense(), np.sqrt(max(width - 1, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = np.linalg.norm(streams.apart, axis=0) / np.sqrt(least)
    moved = np.minimum(np.nan_to_num(moved, nan=0.0, posinf=np.inf), 2 * most)
    reach = np.broadcast_to(np.abs(gain) * most, x.lo.shape)
    found = Interval(-reach, reach) + Interval.exactly(norm.bias.dense())
    return EnclosedStreams(found, np.abs(gain)[:, None] * moved[None])


# ── heads ───────────────────────────────────────────────────────────────────────────────────────────────────
def is_mean(head: Head) -> bool:
    """Return whether all positions in sight have the same weight, whatever the word."""
    return head.uniform and head.weighting in ("softmax", "average-hard")


def in_sight_of(mask: Mask, n: int) -> Bools:
    """Return which positions a head sees from each position: (n, n)."""
    every = np.ones((n, n), dtype=np.bool_)
    return np.tril(every) if mask == "future" else np.triu(every) if mask == "past" else every


def _attended(head: Head, read: EnclosedStreams) -> tuple[Interval, Floats, float]:
    """Return the output of a head, the largest difference of it, and its largest weight from the last position."""
    n = read.x.lo.shape[1]
    seen = in_sight_of(head.mask, n)
    values = _mapped(head.value.dense(), read).capped()
    if is_mean(head):
        weights = seen / seen.sum(axis=1, keepdims=True)
        carried = Interval(values.x.lo @ weights.T, values.x.hi @ weights.T)
        moved = _means(weights, values.apart, seen)
    else:
        scores, off = _scores(head, read)
        weights = _largest_weights(head, scores, seen)
        low, high = _extremes(values.x, weights > 0)
        carried = Interval(low, high)
        moved = _means(weights, values.apart, seen) + _reweighted(head, weights, off, seen)[None] * (high - low)[:, None]
    carried_apart = np.minimum(moved, (carried.hi - carried.lo)[:, None])
    output = head.output.dense()
    return applied(output, carried), np.tensordot(np.abs(output), carried_apart, axes=1), float(weights[-1].max())


def _scores(head: Head, read: EnclosedStreams) -> tuple[Interval, Floats]:
    """Return the scores, (n query, n key), and how far they can be apart: (changed, n query, n key)."""
    n = read.x.lo.shape[1]
    query, key = (_mapped(m.selected(head.components).dense(), read).capped() for m in (head.query, head.key))
    inverse = np.ones(n)
    if head.inverse_temperature != "1":
        known = feature(head.inverse_temperature)
        inverse = np.array([above / below for above, below in (known(i, n) for i in range(n))])
    scores = (query.x[:, :, None] * key.x[:, None, :]).summed()
    off = np.einsum("cpi,cj->pij", query.apart, key.x.size) + np.einsum("ci,cpj->pij", query.x.size, key.apart)
    scaled = Interval(scores.lo * inverse[:, None], scores.hi * inverse[:, None])
    return scaled, np.minimum(off * inverse[:, None], scaled.hi - scaled.lo)


def _largest_weights(head: Head, scores: Interval, seen: Bools) -> Floats:
    """Return the largest weight that each position can give each other one: (n query, n key)."""
    low, high = (np.where(seen, array, -np.inf) for array in (scores.lo, scores.hi))
    best = low.max(axis=1, keepdims=True)
    if head.weighting != "softmax":
        able: Floats = (seen & (high >= best)).astype(np.float64)
        return able
    powers = np.exp(low - best)  # of the lowest scores; the sum of all others, less what rounding may have lost of it
    total = powers.sum(axis=1, keepdims=True)
    others = np.maximum(total - powers - 1e-12 * total, 0.0)
    most: Floats = np.where(seen, 1 / (1 + others * np.exp(np.minimum(best - high, _EXPONENT))), 0.0)
    return most


def _means(weights: Floats, apart: Floats, seen: Bools) -> Floats:
    """Return how far means can be apart of what is so far apart: apart (…, n key) → (…, n query)."""
    summed = apart @ weights.T
    given = seen & (weights > 0)
    largest = np.stack([apart[..., sight].max(axis=-1, initial=0.0) for sight in given], axis=-1)
    found: Floats = np.minimum(summed, largest)
    return found


def _reweighted(head: Head, weights: Floats, off: Floats, seen: Bools) -> Floats:
    """Return by how much of the range of the values changed scores can move a mean: (changed, n query)."""
    largest = np.where(seen & (weights > 0), off, 0.0).max(axis=2)
    found: Floats = (largest > 0).astype(np.float64)
    if head.weighting == "softmax":
        found = np.minimum(np.minimum(np.einsum("pij,ij->pi", off, weights), largest), 1.0)
    return found


def _extremes(values: Interval, seen: Bools) -> tuple[Floats, Floats]:
    """Return the least and the largest value that each position sees: (d_v, n query)."""
    low = np.stack([values.lo[:, sight].min(axis=1, initial=np.inf) for sight in seen], axis=-1)
    high = np.stack([values.hi[:, sight].max(axis=1, initial=-np.inf) for sight in seen], axis=-1)
    return low, high
