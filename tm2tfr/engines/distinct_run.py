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
from tm2tfr.engines.distinct import KEPT_NUMBERS, NONE, ColumnCodes, ColumnMap, Joined, LastResult, compressed, joined_codes
from tm2tfr.engines.distinct_heads import BatchAttention
from tm2tfr.transformer.matrix import AnyArray, Dtype, Ints

NO_CODES = ColumnCodes(NONE, 0)


class Held(NamedTuple):
    """Some directions: which column there is at each place, as the number of codes, and columns: (rows, columns)."""

    coded: int
    table: DenseStream


class TokenGrid(NamedTuple):
    """Codes that depend on token and position alone: (tokens, n), and their number."""

    codes: Ints
    size: int

    by_token: bool
    by_position: bool

    @classmethod
    def of(cls, codes: Ints, size: int) -> TokenGrid:
        """Return it with the dependences of the codes."""
        return cls(codes, size, bool((codes != codes[:1]).any()), bool((codes != codes[:, :1]).any()))

    def at(self, tokens: Ints) -> ColumnCodes:
        """Return them at tokens (n, batch)."""
        if not self.by_token:
            return ColumnCodes(self.codes[:1, :].T if self.by_position else self.codes[:1, :1], self.size)
        if not self.by_position:
            return ColumnCodes(self.codes[:, 0].take(tokens), self.size)
        n = len(tokens)
        return ColumnCodes(self.codes.ravel().take(tokens * n + np.arange(n)[:, None]), self.size)


class ColumnRun:
    """A batch on its way: tokens (n, batch), the groups of directions, and the codes of each.

    Args:
        grids: the first codes; groups: those that depend on token and position alone, by number.
        last: the combinations of codes in the last run, which are replaced by those of this one.
    """

    def __init__(
        self, tokens: Ints, grids: Sequence[TokenGrid], groups: Sequence[Held | None], last: dict[tuple[int, ...], Joined]
    ) -> None:
        self.batch, self._tokens, self._grids = tokens.shape[1], tokens, grids
        self._codes: list[ColumnCodes | None] = [None] * len(grids)
        self._joined, self._last = dict[tuple[int, ...], tuple[int, tuple[Ints, ...]]](), last
        self._groups = list(groups)

    def codes(self, number: int) -> ColumnCodes:
        """Return codes by number."""
        found = self._codes[number]
        if found is None:
            found = self._codes[number] = self._grids[number].at(self._tokens)
        return found

    def new(self, coded: ColumnCodes) -> int:
        """Return the number of new codes."""
        self._codes.append(coded)
        return len(self._codes) - 1

    def joined(self, numbers: tuple[int, ...]) -> tuple[int, tuple[Ints, ...]]:
        """Return the number of the codes of combinations, and of each combination the column of each part."""
        found = self._joined.get(numbers)
        if found is None:
            whole = joined_codes([self.codes(number) for number in numbers], self._last.get(numbers))
            if whole.coded.size <= KEPT_NUMBERS:
                self._last[numbers] = whole._replace(coded=NO_CODES)
            found = self._joined[numbers] = self.new(whole.coded), whole.of
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


ColumnStep = Callable[[ColumnRun], None]
"""A part of a forward pass: it makes groups of groups."""


class Reads:
    """What a matrix reads: the group, rows of its table, and the places of these among what is read, of each piece."""

    def __init__(self, size: int, pieces: Sequence[tuple[int, Ints, Ints]], dtype: Dtype) -> None:
        self._size, self._pieces, self._dtype = size, pieces, dtype
        self._whole, self._parts = LastResult(self._alone), LastResult(self._combined)

    def of(self, run: ColumnRun) -> Held:
        """Return it in a run: (size, columns)."""
        held = [run.held(group) for group, _, _ in self._pieces]
        numbers = tuple(sorted({each.coded for each in held})) or (0,)
        if len(numbers) == 1:
            return Held(numbers[0], self._whole(*(table for _, table in held)))
        whole, of = run.joined(numbers)
        parts = [of[numbers.index(coded)] for coded, _ in held]
        return Held(whole, self._parts(*(table for _, table in held), *parts))

    def _alone(self, *tables: DenseStream) -> DenseStream:
        x = np.zeros((self._size, tables[0].shape[1] if tables else 1), self._dtype)
        for (_, source, target), table in zip(self._pieces, tables, strict=True):
            x[target] = table[source]
        return x

    def _combined(self, *arrays: AnyArray) -> DenseStream:
        tables, parts = arrays[: len(self._pieces)], arrays[len(self._pieces) :]
        x = np.zeros((self._size, len(parts[0])), self._dtype)
        for (_, source, target), table, part in zip(self._pieces, tables, parts, strict=True):
            x[target] = table[source[:, None], part]
        return x


class AffineReads:
    """A linear map with a bias, ``matrix · x + bias``, of what it reads.

    Args:
        bias: (rows, 1).
    """

    def __init__(self, reads: Reads, matrix: ColumnMap, bias: DenseStream) -> None:
        self.reads, self._matrix, self._bias = reads, matrix, bias
        self._on = LastResult(self.on)

    def on(self, x: DenseStream) -> DenseStream:
        """x: (reads, columns) → (rows, columns)."""
        y: DenseStream = np.repeat(self._bias, x.shape[1], axis=1)
        y[self._matrix.rows] += self._matrix(x)  # one addition: the sum is the same in either order
        return y

    def of(self, run: ColumnRun) -> Held:
        """Return it in a run."""
        coded, x = self.reads.of(run)
        return Held(coded, self._on(x))


class LinearOf:
    """A linear map of what it reads, compressed: a query, a key or a value."""

    def __init__(self, reads: Reads, matrix: ColumnMap) -> None:
        self._reads, self._on = reads, LastResult(lambda x: compressed(matrix(x)))

    def of(self, run: ColumnRun) -> tuple[ColumnCodes, DenseStream]:
        """Return which column there is at each place, and the columns."""
        coded, x = self._reads.of(run)
        found = self._on(x)
        return found.at(run.codes(coded)), found.table


class FeedForwardStep:
    """Rows that a feed-forward layer writes, all by the same groups: they become a group."""

    def __init__(self, hidden: AffineReads, output: ColumnMap, group: int) -> None:
        self._hidden, self._output, self.group = hidden, output, group
        self._read, self._on = LastResult(compressed), LastResult(lambda x: compressed(self.on(x)))

    def on(self, x: DenseStream) -> DenseStream:
        """x: (reads, columns) → (rows, columns)."""
        return self._output(np.maximum(self._hidden.on(x), 0)[self._output.reads])

    def __call__(self, run: ColumnRun) -> None:
        number, x = self._hidden.reads.of(run)
        reads = self._read(x)
        found = self._on(reads.table)
        coded = found.at(reads.at(run.codes(number)))
        run.hold(self.group, Held(run.new(coded), found.table))


class HeadStep:
    """A head: what it writes becomes a group.

    Args:
        query, key: None if all its scores are 0.
    """

    def __init__(
        self,
        attention: BatchAttention,
        scored: tuple[LinearOf, LinearOf] | None,
        value: LinearOf,
        output: ColumnMap,
        group: int,
    ) -> None:
        self._attention, self._scored, self._value, self.group = attention, scored, value, group
        self._output = LastResult(output)

    def __call__(self, run: ColumnRun) -> None:
        values = self._value.of(run)
        if self._scored is None:
            coded, table = self._attention.everywhere(*values, run.batch)
        else:
            query, key = self._scored
            coded, table = self._attention.means(*values, self._attention.attended(query.of(run), key.of(run)))
        run.hold(self.group, Held(run.new(coded), self._output(table)))


class WriteStep:
    """Rows of a group added to rows of the stream, and then a bias: these become a group.

    Args:
        home: the group of the rows of the stream; None: they are the same everywhere, `base`, (rows, 1).
        source: their places in the table of that group.
        by: the group that is added; None: there is only the bias, (rows, 1); added: the places of the rows in its table.
    """

    def __init__(
        self,
        home: int | None,
        source: Ints,
        base: DenseStream,
        by: int | None,
        added: Ints,
        bias: DenseStream,
        group: int,
    ) -> None:
        self._home, self._by, self.group = home, by, group
        self._alone = LastResult(lambda before: before[source] + bias)
        self._on_base = LastResult(lambda after: base + after[added] + bias)
        self._same = LastResult(lambda before, after: before[source] + after[added] + bias)
        self._joined = LastResult(
            lambda before, after, first, second: before[source[:, None], first] + after[added[:, None], second] + bias
        )

    def __call__(self, run: ColumnRun) -> None:
        home = None if self._home is None else run.held(self._home)
        by = None if self._by is None else run.held(self._by)
        if home is not None and by is not None and home.coded != by.coded:
            coded, of = run.joined((home.coded, by.coded))
            held = Held(coded, self._joined(home.table, by.table, *of))
        elif home is not None and by is not None:
            held = Held(home.coded, self._same(home.table, by.table))
        elif home is not None:
            held = Held(home.coded, self._alone(home.table))
        elif by is not None:
            held = Held(by.coded, self._on_base(by.table))
        else:
            raise ValueError("nothing is written")
        run.hold(self.group, held)
