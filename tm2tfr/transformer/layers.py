"""The layers of a decoder as frozen data: attention heads, feed-forward parts, layer norms, and loops over layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.choices import UNIQUE, WEIGHTINGS, Weighting
from tm2tfr.base.errors import EngineError, ShapeError, counted, did_you_mean
from tm2tfr.transformer.claims import Claim
from tm2tfr.transformer.matrix import Matrix, occurring
from tm2tfr.transformer.positions import feature

Mask = Literal["future", "past", "none"]
MASKS: tuple[Mask, ...] = get_args(Mask)
"""To which positions a head attends from position i. ``future``: j ≤ i; ``past``: j ≥ i; ``none``: all of them."""


@dataclass(frozen=True, kw_only=True)
class Head:
    """One attention head: scores ``q·k``, and ``output · (weighted mean of the values)`` added to the stream.

    Args:
        name, source: its purpose, and where that is defined.
        query, key: (d_k, width). Both without entries: every score is 0, attention is uniform.
        value: (d_v, width).
        output: (width, d_v).
        mask: to which positions it attends, see `MASKS`.
        weighting: how its scores become weights, see `tm2tfr.base.choices.WEIGHTINGS`.
        inverse_temperature: 1/τ as a position feature, such as ``i+1`` for τ(i) = 1/(i+1): softmax multiplies the scores at
            position i by it.
        claim: the construction's claim about it; None without a claim.

    Raises:
        ShapeError: for an unknown mask or weighting; for a temperature that is not always positive, or that has no softmax.
    """

    name: str
    source: str
    query: Matrix
    key: Matrix
    value: Matrix
    output: Matrix
    mask: Mask = "future"
    weighting: Weighting = "average-hard"
    inverse_temperature: str = "1"
    claim: Claim | None = None

    def __post_init__(self) -> None:
        known: tuple[tuple[str, str, tuple[str, ...]], ...]
        known = (("mask", self.mask, MASKS), ("weighting", self.weighting, WEIGHTINGS))
        for what, given, words in known:
            if given not in words:
                told = f"{did_you_mean(given, words) if isinstance(given, str) else ''}: use {', '.join(words)}"
                raise ShapeError(f"head {self.name!r} has the unknown {what} {given!r}{told}")
        if self.inverse_temperature == "1":
            return
        if self.weighting != "softmax":
            raise ShapeError(
                f"head {self.name!r} has a temperature, and {self.weighting} attention: use softmax, or no temperature"
            )
        if feature(self.inverse_temperature).values != "positive":
            what = f"head {self.name!r} has the inverse temperature {self.inverse_temperature!r}, which may be 0 or less"
            raise ShapeError(f"{what}: use a feature that is positive at every position, such as i+1")

    @property
    def components(self) -> NDArray[np.int64]:
        """The components that are in both the query and the key, in order: any other adds 0 to every score."""
        return occurring(self.query.shape[0], self.query.rows, self.key.rows)

    @property
    def uniform(self) -> bool:
        """Whether all scores are 0 by construction, so that all positions share the attention."""
        return not (len(self.components) or self.unique)

    @property
    def unique(self) -> bool:
        """Whether it has unique-hard attention: the first, or the last, position of maximal score has all the weight."""
        return self.weighting in UNIQUE


@dataclass(frozen=True, kw_only=True)
class FeedForward:
    """A feed-forward layer with one ReLU: ``x + output · ReLU(input · x + input_bias) + output_bias``.

    Args:
        input: (hidden, width), with input_bias: (hidden, 1).
        output: (width, hidden), with output_bias: (width, 1).
        units: the names of the hidden units, for people.
    """

    input: Matrix
    input_bias: Matrix
    output: Matrix
    output_bias: Matrix
    units: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Norm:
    """Layer normalisation of the input of a part: ``gain · (x - mean(x)) / √(variance(x) + epsilon) + bias``, by direction.

    Mean and variance are those of the entries of x, (width,), the variance that of a whole population, as in Ba, Kiros and
    Hinton (2016). The stream itself stays as it is.

    Args:
        gain, bias: (width, 1).
        epsilon: the constant added to the variance, 0 or more.

    Raises:
        ShapeError: for an epsilon that is negative or not finite.
    """

    gain: Matrix
    bias: Matrix
    epsilon: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", float(self.epsilon))
        if not 0 <= self.epsilon < math.inf:
            raise ShapeError(f"the epsilon of a layer norm must be a number from 0 on, not {self.epsilon:g}")


@dataclass(frozen=True, kw_only=True)
class Layer:
    """Attention (possibly no heads), then a feed-forward layer (possibly none), each added to the stream.

    Args:
        name, meaning, source: its purpose, in a word and in a sentence, and where that is defined.
        attention_norm, feed_forward_norm: the norms of the inputs of the heads and of the feed-forward part.
        equation: what it computes, as text in which ``_{…}`` is a subscript and ``^`` a superscript; for people.
    """

    name: str
    meaning: str
    source: str
    heads: tuple[Head, ...] = ()
    feed_forward: FeedForward | None = None
    attention_norm: Norm | None = None
    feed_forward_norm: Norm | None = None
    equation: str = ""


@dataclass(frozen=True, kw_only=True)
class LayerLoop:
    """A block of layers that is run again: a pass is one run of the block, and the block has at least one.

    Args:
        first, last: the numbers of its layers, from 1: those from `first` to `last`, both included.
        times: the most passes; None: as many as `until` wants.
        until: (1, width); after a pass the loop ends if this times the stream is 1/2 or more at every position of the
            sequence. None: it ends after `times` passes.

    Raises:
        ShapeError: if the block is empty, the loop has no end, or a number is not a whole number from 1 on.
    """

    first: int
    last: int
    times: int | None = None
    until: Matrix | None = None

    def __post_init__(self) -> None:
        numbers = (self.first, self.last, *(() if self.times is None else (self.times,)))
        if any(type(number) is not int or number < 1 for number in numbers) or self.last < self.first:
            raise ShapeError(
                f"a loop from layer {self.first!r} to layer {self.last!r}, {self.times!r} times: "
                "use whole numbers from 1 on, and a first layer that is not behind the last"
            )
        if self.times is None and self.until is None:
            raise ShapeError(f"the loop from layer {self.first} to layer {self.last} has no end: give 'times' or 'until'")

    @property
    def most(self) -> int:
        """The most passes: `times`, or `MOST_PASSES` where none are stated."""
        return MOST_PASSES if self.times is None else self.times

    @property
    def said(self) -> str:
        """It in words: ``layers 3 to 5 (at most 200 times) until …``."""
        block = f"layer {self.first}" if self.first == self.last else f"layers {self.first} to {self.last}"
        how = (
            "" if self.times is None else f" ({'at most ' if self.until is not None else ''}{counted(self.times, 'time')})"
        )
        return f"{block}{how}{'' if self.until is None else ' until its condition holds everywhere'}"


MOST_PASSES = 10_000
"""A loop that states no number of passes is refused after this many."""


def check_loops(loops: Sequence[LayerLoop], layers: int) -> None:
    """Raise ShapeError if loops are not in order, share a layer, or have a layer that there is not."""
    before = 0
    for loop in loops:
        if not isinstance(loop, LayerLoop):
            raise ShapeError(f"{loop!r} is not a loop: use tm2tfr.transformer.layers.LayerLoop")
        if loop.last > layers:
            raise ShapeError(f"the loop over {loop.said} ends behind layer {layers}, the last: use layers that exist")
        if loop.first <= before:
            raise ShapeError(
                f"the loop over {loop.said} begins before the last one ends: list loops in order, without overlap"
            )
        before = loop.last


def endless(loop: LayerLoop) -> EngineError:
    """Return the error of a loop whose end has not come."""
    return EngineError(
        f"the loop over {loop.said}: it has not ended after {MOST_PASSES:,} passes: "
        "state how often it is run at most, 'repeat 200 until …'"
    )
