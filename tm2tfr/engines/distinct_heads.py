"""Heads of a batch with few different query, key and value columns: the positions attended to, and the means.

Scores are compared by their places in the sorted list of all scores of a query column with a key column. Sums of values
that are exact integers are packed into one whole number, from which equal results are told.
"""

from __future__ import annotations

import numpy as np

from tm2tfr.base.choices import UNIQUE, Weighting
from tm2tfr.engines.dense_heads import exact_sums, means, means_of_all, products, seen_from
from tm2tfr.engines.dense_parts import Bools, DenseStream
from tm2tfr.engines.distinct import NONE, ColumnCodes, LastResult, joined_codes, numbered_keys
from tm2tfr.transformer.matrix import AnyArray, Dtype, Ints
from tm2tfr.transformer.weights import Mask

MOST_PAIRS = 2**20
"""The most pairs of positions that are looked at at once, where one query position does not have more."""
KEYS = 2**62
"""Packed sums stay below this."""


class BatchAttention:
    """How a head attends, and what it carries away, in batches of sequences of n tokens."""

    def __init__(self, mask: Mask, weighting: Weighting, n: int) -> None:
        self._mask, self._weighting, self._n = mask, weighting, n
        self._packed, self._ranks = LastResult(self._pack), LastResult(_ranks)

    def _pack(self, table: DenseStream) -> list[_Packed] | None:
        """Return values, (d_v, columns), packed into as few numbers as hold them; None if sums are inexact or too large."""
        if not exact_sums(table.dtype, self._n, table):
            return None
        spans, n = (table.max(axis=1) - table.min(axis=1)).tolist(), self._n
        found, start, size = list[_Packed](), 0, n + 1
        for place, span in enumerate(spans):
            radix = n * int(span) + 1
            if (n + 1) * radix > KEYS:
                return None
            if size * radix > KEYS and place > start:
                found.append(_Packed(table[start:place], n))
                start, size = place, n + 1
            size *= radix
        return [*found, _Packed(table[start:], n)]

    def everywhere(self, values: ColumnCodes, table: DenseStream, batch: int) -> tuple[ColumnCodes, DenseStream]:
        """Return the mean over all positions seen, as codes and columns: values with their columns, (d_v, columns)."""
        n, parts = self._n, list[tuple[ColumnCodes, DenseStream]]()
        packs = self._packed(table)
        if packs is None:
            return _apart(means_of_all(table[:, np.broadcast_to(values.places, (n, batch)).T], self._mask))
        for packed in packs:
            terms = packed.numbers.take(values.places)
            if len(terms) < n:
                terms = np.broadcast_to(terms, (n, terms.shape[1]))
            match self._mask:
                case "none":
                    keys = np.add.reduce(terms, axis=0, keepdims=True)
                case "future":
                    keys = np.add.accumulate(terms, axis=0)
                case "past":
                    keys = np.add.accumulate(terms[::-1], axis=0)[::-1]
            parts.append(packed.means(keys))
        return _together(parts)

    def attended(self, queries: tuple[ColumnCodes, DenseStream], keys: tuple[ColumnCodes, DenseStream]) -> Bools:
        """Return the keys attended to: codes and columns, (d_k, columns), of both → (n_key, n_query or 1, batch or 1)."""
        (query, q), (key, k), n, mask = queries, keys, self._n, self._mask
        at = query.places if mask == "none" else np.broadcast_to(query.places, (n, query.places.shape[1]))
        looked = np.broadcast_to(key.places, (n, key.places.shape[1]))
        batch = max(at.shape[1], looked.shape[1])
        ranks = self._ranks(q, k) if query.size * key.size <= 2 * batch * n * n else None
        step, parts = max(1, MOST_PAIRS // (batch * n)), list[Bools]()
        for start in range(0, len(at), step):
            part = slice(start, min(start + step, len(at)))
            if ranks is None:
                there = np.broadcast_to(at[part], (part.stop - start, batch)), np.broadcast_to(looked, (n, batch))
                scores = products(q[:, there[0].T], k[:, there[1].T]).transpose(2, 1, 0)
            else:
                scores = ranks.take(looked[:, None] + at[part] * key.size)
            if mask != "none":
                scores = np.where(seen_from(mask, n, part).T[:, :, None], scores, -np.inf if ranks is None else 0)
            parts.append(_only(self._weighting, scores == scores.max(axis=0)))
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def means(self, values: ColumnCodes, table: DenseStream, attended: Bools) -> tuple[ColumnCodes, DenseStream]:
        """Return the means of the values attended to, as codes and columns: see `attended`."""
        n, queries, batch = attended.shape
        packs = self._packed(table)
        if packs is None:
            batch = max(values.places.shape[1], batch)
            there = np.broadcast_to(attended.transpose(2, 1, 0), (batch, queries, n))
            return _apart(means(table[:, np.broadcast_to(values.places, (n, batch)).T], there))
        counts = np.add.reduce(attended, axis=0, dtype=np.min_scalar_type(n))
        if counts.max() == 1:
            return ColumnCodes(_sums(attended, values.places, values.size), values.size), table
        found = [(packed, _sums(attended, packed.numbers.take(values.places), packed.size)) for packed in packs]
        return _together([packed.means(keys) for packed, keys in found])


def _sums(attended: Bools, terms: Ints, size: int) -> Ints:
    """Return the sums of terms, (n or 1, batch or 1), over the keys attended to; size: above all of them."""
    dtype: Dtype = np.dtype(np.int32 if size < 2**31 else np.int64)  # `np.where` takes three times as long
    found: Ints = np.add.reduce(attended.astype(dtype) * terms.astype(dtype)[:, None], axis=0, dtype=dtype).astype(np.int64)
    return found


class _Packed:
    """Values as whole numbers, whose sums over positions are packed sums of values, with their number.

    Args:
        table: (d_v, columns) integers.
        n: the most positions in a sum.
    """

    def __init__(self, table: AnyArray, n: int) -> None:
        self._dtype, self._n = table.dtype, n
        values = table.astype(np.int64)
        self._least = values.min(axis=1, keepdims=True)
        values -= self._least
        self._sizes, self.size = (n * values.max(axis=1) + 1).tolist(), n + 1
        self.numbers = np.ones(table.shape[1], dtype=np.int64)
        for row, size in zip(values, self._sizes, strict=True):
            self.numbers += row * self.size
            self.size *= size
        self._last, self._means = NONE, LastResult(self._of)

    def means(self, keys: Ints) -> tuple[ColumnCodes, DenseStream]:
        """Return what sums of `numbers` stand for, as codes and columns of means."""
        coded, found = numbered_keys(keys, self.size, self._last)
        self._last = found  # other threads may write here
        return coded, self._means(found)

    def _of(self, found: Ints) -> DenseStream:
        rest, number = np.divmod(found, self._n + 1)
        sums = np.empty((len(self._sizes), len(found)), dtype=np.int64)
        for place, size in enumerate(self._sizes):
            rest, sums[place] = np.divmod(rest, size)
        sums += self._least * number
        mean: DenseStream = sums.astype(self._dtype) / number.astype(self._dtype)
        return mean


def _together(parts: list[tuple[ColumnCodes, DenseStream]]) -> tuple[ColumnCodes, DenseStream]:
    """Return several rows of columns as one table."""
    if len(parts) == 1:
        return parts[0]
    whole = joined_codes([coded for coded, _ in parts])
    return whole.coded, np.concatenate([table[:, own] for own, (_, table) in zip(whole.of, parts, strict=True)])


def _apart(found: DenseStream) -> tuple[ColumnCodes, DenseStream]:
    """Return columns at places, (rows, batch, n), as columns of their own."""
    places = found.shape[1:]
    number = places[0] * places[1]
    return ColumnCodes(np.arange(number).reshape(places).T, number), found.reshape(len(found), number)


def _ranks(queries: DenseStream, keys: DenseStream) -> AnyArray:
    """Return the place of each score among all in increasing order, from 1: (d_k, columns) each → (queries · keys,)."""
    found, places = np.unique(products(queries[:, None], keys[:, None]), return_inverse=True)
    return (places.reshape(-1) + 1).astype(np.min_scalar_type(len(found) + 1))


def _only(weighting: Weighting, maximal: Bools) -> Bools:
    """Return the keys attended to of those of maximal score: (n_key, n_query or 1, batch or 1) → the same."""
    if weighting not in UNIQUE:
        return maximal
    n = len(maximal)
    first = maximal.argmax(axis=0) if weighting == "leftmost" else n - 1 - maximal[::-1].argmax(axis=0)
    found: Bools = np.arange(n)[:, None, None] == first
    return found
