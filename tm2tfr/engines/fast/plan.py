"""Weights rearranged for the kernel: whatever a token determines is tabulated, the rest is listed row by row.

Nothing is approximated and no order of summation is changed, so that the kernel's numbers are the dense engine's:
a table contains what the dense engine would have computed, with the same floating-point operations.

The last layers, those after the last attention, are the *tail*: a pure function of the token and of the
directions that they read. The kernel caches its answers under exactly that key. If the last heads are all grouped, it
finds them before it has run those heads, see `early`; then whatever is read off the stream after them is kept as well.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from math import isfinite, nan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.engines.dependence import KEPT, TOKEN, WIDEST, Classes, LayerSources, Same, Sources, rows_of, sources
from tm2tfr.engines.fast import arrays
from tm2tfr.engines.fast.heads import collect
from tm2tfr.engines.overflow import reach
from tm2tfr.engines.recognise import Recognition
from tm2tfr.transformer.matrix import Floats, Ints, Matrix, occurring
from tm2tfr.transformer.weights import Decoder, FeedForward, Layer

NEVER = arrays.Early(-1, arrays.ints(()), arrays.ints(()))
LONG = 8
"""If a row has more token directions than this, their sum is tabulated by token."""


def plan(
    decoder: Decoder,
    kinds: Sequence[Sequence[Recognition]],
    labels: Sequence[tuple[int, int]] = (),
    numbers: Sequence[int] = (),
) -> arrays.Laid:
    """Return `decoder` rearranged.

    Args:
        kinds: the kind recognised for each head of each layer.
        labels, numbers: the probes: slices (start, stop) to read as one-hot vectors, directions to read as numbers.

    Raises:
        EngineError: for a position feature that the kernel does not know.
    """
    features = arrays.ints(map(arrays.feature_code, decoder.features))
    known = sources(decoder)
    with_heads = [n for n, layer in enumerate(decoder.layers) if layer.heads]
    first = with_heads[-1] + 1 if with_heads else 0
    before = (known.layers[0].before if known.layers else known.after).tobytes()
    start = beginning if decoder.layout.width <= WIDEST else beginning.__wrapped__
    begin = start(Same(decoder.token_embedding), Same(decoder.position_embedding), before)
    tables = _Tables(decoder, known, first, begin)
    tail, written = _tail(decoder, known, first, tables)
    is_early = all(f.kind == "grouped" for f in kinds[first - 1]) and reach(decoder).everything if first else False
    if is_early:
        written = written.copy()
        written[_changed(decoder.layers[first - 1])] = True
    in_memo = [bool(written[a:b].any()) for a, b in labels]
    entry = known.layers[first].before if first < len(known.layers) else known.after
    read = np.zeros(len(entry), dtype=np.bool_)
    for (a, b), memo in zip(labels, in_memo, strict=True):
        read[a:b] |= memo
    read[[c for c in numbers if written[c]]] = True
    read &= entry > TOKEN
    read[tail.key] = True
    key = np.flatnonzero(read)
    heads, early = collect(decoder, known, kinds, tables.before), NEVER
    if is_early:
        pools = heads.pool[heads.layer[first - 1] :]
        early = _early(decoder.layers[first - 1], key.tolist(), known.layers[first - 1].before, first - 1, pools)
    return arrays.Laid(
        features=features,
        table=arrays.rows(()) if decoder.position_table is None else arrays.by_column(decoder.position_table),
        heads=heads,
        body=_body(decoder, known, first, tables, begin),
        tail=tail._replace(key=key),
        early=early,
        probes=arrays.Probes(
            arrays.ints(a for a, _ in labels),
            arrays.ints(b for _, b in labels),
            arrays.ints(in_memo),
            arrays.ints(numbers),
            arrays.ints(written[c] for c in numbers),
        ),
    )


def _changed(layer: Layer) -> list[int]:
    """Return the directions that a layer writes."""
    found = {r for head in layer.heads for r in head.output.rows.tolist()}
    if layer.feed_forward is not None:
        found |= {r for r, _ in _written(layer.feed_forward)}
    return sorted(found)


def _early(layer: Layer, key: Collection[int], before: Classes, number: int, pools: Ints) -> arrays.Early:
    """Return the arguments that the directions `key` after a layer depend on, besides the values of its heads.

    These are the directions at its beginning of which a head's query, a hidden unit that writes one of `key`, or one of
    `key` itself consists, as far as they are not a function of the token.
    """
    needed = set(key)
    for head in layer.heads:
        needed |= set(head.query.selected(head.components).columns.tolist())
    if layer.feed_forward is not None:
        output = layer.feed_forward.output
        writers = occurring(output.shape[1], output.columns[np.isin(output.rows, list(key))])
        needed |= set(layer.feed_forward.input.selected(writers).columns.tolist())
    return arrays.Early(number, arrays.ints(c for c in sorted(needed) if before[c] > TOKEN), pools)


class _Tables:
    """The directions that the token determines, for every token, layer by layer up to the last attention."""

    def __init__(self, decoder: Decoder, known: Sources, first: int, begin: Beginning) -> None:
        now = begin.held
        self.before: list[list[dict[int, float]]] = [now]  # by layer, by token: what its heads read
        self.assigned: list[list[arrays.Entries]] = []
        nothing: list[arrays.Entries] = [[] for _ in now]
        determined = _determined if decoder.layout.width <= WIDEST else _determined.__wrapped__
        for layer, around in zip(decoder.layers[:first], known.layers, strict=False):
            after = known.layers[len(self.before)].before if len(self.before) < len(known.layers) else known.after
            made = None if layer.feed_forward is None else determined(Same(layer), Same(around), after.tobytes())
            changes = nothing if made is None else made.of(now)
            self.assigned.append(changes)
            if made is not None:
                now = [{**held, **dict(change)} if change else held for held, change in zip(now, changes, strict=True)]
            self.before.append(now)


class _Determined(NamedTuple):
    """The units of a layer that read only what the token determines, and what they write of that; by direction and unit."""

    touched_by: list[arrays.Entries]
    writes: list[arrays.Entries]
    bias: dict[int, float]
    always: list[int]
    offset: arrays.Entries

    def of(self, now: Sequence[dict[int, float]]) -> list[arrays.Entries]:
        """Return for each token the directions that the layer changes, with their new values."""
        found = []
        for held in now:
            sums: dict[int, float] = dict.fromkeys(self.always, 0.0)
            for direction in sorted(held):
                for unit, weight in self.touched_by[direction]:
                    sums[unit] = sums.get(unit, 0.0) + weight * held[direction]
            added: dict[int, float] = {}
            for unit in sorted(sums):
                hidden = self.bias.get(unit, 0.0) + sums[unit]
                if not isfinite(hidden):
                    hidden = nan  # -inf must show up in the stream as well: the dense engine refuses it
                for row, weight in self.writes[unit] if not hidden <= 0 else ():
                    added[row] = added.get(row, 0.0) + weight * hidden
            new = {row: held.get(row, 0.0) + value for row, value in added.items()}
            for row, value in self.offset:
                new[row] = new.get(row, held.get(row, 0.0)) + value
            found.append(sorted(new.items()))
        return found


@lru_cache(maxsize=KEPT)
def _determined(layer: Same[Layer], around: Same[LayerSources], after: bytes) -> _Determined | None:
    """Return the part of a layer with a feed-forward part that the token determines; None if there is none."""
    part, by_token = layer.part.feed_forward, around.part.by_token
    if part is None:
        return None
    determined = np.frombuffer(after, dtype=np.int8) <= TOKEN
    keep = by_token[part.output.columns] & determined[part.output.rows]
    offset = [(row, value) for row, _, value in part.output_bias.entries() if determined[row]]
    if not keep.any() and not offset:
        return None
    bias = {row: value for row, _, value in part.input_bias.entries() if by_token[row]}
    return _Determined(
        touched_by=_columns(part.input, by_token[part.input.rows]),
        writes=_columns(part.output, keep),
        bias=bias,
        always=[row for row, value in bias.items() if value > 0],
        offset=offset,
    )


class Beginning(NamedTuple):
    """The embedding, rearranged, and the directions that each token determines there."""

    held: list[dict[int, float]]
    token: arrays.Rows
    place_row: Ints
    place: arrays.Rows


@lru_cache(maxsize=KEPT)
def beginning(tokens: Same[Matrix], place: Same[Matrix], before: bytes) -> Beginning:
    """Return the embedding rearranged; before: (width,) the classes after it."""
    constant: dict[int, float] = {}
    for row, _, value in place.part.entries():
        if before[row] <= TOKEN:
            constant[row] = constant.get(row, 0.0) + value
    held = [_added(dict(column), constant) for column in _lists(arrays.by_column(tokens.part))]
    moving = [(r, row) for r, row in enumerate(rows_of(place.part)) if row and r not in constant]
    return Beginning(
        held=held,
        token=arrays.rows(sorted(each.items()) for each in held),
        place_row=arrays.ints(r for r, _ in moving),
        place=arrays.rows(row for _, row in moving),
    )


def _added(held: dict[int, float], more: dict[int, float]) -> dict[int, float]:
    return {**held, **{c: held.get(c, 0.0) + v for c, v in more.items()}}


def _columns(matrix: Matrix, keep: NDArray[np.bool_]) -> list[arrays.Entries]:
    """Return the (row, value) pairs of each column of `matrix`, as far as they are to be kept, by row."""
    found: list[arrays.Entries] = [[] for _ in range(matrix.shape[1])]
    kept = (array[keep].tolist() for array in (matrix.rows, matrix.columns, matrix.values))
    for row, column, value in zip(*kept, strict=True):
        found[column].append((row, value))
    return found


def _lists(table: arrays.Rows) -> list[arrays.Entries]:
    pairs = list(zip(table.number.tolist(), table.weight.tolist(), strict=True))
    cuts = table.start.tolist()
    return [pairs[a:b] for a, b in pairwise(cuts)]


def _body(decoder: Decoder, known: Sources, first: int, tables: _Tables, begin: Beginning) -> arrays.Body:
    """Return the embedding, and for each layer before the tail its moving rows with the units that they need."""
    make, layers = _moved if decoder.layout.width <= WIDEST else _moved.__wrapped__, list[_Moved]()
    seed, seeds = list[int](), list[Floats]()
    for n, layer in enumerate(decoder.layers[:first]):
        after = known.layers[n + 1].before if n + 1 < len(known.layers) else known.after
        layers.append(make(Same(layer), Same(known.layers[n]), after.tobytes()))
        for of_token in layers[-1].of_token:
            seed.append(len(seeds) if of_token else -1)
            if of_token:
                seeds.append(arrays.token_values(tables.before[n], of_token))
    units = [0, *accumulate(len(layer.bias) for layer in layers)]
    nothing = np.zeros(0)
    return arrays.Body(
        token=begin.token,
        place_row=begin.place_row,
        place=begin.place,
        layer_units=arrays.ints(units),
        bias=np.concatenate([nothing, *(layer.bias for layer in layers)]),
        seed=arrays.ints(seed),
        seeds=np.array(seeds, dtype=np.float64).reshape(len(seeds), len(decoder.vocabulary)).T.copy(),
        unit=arrays.joined([layer.rest for layer in layers]),
        layer_rows=arrays.ints([0, *accumulate(len(layer.row) for layer in layers)]),
        row=np.concatenate([arrays.ints(()), *(layer.row for layer in layers)]),
        row_bias=np.concatenate([nothing, *(layer.row_bias for layer in layers)]),
        row_units=arrays.joined([layer.row_units for layer in layers], units[:-1]),
        assigned=arrays.rows(change for layer_changes in tables.assigned for change in layer_changes),
    )


class _Moved(NamedTuple):
    """The rows of a layer that move, and the units that they need.

    Args:
        of_token, rest, bias: of each unit a long beginning of its row that the token determines, the rest, and its bias.
        row, row_bias, row_units: the directions, their biases, and (number of the unit, weight) of each.
    """

    of_token: list[arrays.Entries]
    rest: arrays.Rows
    bias: Floats
    row: Ints
    row_bias: Floats
    row_units: arrays.Rows


@lru_cache(maxsize=KEPT)
def _moved(layer: Same[Layer], around: Same[LayerSources], after: bytes) -> _Moved:
    """Return the moving rows of a layer; after: (width,) the classes after it."""
    part = layer.part.feed_forward
    moving = [] if part is None else [(r, row) for r, row in _written(part) if after[r] > TOKEN]
    number = {unit: k for k, unit in enumerate(sorted({u for _, row in moving for u, _ in row}))}
    reads = [] if part is None else rows_of(part.input)
    bias = {} if part is None else {row: value for row, _, value in part.input_bias.entries()}
    offset = {} if part is None else {row: value for row, _, value in part.output_bias.entries()}
    cut = [_prefix(reads[unit], around.part.between) for unit in number]
    return _Moved(
        of_token=[of_token for of_token, _ in cut],
        rest=arrays.rows(rest for _, rest in cut),
        bias=np.array([bias.get(unit, 0.0) for unit in number], dtype=np.float64),
        row=arrays.ints(r for r, _ in moving),
        row_bias=np.array([offset.get(r, 0.0) for r, _ in moving], dtype=np.float64),
        row_units=arrays.rows([(number[u], w) for u, w in row] for _, row in moving),
    )


def _written(layer: FeedForward) -> list[tuple[int, arrays.Entries]]:
    """Return the directions that a layer writes, each with its (unit, weight)."""
    table = rows_of(layer.output)
    some = sorted({*layer.output.rows.tolist(), *layer.output_bias.rows.tolist()})
    return [(r, table[r]) for r in some]


def _prefix(row: arrays.Entries, classes: Classes) -> tuple[arrays.Entries, arrays.Entries]:
    """Split a row into a long beginning that the token determines, if there is one, and the rest."""
    length = next((n for n, (c, _) in enumerate(row) if classes[c] > TOKEN), len(row))
    return (row[:length], row[length:]) if length > LONG else ([], row)


def _tail(decoder: Decoder, known: Sources, first: int, tables: _Tables) -> tuple[arrays.Tail, NDArray[np.bool_]]:
    """Return the tail, and which directions it writes: (width,)."""
    entry = known.layers[first].before if first < len(known.layers) else known.after
    small = decoder.layout.width <= WIDEST
    make, answers = (_of_tail, _answers) if small else (_of_tail.__wrapped__, _answers.__wrapped__)
    parts = [make(Same(part)) for layer in decoder.layers[first:] if (part := layer.feed_forward) is not None]
    sizes = [0, *accumulate(len(part.bias) for part in parts)]
    unembedding, logit_bias = answers(Same(decoder.unembedding), Same(decoder.unembedding_bias))
    moving = entry > TOKEN
    written, touched = np.zeros(len(entry), dtype=np.bool_), np.zeros(len(entry), dtype=np.bool_)
    touched[decoder.unembedding.columns] = True
    for of_layer in parts:
        written[of_layer.written] = touched[of_layer.read] = True
    determined = [c <= TOKEN for c in entry.tolist()]
    held = [[(c, v) for c, v in sorted(row.items()) if determined[c]] for row in tables.before[-1]]
    tail = arrays.Tail(
        first=first,
        layer_units=arrays.ints(sizes),
        width=len(entry),
        reads=arrays.joined([part.reads for part in parts], sizes[:-1]),
        bias=np.concatenate([np.zeros(0), *(part.bias for part in parts)]),
        always_start=arrays.ints([0, *accumulate(len(part.always) for part in parts)]),
        always=np.concatenate([arrays.ints(()), *(part.always + size for part, size in zip(parts, sizes, strict=False))]),
        writes=arrays.joined([part.writes for part in parts]),
        row_bias=arrays.joined([part.row_bias for part in parts]),
        unembedding=unembedding,
        logit_bias=logit_bias,
        moving=np.flatnonzero(moving),
        of_token=arrays.rows(held),
        key=np.flatnonzero(moving & (touched | written)),
    )
    return tail, written


class _TailPart(NamedTuple):
    """A feed-forward part of the tail, by column; its units are numbered from 0.

    Args:
        read, written: the directions that it reads and writes, perhaps several times.
    """

    reads: arrays.Rows
    bias: Floats
    always: Ints
    writes: arrays.Rows
    row_bias: arrays.Rows
    read: Ints
    written: Ints


@lru_cache(maxsize=KEPT)
def _of_tail(same: Same[FeedForward]) -> _TailPart:
    part = same.part
    bias = part.input_bias.dense()[:, 0]
    row_bias = part.output_bias
    return _TailPart(
        reads=arrays.by_column(part.input),
        bias=bias,
        always=np.flatnonzero(bias > 0),
        writes=arrays.by_column(part.output),
        row_bias=arrays.Rows(arrays.ints((0, row_bias.nonzero)), row_bias.rows, row_bias.values),
        read=part.input.columns,
        written=np.concatenate([part.output.rows, row_bias.rows]),
    )


@lru_cache(maxsize=KEPT)
def _answers(unembedding: Same[Matrix], bias: Same[Matrix]) -> tuple[arrays.Rows, Floats]:
    """Return the unembedding by column, and the bias of each logit."""
    return arrays.by_column(unembedding.part), bias.part.dense()[:, 0]
