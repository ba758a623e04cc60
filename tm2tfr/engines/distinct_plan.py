"""Which directions of some weights depend on the same things, and the steps of a forward pass by such groups.

Directions that depend on token and position alone are computed for all pairs of these when the plan is made; the others
belong to one group each, see `tm2tfr.engines.distinct_run`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from tm2tfr.engines.dense_parts import Bools, DenseStream
from tm2tfr.engines.distinct import ColumnMap, Joined, LastResult, distinct_columns
from tm2tfr.engines.distinct_heads import BatchAttention
from tm2tfr.engines.distinct_run import (
    AffineReads,
    ColumnRun,
    ColumnStep,
    FeedForwardStep,
    HeadStep,
    Held,
    LinearOf,
    Reads,
    TokenGrid,
    WriteStep,
)
from tm2tfr.engines.passed import PassedBatch, SectionLogits, logit_sections
from tm2tfr.transformer.matrix import AnyArray, Dtype, Ints, Matrix
from tm2tfr.transformer.weights import Decoder, FeedForward, Head, Layer

FEW, GRID = 64, 2**16
"""There are plans for at least `FEW` places, and at most `GRID` pairs of token and position."""
LENGTHS = 16
"""The number of lengths with cached plans."""
PLACES, PAIRS = 2**16, 2**19
"""The number of places of a block, and of pairs of positions of a sequence."""
EVERYWHERE, STILL = -2, -1
"""In place of the number of a group: a direction is the same at all places; it depends on token and position alone."""
KINDS = 60
"""The most kinds of directions that are distinguished in the input of a layer."""


class ColumnMaps:
    """The matrices of a decoder as plans use them, whatever the length: each is made once."""

    def __init__(self, decoder: Decoder, dtype: Dtype) -> None:
        self.decoder, self.dtype = decoder, dtype
        self._made = dict[tuple[object, ...], ColumnMap]()

    def of(self, matrix: Matrix, rows: Ints | None = None, columns: Ints | None = None) -> ColumnMap:
        """Return the map of some rows of a matrix, in terms of all its columns or of some."""
        key = id(matrix), None if rows is None else rows.tobytes(), None if columns is None else columns.tobytes()
        if key not in self._made:
            part = matrix if rows is None else matrix.selected(rows)
            part = part if columns is None else part.transposed.selected(columns).transposed
            self._made[key] = ColumnMap(part, self.dtype)
        return self._made[key]


class ColumnPlans:
    """The plans of a decoder, by the length of sequences.

    Args:
        embedded: tokens (tokens, n) → the stream after the embedding: (width, tokens, n).
    """

    def __init__(self, decoder: Decoder, dtype: Dtype, embedded: Callable[[Ints], DenseStream]) -> None:
        self._maps, self._embedded, self._plans = ColumnMaps(decoder, dtype), embedded, dict[int, ColumnPlan]()

    def of(self, tokens: Ints) -> ColumnPlan | None:
        """Return the plan of sequences like these, (batch, n); None if they are better run place by place."""
        n, many = tokens.shape[1], len(self._maps.decoder.vocabulary)
        if tokens.size < FEW or n * many > GRID:
            return None
        found = self._plans.get(n)
        if found is None:
            if len(self._plans) >= LENGTHS:
                self._plans.clear()
            grid = np.repeat(np.arange(many)[:, None], n, axis=1)
            found = self._plans[n] = ColumnPlan(self._maps, self._embedded(grid))
        return found


class ColumnPlan:
    """The steps of a forward pass on sequences of n tokens.

    Args:
        maps: the matrices of the decoder.
        embedded: the stream after the embedding at every token and position: (width, tokens, n); it is overwritten.
    """

    def __init__(self, maps: ColumnMaps, embedded: DenseStream) -> None:
        (width, tokens, n), decoder = embedded.shape, maps.decoder
        self._maps, self._dtype, self._shape = maps, maps.dtype, (tokens, n)
        self._still = embedded.reshape(width, tokens * n)
        self._home, self._place = np.full(width, STILL), np.zeros(width, dtype=np.int64)
        self._grids, self._numbers = list[TokenGrid](), dict[bytes, int]()
        self._groups, self._views = list[Held | None](), dict[bytes, int]()
        self._steps, self._last = list[ColumnStep](), dict[tuple[int, ...], Joined]()
        self._number(np.zeros(tokens * n, dtype=np.int64), 1)
        for layer in decoder.layers:
            self._layer(layer)
        bias = decoder.unembedding_bias.dense(self._dtype)
        self._outputs = list[tuple[AffineReads, Callable[[DenseStream], AnyArray] | None]]()
        for cut, read in logit_sections(decoder):
            rows = maps.of(decoder.unembedding, np.arange(cut.start, cut.stop))
            self._outputs.append((self._affine(rows, bias[cut]), None if read is None else LastResult(read)))

    def passed(self, tokens: Ints, sequences: slice, refused: Bools) -> PassedBatch:
        """Run sequences, (batch, n), which are these of a batch; refused: (batch,), that none of them is."""
        run = ColumnRun(np.ascontiguousarray(tokens.T), self._grids, self._groups, self._last)
        for step in self._steps:
            step(run)
        ends = [(output.of(run), read) for output, read in self._outputs]
        parts = [SectionLogits(run.codes(coded), table, read) for (coded, table), read in ends]
        stream = partial(self._residual, run, tokens)
        return PassedBatch(sequences, self._shape[1], parts, stream, refused)

    def _residual(self, run: ColumnRun, tokens: Ints) -> DenseStream:
        """Return the stream at the end of a run of sequences, (batch, n): (width, batch, n)."""
        at = tokens * self._shape[1] + np.arange(self._shape[1])
        x = np.empty((len(self._home), *tokens.shape), self._dtype)
        for row, (home, place) in enumerate(zip(self._home.tolist(), self._place.tolist(), strict=True)):
            if home < 0:
                x[row] = self._still[row, at]
            else:
                coded, table = run.held(home)
                x[row] = table[place, run.codes(coded).places.T]
        return x

    # ── groups ──────────────────────────────────────────────────────────────────────────────────────────────
    def _group(self, held: Held | None = None) -> int:
        """Return the number of a group: one that a step makes, or of what is known already."""
        self._groups.append(held)
        return len(self._groups) - 1

    def _number(self, codes: Ints, size: int) -> int:
        """Return the number of codes of token and position: (tokens · n,)."""
        key = codes.tobytes()
        if key not in self._numbers:
            self._numbers[key] = len(self._grids)
            self._grids.append(TokenGrid.of(codes.reshape(self._shape), size))
        return self._numbers[key]

    def _known(self, numbers: DenseStream) -> int:
        """Return the group of directions that depend on token and position alone: (rows, tokens · n)."""
        codes, table = distinct_columns(numbers)
        return self._group(Held(self._number(codes, table.shape[1]), table))

    def _view(self, rows: Ints) -> int:
        """Return the group of such rows of the stream."""
        key = rows.tobytes()
        if key not in self._views:
            self._views[key] = self._known(self._still[rows])
        return self._views[key]

    def _reads(self, rows: Ints) -> Reads:
        """Return how these rows of the stream are read."""
        homes, pieces = self._home[rows], []
        for home in np.unique(homes).tolist():
            target = np.flatnonzero(homes == home)
            own = rows[target]
            pieces.append((home, self._place[own], target) if home >= 0 else (self._view(own), np.arange(len(own)), target))
        return Reads(len(rows), pieces, self._dtype)

    def _linear(self, matrix: ColumnMap) -> LinearOf:
        return LinearOf(self._reads(matrix.reads), matrix)

    def _affine(self, matrix: ColumnMap, bias: DenseStream) -> AffineReads:
        return AffineReads(self._reads(matrix.reads), matrix, bias)

    def _kinds(self, rows: Ints) -> Ints:
        """Return what rows of the stream depend on, as a bit each: 1 token, 2 position, 4 both, then groups; or 0."""
        homes = self._home[rows]
        groups = np.unique(homes[homes >= 0])
        bits: Ints = np.left_shift(8, np.minimum(np.searchsorted(groups, homes), KINDS - 4))
        if len(groups) > KINDS - 4:
            bits[homes >= 0] = 8
        still = self._still[rows[homes < 0]].reshape(-1, *self._shape)
        by_position, by_token = (still != still[:, :, :1]).any(axis=(1, 2)), (still != still[:, :1]).any(axis=(1, 2))
        bits[homes < 0] = np.where(by_position & by_token, 4, 2 * by_position + by_token)
        return bits

    def _write(self, rows: Ints, by: int | None, bias: DenseStream) -> None:
        """Add the rows of a group, which are these, to the stream, and a bias, (rows, 1)."""
        homes = self._home[rows]
        flat = (self._still[rows] == self._still[rows, :1]).all(axis=1) & (homes < 0)
        homes = np.where(flat, EVERYWHERE, homes)
        for home in np.unique(homes).tolist():
            added = np.flatnonzero(homes == home)
            own, group = rows[added], self._group()
            source = self._place[own] if home >= 0 else np.arange(len(own))
            before = None if home == EVERYWHERE else self._view(own) if home == STILL else home
            self._steps.append(WriteStep(before, source, self._still[own, :1], by, added, bias[added], group))
            self._home[own], self._place[own] = group, np.arange(len(own))

    def _write_still(self, rows: Ints, added: DenseStream | None, bias: DenseStream) -> None:
        """Add numbers that depend on token and position alone, (rows, tokens · n), to the stream, and a bias, (rows, 1)."""
        still = self._home[rows] < 0
        moving = rows[~still]
        if len(moving):
            self._write(moving, None if added is None else self._known(added[~still]), bias[~still])
        own = rows[still]
        if added is not None:
            self._still[own] += added[still]
        self._still[own] += bias[still]
        self._views.clear()

    # ── layers ──────────────────────────────────────────────────────────────────────────────────────────────
    def _layer(self, layer: Layer) -> None:
        for rows, group in [found for head in layer.heads if (found := self._head(head)) is not None]:
            self._write(rows, group, np.zeros((len(rows), 1), self._dtype))  # when all of them have read
        if layer.feed_forward is not None:
            self._feed_forward(layer.feed_forward)

    def _head(self, head: Head) -> tuple[Ints, int] | None:
        """Return the rows that a head writes, and the group of what it adds to them; None if it writes none."""
        maps, carried = self._maps, np.intersect1d(head.value.rows, head.output.columns)
        if not len(carried):
            return None
        output, value = maps.of(head.output, None, carried), self._linear(maps.of(head.value, carried))
        scored = None if head.uniform else (maps.of(head.query, head.components), maps.of(head.key, head.components))
        linear = None if scored is None else (self._linear(scored[0]), self._linear(scored[1]))
        attention, group = BatchAttention(head.mask, head.weighting, self._shape[1]), self._group()
        self._steps.append(HeadStep(attention, linear, value, output, group))
        return output.rows, group

    def _feed_forward(self, layer: FeedForward) -> None:
        rows, bias = np.unique(layer.output.rows), layer.output_bias.dense(self._dtype)
        kinds = self._written_kinds(layer)[rows]
        planned = list[tuple[Ints, FeedForwardStep, DenseStream | None]]()
        for kind in np.unique(kinds).tolist():  # all of them read before any writes
            own = rows[kinds == kind]
            units = np.unique(layer.output.columns[np.isin(layer.output.rows, own)])
            matrix = self._maps.of(layer.input, units)
            hidden = self._affine(matrix, layer.input_bias.selected(units).dense(self._dtype))
            step = FeedForwardStep(hidden, self._maps.of(layer.output, own, units), self._group())
            planned.append((own, step, step.on(self._still[matrix.reads]) if kind < 8 else None))
        for own, step, added in planned:
            if added is not None:
                self._write_still(own, added, bias[own])
            else:
                self._steps.append(step)
                self._write(own, step.group, bias[own])
        alone = np.setdiff1d(layer.output_bias.rows, rows)
        self._write_still(alone, None, bias[alone])

    def _written_kinds(self, layer: FeedForward) -> Ints:
        """Return what all units that write to a row depend on, see `_kinds`: (width,)."""
        reads, places = np.unique(layer.input.columns, return_inverse=True)
        units, found = np.zeros(len(layer.units), dtype=np.int64), np.zeros(len(self._home), dtype=np.int64)
        np.bitwise_or.at(units, layer.input.rows, self._kinds(reads)[places])
        np.bitwise_or.at(found, layer.output.rows, units[layer.output.columns])
        return found
