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

from tm2tfr.choices import DTYPES, Float
from tm2tfr.engines.decode import NO_PATCHES, Passed, Patch, Watch, check_patches, patched, refuse_ahead
from tm2tfr.engines.dense_parts import ColumnsOf, LinearMap, Vector, finite, norm_of, parts_of, read
from tm2tfr.engines.overflow import beyond_the_table, check_weights, first_infinite, layer_called, reach, too_large
from tm2tfr.errors import EngineError
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
        return DenseWhole(decoder, np.dtype(self.dtype)).run(tokens, watches, patches)


class _Weights:
    """The weights of a decoder in a dtype, and the arithmetic that concerns one position at a time.

    Raises:
        EngineError: if a weight is too large for `dtype`.
    """

    def __init__(self, decoder: Decoder, dtype: np.dtype[Any]) -> None:
        check_weights(decoder, dtype.name)
        self._decoder, self._dtype, self._width = decoder, dtype, decoder.layout.width
        self._careful = careful = not reach(decoder, dtype.name).everything  # otherwise no number can get too large
        self._features = [feature(name) for name in decoder.features]
        self._tokens = ColumnsOf(decoder.token_embedding, dtype)
        self._place = LinearMap(decoder.position_embedding, dtype)
        self._table = None if decoder.position_table is None else ColumnsOf(decoder.position_table, dtype)
        self._layers = [parts_of(layer, n, dtype, careful) for n, layer in enumerate(decoder.layers, start=1)]
        self._norm = norm_of(decoder.norm, lambda: "norm before the unembedding", dtype)
        self._unembedding = LinearMap(decoder.unembedding, dtype)
        self._bias = decoder.unembedding_bias.dense(dtype)[:, 0]

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

    def _attend(self, n: int, x: Vector, reads: Vector, position: int, length: int, watch: Watch | None) -> None:
        """Add what the heads of layer n carry to x, in place: all of them read the stream before any writes to it."""
        heads = self._layers[n].heads
        answers = [head.look(reads, position, length) for head in heads]
        for k, (head, (added, scores, attended)) in enumerate(zip(heads, answers, strict=True)):
            x[head.rows] += added
            if watch:
                there = np.array(head.sees(position, length), dtype=np.int64)
                all_zero = np.zeros(len(there), dtype=self._dtype)
                watch.head(n, k, *((all_zero, there) if attended is None else (scores, attended)))

    def _feed_forward(self, n: int, x: Vector, position: int, watch: Watch | None, patches: Sequence[Patch]) -> None:
        """Add what the feed-forward part of layer n answers to x, in place."""
        layer = self._layers[n]
        patched(x, patches, n, "attention")
        if watch:
            watch.stage(n, "attention", x.copy())
        if layer.feed_forward is not None:
            layer.feed_forward.add_to(x, read(layer.feed_forward_norm, x, position), position)
        patched(x, patches, n, "feed_forward")
        self._checked(x, n, position)
        if watch:
            watch.stage(n, "feed_forward", x.copy())

    def _answers(self, x: Vector, position: int) -> Vector:
        """Return the logits of a position: (answers,)."""
        logits = self._bias.copy()
        logits[self._unembedding.rows] += self._unembedding(read(self._norm, x, position))
        if self._careful and not finite(logits):
            named = first_infinite(logits, self._decoder.answered)
            raise too_large("unembedding", position, f"the logit of {named!r}", self._dtype.name)
        return logits


class DenseSession(_Weights):
    """A decoder in the middle of a sequence.

    Raises:
        EngineError: if a weight is too large for `dtype`.
    """

    def __init__(self, decoder: Decoder, dtype: np.dtype[Any]) -> None:
        super().__init__(decoder, dtype)
        self._position = 0
        self.residual: Vector = np.zeros(self._width, dtype=dtype)
        self.logits: Vector = np.zeros(decoder.answers, dtype=dtype)

    def feed(self, token: int, watch: Watch | None = None, patches: Sequence[Patch] = ()) -> int:
        """Run the next position on `token` and return the first token with the largest logit.

        Args:
            patches: what is overwritten in the stream on the way; the watch sees it overwritten.

        Raises:
            EngineError: if a number is too large for the dtype, a layer norm divides by 0, or the position table has no
                such position, and for a patch that does not fit. The session cannot be used after that.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            return self._feed(token, watch, patches)

    def _feed(self, token: int, watch: Watch | None, patches: Sequence[Patch]) -> int:
        check_patches(patches, len(self._layers), self._width)
        position = self._position
        x = self._embedded(token, position)
        patched(x, patches, -1, "embedding")
        if watch:
            watch.stage(-1, "embedding", x.copy())
        for n, layer in enumerate(self._layers):
            if layer.heads:
                reads = read(layer.attention_norm, x, position)
                for head in layer.heads:
                    head.take(reads)
                self._attend(n, x, reads, position, position + 1, watch)
            self._feed_forward(n, x, position, watch, patches)
        self.residual, self.logits = x, self._answers(x, position)
        self._position += 1
        return int(self.logits.argmax())


class DenseWhole(_Weights):
    """A decoder for one whole sequence, layer by layer over all positions.

    Raises:
        EngineError: if a weight is too large for `dtype`.
    """

    def run(
        self, tokens: Sequence[int], watches: Mapping[int, Watch], patches: Mapping[int, Sequence[Patch]] = NO_PATCHES
    ) -> list[Passed]:
        """Return what there is at every position after the last layer; see `tm2tfr.engines.decode.run_whole`.

        Raises:
            EngineError: if a number is too large for the dtype, a layer norm divides by 0, or there are more tokens than
                positions in the position table, and for a patch that does not fit.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            return self._run(tokens, watches, patches)

    def _run(
        self, tokens: Sequence[int], watches: Mapping[int, Watch], patches: Mapping[int, Sequence[Patch]]
    ) -> list[Passed]:
        streams = [self._embedded(token, i) for i, token in enumerate(tokens)]
        for i, own in patches.items():
            check_patches(own, len(self._layers), self._width)
            patched(streams[i], own, -1, "embedding")
        for i, watch in watches.items():
            watch.stage(-1, "embedding", streams[i].copy())
        for n, layer in enumerate(self._layers):
            if layer.heads:
                reads = [read(layer.attention_norm, x, i) for i, x in enumerate(streams)]
                for x in reads:
                    for head in layer.heads:
                        head.take(x)
                for i, x in enumerate(streams):
                    self._attend(n, x, reads[i], i, len(tokens), watches.get(i))
            for i, x in enumerate(streams):
                self._feed_forward(n, x, i, watches.get(i), patches.get(i, ()))
        return [Passed(x, self._answers(x, i)) for i, x in enumerate(streams)]
