"""Heads in the arithmetic of the dense engine: from the next position of a session, or from all positions of a batch.

Scores are added by component, and values by position, from the first to the last. Where all terms are integers so small
that every sum of them is exact, the order does not matter, and matrix products of numpy take its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tm2tfr.base.choices import DTYPES, UNIQUE, Weighting
from tm2tfr.base.errors import EngineError
from tm2tfr.engines.dense_parts import Bools, DenseStream, LinearMap, Refusals, Where
from tm2tfr.engines.overflow import too_large
from tm2tfr.transformer.attention import attended, softmax
from tm2tfr.transformer.matrix import Dtype, Ints, occurring
from tm2tfr.transformer.positions import feature
from tm2tfr.transformer.weights import Head, Mask

EPSILON = {np.dtype(name): float(np.finfo(name).eps) for name in DTYPES}
MANY = 8
"""Queries of more components than this may be mostly 0, such as those for positions as one-hot vectors."""
SCORES = 2**22
"""The most scores of a head that are in memory at once, where one query position does not have more."""


class Cache:
    """A growing array of vectors, one per position: (size, positions), component by component in memory."""

    def __init__(self, size: int, dtype: Dtype) -> None:
        self._array = np.zeros((size, 64), dtype=dtype)
        self._used = 0
        self._integers, self._largest = True, 0.0

    def append(self, vector: DenseStream) -> None:
        """Add `vector`, (size,), for the next position."""
        if self._used == self._array.shape[1]:
            self._array = np.concatenate([self._array, np.zeros_like(self._array)], axis=1)
        self._array[:, self._used] = vector
        self._used += 1
        if self._integers and len(vector):
            self._integers = bool((vector == np.rint(vector)).all())
            self._largest = max(self._largest, float(abs(vector).max()))

    def mean(self, attended: Ints | None) -> DenseStream:
        """Return the mean over the positions `attended`, over all if None: (size,)."""
        values = self.all if attended is None else self._array[:, attended]
        number = values.shape[1]
        if number == 1:
            return values[:, 0]
        # Sums of integers this small are exact in any order, and numpy's own order is faster.
        exact = self._integers and number * self._largest < 2 / np.finfo(values.dtype).eps
        sums = values.sum(axis=1) if exact else np.add.accumulate(values, axis=1)[:, -1]
        mean: DenseStream = sums / values.dtype.type(number)
        return mean

    def weighted(self, weights: DenseStream) -> DenseStream:
        """Return the sum of all vectors, each times its weight: weights (positions,) → (size,)."""
        total: DenseStream = np.add.accumulate(self.all * weights, axis=1)[:, -1]
        return total

    @property
    def all(self) -> DenseStream:
        """All vectors so far: (size, positions)."""
        return self._array[:, : self._used]


class HeadAnswer(NamedTuple):
    """The output of a head, and its attention.

    Args:
        added: (rows, *places) what is added to ``x[head.rows]``.
        scores: (n_key,), or (batch, n_query, n_key) with -∞ where the mask hides a key; None if all are 0 by construction,
            so that the head attends to all that it sees, or if nobody watches the sequences of a batch.
    """

    added: DenseStream
    scores: DenseStream | None


class AttentionHead:
    """A head."""

    def __init__(self, head: Head, where: Where, dtype: Dtype, *, careful: bool) -> None:
        self._head, self._where, self._careful, self._dtype = head, where, careful, dtype
        self.weighting, self._soft, self.mask = head.weighting, head.weighting == "softmax", head.mask
        self._uniform = head.uniform
        self._inverse = None if head.inverse_temperature == "1" else feature(head.inverse_temperature)
        # A component that is 0 in every query or in every key adds 0 to every score, and so is left out.
        both = head.components
        self._query, self._key = (LinearMap(m.selected(both), dtype) for m in (head.query, head.key))
        carried = occurring(head.value.shape[0], head.value.rows, head.output.columns)  # others are 0, or not written
        self._value = LinearMap(head.value.selected(carried), dtype)
        self._output = LinearMap(head.output.transposed.selected(carried).transposed, dtype)
        self._sizes, self.rows = (len(both), len(carried)), self._output.rows

    def caches(self) -> tuple[Cache, Cache]:
        """Return empty caches of keys and of values, for `next`."""
        keys, values = self._sizes
        return Cache(keys, self._dtype), Cache(values, self._dtype)

    def next(self, x: DenseStream, caches: tuple[Cache, Cache], refusals: Refusals) -> HeadAnswer:
        """Attend from the next position of a session, whose stream is x, (width,), to itself and all before it."""
        keys, values = caches
        keys.append(self._key(x))
        values.append(self._value(x))
        if self._uniform:
            return HeadAnswer(self._output(values.mean(None)), None)
        scores = _scores(self._query(x), keys.all, skip=not self._careful)
        if self._inverse is not None:
            scores = scores * self._inverses(range(scores.size - 1, scores.size), 0)
        if self._careful:
            refusals.note(np.asarray(~np.isfinite(scores).all()), lambda _, i: self._refusal(i))
        carried = values.weighted(softmax(scores)) if self._soft else values.mean(attended(self.weighting, scores))
        return HeadAnswer(self._output(carried), scores)

    def all(self, x: DenseStream, refusals: Refusals, *, watched: bool) -> HeadAnswer:
        """Attend from every position of every sequence, whose streams are x: (width, batch, n)."""
        batch, n = x.shape[1:]
        values = self._value(x)
        if self._uniform:
            return HeadAnswer(self._output(means_of_all(values, self.mask)), None)
        queries, keys = self._query(x), self._key(x)
        carried = np.empty((len(values), batch, n), self._dtype)
        every = np.empty((batch, n, n) if watched else (0, 0, 0), self._dtype)
        most = max(1, SCORES // max(1, batch * n))
        for start in range(0, n, most):
            part = slice(start, min(start + most, n))  # of the positions looked from
            seen = seen_from(self.mask, n, part)
            scores = products(queries[:, :, part], keys)
            if self._inverse is not None:
                scores *= self._inverses(range(part.start, part.stop), n)[:, None]
            if self._careful:
                wrong = np.zeros((batch, n), dtype=np.bool_)
                wrong[:, part] = (~np.isfinite(scores) & seen).any(axis=-1)
                refusals.note(wrong, lambda _, i: self._refusal(i))
            scores[:, ~seen] = -np.inf
            best = scores.max(axis=-1, keepdims=True)
            if self._soft:
                carried[:, :, part] = weighted(values, soft_weights(scores, best), seen)
            else:
                carried[:, :, part] = means(values, only(self.weighting, scores == best))
            if watched:
                every[:, part] = scores
        return HeadAnswer(self._output(carried), every)

    def _inverses(self, positions: range, n: int) -> DenseStream:
        """Return 1/τ at these positions of n: (positions,)."""
        if self._inverse is None:
            return np.ones(len(positions), self._dtype)
        return np.array([above / below for above, below in (self._inverse(i, n) for i in positions)], self._dtype)

    def _refusal(self, position: int) -> EngineError:
        where, dtype = f"{self._where()}, head {self._head.name!r}", self._dtype.name
        if self._soft:
            problem = f"{where}, position {position:,}: its scores are too large for {dtype}"
            return EngineError(f"{problem}: use a higher temperature or a wider dtype")
        return too_large(where, position, "a score", dtype)


def _scores(query: DenseStream, keys: DenseStream, *, skip: bool) -> DenseStream:
    """query: (d_k,), keys: (d_k, n_key) → (n_key,).

    Args:
        skip: whether components that are 0 in the query may be skipped: with finite keys they add 0 to every score.
    """
    if not len(query):
        return np.zeros(keys.shape[1], keys.dtype)
    components: Sequence[int] = range(len(query))
    if skip and len(query) > MANY:
        components = np.flatnonzero(query).tolist() or components[:1]
    scores: DenseStream = query[components[0]] * keys[components[0]]
    for component in components[1:]:
        scores += query[component] * keys[component]
    return scores


def seen_from(mask: Mask, n: int, part: slice) -> Bools:
    """Return which of n positions a head with this mask sees from each position of a part: (part, n)."""
    positions, keys = np.arange(part.start, part.stop)[:, None], np.arange(n)
    match mask:
        case "future":
            return keys <= positions
        case "past":
            return keys >= positions
        case "none":
            return np.ones((len(positions), n), dtype=np.bool_)


def products(queries: DenseStream, keys: DenseStream) -> DenseStream:
    """Return the scores: queries (d_k, batch, n_query), keys (d_k, batch, n_key) → (batch, n_query, n_key)."""
    if exact_sums(queries.dtype, len(queries), queries, keys):
        left, right = np.ascontiguousarray(queries.transpose(1, 2, 0)), np.ascontiguousarray(keys.transpose(1, 0, 2))
        found: DenseStream = np.matmul(left, right)
        return found
    if not len(queries):
        return np.zeros((*queries.shape[1:], keys.shape[2]), keys.dtype)
    scores: DenseStream = queries[0][:, :, None] * keys[0][:, None, :]
    product = np.empty_like(scores)
    for query, key in zip(queries[1:], keys[1:], strict=True):
        scores += np.multiply(query[:, :, None], key[:, None, :], out=product)
    return scores


def only(weighting: Weighting, maximal: Bools) -> Bools:
    """Return the positions attended to of those of maximal score, see `attended`: (batch, n_query, n_key) → the same."""
    if weighting not in UNIQUE:
        return maximal
    n = maximal.shape[-1]
    first = maximal.argmax(axis=-1) if weighting == "leftmost" else n - 1 - maximal[..., ::-1].argmax(axis=-1)
    found: Bools = first[..., None] == np.arange(n)
    return found


def soft_weights(scores: DenseStream, best: DenseStream) -> DenseStream:
    """Return the weights of softmax: scores (batch, n_query, n_key), -∞ where nothing is seen; best: their maxima."""
    powers = np.exp(np.ascontiguousarray(scores - best))
    found: DenseStream = powers / np.add.accumulate(powers, axis=-1)[..., -1:]
    return found


def means_of_all(values: DenseStream, mask: Mask) -> DenseStream:
    """Return the mean over all positions seen, as `means` does: values (d_v, batch, n) → the same shape."""
    n = values.shape[-1]
    if mask == "past":  # whose sums do not begin with the same terms
        return means(values, np.broadcast_to(seen_from(mask, n, slice(0, n)), (values.shape[1], n, n)))
    sums = np.add.accumulate(values, axis=-1)
    if mask == "none":
        sums = np.broadcast_to(sums[..., -1:], values.shape)
    found: DenseStream = sums / (np.arange(1, n + 1) if mask == "future" else np.full(n, n)).astype(values.dtype)
    return found


def means(values: DenseStream, attended: Bools) -> DenseStream:
    """Return the mean over the positions attended to: values (d_v, batch, n_key), attended (batch, n_query, n_key).

    Returns:
        (d_v, batch, n_query).
    """
    number = attended.sum(axis=-1, dtype=values.dtype)
    if exact_sums(values.dtype, values.shape[-1], values):
        right = np.ascontiguousarray(values.transpose(1, 2, 0))
        sums: DenseStream = np.matmul(attended.astype(values.dtype), right).transpose(2, 0, 1)
    else:
        sums = np.zeros((len(values), *attended.shape[:2]), values.dtype)
        for j in range(values.shape[-1]):
            sums += np.where(attended[None, :, :, j], values[:, :, None, j], values.dtype.type(0))
    found: DenseStream = sums / number
    return found


def weighted(values: DenseStream, weights: DenseStream, there: Bools) -> DenseStream:
    """Return the sum of values times weights: values (d_v, batch, n_key), weights (batch, n_query, n_key).

    Args:
        there: (n_query, n_key), the positions that are seen.

    Returns:
        (d_v, batch, n_query).
    """
    sums = np.zeros((len(values), *weights.shape[:2]), values.dtype)
    for j in range(values.shape[-1]):
        terms = values[:, :, None, j] * weights[None, :, :, j]
        sums += terms if there[:, j].all() else np.where(there[:, j], terms, values.dtype.type(0))
    return sums


def exact_sums(dtype: Dtype, terms: float, *factors: DenseStream) -> bool:
    """Return whether every sum of this many products of one number of each factor is an exact integer.

    Sums of integers are exact in any order while they are below 2^53 (float64), so numpy's matrix product may be used.
    """
    largest = float(terms)
    for factor in factors:
        largest *= float(np.abs(factor).max(initial=0.0))
    if not largest * EPSILON[dtype] < 1:
        return False
    return all(bool((factor == np.rint(factor)).all()) for factor in factors)
