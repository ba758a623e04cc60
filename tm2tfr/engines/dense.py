"""The plain engine: numpy, a KV cache, every earlier position scanned for every head. It judges the others.

Its arithmetic is fixed, so that it can be reasoned about: every number has one dtype; all sums run from the first term
to the last, each product and each sum rounded once (no fused multiply-add): those of a row of a matrix by column, those
of a score by component, those over attended positions by position; the mean is that sum divided by their number; ties
are exact equality of the rounded scores. Under softmax the weights are those of `attention.softmax`, and the sum over
all positions is of values times weights; a head whose scores are all 0 by construction takes the mean. Layer norms are
computed as `norm.LayerNorm` says.
The attention is "dense": zeros in the weights are skipped, which changes no value, since weights are finite. Numbers
that get too large for the dtype are refused, see `overflow`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tm2tfr.base.choices import DTYPES, Float
from tm2tfr.base.errors import EngineError
from tm2tfr.engines.decode import refuse_ahead
from tm2tfr.engines.dense_parts import ColumnsOf, LinearMap, Vector, finite, norm_of, parts_of, read
from tm2tfr.engines.layers import NO_PATCHES, LayerByLayer, Passed, Patch, Watch
from tm2tfr.engines.overflow import beyond_the_table, check_weights, first_infinite, layer_called, reach, too_large
from tm2tfr.transformer.positions import feature
from tm2tfr.transformer.weights import Decoder


@dataclass(frozen=True)
class Dense:
    """The engine; `dtype` is the dtype of every number in it."""

    dtype: Float = "float64"
    name: str = "dense"

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise EngineError(f"the dense engine computes in float64 or float32, not in {self.dtype!r}")

    def start(self, decoder: Decoder) -> DenseSession:
        """Return a fresh session at position 0.

        Raises:
            EngineError: if a head looks ahead.
        """
        refuse_ahead(decoder)
        return DenseSession(decoder, np.dtype(self.dtype))

    def whole(
        self,
        decoder: Decoder,
        tokens: Sequence[int],
        watches: Mapping[int, Watch],
        patches: Mapping[int, Sequence[Patch]] = NO_PATCHES,
    ) -> list[Passed]:
        """Run a whole sequence at once, see `tm2tfr.engines.decode.run_whole`."""
        return DenseSession(decoder, np.dtype(self.dtype)).run(tokens, watches, patches)


class DenseSession(LayerByLayer):
    """A decoder in a dtype, in the middle of a sequence.

    Raises:
        EngineError: if a weight is too large for `dtype`.
    """

    def __init__(self, decoder: Decoder, dtype: np.dtype[Any]) -> None:
        super().__init__(len(decoder.layers), decoder.layout.width)
        check_weights(decoder, dtype.name)
        self._decoder, self._dtype = decoder, dtype
        self._careful = careful = not reach(decoder, dtype.name).everything  # otherwise no number can get too large
        self._features = [feature(name) for name in decoder.features]
        self._tokens = ColumnsOf(decoder.token_embedding, dtype)
        self._place = LinearMap(decoder.position_embedding, dtype)
        self._table = None if decoder.position_table is None else ColumnsOf(decoder.position_table, dtype)
        self._layers = [parts_of(layer, n, dtype, careful) for n, layer in enumerate(decoder.layers, start=1)]
        self._norm = norm_of(decoder.norm, lambda: "norm before the unembedding", dtype)
        self._unembedding = LinearMap(decoder.unembedding, dtype)
        self._bias = decoder.unembedding_bias.dense(dtype)[:, 0]

    def run(
        self, tokens: Sequence[int], watches: Mapping[int, Watch], patches: Mapping[int, Sequence[Patch]]
    ) -> list[Passed]:
        """Run the next positions, see `LayerByLayer.run`."""
        with np.errstate(over="ignore", invalid="ignore"):
            return super().run(tokens, watches, patches)

    def _embedded(self, token: int, position: int) -> Vector:
        x = np.zeros(self._width, dtype=self._dtype)
        rows, values = self._tokens[token]
        x[rows] = values
        features = [f(position) for f in self._features]
        numbers = np.array([above / below for above, below in features], dtype=self._dtype)
        x[self._place.rows] += self._place(numbers)
        if self._table is not None:
            if position >= len(self._table):
                raise beyond_the_table(position)
            rows, values = self._table[position]
            x[rows] += values
        self._checked(x, "embedding", position)
        return x

    def _checked(self, x: Vector, after: int | Literal["embedding"], position: int) -> None:
        """Raise EngineError if the stream is not finite; after: the layer, from 0."""
        if self._careful and not finite(x):
            where = after if isinstance(after, str) else layer_called(after + 1, self._decoder.layers[after])
            direction = first_infinite(x, self._decoder.layout.directions)
            raise too_large(where, position, f"direction {direction!r} of the stream", self._dtype.name)

    def _taken(self, n: int, x: Vector, position: int) -> Vector | None:
        layer = self._layers[n]
        if not layer.heads:
            return None
        reads = read(layer.attention_norm, x, position)
        for head in layer.heads:
            head.take(reads)
        return reads

    def _attend(self, n: int, x: Vector, reads: Vector, position: int, length: int, watch: Watch | None) -> None:
        heads = self._layers[n].heads
        answers = [head.look(reads, position, length) for head in heads]
        for k, (head, (added, scores, attended)) in enumerate(zip(heads, answers, strict=True)):
            x[head.rows] += added
            if watch:
                there = np.array(head.sees(position, length), dtype=np.int64)
                all_zero = np.zeros(len(there), dtype=self._dtype)
                watch.head(n, k, *((all_zero, there) if attended is None else (scores, attended)))

    def _feed_forward(self, n: int, x: Vector, position: int) -> None:
        layer = self._layers[n]
        if layer.feed_forward is not None:
            layer.feed_forward.add_to(x, read(layer.feed_forward_norm, x, position), position)

    def _answers(self, x: Vector, position: int) -> Vector:
        logits = self._bias.copy()
        logits[self._unembedding.rows] += self._unembedding(read(self._norm, x, position))
        if self._careful and not finite(logits):
            named = first_infinite(logits, self._decoder.answered)
            raise too_large("unembedding", position, f"the logit of {named!r}", self._dtype.name)
        return logits

    def _first_of_the_largest(self) -> int:
        return int(self.logits.argmax())
