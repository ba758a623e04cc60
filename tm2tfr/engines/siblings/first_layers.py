"""The first layers of many decoders with one embedding: what each token determines after them, of all at once.

The same numbers as in `tm2tfr.engines.dependence`, `tm2tfr.engines.overflow` and `tm2tfr.engines.fast.plan`, which look at
one decoder: sums have the same terms in the same order, but for zeros, which change none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tm2tfr.engines.dependence import MORE, TOKEN, Classes, sources
from tm2tfr.engines.fast.plan import LONG, beginning
from tm2tfr.engines.overflow import SAFE, after_embedding
from tm2tfr.engines.same import Same
from tm2tfr.transformer.matrix import Floats, Matrix
from tm2tfr.transformer.weights import Decoder, FeedForward

Which = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class FirstLayers:
    """The first layers of N decoders, as dense arrays, and what follows from them.

    Axes: H units (those that a layer does not have are 0), W width, V tokens.

    Args:
        read, bias, write, offset: (N, H, W), (N, H), (N, W, H), (N, W) the weights.
        before: (W,) the sources of what the layers read, `after`: (N, W) of what comes out.
        held, has: (V, W) the values that a token determines before the layers, and whether it does.
        changed, new: (N, V, W) which of them the layers change, and all values after them.
        bounds: (N, W) bounds on the stream after the layers, for any tokens.
        fine: (N,) whether all numbers up to there are certain to be finite.
    """

    read: Floats
    bias: Floats
    write: Floats
    offset: Floats
    before: Classes
    after: Classes
    held: Floats
    has: Which
    changed: Which
    new: Floats
    bounds: Floats
    fine: Which

    @cached_property
    def written(self) -> Which:
        """Which directions the layers write: (N, W)."""
        found: Which = (self.write != 0).any(axis=2) | (self.offset != 0)
        return found

    @cached_property
    def moving(self) -> Which:
        """Which of these the token alone does not determine: (N, W)."""
        return self.written & (self.after > TOKEN)

    @cached_property
    def needed(self) -> Which:
        """Which units moving directions need: (N, H)."""
        found: Which = ((self.write != 0) & self.moving[:, :, None]).any(axis=1)
        return found

    @cached_property
    def of_token(self) -> Which:
        """The entries of `read` in a long beginning of a needed row that the token determines: (N, H, W)."""
        there = self.read != 0
        begins = np.logical_and.accumulate(~there | (self.before <= TOKEN), axis=2) & there
        long = self.needed & (begins.sum(axis=2) > LONG)
        found: Which = begins & long[:, :, None]
        return found


def first_layers(decoders: Sequence[Decoder]) -> FirstLayers:
    """Return the first layers of decoders that share their embedding, without heads, and with a feed-forward part each."""
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is not `fine`
        return _first_layers(decoders)


def _first_layers(decoders: Sequence[Decoder]) -> FirstLayers:
    parts = [part for decoder in decoders if (part := decoder.layers[0].feed_forward) is not None]
    one, hidden = decoders[0], max(len(part.units) for part in parts)
    read, bias, write, offset = _dense(parts, hidden, one.layout.width)
    before = sources(one).layers[0].before
    by_token = ~((read != 0) & (before > TOKEN)).any(axis=2)
    after = _after(before, by_token, write != 0, offset != 0)
    held, has = _held(one, before)
    changed, new = _changed(held, has, by_token, (read, bias, write, offset), after <= TOKEN)
    largest = np.abs(read) @ (x := after_embedding(one)) + np.abs(bias)
    bounds = x + (np.abs(write) @ largest[:, :, None])[:, :, 0] + np.abs(offset)
    safe = SAFE["float64"]
    fine: Which = np.hstack([largest, bounds]).max(axis=1) < safe
    return FirstLayers(read, bias, write, offset, before, after, held, has, changed, new, bounds, fine)


def _dense(parts: Sequence[FeedForward], hidden: int, width: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the weights as arrays."""
    return (
        _stacked([part.input for part in parts], (hidden, width)),
        _stacked([part.input_bias for part in parts], (hidden, 1))[:, :, 0],
        _stacked([part.output for part in parts], (width, hidden)),
        _stacked([part.output_bias for part in parts], (width, 1))[:, :, 0],
    )


def _stacked(matrices: Sequence[Matrix], shape: tuple[int, int]) -> Floats:
    """Return matrices of at most this shape as one array, filled up with 0."""
    found = np.zeros((len(matrices), *shape))
    number = np.repeat(np.arange(len(matrices)), [len(matrix.values) for matrix in matrices])
    rows, columns = (np.concatenate([getattr(matrix, name) for matrix in matrices]) for name in ("rows", "columns"))
    found[number, rows, columns] = np.concatenate([matrix.values for matrix in matrices])
    return found


def _after(before: Classes, by_token: Which, writes: Which, adds: Which) -> Classes:
    """Return the sources after the layers, see `tm2tfr.engines.dependence`: (N, W)."""
    determined = (writes & by_token[:, None, :]).any(axis=2) | adds
    more = (writes & ~by_token[:, None, :]).any(axis=2)
    now = np.where(determined, np.where(before <= TOKEN, TOKEN, MORE), before)
    return np.where(more, MORE, now).astype(np.int8)


def _held(decoder: Decoder, before: Classes) -> tuple[Floats, Which]:
    """Return `FirstLayers.held` and `FirstLayers.has`."""
    begin = beginning(Same(decoder.token_embedding), Same(decoder.position_embedding), before.tobytes())
    held = np.zeros((len(begin.held), len(before)))
    has = np.zeros(held.shape, dtype=np.bool_)
    for token, values in enumerate(begin.held):
        directions = list(values)
        held[token, directions], has[token, directions] = list(values.values()), True
    return held, has


def _changed(
    held: Floats, has: Which, by_token: Which, weights: tuple[Floats, Floats, Floats, Floats], determined: Which
) -> tuple[Which, Floats]:
    """Return `FirstLayers.changed` and `FirstLayers.new`; see `tm2tfr.engines.fast.plan`."""
    read, bias, write, offset = weights
    hidden = bias[:, :, None] + read_from(read, held, has)
    active = by_token[:, :, None] & (hidden > 0)
    hidden = np.where(active, hidden, 0.0)
    kept = np.where(by_token[:, None, :] & determined[:, :, None], write, 0.0)
    rows = np.flatnonzero((kept != 0).any(axis=(0, 2)) | ((offset != 0) & determined).any(axis=0))
    kept, adds = kept[:, rows], ((offset != 0) & determined)[:, None, rows]
    added, touched = (
        np.zeros((len(read), len(held), len(rows))),
        np.zeros((len(read), len(held), len(rows)), dtype=np.bool_),
    )
    for unit in range(read.shape[1]):
        weight = kept[:, None, :, unit]
        added += weight * hidden[:, unit, :, None]
        touched |= (weight != 0) & active[:, unit, :, None]
    total = np.where(touched, held[:, rows] + added, held[:, rows])
    new = np.broadcast_to(held, (len(read), *held.shape)).copy()
    changed = np.zeros(new.shape, dtype=np.bool_)
    new[:, :, rows] = np.where(adds, total + offset[:, None, rows], total)
    changed[:, :, rows] = touched | adds
    return changed, new


def read_from(weights: Floats, values: Floats, has: Which) -> Floats:
    """Return the sums of ``weights · values`` by token, from left to right.

    Args:
        weights: (N, H, W); values, has: (V, W), or (N, V, W) with one row of weights for each decoder.

    Returns:
        (N, H, V)
    """
    single = values.ndim == 2
    axes = (0,) if single else (0, 1)
    found = np.zeros((*weights.shape[:2], values.shape[-2]))
    for direction in np.flatnonzero(has.any(axis=axes) & (weights != 0).any(axis=(0, 1))).tolist():
        column = np.where(has[..., direction], values[..., direction], 0.0)
        found += weights[:, :, direction, None] * (column if single else column[:, None, :])
    return found
