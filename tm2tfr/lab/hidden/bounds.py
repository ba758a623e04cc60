"""Intervals: how far the directions of a wide stream can get, on every input of any length, from the weights alone.

A token's embedding is one of finitely many columns, a position feature that stays within [-1, 1] at every position counts
with these, and attention takes a weighted mean, of weights whose sum is 1: every mask lets a position see itself. So what a
head carries stays within the interval of the values that it reads. A direction to which something is written that has no
bound, such as a position, has none either.

A unit whose interval ends at 0 or below is *silent*: no input activates it, and it writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tm2tfr.lab.hidden.dyadic import Dyadic, product
from tm2tfr.lab.hidden.wide import Wide, WideHead, WideUnit
from tm2tfr.transformer.positions import feature

LONGEST = 10**18
"""No run is longer."""
SLACK = 2.0**-40
"""Bounds are wider by this share of what is added: more than sums of floats can be rounded by."""


@dataclass(frozen=True)
class StreamBounds:
    """Intervals of numbers.

    Args:
        low, high: (n,) the ends; infinite for what has no bound.
    """

    low: Dyadic
    high: Dyadic

    @classmethod
    def embedded(cls, wide: Wide, features: Sequence[str]) -> Self:
        """Return those of the stream before the first layer."""
        low, high = wide.token.min(axis=1), wide.token.max(axis=1)
        if wide.table is not None:
            low, high = low + wide.table.min(axis=1), high + wide.table.max(axis=1)
        found = cls(low, high)
        if features:
            ends = np.array([feature(name).bounds(LONGEST) for name in features])
            ends[np.abs(ends).max(axis=1) > 1] = -np.inf, np.inf
            found = found + cls(ends[:, 0], ends[:, 1]).through(wide.position)
        return found

    @property
    def finite(self) -> NDArray[np.bool_]:
        """(n,) whether each has a bound."""
        found: NDArray[np.bool_] = np.isfinite(self.low) & np.isfinite(self.high)
        return found

    def through(self, matrix: Dyadic) -> Self:
        """Return those of linear forms of these numbers: (m, n) → m intervals."""
        bounded = self.finite
        low, high = np.where(bounded, self.low, 0.0), np.where(bounded, self.high, 0.0)
        more, less = np.maximum(matrix, 0), np.minimum(matrix, 0)
        slack = SLACK * (np.abs(matrix) @ np.maximum(np.abs(low), np.abs(high)))
        free = (matrix[:, ~bounded] != 0).any(axis=1)
        return type(self)(
            np.where(free, -np.inf, more @ low + less @ high - slack),
            np.where(free, np.inf, more @ high + less @ low + slack),
        )

    def __add__(self, other: Self) -> Self:
        return type(self)(self.low + other.low, self.high + other.high)

    def after_heads(self, heads: Sequence[WideHead]) -> Self:
        """Return those of the stream after these heads have added what they carry."""
        found = self
        for head in heads:
            found = found + self.through(product(head.output, head.value))
        return found

    def read(self, unit: WideUnit) -> tuple[float, float]:
        """Return the interval of what a unit reads, with its bias."""
        found = self.through(unit.reads[None, :])
        return float(found.low[0]) + unit.bias, float(found.high[0]) + unit.bias

    def after_units(self, units: Sequence[WideUnit], offset: Dyadic) -> Self:
        """Return those of the stream after these units, and the offset, have been added."""
        found = type(self)(self.low + offset, self.high + offset)
        if not units:
            return found
        reads, bias = np.array([unit.reads for unit in units]), np.array([unit.bias for unit in units])
        sums = self.through(reads)
        active = type(self)(np.maximum(0, sums.low + bias), np.maximum(0, sums.high + bias))
        return found + active.through(np.array([unit.writes for unit in units]).T)


def silent_units(wide: Wide, features: Sequence[str]) -> list[frozenset[int]]:
    """Return the numbers of the silent units of each layer; none for weights with layer norms, which get no bounds."""
    if wide.norm is not None or any(layer.attention_norm or layer.feed_forward_norm for layer in wide.layers):
        return [frozenset()] * len(wide.layers)
    bounds, found = StreamBounds.embedded(wide, features), []
    for layer in wide.layers:
        bounds = bounds.after_heads(layer.heads)
        found.append(frozenset(u for u, unit in enumerate(layer.units or ()) if bounds.read(unit)[1] <= 0))
        bounds = bounds.after_units(layer.units or (), layer.offset)
    return found
