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
from itertools import pairwise
from math import isfinite, nan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.engines.dependence import KEPT, TOKEN, WIDEST, Classes, LayerSources, Same, Sources, rows_of, sources
from tm2tfr.engines.fast import arrays
from tm2tfr.engines.fast.heads import collect
from tm2tfr.engines.overflow import reach
from tm2tfr.engines.recognise import Recognition
from tm2tfr.transformer.matrix import Floats, Ints, Matrix
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
    tail, changed = _tail(decoder, known, first, tables)
    is_early = all(f.kind == "grouped" for f in kinds[first - 1]) and reach(decoder).everything if first else False
    written = {*changed, *(_changed(decoder.layers[first - 1]) if is_early else ())}
    slices = [range(a, b) for a, b in labels]
    in_memo = [any(c in written for c in s) for s in slices]
    entry = known.layers[first].before if first < len(known.layers) else known.after
    key = set(tail.key.tolist())
    for s, memo in zip(slices, in_memo, strict=True):
        key |= {c for c in s if memo and entry[c] > TOKEN}
    key |= {c for c in numbers if c in written and entry[c] > TOKEN}
    heads, early = collect(decoder, known, kinds, tables.before), NEVER
    if is_early:
        pools = heads.pool[heads.layer[first - 1] :]
        early = _early(decoder.layers[first - 1], key, known.layers[first - 1].before, first - 1, pools)
    return arrays.Laid(
        features=features,
        table=arrays.rows(()) if decoder.position_table is None else arrays.by_column(decoder.position_table),
        heads=heads,
        body=_body(decoder, known, first, tables, begin),
        tail=tail._replace(key=arrays.ints(sorted(key))),
        early=early,
        probes=arrays.Probes(
            arrays.ints(a for a, _ in labels),
            arrays.ints(b for _, b in labels),
            arrays.ints(in_memo),
            arrays.ints(numbers),
            arrays.ints(c in written for c in numbers),
        ),
    )


def _changed(layer: Layer) -> set[int]:
    """Return the directions that a layer writes."""
    found = {r for head in layer.heads for r in head.output.rows.tolist()}
    if layer.feed_forward is not None:
        found |= {r for r, _ in _written(layer.feed_forward)}
    return found


def _early(layer: Layer, key: Collection[int], before: Classes, number: int, pools: Ints) -> arrays.Early:
    """Return what the directions `key` after a layer are a function of, besides the values of its heads.

    These are the directions at its beginning of which a head's query, a hidden unit that writes one of `key`, or one of
    `key` itself consists, as far as they are not a function of the token.
    """
    needed = set(key)
    for head in layer.heads:
        needed |= set(head.query.selected(head.components).columns.tolist())
    if layer.feed_forward is not None:
        writers = np.unique(layer.feed_forward.output.columns[np.isin(layer.feed_forward.output.rows, list(key))])
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
    """Return what the token determines of a layer with a feed-forward part; None if that is nothing."""
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
    units: list[_Unit] = []
    seeds: list[Floats] = []
    seed: list[int] = []
    out: list[tuple[int, float, arrays.Entries]] = []
    layer_units, layer_rows = [0], [0]
    moved = _moved if decoder.layout.width <= WIDEST else _moved.__wrapped__
    for n, layer in enumerate(decoder.layers[:first]):
        after = known.layers[n + 1].before if n + 1 < len(known.layers) else known.after
        some, written = moved(Same(layer), Same(known.layers[n]), after.tobytes())
        for unit in some:
            seed.append(len(seeds) if unit.of_token else -1)
            if unit.of_token:
                seeds.append(arrays.token_values(tables.before[n], unit.of_token))
        out += [(r, offset, [(u + len(units), w) for u, w in row]) for r, offset, row in written]
        units += some
        layer_units.append(len(units))
        layer_rows.append(len(out))
    return arrays.Body(
        token=begin.token,
        place_row=begin.place_row,
        place=begin.place,
        layer_units=arrays.ints(layer_units),
        bias=np.array([unit.bias for unit in units], dtype=np.float64),
        seed=arrays.ints(seed),
        seeds=np.array(seeds, dtype=np.float64).reshape(len(seeds), len(decoder.vocabulary)).T.copy(),
        unit=arrays.rows(unit.rest for unit in units),
        layer_rows=arrays.ints(layer_rows),
        row=arrays.ints(r for r, _, _ in out),
        row_bias=np.array([b for _, b, _ in out], dtype=np.float64),
        row_units=arrays.rows(row for _, _, row in out),
        assigned=arrays.rows(change for layer_changes in tables.assigned for change in layer_changes),
    )


class _Unit(NamedTuple):
    """A unit that a moving row needs: a long beginning of its row that the token determines, the rest, and its bias."""

    of_token: arrays.Entries
    rest: arrays.Entries
    bias: float


@lru_cache(maxsize=KEPT)
def _moved(
    layer: Same[Layer], around: Same[LayerSources], after: bytes
) -> tuple[list[_Unit], list[tuple[int, float, arrays.Entries]]]:
    """Return a layer's units that moving rows need, and these: (direction, bias, (number of the unit, weight))."""
    if (part := layer.part.feed_forward) is None:
        return [], []
    moving = [(r, row) for r, row in _written(part) if after[r] > TOKEN]
    number = {unit: k for k, unit in enumerate(sorted({u for _, row in moving for u, _ in row}))}
    reads = rows_of(part.input)
    bias = {row: value for row, _, value in part.input_bias.entries()}
    offset = {row: value for row, _, value in part.output_bias.entries()}
    units = [_Unit(*_prefix(reads[unit], around.part.between), bias.get(unit, 0.0)) for unit in number]
    return units, [(r, offset.get(r, 0.0), [(number[u], w) for u, w in row]) for r, row in moving]


def _written(layer: FeedForward) -> list[tuple[int, arrays.Entries]]:
    """Return the directions that a layer writes, each with its (unit, weight)."""
    table = rows_of(layer.output)
    some = np.union1d(layer.output.rows, layer.output_bias.rows)
    return [(int(r), table[int(r)]) for r in some]


def _prefix(row: arrays.Entries, classes: Classes) -> tuple[arrays.Entries, arrays.Entries]:
    """Split a row into a long beginning that the token determines, if there is one, and the rest."""
    length = next((n for n, (c, _) in enumerate(row) if classes[c] > TOKEN), len(row))
    return (row[:length], row[length:]) if length > LONG else ([], row)


def _tail(decoder: Decoder, known: Sources, first: int, tables: _Tables) -> tuple[arrays.Tail, Collection[int]]:
    """Return the tail, and the directions that it writes."""
    entry = (known.layers[first].before if first < len(known.layers) else known.after).tobytes()
    make = _without_tokens if decoder.layout.width <= WIDEST else _without_tokens.__wrapped__
    unembedding = Same(decoder.unembedding), Same(decoder.unembedding_bias)
    tail, written = make(tuple(map(Same, decoder.layers[first:])), *unembedding, entry, first)
    held = ([(c, v) for c, v in sorted(row.items()) if entry[c] <= TOKEN] for row in tables.before[-1])
    return tail._replace(of_token=arrays.rows(held)), written


@lru_cache(maxsize=KEPT)
def _without_tokens(
    layers: tuple[Same[Layer], ...], unembedding: Same[Matrix], bias_of_logits: Same[Matrix], entry: bytes, first: int
) -> tuple[arrays.Tail, Collection[int]]:
    """Return the tail without what the tokens determine at its beginning; entry: (width,) the classes there."""
    parts = [part for layer in layers if (part := layer.part.feed_forward) is not None]
    bias = [part.input_bias.dense()[:, 0] for part in parts]
    always = [np.flatnonzero(b > 0).tolist() for b in bias]
    sizes = [0, *np.cumsum([len(b) for b in bias]).tolist()]
    reads, written = set(unembedding.part.columns.tolist()), set()
    for part in parts:
        reads |= set(part.input.columns.tolist())
        written |= set(part.output.rows.tolist()) | set(part.output_bias.rows.tolist())
    moving = np.flatnonzero(np.frombuffer(entry, dtype=np.int8) > TOKEN)
    tail = arrays.Tail(
        first=first,
        layer_units=arrays.ints(sizes),
        width=len(entry),
        reads=arrays.rows(
            [(unit + size, w) for unit, w in column]
            for p, size in zip(parts, sizes, strict=False)
            for column in _lists(arrays.by_column(p.input))
        ),
        bias=np.concatenate([*bias, np.zeros(0)]),
        always_start=arrays.ints([0, *np.cumsum([len(a) for a in always]).tolist()]),
        always=arrays.ints(u + size for units, size in zip(always, sizes, strict=False) for u in units),
        writes=arrays.rows(row for p in parts for row in _lists(arrays.by_column(p.output))),
        row_bias=arrays.rows([(r, v) for r, _, v in p.output_bias.entries()] for p in parts),
        unembedding=arrays.by_column(unembedding.part),
        logit_bias=bias_of_logits.part.dense()[:, 0],
        moving=arrays.ints(moving),
        of_token=arrays.rows(()),
        key=arrays.ints(c for c in moving.tolist() if c in reads or c in written),
    )
    return tail, frozenset(written)
