"""The plain engine: numpy, every position scanned for every head. It judges the others.

Batch first: one computation for whole sequences, many at once, and for the next position of one sequence, with a KV cache.

Its arithmetic is fixed, so that it can be reasoned about: every number has one dtype; all sums run from the first term
to the last, each product and each sum rounded once (no fused multiply-add): those of a row of a matrix by column, those
of a score by component, those over attended positions by position; the mean is that sum divided by their number; ties
are exact equality of the rounded scores. Under softmax the weights are those of `attention.softmax`, and the sum over
all positions is of values times weights; a head whose scores are all 0 by construction takes the mean. Layer norms are
computed as `dense_parts.LayerNorm` says. So an input has the same numbers alone, in a batch, and position by position.
The attention is "dense": zeros in the weights are skipped, which changes no value, since weights are finite. Numbers
that get too large for the dtype are refused, see `overflow`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tm2tfr.base.choices import DTYPES, Float
from tm2tfr.base.errors import EngineError
from tm2tfr.engines.decode import NO_PATCHES, Passed, Patch, Watch, check_patches, patched, refuse_ahead
from tm2tfr.engines.dense_heads import AttentionHead
from tm2tfr.engines.dense_parts import (
    ColumnsOf,
    DenseStream,
    FeedForwardPart,
    LayerNorm,
    LinearMap,
    Refusals,
    norm_of,
    read,
)
from tm2tfr.engines.dependence import Same
from tm2tfr.engines.distinct_plan import PAIRS, PLACES, ColumnPlans
from tm2tfr.engines.overflow import beyond_the_table, check_weights, first_infinite, layer_called, reach, too_large
from tm2tfr.engines.passed import PassedBatch
from tm2tfr.transformer.attention import attended, in_sight
from tm2tfr.transformer.layers import MOST_PASSES, endless
from tm2tfr.transformer.matrix import Dtype, Ints, occurring
from tm2tfr.transformer.positions import feature
from tm2tfr.transformer.weights import Decoder, Layer, LayerLoop

MEMORY = 2**28
"""The most bytes that a block of sequences takes, beside the results."""
BLOCK = 2**12
"""The number of positions of a block, if there is memory: as a row of numbers they fit into a processor's cache."""

RunHeads = Callable[[int, DenseStream], list[DenseStream]]
"""(layer, the input of its heads) → the addition of each head to ``x[head.rows]``."""
OnStage = Callable[[int, str, DenseStream], None]
"""Receives the stream, (width, *places), after a part of a layer, and may change it."""


class LayerParts(NamedTuple):
    """The parts of a layer, in the order of the computation."""

    attention_norm: LayerNorm | None
    heads: list[AttentionHead]
    feed_forward_norm: LayerNorm | None
    feed_forward: FeedForwardPart | None


def parts_of(layer: Layer, number: int, dtype: Dtype, *, careful: bool) -> LayerParts:
    """Return the parts of a layer; number: from 1, careful: whether a number can get too large for the dtype."""
    where, after = partial(layer_called, number, layer), layer.feed_forward  # names are for refusals alone
    return LayerParts(
        attention_norm=norm_of(layer.attention_norm, lambda: f"{where()}, norm before attention", dtype),
        heads=[AttentionHead(head, where, dtype, careful=careful) for head in layer.heads],
        feed_forward_norm=norm_of(layer.feed_forward_norm, lambda: f"{where()}, norm before feed-forward", dtype),
        feed_forward=None if after is None else FeedForwardPart(after, where, dtype, careful=careful),
    )


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
        return DenseSession(_computed(Same(decoder), self.dtype))

    def whole(
        self,
        decoder: Decoder,
        tokens: Sequence[int],
        watches: Mapping[int, Watch],
        patches: Mapping[int, Sequence[Patch]] = NO_PATCHES,
    ) -> list[Passed]:
        """Run a whole sequence at once, see `tm2tfr.engines.decode.run_whole`."""
        return _computed(Same(decoder), self.dtype).whole(tokens, watches, patches)


class DenseDecoder:
    """A decoder as the dense engine computes it, in one dtype: whole sequences, one or many at once.

    Args:
        dtype: of every number, ``float64`` or ``float32``.
        memory: the most bytes that are taken beside the results.

    Raises:
        EngineError: for another dtype, or a weight that is too large for it.
    """

    def __init__(self, decoder: Decoder, dtype: Float = "float64", *, memory: int = MEMORY) -> None:
        self.dtype = np.dtype(Dense(dtype).dtype)
        check_weights(decoder, dtype)
        self.decoder, self._memory = decoder, memory
        self._careful = careful = not reach(decoder, dtype).everything  # otherwise no number can get too large
        self._features = [feature(name) for name in decoder.features]
        self._tokens = ColumnsOf(decoder.token_embedding, self.dtype)
        self._place = LinearMap(decoder.position_embedding, self.dtype)
        self._table = None if decoder.position_table is None else ColumnsOf(decoder.position_table, self.dtype)
        self.layers = [parts_of(layer, n, self.dtype, careful=careful) for n, layer in enumerate(decoder.layers, start=1)]
        self._loops = [(loop, None if loop.until is None else LinearMap(loop.until, self.dtype)) for loop in decoder.loops]
        self._norm = norm_of(decoder.norm, lambda: "norm before the unembedding", self.dtype)
        self._unembedding = LinearMap(decoder.unembedding, self.dtype)
        self._bias = decoder.unembedding_bias.dense(self.dtype)[:, 0]
        plain = not (careful or decoder.loops or decoder.normed or decoder.soft or decoder.tempered)
        self._plans = ColumnPlans(decoder, self.dtype, lambda tokens: self._embedded(tokens, 0)) if plain else None

    def forward(
        self, tokens: int | Ints, position: int, attend: RunHeads, refusals: Refusals, stage: OnStage | None = None
    ) -> tuple[DenseStream, DenseStream]:
        """Return the stream after the last layer, (width, *places), and the logits, (answers, *places).

        Args:
            tokens: their numbers: of one place, or (batch, n) of the positions 0, 1, …
            position: the position of the only place.
        """
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            x = self._embedded(tokens, position)
            self._check(x, "embedding", refusals)
            if stage is not None:
                stage(-1, "embedding", x)
            self._through(x, lambda n, x: self._layer(n, x, attend, refusals, stage), refusals)
            logits = self._unembedding.plus(self._bias, read(self._norm, x, refusals))
            if self._careful:
                refusals.note_infinite(logits, self._logit_refusal)
        return x, logits

    def _layer(self, n: int, x: DenseStream, attend: RunHeads, refusals: Refusals, stage: OnStage | None) -> None:
        """Run layer n, from 0, on the stream x, in place."""
        layer = self.layers[n]
        if layer.heads:
            answers = attend(n, read(layer.attention_norm, x, refusals))  # before any of them writes
            for head, added in zip(layer.heads, answers, strict=True):
                x[head.rows] += added
        if stage is not None:
            stage(n, "attention", x)
        if layer.feed_forward is not None:
            layer.feed_forward.add_to(x, read(layer.feed_forward_norm, x, refusals), refusals)
        if stage is not None:
            stage(n, "feed_forward", x)
        self._check(x, n, refusals)

    def _through(self, x: DenseStream, layer: Callable[[int, DenseStream], None], refusals: Refusals) -> None:
        """Run every layer on the stream x, in place, in the order of the computation."""
        done = 0
        for loop, until in self._loops:
            for n in range(done, loop.first - 1):
                layer(n, x)
            self._repeat(x, loop, until, layer, refusals)
            done = loop.last
        for n in range(done, len(self.layers)):
            layer(n, x)

    def _repeat(
        self,
        x: DenseStream,
        loop: LayerLoop,
        until: LinearMap | None,
        layer: Callable[[int, DenseStream], None],
        refusals: Refusals,
    ) -> None:
        """Run a loop on the streams x, (width, sequences, n): each sequence for as many passes as it needs itself."""
        going, part = np.arange(x.shape[1]), x
        for number in range(loop.most):
            with refusals.of(going):
                for n in range(loop.first - 1, loop.last):
                    layer(n, part)
            if until is None:
                continue
            found = until(part)
            ended = (found[0] >= 0.5).all(axis=1) if len(found) else np.zeros(len(going), dtype=np.bool_)
            ended |= np.array([sequence in refusals.errors for sequence in going.tolist()], dtype=np.bool_)
            if ended.any():
                x[:, going[ended]] = part[:, ended]
                going, part = going[~ended], part[:, ~ended]
            if not len(going):
                return
            if number + 1 == MOST_PASSES and loop.times is None:
                raise endless(loop)
        x[:, going] = part

    def _embedded(self, tokens: int | Ints, position: int) -> DenseStream:
        if isinstance(tokens, int):
            places: tuple[int, ...] = ()
            positions, along = range(position, position + 1), places
        else:
            places, positions = tokens.shape, range(tokens.shape[1])
            along = (1, len(positions))
        x: DenseStream = np.zeros((self.decoder.layout.width, *places), dtype=self.dtype)
        self._tokens.add_to(x, tokens)
        if self._table is not None and positions.stop > len(self._table):
            raise beyond_the_table(len(self._table))
        numbers = np.array(
            [[above / below for above, below in (f(i, positions.stop) for i in positions)] for f in self._features],
            self.dtype,
        )
        self._place.add_to(x, numbers.reshape(-1, *along))
        if self._table is not None:
            self._table.add_to(x, position if not places else np.arange(len(positions)))
        return x

    def _check(self, x: DenseStream, after: int | str, refusals: Refusals) -> None:
        """Refuse the places where the stream is not finite; after: the layer, from 0."""
        if not self._careful:
            return

        def refusal(numbers: DenseStream, position: int) -> EngineError:
            where = after if isinstance(after, str) else layer_called(after + 1, self.decoder.layers[after])
            direction = first_infinite(numbers, self.decoder.layout.directions)
            return too_large(where, position, f"direction {direction!r} of the stream", self.dtype.name)

        refusals.note_infinite(x, refusal)

    def _logit_refusal(self, logits: DenseStream, position: int) -> EngineError:
        named = first_infinite(logits, self.decoder.answered)
        return too_large("unembedding", position, f"the logit of {named!r}", self.dtype.name)

    # ── whole sequences ─────────────────────────────────────────────────────────────────────────────────────
    def whole(
        self, tokens: Sequence[int], watches: Mapping[int, Watch], patches: Mapping[int, Sequence[Patch]]
    ) -> list[Passed]:
        """Run one sequence, watched and patched by position, see `tm2tfr.engines.decode.run_whole`."""
        for own in patches.values():
            check_patches(own, len(self.layers), self.decoder.layout.width)
        if not tokens:
            return []
        refusals, n = Refusals(), len(tokens)

        def stage(layer: int, part: str, x: DenseStream) -> None:
            for i, own in patches.items():
                if i < n:
                    patched(x[:, 0, i], own, layer, part)
            for i, watch in watches.items():
                if i < n:
                    watch.stage(layer, part, x[:, 0, i].copy())

        def attend(layer: int, reads: DenseStream) -> list[DenseStream]:
            answers = [head.all(reads, refusals, watched=bool(watches)) for head in self.layers[layer].heads]
            if not refusals.errors:
                for k, (head, (_, scores)) in enumerate(zip(self.layers[layer].heads, answers, strict=True)):
                    for i, watch in watches.items():
                        seen = np.array(in_sight(head.mask, i, n), dtype=np.int64)
                        own = np.zeros(len(seen), self.dtype) if scores is None else scores[0, i, seen]
                        watch.head(layer, k, own, seen[attended(head.weighting, own)])
            return [added for added, _ in answers]

        batch = np.array([tokens], dtype=np.int64)
        residual, logits = self.forward(batch, 0, attend, refusals, stage if watches or patches else None)
        for error in refusals.errors.values():
            raise error
        streams, answers = (np.ascontiguousarray(array[:, 0].T) for array in (residual, logits))
        return [Passed(*pair) for pair in zip(streams, answers, strict=True)]

    def staged(self, tokens: ArrayLike, stage: OnStage) -> DenseStream:
        """Run sequences of one length at once and return their logits, (answers, batch, n); tokens (batch, n).

        Args:
            stage: receives the stream, (width, batch, n), after each part of each layer, and may change it in place.
        """
        refusals = Refusals()
        logits = self.forward(self._checked(tokens), 0, partial(self._attend, refusals), refusals, stage)[1]
        for error in refusals.errors.values():
            raise error
        return logits

    def run(self, tokens: ArrayLike) -> PassedBatch:
        """Run all sequences: tokens (batch, n), their numbers in the vocabulary.

        Raises:
            EngineError: see `blocks`.
        """
        given = self._checked(tokens)
        shape, width, answers = given.shape, self.decoder.layout.width, self.decoder.answers
        residual, logits = np.empty((width, *shape), self.dtype), np.empty((answers, *shape), self.dtype)
        for block in self.blocks(given):
            residual[:, block.sequences], logits[:, block.sequences] = block.residual, block.logits
        none = np.zeros(len(given), dtype=np.bool_)
        return PassedBatch.of_all(self.decoder, slice(0, len(given)), residual, logits, none)

    def blocks(self, tokens: ArrayLike, *, keep_refused: bool = False) -> Iterator[PassedBatch]:
        """Run sequences, and yield some after the other: tokens (batch, n), their numbers in the vocabulary.

        Args:
            keep_refused: say which sequences have a number that is too large, and raise no error.

        Raises:
            EngineError: if these are not numbers of tokens in such a shape, are longer than there are positions, or a
                number of a sequence is too large.
        """
        given = self._checked(tokens)
        plan = None if self._plans is None else self._plans.of(given)
        most = self._size(given.shape[1], BLOCK if plan is None else min(PLACES, PAIRS // given.shape[1]))
        number = -(-len(given) // most) if given.size else 0
        for n in range(number):  # of equal size
            part = slice(len(given) * n // number, len(given) * (n + 1) // number)
            refused = np.zeros(part.stop - part.start, dtype=np.bool_)
            if plan is not None:
                yield plan.passed(given[part], part, refused)
                continue
            refusals = Refusals()
            residual, logits = self.forward(given[part], 0, partial(self._attend, refusals), refusals)
            if refusals.errors and not keep_refused:
                raise refusals.errors[min(refusals.errors)]
            refused[list(refusals.errors)] = True
            yield PassedBatch.of_all(self.decoder, part, residual, logits, refused)

    def _attend(self, refusals: Refusals, layer: int, reads: DenseStream) -> list[DenseStream]:
        return [head.all(reads, refusals, watched=False).added for head in self.layers[layer].heads]

    def _checked(self, tokens: ArrayLike) -> Ints:
        given = np.asarray(tokens)
        if given.ndim != 2 or given.dtype.kind not in "iu":
            problem = f"tokens of shape {given.shape} and dtype {given.dtype}"
            raise EngineError(f"{problem} are not a batch of sequences: give numbers of tokens in the shape (batch, n)")
        many = len(self.decoder.vocabulary)
        if given.size and not (given.min() >= 0 and given.max() < many):
            wrong = given.min() if given.min() < 0 else given.max()
            raise EngineError(f"there is no token with the number {wrong}: use numbers from 0 to {many - 1}")
        positions = self.decoder.positions
        if positions is not None and given.shape[1] > positions:
            raise beyond_the_table(positions)
        return given.astype(np.int64, copy=False)

    def _size(self, n: int, block: int) -> int:
        """Return the number of sequences of length n that run together, in blocks of at most `block` positions."""
        item, (each, pair) = self.dtype.itemsize, self._numbers
        most = self._memory // max(1, item * n * (each + pair * n))
        return max(1, min(most, block // max(1, n)))

    @cached_property
    def _numbers(self) -> tuple[int, int]:
        """The numbers in memory at most for each position, and for each pair of positions."""
        heads = [head for layer in self.decoder.layers for head in layer.heads]
        hidden = max((len(layer.feed_forward.units) for layer in self.decoder.layers if layer.feed_forward), default=0)
        carried = max((2 * head.query.shape[0] + 2 * head.value.shape[0] for head in heads), default=0)
        written = sum(len(occurring(head.output.shape[0], head.output.rows)) for head in heads)
        return 4 * self.decoder.layout.width + hidden + carried + written, 4 if heads else 0


@lru_cache(maxsize=8)
def _computed(decoder: Same[Decoder], dtype: Float) -> DenseDecoder:
    """Return a decoder as it is computed: thousands of short runs of the same weights share it."""
    return DenseDecoder(decoder.part, dtype)


class DenseSession:
    """A decoder in the middle of a sequence, with the keys and values of the positions so far."""

    def __init__(self, dense: DenseDecoder) -> None:
        self._dense, self._position = dense, 0
        self._caches = [[head.caches() for head in layer.heads] for layer in dense.layers]
        self.residual: DenseStream = np.zeros(0)
        self.logits: DenseStream = np.zeros(0)

    def feed(self, token: int, watch: Watch | None = None, patches: Sequence[Patch] = ()) -> int:
        """Run the next position on `token` and return the first token with the largest logit.

        Args:
            patches: what is overwritten in the stream on the way; the watch sees it overwritten.

        Raises:
            EngineError: if a number is too large for the dtype, a layer norm divides by 0, or there are more tokens than
                positions in the position table, and for a patch that does not fit. The session cannot be used after that.
        """
        layers, position = self._dense.layers, self._position
        refusals = Refusals(position)
        check_patches(patches, len(layers), self._dense.decoder.layout.width)

        def attend(n: int, reads: DenseStream) -> list[DenseStream]:
            heads = zip(layers[n].heads, self._caches[n], strict=True)
            answers = [head.next(reads, caches, refusals) for head, caches in heads]
            if watch is not None:
                for k, (_, scores) in enumerate(answers):
                    own = np.zeros(position + 1, self._dense.dtype) if scores is None else scores
                    watch.head(n, k, own, attended(layers[n].heads[k].weighting, own))
            return [added for added, _ in answers]

        def stage(n: int, part: str, x: DenseStream) -> None:
            patched(x, patches, n, part)
            if watch is not None:
                watch.stage(n, part, x.copy())

        watched = watch is not None or patches
        self.residual, self.logits = self._dense.forward(token, position, attend, refusals, stage if watched else None)
        self._position += 1
        return int(self.logits.argmax())
