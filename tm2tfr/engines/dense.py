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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.choices import DTYPES, Float
from tm2tfr.engines.decode import Watch
from tm2tfr.engines.norm import LayerNorm, read
from tm2tfr.engines.overflow import beyond_the_table, check_weights, first_infinite, layer_called, reach, too_large
from tm2tfr.errors import EngineError
from tm2tfr.transformer.attention import average_hard, softmax
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.positions import POSITION_FEATURES
from tm2tfr.transformer.weights import Decoder, FeedForward, Head, Layer, Norm

Vector = NDArray[Any]
Where = Callable[[], str]
"""Says what a layer is called."""
MANY = 8
"""Queries of more components than this may be mostly 0, such as those for positions as one-hot vectors."""


@dataclass(frozen=True)
class Dense:
    """The engine; `dtype` is the dtype of every number in it."""

    dtype: Float = "float64"
    name: str = "dense"

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise EngineError(f"the dense engine computes in float64 or float32, not in {self.dtype!r}")

    def start(self, decoder: Decoder) -> DenseSession:
        """Return a fresh session at position 0."""
        return DenseSession(decoder, np.dtype(self.dtype))


class _Map:
    """The linear map of a sparse matrix without its zero rows: ``map(x) = (matrix · x)[map.rows]``."""

    def __init__(self, matrix: Matrix, dtype: np.dtype[Any]) -> None:
        self.rows, self._places = np.unique(matrix.rows, return_inverse=True)
        self._columns = matrix.columns
        self._values = matrix.values.astype(dtype)

    def __call__(self, x: Vector) -> Vector:
        """x: (columns,) → (non-zero rows,)."""
        if not len(self.rows):
            return x[:0]
        products = self._values * x[self._columns]
        if products.dtype == np.float64:
            return np.bincount(self._places, products)  # adds in the order of the entries, as np.add.at does
        sums = np.zeros(len(self.rows), dtype=products.dtype)
        np.add.at(sums, self._places, products)
        return sums


class _Cache:
    """A growing array of vectors, one per position: (size, positions), component by component in memory."""

    def __init__(self, size: int, dtype: np.dtype[Any]) -> None:
        self._array = np.zeros((size, 64), dtype=dtype)
        self._used = 0
        self._integers, self._largest = True, 0.0

    def append(self, vector: Vector) -> Vector:
        """Add `vector`, (size,), for the next position and return all so far: (size, positions)."""
        if self._used == self._array.shape[1]:
            self._array = np.concatenate([self._array, np.zeros_like(self._array)], axis=1)
        self._array[:, self._used] = vector
        self._used += 1
        if self._integers and len(vector):
            self._integers = bool((vector == np.rint(vector)).all())
            self._largest = max(self._largest, float(abs(vector).max()))
        return self._array[:, : self._used]

    def mean(self, attended: NDArray[np.int64] | None) -> Vector:
        """Return the mean over the positions `attended`, all if None: (size,)."""
        values = self._array[:, : self._used] if attended is None else self._array[:, attended]
        number = values.shape[1]
        if number == 1:
            return values[:, 0]
        # Sums of integers this small are exact in any order, and numpy's own order is faster.
        exact = self._integers and number * self._largest < 2 / np.finfo(values.dtype).eps
        sums = values.sum(axis=1) if exact else np.add.accumulate(values, axis=1)[:, -1]
        mean: Vector = sums / values.dtype.type(number)
        return mean

    def weighted(self, weights: Vector) -> Vector:
        """Return the sum of all vectors, each times its weight: weights (positions,) → (size,)."""
        total: Vector = np.add.accumulate(self._array[:, : self._used] * weights, axis=1)[:, -1]
        return total


class _Head:
    """A head with its cache of keys and values."""

    def __init__(self, head: Head, where: Where, dtype: np.dtype[Any], careful: bool) -> None:
        if head.mask != "future" or head.weighting not in ("average-hard", "softmax"):
            raise EngineError(
                f"head {head.name!r}: the dense engine runs future-masked average-hard attention and softmax, "
                f"not mask {head.mask!r} with weighting {head.weighting!r}"
            )
        self._head, self._where, self._soft = head, where, head.weighting == "softmax"
        self._careful = careful
        # A component that is 0 in every query or in every key adds 0 to every score: drop it.
        both = head.components
        self._query, self._key = (_Map(_selected(m, both), dtype) for m in (head.query, head.key))
        self._value, self._output = _Map(head.value, dtype), _Map(head.output, dtype)
        self._carried = np.zeros(head.value.shape[0], dtype=dtype)
        self._keys, self._values = _Cache(len(both), dtype), _Cache(len(self._value.rows), dtype)
        self.rows = self._output.rows

    def __call__(self, x: Vector) -> tuple[Vector, Vector | None, NDArray[np.int64] | None]:
        """Attend from the position whose residual stream is x, (width,).

        Returns the values to add to ``x[self.rows]``, the scores and the positions attended to (under softmax those with
        the largest score); both are None if all scores are 0 by construction, so that all positions are attended to.

        Raises:
            EngineError: if a score is too large for the dtype.
        """
        keys = self._keys.append(self._key(x))
        self._values.append(self._value(x))
        scores: Vector | None = None
        attended: NDArray[np.int64] | None = None
        if len(keys):
            scores = _scores(self._query(x), keys, skip=not self._careful)
            if self._careful and not _finite(scores):
                raise self._refusal(scores)
            attended = average_hard(scores)
        if self._soft and scores is not None:
            self._carried[self._value.rows] = self._values.weighted(softmax(scores))
        else:
            self._carried[self._value.rows] = self._values.mean(attended)
        return self._output(self._carried), scores, attended

    def _refusal(self, scores: Vector) -> EngineError:
        position, dtype = len(scores) - 1, scores.dtype.name
        where = f"{self._where()}, head {self._head.name!r}"
        if self._soft:
            what = f"{where}, position {position:,}: its scores are too large for {dtype}"
            return EngineError(f"{what}: use a higher temperature or a wider dtype")
        return too_large(where, position, "a score", dtype)


def _scores(query: Vector, keys: Vector, *, skip: bool) -> Vector:
    """query: (d_k,), keys: (d_k, n_key) → (n_key,).

    Args:
        skip: whether components that are 0 in the query may be skipped: with finite keys they add 0 to every score.
    """
    components: Sequence[int] = range(len(query))
    if skip and len(query) > MANY:
        components = np.flatnonzero(query).tolist() or components[:1]
    scores: Vector = query[components[0]] * keys[components[0]]
    for component in components[1:]:
        scores += query[component] * keys[component]
    return scores


class _FeedForward:
    """A feed-forward layer."""

    def __init__(self, layer: FeedForward, where: Where, dtype: np.dtype[Any], careful: bool) -> None:
        self._where, self._units, self._careful = where, layer.units, careful
        self._writes = np.unique(layer.output.columns)
        self._input, self._output = _Map(layer.input, dtype), _Map(layer.output, dtype)
        self._hidden = layer.input_bias.dense(dtype)[:, 0]
        self._bias = _Map(layer.output_bias, dtype)

    def add_to(self, x: Vector, reads: Vector, position: int) -> None:
        """Add the layer's answer to x, (width,), in place; reads: (width,) x itself, or what a norm makes of it.

        Raises:
            EngineError: if the sum of a unit that writes something is too large for the dtype.
        """
        hidden = self._hidden.copy()
        hidden[self._input.rows] += self._input(reads)
        if self._careful and not _finite(used := hidden[self._writes]):
            unit = first_infinite(used, [self._units[u] for u in self._writes])
            raise too_large(self._where(), position, f"the sum of hidden unit {unit!r}", x.dtype.name)
        np.maximum(hidden, 0, out=hidden)
        x[self._output.rows] += self._output(hidden)
        x[self._bias.rows] += self._bias(np.ones(1, dtype=x.dtype))


def _finite(numbers: Vector) -> bool:
    return bool(np.isfinite(numbers).all())


class _Layer(NamedTuple):
    """The parts of a layer, in the order of the computation."""

    attention_norm: LayerNorm | None
    heads: list[_Head]
    feed_forward_norm: LayerNorm | None
    feed_forward: _FeedForward | None


def _parts(layer: Layer, number: int, dtype: np.dtype[Any], careful: bool) -> _Layer:
    where, after = partial(layer_called, number, layer), layer.feed_forward  # names are for refusals alone
    feed_forward = None if after is None else _FeedForward(after, where, dtype, careful)
    return _Layer(
        attention_norm=_norm(layer.attention_norm, lambda: f"{where()}, norm before attention", dtype),
        heads=[_Head(head, where, dtype, careful) for head in layer.heads],
        feed_forward_norm=_norm(layer.feed_forward_norm, lambda: f"{where()}, norm before feed-forward", dtype),
        feed_forward=feed_forward,
    )


def _norm(norm: Norm | None, where: Where, dtype: np.dtype[Any]) -> LayerNorm | None:
    return None if norm is None else LayerNorm(norm, where, dtype)


class DenseSession:
    """A decoder in the middle of a sequence.

    Raises:
        EngineError: if a weight is too large for `dtype`.
    """

    def __init__(self, decoder: Decoder, dtype: np.dtype[Any]) -> None:
        check_weights(decoder, dtype.name)
        self._decoder, self._dtype = decoder, dtype
        self._careful = careful = not reach(decoder, dtype.name).everything  # otherwise no number can get too large
        self._features = [POSITION_FEATURES[name] for name in decoder.features]
        self._tokens = _Columns(decoder.token_embedding, dtype)
        self._place = _Map(decoder.position_embedding, dtype)
        self._table = None if decoder.position_table is None else _Columns(decoder.position_table, dtype)
        self._layers = [_parts(layer, n, dtype, careful) for n, layer in enumerate(decoder.layers, start=1)]
        self._norm = _norm(decoder.norm, lambda: "norm before the unembedding", dtype)
        self._unembedding = _Map(decoder.unembedding, dtype)
        self._bias = decoder.unembedding_bias.dense(dtype)[:, 0]
        self._width, self._position = decoder.layout.width, 0
        self.residual: Vector = np.zeros(self._width, dtype=dtype)
        self.logits: Vector = np.zeros(len(decoder.vocabulary), dtype=dtype)

    def feed(self, token: int, watch: Watch | None = None) -> int:
        """Run the next position on `token` and return the first token with the largest logit.

        Raises:
            EngineError: if a number is too large for the dtype, a layer norm divides by 0, or the position table has no
                such position. The session cannot be used after that.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            return self._feed(token, watch)

    def _feed(self, token: int, watch: Watch | None) -> int:
        x = self._embedded(token)
        self._checked(x, "embedding")
        if watch:
            watch.stage(-1, "embedding", x.copy())
        for n, (attention_norm, heads, feed_forward_norm, feed_forward) in enumerate(self._layers):
            if heads:
                reads = read(attention_norm, x, self._position)
                answers = [head(reads) for head in heads]  # all heads read the stream before any writes to it
                for k, (head, (added, scores, attended)) in enumerate(zip(heads, answers, strict=True)):
                    x[head.rows] += added
                    if watch:
                        everywhere = np.arange(self._position + 1)
                        all_zero = np.zeros(self._position + 1, dtype=self._dtype)
                        watch.head(n, k, *((all_zero, everywhere) if attended is None else (scores, attended)))
            if watch:
                watch.stage(n, "attention", x.copy())
            if feed_forward is not None:
                feed_forward.add_to(x, read(feed_forward_norm, x, self._position), self._position)
            self._checked(x, n)
            if watch:
                watch.stage(n, "feed_forward", x.copy())
        self.residual, self.logits = x, self._bias.copy()
        self.logits[self._unembedding.rows] += self._unembedding(read(self._norm, x, self._position))
        if self._careful and not _finite(self.logits):
            token_named = first_infinite(self.logits, self._decoder.vocabulary)
            raise too_large("unembedding", self._position, f"the logit of {token_named!r}", self._dtype.name)
        self._position += 1
        return int(self.logits.argmax())

    def _checked(self, x: Vector, after: int | Literal["embedding"]) -> None:
        """Raise EngineError if the stream is not finite; after: the layer, from 0."""
        if self._careful and not _finite(x):
            where = after if isinstance(after, str) else layer_called(after + 1, self._decoder.layers[after])
            direction = first_infinite(x, self._decoder.layout.directions)
            raise too_large(where, self._position, f"direction {direction!r} of the stream", self._dtype.name)

    def _embedded(self, token: int) -> Vector:
        x = np.zeros(self._width, dtype=self._dtype)
        rows, values = self._tokens[token]
        x[rows] = values
        features = [f(self._position) for f in self._features]
        numbers = np.array([above / below for above, below in features], dtype=self._dtype)
        x[self._place.rows] += self._place(numbers)
        if self._table is not None:
            if self._position >= len(self._table):
                raise beyond_the_table(self._position)
            rows, values = self._table[self._position]
            x[rows] += values
        return x


def _selected(matrix: Matrix, rows: NDArray[np.int64]) -> Matrix:
    """Return `matrix` reduced to `rows`, in their order."""
    keep = np.isin(matrix.rows, rows)
    kept = np.searchsorted(rows, matrix.rows[keep])
    return Matrix((len(rows), matrix.shape[1]), kept, matrix.columns[keep], matrix.values[keep])


class _Columns:
    """The columns of a matrix: the rows and values of the entries of each."""

    def __init__(self, matrix: Matrix, dtype: np.dtype[Any]) -> None:
        order = np.argsort(matrix.columns, kind="stable")
        self._cuts = np.searchsorted(matrix.columns[order], np.arange(matrix.shape[1] + 1))
        self._rows, self._values = matrix.rows[order], matrix.values[order].astype(dtype)

    def __len__(self) -> int:
        return len(self._cuts) - 1

    def __getitem__(self, column: int) -> tuple[NDArray[np.int64], Vector]:
        cut = slice(self._cuts[column], self._cuts[column + 1])
        return self._rows[cut], self._values[cut]
