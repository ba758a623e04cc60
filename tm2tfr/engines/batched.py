"""The arithmetic of the dense engine for many sequences of one length at once: every number is rounded as it is there.

Streams are (width, batch, n): one row per direction, so that the k-th entry of a row of a matrix is added to all positions
of all sequences in one operation. Sums run in the order of the dense engine: those of a row of a matrix by column, those of
a score by component, those over attended positions by position. Where all terms are integers so small that every sum of
them is exact, the order does not matter, and matrix products of numpy take their place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.engines.dense_parts import selected
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import FeedForward, Head, Mask, Norm

Stack = NDArray[Any]
"""(rows, batch, n): a number for each row, sequence and position."""


class Wrong:
    """Which sequences of a batch have a number that the dense engine refuses.

    Args:
        careful: whether a number can get too large for the dtype at all.
    """

    def __init__(self, batch: int, *, careful: bool) -> None:
        self._careful, self.sequences = careful, np.zeros(batch, dtype=np.bool_)

    def note(self, numbers: Stack, axis: int) -> None:
        """Note the sequences, which the batch has along `axis`, with an infinite number or NaN."""
        if self._careful:
            others = tuple(other for other in range(numbers.ndim) if other != axis)
            self.sequences |= ~np.isfinite(numbers).all(axis=others)

    def refuse(self, sequences: NDArray[np.bool_]) -> None:
        """Note these sequences: (batch,)."""
        self.sequences |= sequences


class RowByRow:
    """A sparse matrix that is added to a batch row by row, each row from its first entry to its last."""

    def __init__(self, matrix: Matrix, dtype: np.dtype[Any]) -> None:
        self.shape, self._dtype = matrix.shape, dtype
        self._entries: list[tuple[int, list[tuple[int, Any]]]] = []
        values = matrix.values.astype(dtype)
        for row, column, value in zip(matrix.rows.tolist(), matrix.columns.tolist(), values, strict=True):
            if not self._entries or self._entries[-1][0] != row:
                self._entries.append((row, []))
            self._entries[-1][1].append((column, None if value == 1 else value))

    def rows(self, x: Stack) -> Iterator[tuple[int, Stack]]:
        """Yield each row that is not 0, with its product with x, (columns, batch, n): (batch, n), to be used at once."""
        total, product = np.empty(x.shape[1:], self._dtype), np.empty(x.shape[1:], self._dtype)
        for row, entries in self._entries:
            column, value = entries[0]
            found = x[column] if value is None else np.multiply(x[column], value, out=total)
            for column, value in entries[1:]:
                if value == -1:
                    found = np.subtract(found, x[column], out=total)
                    continue
                term = x[column] if value is None else np.multiply(x[column], value, out=product)
                found = np.add(found, term, out=total)
            yield row, found

    def add_to(self, y: Stack, x: Stack) -> None:
        """Add the product with x, (columns, batch, n), to y, (rows, batch, n), in place."""
        for row, total in self.rows(x):
            y[row] += total

    def times(self, x: Stack) -> Stack:
        """Return the product with x, (columns, batch, n): (rows, batch, n)."""
        y = np.zeros((self.shape[0], *x.shape[1:]), self._dtype)
        for row, total in self.rows(x):
            y[row] = total
        return y


def constants(matrix: Matrix, dtype: np.dtype[Any]) -> Stack:
    """Return a column as a batch for every sequence and position: (rows, 1, 1)."""
    return matrix.dense(dtype).reshape(-1, 1, 1)


class HeadOf:
    """A head, of which everything is computed at once."""

    def __init__(self, head: Head, dtype: np.dtype[Any]) -> None:
        both = head.components
        self._query, self._key = (RowByRow(selected(m, both), dtype) for m in (head.query, head.key))
        carried = np.intersect1d(head.value.rows, head.output.columns)  # other values are not written, or 0
        self._value = RowByRow(selected(head.value, carried), dtype)
        self._output = RowByRow(selected(head.output.transposed, carried).transposed, dtype)
        self._soft, self._mask, self._dtype = head.weighting == "softmax", head.mask, dtype

    def answers(self, x: Stack, wrong: Wrong) -> list[tuple[int, Stack]]:
        """Return what the head adds, by row of the stream: (batch, n) each."""
        n = x.shape[-1]
        values = self._value.times(x)
        there = seen_from(self._mask, n)
        if not self._query.shape[0]:
            carried = means(values, np.broadcast_to(there, (x.shape[1], n, n)))
        else:
            scores = products(self._query.times(x), self._key.times(x))
            wrong.note(scores if there.all() else np.where(there, scores, 0), 0)
            scores[:, ~there] = -np.inf
            best = scores.max(axis=-1, keepdims=True)
            soft = self._soft
            carried = weighted(values, soft_weights(scores, best), there) if soft else means(values, scores == best)
        return [(row, total.copy()) for row, total in self._output.rows(carried)]


def seen_from(mask: Mask, n: int) -> NDArray[np.bool_]:
    """Return which positions a head with this mask sees: (n, n), from each position along the first axis."""
    everything = np.ones((n, n), dtype=np.bool_)
    return {"future": np.tril(everything), "past": np.triu(everything), "none": everything}[mask]


def products(queries: Stack, keys: Stack) -> Stack:
    """Return the scores: queries, keys (d_k, batch, n) → (batch, n_query, n_key)."""
    if _exact(queries.dtype, len(queries), queries, keys):
        left, right = np.ascontiguousarray(queries.transpose(1, 2, 0)), np.ascontiguousarray(keys.transpose(1, 0, 2))
        found: Stack = np.matmul(left, right)
        return found
    scores: Stack = queries[0][:, :, None] * keys[0][:, None, :]
    product = np.empty_like(scores)
    for query, key in zip(queries[1:], keys[1:], strict=True):
        scores += np.multiply(query[:, :, None], key[:, None, :], out=product)
    return scores


def soft_weights(scores: Stack, best: Stack) -> Stack:
    """Return the weights of softmax: scores (batch, n_query, n_key), -∞ where nothing is seen; best: their maxima."""
    powers = np.exp(np.ascontiguousarray(scores - best))
    found: Stack = powers / np.add.accumulate(powers, axis=-1)[..., -1:]
    return found


def means(values: Stack, attended: NDArray[np.bool_]) -> Stack:
    """Return the mean over the positions attended to: values (d_v, batch, n_key), attended (batch, n_query, n_key).

    Returns:
        (d_v, batch, n_query).
    """
    number = attended.sum(axis=-1, dtype=values.dtype)
    if _exact(values.dtype, values.shape[-1], values):
        right = np.ascontiguousarray(values.transpose(1, 2, 0))
        sums: Stack = np.matmul(attended.astype(values.dtype), right).transpose(2, 0, 1)
    else:
        sums = np.zeros((len(values), *attended.shape[:2]), values.dtype)
        for j in range(values.shape[-1]):
            sums += np.where(attended[None, :, :, j], values[:, :, None, j], values.dtype.type(0))
    found: Stack = sums / number
    return found


def weighted(values: Stack, weights: Stack, there: NDArray[np.bool_]) -> Stack:
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


def _exact(dtype: np.dtype[Any], terms: int, *factors: Stack) -> bool:
    """Return whether every sum of that many products of one number of each factor is an exact integer."""
    largest = float(terms)
    for factor in factors:
        largest *= float(np.abs(factor).max(initial=0.0))
    if not largest < 1 / np.finfo(dtype).eps:
        return False
    return all(bool((factor == np.rint(factor)).all()) for factor in factors)


class HiddenOf:
    """A feed-forward part."""

    def __init__(self, layer: FeedForward, dtype: np.dtype[Any]) -> None:
        self._input, self._output = RowByRow(layer.input, dtype), RowByRow(layer.output, dtype)
        self._hidden, self._bias = constants(layer.input_bias, dtype), constants(layer.output_bias, dtype)
        self._biased = layer.output_bias.rows
        self._writes = np.unique(layer.output.columns)
        self._alone = np.setdiff1d(np.arange(layer.input.shape[0]), layer.input.rows)
        """The units that read nothing."""

    def add_to(self, x: Stack, reads: Stack, wrong: Wrong) -> None:
        """Add the answer to x, in place."""
        hidden = np.empty((len(self._hidden), *x.shape[1:]), dtype=x.dtype)
        hidden[self._alone] = self._hidden[self._alone]
        for row, total in self._input.rows(reads):
            np.add(total, self._hidden[row, 0, 0], out=hidden[row])
        wrong.note(hidden[self._writes], 1)
        np.maximum(hidden, 0, out=hidden)
        self._output.add_to(x, hidden)
        x[self._biased] += self._bias[self._biased]


class NormOf:
    """A layer norm; see `tm2tfr.engines.dense_parts`."""

    def __init__(self, norm: Norm, dtype: np.dtype[Any]) -> None:
        self._gain, self._bias = constants(norm.gain, dtype), constants(norm.bias, dtype)
        self._epsilon = dtype.type(norm.epsilon)

    def of(self, x: Stack, wrong: Wrong) -> Stack:
        """Return what is read from the stream."""
        if not len(x):
            return x
        width = x.dtype.type(len(x))
        centred = x - np.add.accumulate(x, axis=0)[-1] / width
        root = np.sqrt(np.add.accumulate(centred * centred, axis=0)[-1] / width + self._epsilon)
        wrong.refuse(~((root > 0) & (root < np.inf)).all(axis=-1))
        normalised: Stack = self._gain * (centred / root) + self._bias
        return normalised
