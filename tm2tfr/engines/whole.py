"""Many whole sequences at once, with heads of any mask: the numbers of the dense engine. One is `decode.run_whole`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tm2tfr.base.choices import Float
from tm2tfr.base.errors import EngineError
from tm2tfr.engines.batched import HeadOf, HiddenOf, NormOf, RowByRow, Stack, Wrong, constants
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.overflow import beyond_the_table, check_weights, reach
from tm2tfr.transformer.positions import feature
from tm2tfr.transformer.weights import Decoder, Layer, Norm

MEMORY = 2**28
"""The most bytes that a block of sequences takes, beside the results."""
BLOCK = 2**12
"""The number of positions of a block, if there is memory: as a row of numbers they fit into a processor's cache."""


class PassedBatch(NamedTuple):
    """What there is after the last layer, for some sequences of a batch."""

    sequences: slice
    residual: Stack
    """(width, sequences, n)"""
    logits: Stack
    """(answers, sequences, n)"""
    refused: NDArray[np.bool_]
    """(sequences,) on which the dense engine refuses a number, where that raises no error"""


class WholeDense:
    """The dense engine for many sequences of one length at once: the same numbers, and refusals in the same words.

    Args:
        dtype: of every number, ``float64`` or ``float32``.
        memory: the most bytes that are taken beside the results.

    Raises:
        EngineError: for another dtype, or a weight that is too large for it.
    """

    def __init__(self, decoder: Decoder, dtype: Float = "float64", *, memory: int = MEMORY) -> None:
        self._engine = Dense(dtype)
        check_weights(decoder, dtype)
        self._decoder, self._dtype, self._memory = decoder, np.dtype(dtype), memory
        self._careful = not reach(decoder, dtype).everything
        self._tokens = decoder.token_embedding.dense(self._dtype)
        self._embedding = np.unique(decoder.token_embedding.rows)
        self._table = None if decoder.position_table is None else decoder.position_table.dense(self._dtype)
        self._place = RowByRow(decoder.position_embedding, self._dtype)
        self._layers = [_PartsOf(layer, self._dtype) for layer in decoder.layers]
        self._norm = _norm(decoder.norm, self._dtype)
        self._unembedding = RowByRow(decoder.unembedding, self._dtype)
        self._bias = constants(decoder.unembedding_bias, self._dtype)

    def run(self, tokens: ArrayLike) -> PassedBatch:
        """Return what there is for all sequences: tokens (batch, n), their numbers in the vocabulary.

        Raises:
            EngineError: see `blocks`.
        """
        given = self._checked(tokens)
        shape, width, answers = given.shape, self._decoder.layout.width, self._decoder.answers
        residual, logits = np.empty((width, *shape), self._dtype), np.empty((answers, *shape), self._dtype)
        for block in self.blocks(given):
            residual[:, block.sequences], logits[:, block.sequences] = block.residual, block.logits
        return PassedBatch(slice(0, len(given)), residual, logits, np.zeros(len(given), dtype=np.bool_))

    def blocks(self, tokens: ArrayLike, *, keep_refused: bool = False) -> Iterator[PassedBatch]:
        """Yield what there is, some sequences after the other: tokens (batch, n), their numbers in the vocabulary.

        Args:
            keep_refused: say which sequences the dense engine refuses, and raise no error.

        Raises:
            EngineError: if these are not numbers of tokens in such a shape, are longer than there are positions, or the
                dense engine refuses one of the sequences.
        """
        given = self._checked(tokens)
        most = self._size(given.shape[1])
        number = -(-len(given) // most) if given.size else 0
        for n in range(number):  # of equal size
            part = slice(len(given) * n // number, len(given) * (n + 1) // number)
            yield PassedBatch(part, *self._run(given[part], keep_refused=keep_refused))

    def _checked(self, tokens: ArrayLike) -> NDArray[np.int64]:
        given = np.asarray(tokens)
        if given.ndim != 2 or given.dtype.kind not in "iu":
            what = f"tokens of shape {given.shape} and dtype {given.dtype}"
            raise EngineError(f"{what} are not a batch of sequences: give numbers of tokens in the shape (batch, n)")
        many = len(self._decoder.vocabulary)
        if given.size and not (given.min() >= 0 and given.max() < many):
            wrong = given.min() if given.min() < 0 else given.max()
            raise EngineError(f"there is no token with the number {wrong}: use numbers from 0 to {many - 1}")
        positions = self._decoder.positions
        if positions is not None and given.shape[1] > positions:
            raise beyond_the_table(positions)
        return given.astype(np.int64, copy=False)

    def _size(self, n: int) -> int:
        """Return the number of sequences of length n that are run together."""
        decoder = self._decoder
        stream = n * decoder.layout.width
        hidden = n * max((len(layer.feed_forward.units) for layer in decoder.layers if layer.feed_forward), default=0)
        heads = [head for layer in decoder.layers for head in layer.heads]
        carried = n * max((2 * head.query.shape[0] + 2 * head.value.shape[0] for head in heads), default=0)
        written = n * sum(len(np.unique(head.output.rows)) for head in heads)
        scores = n * n if heads else 0
        item = self._dtype.itemsize
        most = self._memory // max(1, item * (4 * stream + hidden + carried + written + 4 * scores))
        return max(1, min(most, BLOCK // max(1, n)))

    def _run(self, tokens: NDArray[np.int64], *, keep_refused: bool) -> tuple[Stack, Stack, NDArray[np.bool_]]:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            wrong = Wrong(len(tokens), careful=self._careful)
            x = self._embedded(tokens)
            wrong.note(x, 1)
            for layer in self._layers:
                layer.add_to(x, wrong)
                wrong.note(x, 1)
            logits = np.repeat(self._bias, tokens.size, axis=1).reshape(-1, *tokens.shape)
            self._unembedding.add_to(logits, _read(self._norm, x, wrong))
            wrong.note(logits, 1)
        refused = np.zeros(len(tokens), dtype=np.bool_)
        for k in np.flatnonzero(wrong.sequences):
            try:
                self._engine.whole(self._decoder, tokens[k].tolist(), {})  # which says what is wrong
            except EngineError:
                if not keep_refused:
                    raise
                refused[k] = True
        return x, logits, refused

    def _embedded(self, tokens: NDArray[np.int64]) -> Stack:
        n = tokens.shape[1]
        x = np.zeros((len(self._tokens), *tokens.shape), dtype=self._dtype)  # (width, batch, n)
        for row in self._embedding:
            x[row] = self._tokens[row][tokens]
        features = [feature(name) for name in self._decoder.features]
        numbers = [[above / below for above, below in map(each, range(n))] for each in features]
        for row, total in self._place.rows(np.array(numbers, dtype=self._dtype).reshape(len(features), 1, n)):
            x[row] += total
        if self._table is not None:
            x += self._table[:, None, :n]
        return x


class _PartsOf:
    """A layer, of which everything is computed at once."""

    def __init__(self, layer: Layer, dtype: np.dtype[Any]) -> None:
        self._norms = _norm(layer.attention_norm, dtype), _norm(layer.feed_forward_norm, dtype)
        self._heads = [HeadOf(head, dtype) for head in layer.heads]
        self._hidden = None if layer.feed_forward is None else HiddenOf(layer.feed_forward, dtype)

    def add_to(self, x: Stack, wrong: Wrong) -> None:
        """Add what the layer answers to the stream x, (width, batch, n), in place."""
        if self._heads:
            reads = _read(self._norms[0], x, wrong)
            answers = [head.answers(reads, wrong) for head in self._heads]  # before any of them writes
            for added in answers:
                for row, total in added:
                    x[row] += total
        if self._hidden is not None:
            self._hidden.add_to(x, _read(self._norms[1], x, wrong), wrong)


def _norm(norm: Norm | None, dtype: np.dtype[Any]) -> NormOf | None:
    return None if norm is None else NormOf(norm, dtype)


def _read(norm: NormOf | None, x: Stack, wrong: Wrong) -> Stack:
    return x if norm is None else norm.of(x, wrong)
