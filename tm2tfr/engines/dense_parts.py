"""The parts of a decoder in the arithmetic of the dense engine: linear maps, caches, heads, feed-forward layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import EngineError
from tm2tfr.engines.overflow import first_infinite, layer_called, too_large
from tm2tfr.transformer.attention import average_hard, in_sight, softmax
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import FeedForward, Head, Layer, Norm

# ── layer normalisation in floats: what a part reads from the stream, in the arithmetic of the dense engine
Vector = NDArray[Any]


class LayerNorm:
    """A norm, ``gain · ((x - μ) / √(σ² + ε)) + bias`` with ``μ = Σx / width`` and ``σ² = Σ(x - μ)² / width``.

    Each sum runs from the first entry to the last, and each operation is rounded once, in the order of the formula.

    Args:
        where: says where the norm is, in refusals.
    """

    def __init__(self, norm: Norm, where: Callable[[], str], dtype: np.dtype[Any]) -> None:
        self._where = where
        self._gain, self._bias = norm.gain.dense(dtype)[:, 0], norm.bias.dense(dtype)[:, 0]
        self._epsilon = dtype.type(norm.epsilon)

    def __call__(self, x: Vector, position: int) -> Vector:
        """x: (width,) → (width,); x stays as it is.

        Raises:
            EngineError: if it would divide by 0, or the variance is too large for the dtype.
        """
        if not len(x):
            return x
        width = x.dtype.type(len(x))
        centred = x - np.add.accumulate(x)[-1] / width
        root = np.sqrt(np.add.accumulate(centred * centred)[-1] / width + self._epsilon)
        if root == 0:
            what = f"{self._where()}, position {position:,}: its variance and its epsilon are 0, so that it divides by 0"
            raise EngineError(f"{what}: use an epsilon above 0")
        if not root < np.inf:
            what = f"{self._where()}, position {position:,}: the variance is too large for {x.dtype.name}"
            raise EngineError(f"{what}: use {'--dtype float64 or ' if x.dtype == np.float32 else ''}smaller weights")
        normalised: Vector = self._gain * (centred / root) + self._bias
        return normalised


def read(norm: LayerNorm | None, x: Vector, position: int) -> Vector:
    """Return what a part reads from the stream x, (width,): x itself if there is no norm."""
    return x if norm is None else norm(x, position)


Where = Callable[[], str]
"""Says what a layer is called."""
MANY = 8
"""Queries of more components than this may be mostly 0, such as those for positions as one-hot vectors."""


class LinearMap:
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


class Cache:
    """A growing array of vectors, one per position: (size, positions), component by component in memory."""

    def __init__(self, size: int, dtype: np.dtype[Any]) -> None:
        self._array = np.zeros((size, 64), dtype=dtype)
        self._used = 0
        self._integers, self._largest = True, 0.0

    def append(self, vector: Vector) -> None:
        """Add `vector`, (size,), for the next position."""
        if self._used == self._array.shape[1]:
            self._array = np.concatenate([self._array, np.zeros_like(self._array)], axis=1)
        self._array[:, self._used] = vector
        self._used += 1
        if self._integers and len(vector):
            self._integers = bool((vector == np.rint(vector)).all())
            self._largest = max(self._largest, float(abs(vector).max()))

    def mean(self, seen: slice, attended: NDArray[np.int64] | None) -> Vector:
        """Return the mean over the positions `attended`, all that are `seen` if None: (size,)."""
        values = self._array[:, seen] if attended is None else self._array[:, attended]
        number = values.shape[1]
        if number == 1:
            return values[:, 0]
        # Sums of integers this small are exact in any order, and numpy's own order is faster.
        exact = self._integers and number * self._largest < 2 / np.finfo(values.dtype).eps
        sums = values.sum(axis=1) if exact else np.add.accumulate(values, axis=1)[:, -1]
        mean: Vector = sums / values.dtype.type(number)
        return mean

    def weighted(self, seen: slice, weights: Vector) -> Vector:
        """Return the sum of the vectors that are `seen`, each times its weight: weights (seen,) → (size,)."""
        total: Vector = np.add.accumulate(self._array[:, seen] * weights, axis=1)[:, -1]
        return total

    @property
    def all(self) -> Vector:
        """All vectors so far: (size, positions)."""
        return self._array[:, : self._used]


class AttentionHead:
    """A head with its cache of keys and values."""

    def __init__(self, head: Head, where: Where, dtype: np.dtype[Any], careful: bool) -> None:
        self._head, self._where, self._soft = head, where, head.weighting == "softmax"
        self._careful = careful
        # A component that is 0 in every query or in every key adds 0 to every score: drop it.
        both = head.components
        self._query, self._key = (LinearMap(selected(m, both), dtype) for m in (head.query, head.key))
        self._value, self._output = LinearMap(head.value, dtype), LinearMap(head.output, dtype)
        self._carried = np.zeros(head.value.shape[0], dtype=dtype)
        self._keys, self._values = Cache(len(both), dtype), Cache(len(self._value.rows), dtype)
        self.rows = self._output.rows

    def take(self, x: Vector) -> None:
        """Keep the key and the value of the next position, whose residual stream is x, (width,)."""
        self._keys.append(self._key(x))
        self._values.append(self._value(x))

    def sees(self, position: int, length: int) -> range:
        """Return the positions that its mask lets it see from `position` in a sequence of this length."""
        return in_sight(self._head.mask, position, length)

    def look(self, x: Vector, position: int, length: int) -> tuple[Vector, Vector | None, NDArray[np.int64] | None]:
        """Attend from `position`, whose residual stream is x, (width,), of a sequence of this length, all of it taken.

        Returns the values to add to ``x[self.rows]``, the scores of the positions that the mask lets it see, in order, and
        the positions attended to (under softmax those with the largest score); both are None if all scores are 0 by
        construction, so that all of these positions are attended to.

        Raises:
            EngineError: if a score is too large for the dtype.
        """
        there = self.sees(position, length)
        seen = slice(there.start, there.stop)
        keys = self._keys.all[:, seen]
        scores: Vector | None = None
        attended: NDArray[np.int64] | None = None
        if len(keys):
            scores = _scores(self._query(x), keys, skip=not self._careful)
            if self._careful and not finite(scores):
                raise self._refusal(position, scores.dtype.name)
            attended = average_hard(scores) + there.start
        if self._soft and scores is not None:
            self._carried[self._value.rows] = self._values.weighted(seen, softmax(scores))
        else:
            self._carried[self._value.rows] = self._values.mean(seen, attended)
        return self._output(self._carried), scores, attended

    def _refusal(self, position: int, dtype: str) -> EngineError:
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


class FeedForwardPart:
    """A feed-forward layer."""

    def __init__(self, layer: FeedForward, where: Where, dtype: np.dtype[Any], careful: bool) -> None:
        self._where, self._units, self._careful = where, layer.units, careful
        self._writes = np.unique(layer.output.columns)
        self._input, self._output = LinearMap(layer.input, dtype), LinearMap(layer.output, dtype)
        self._hidden = layer.input_bias.dense(dtype)[:, 0]
        self._bias = LinearMap(layer.output_bias, dtype)

    def add_to(self, x: Vector, reads: Vector, position: int) -> None:
        """Add the layer's answer to x, (width,), in place; reads: (width,) x itself, or what a norm makes of it.

        Raises:
            EngineError: if the sum of a unit that writes something is too large for the dtype.
        """
        hidden = self._hidden.copy()
        hidden[self._input.rows] += self._input(reads)
        if self._careful and not finite(used := hidden[self._writes]):
            unit = first_infinite(used, [self._units[u] for u in self._writes])
            raise too_large(self._where(), position, f"the sum of hidden unit {unit!r}", x.dtype.name)
        np.maximum(hidden, 0, out=hidden)
        x[self._output.rows] += self._output(hidden)
        x[self._bias.rows] += self._bias(np.ones(1, dtype=x.dtype))


def finite(numbers: Vector) -> bool:
    """Return whether no number is infinite or NaN."""
    return bool(np.isfinite(numbers).all())


class LayerParts(NamedTuple):
    """The parts of a layer, in the order of the computation."""

    attention_norm: LayerNorm | None
    heads: list[AttentionHead]
    feed_forward_norm: LayerNorm | None
    feed_forward: FeedForwardPart | None


def parts_of(layer: Layer, number: int, dtype: np.dtype[Any], careful: bool) -> LayerParts:
    """Return the parts of a layer; number: from 1, careful: whether a number can get too large for the dtype."""
    where, after = partial(layer_called, number, layer), layer.feed_forward  # names are for refusals alone
    feed_forward = None if after is None else FeedForwardPart(after, where, dtype, careful)
    return LayerParts(
        attention_norm=norm_of(layer.attention_norm, lambda: f"{where()}, norm before attention", dtype),
        heads=[AttentionHead(head, where, dtype, careful) for head in layer.heads],
        feed_forward_norm=norm_of(layer.feed_forward_norm, lambda: f"{where()}, norm before feed-forward", dtype),
        feed_forward=feed_forward,
    )


def norm_of(norm: Norm | None, where: Where, dtype: np.dtype[Any]) -> LayerNorm | None:
    """Return a norm as it is computed; None if there is none."""
    return None if norm is None else LayerNorm(norm, where, dtype)


def selected(matrix: Matrix, rows: NDArray[np.int64]) -> Matrix:
    """Return `matrix` reduced to `rows`, in their order."""
    keep = np.isin(matrix.rows, rows)
    kept = np.searchsorted(rows, matrix.rows[keep])
    return Matrix((len(rows), matrix.shape[1]), kept, matrix.columns[keep], matrix.values[keep])


class ColumnsOf:
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
