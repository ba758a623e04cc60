"""Batches in the arithmetic of the dense engine, each different column of numbers computed once.

Most places of a batch are alike: what a feed-forward layer reads, a token and a count, say, is the same at many of them. So
directions are grouped by what they depend on, and a group is a small table of different columns and, at each place, the
number of a column. Layers compute on tables; only heads look at places, to find the keys of maximal score. All of it
follows from the weights: from which directions a matrix reads, and which it writes.

The arithmetic is that of `tm2tfr.engines.dense`, sum by sum. Weights with layer norms, loops, softmax or temperatures, or
that can lead to numbers that are too large, are not run this way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tm2tfr.engines.dense_parts import DenseStream
from tm2tfr.engines.distinct import Coded, ColumnMap, compressed, joined_codes
from tm2tfr.engines.distinct_heads import attended_keys, attended_means, mean_of_all
from tm2tfr.transformer.matrix import Dtype, Ints
from tm2tfr.transformer.weights import Head


class Held(NamedTuple):
    """Some directions: which column there is at each place, as the number of codes, and columns: (rows, columns)."""

    coded: int
    table: DenseStream


class Grid(NamedTuple):
    """Codes that depend on token and position alone: (tokens, n), and their number."""

    codes: Ints
    size: int

    by_token: bool
    by_position: bool

    @classmethod
    def of(cls, codes: Ints, size: int) -> Grid:
        """Return it with what the codes depend on."""
        return cls(codes, size, bool((codes != codes[:1]).any()), bool((codes != codes[:, :1]).any()))

    def at(self, tokens: Ints) -> Coded:
        """Return them at tokens (n, batch)."""
        if not self.by_token:
            return Coded(self.codes[:1, :].T if self.by_position else self.codes[:1, :1], self.size)
        if not self.by_position:
            return Coded(self.codes[:, 0].take(tokens), self.size)
        n = len(tokens)
        return Coded(self.codes.ravel().take(tokens * n + np.arange(n)[:, None]), self.size)


class ColumnRun:
    """A batch on its way: tokens (n, batch), the groups of directions, and the codes of each.

    Args:
        grids: the first codes; groups: those that depend on token and position alone, by number.
    """

    def __init__(self, tokens: Ints, grids: Sequence[Grid], groups: Sequence[Held | None]) -> None:
        self.shape, self._tokens, self._grids = (len(tokens), tokens.shape[1]), tokens, grids
        self._codes: list[Coded | None] = [None] * len(grids)
        self._joined = dict[tuple[int, ...], tuple[int, list[Ints]]]()
        self._groups = list(groups)

    def codes(self, number: int) -> Coded:
        """Return codes by number."""
        found = self._codes[number]
        if found is None:
            found = self._codes[number] = self._grids[number].at(self._tokens)
        return found

    def new(self, coded: Coded) -> int:
        """Return the number of new codes."""
        self._codes.append(coded)
        return len(self._codes) - 1

    def joined(self, numbers: tuple[int, ...]) -> tuple[int, list[Ints]]:
        """Return the number of the codes of combinations, and of each combination the column of each part."""
        found = self._joined.get(numbers)
        if found is None:
            whole, of = joined_codes([self.codes(number) for number in numbers])
            found = self._joined[numbers] = self.new(whole), of
        return found

    def held(self, group: int) -> Held:
        """Return a group."""
        found = self._groups[group]
        if found is None:
            raise KeyError(group)
        return found

    def hold(self, group: int, held: Held) -> None:
        """Keep a new group."""
        self._groups[group] = held


Step = Callable[[ColumnRun], None]
"""A part of a forward pass: it makes groups of groups."""


class Reads(NamedTuple):
    """What a matrix reads: the group, rows of its table, and the places of these among what is read, of each piece."""

    size: int
    pieces: tuple[tuple[int, Ints, Ints], ...]

    def of(self, run: ColumnRun, dtype: Dtype) -> Held:
        """Return it in a run: (size, columns)."""
        held = [run.held(group) for group, _, _ in self.pieces]
        numbers = tuple(sorted({each.coded for each in held})) or (0,)
        whole, of = run.joined(numbers) if len(numbers) > 1 else (numbers[0], [])
        x = np.zeros((self.size, run.codes(whole).size), dtype)
        for (_, source, target), (coded, table) in zip(self.pieces, held, strict=True):
            x[target] = table[source[:, None], of[numbers.index(coded)]] if of else table[source]
        return Held(whole, x)


class Affine:
    """A linear map with a bias: ``matrix · x + bias``.

    Args:
        bias: (rows, 1).
    """

    def __init__(self, reads: Reads, matrix: ColumnMap, bias: DenseStream) -> None:
        self._reads, self._matrix, self._bias = reads, matrix, bias

    def on(self, x: DenseStream) -> DenseStream:
        """x: (reads, columns) → (rows, columns)."""
        y: DenseStream = np.repeat(self._bias, x.shape[1], axis=1)
        y[self._matrix.rows] += self._matrix(x)  # one addition: the sum is the same in either order
        return y

    def of(self, run: ColumnRun) -> Held:
        """Return it in a run."""
        coded, x = self._reads.of(run, self._bias.dtype)
        return Held(coded, self.on(x))


class LinearOf:
    """A linear map of what it reads, compressed: a query, a key or a value."""

    def __init__(self, reads: Reads, matrix: ColumnMap, dtype: Dtype) -> None:
        self._reads, self._matrix, self._dtype = reads, matrix, dtype

    def of(self, run: ColumnRun) -> tuple[Coded, DenseStream]:
        """Return which column there is at each place, and the columns."""
        coded, x = self._reads.of(run, self._dtype)
        return compressed(run.codes(coded), self._matrix(x))


class FeedForwardStep:
    """Rows that a feed-forward layer writes, all by the same groups: they become a group."""

    def __init__(self, hidden: Affine, output: ColumnMap, group: int) -> None:
        self._hidden, self._output, self._group = hidden, output, group

    def __call__(self, run: ColumnRun) -> None:
        coded, hidden = self._hidden.of(run)
        before = run.codes(coded)
        after, table = compressed(before, written(hidden, self._output))
        run.hold(self._group, Held(coded if after is before else run.new(after), table))


def written(hidden: DenseStream, output: ColumnMap) -> DenseStream:
    """Return what hidden units write: their sums (units, columns) → (rows, columns)."""
    return output(np.maximum(hidden, 0)[output.reads])


class HeadStep:
    """A head: what it writes becomes a group.

    Args:
        query, key: None if all its scores are 0.
    """

    def __init__(
        self, head: Head, query: LinearOf | None, key: LinearOf | None, value: LinearOf, output: ColumnMap, group: int
    ) -> None:
        self._head, self._query, self._key, self._value = head, query, key, value
        self._output, self._group = output, group

    def __call__(self, run: ColumnRun) -> None:
        head, values = self._head, self._value.of(run)
        if self._query is None or self._key is None:
            coded, table = mean_of_all(*values, head.mask, run.shape)
        else:
            query, key = self._query.of(run), self._key.of(run)
            coded, table = attended_means(*values, attended_keys(query, key, head.mask, head.weighting, run.shape[0]))
        run.hold(self._group, Held(run.new(coded), self._output(table)))


class WriteStep(NamedTuple):
    """Rows of a group added to rows of the stream, and then a bias: these become a group.

    Args:
        home: the group of the rows of the stream; None: they are the same everywhere, `base`, (rows, 1).
        source: their places in the table of that group.
        by: the group that is added; None: there is only the bias, (rows, 1); added: the places of the rows in its table.
    """

    home: int | None
    source: Ints
    base: DenseStream
    by: int | None
    added: Ints
    bias: DenseStream
    group: int

    def __call__(self, run: ColumnRun) -> None:
        coded, before = (-1, self.base) if self.home is None else run.held(self.home)
        before = before if self.home is None else before[self.source]
        if self.by is not None:
            other, after = run.held(self.by)
            after = after[self.added]
            if self.home is None or coded == other:
                coded, before = other, before + after
            else:
                coded, (first, second) = run.joined((coded, other))
                before = before[:, first] + after[:, second]
        run.hold(self.group, Held(coded, before + self.bias))
