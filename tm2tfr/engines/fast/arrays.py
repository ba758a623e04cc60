"""The arrays of a plan, and how they are made from lists; see `plan`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tm2tfr.base.errors import EngineError
from tm2tfr.engines.recognise import Terms
from tm2tfr.transformer.matrix import Floats, Ints, Matrix

Entries = list[tuple[int, float]]
"""(number, weight) in order of summation."""

KINDS = ("mean", "position", "latest", "scan", "grouped")
FEATURES = ("1/(i+1)", "1", "i", "i^2")
"""The position features by their codes, as `state.feature` computes them."""
OF_TOKEN, STORED, OF_POSITION = range(3)
"""Where an attended value comes from: a table by token, the stored numbers, or the attended position itself."""


class Rows(NamedTuple):
    """Rows of (number, weight): those of row r are at ``start[r]:start[r+1]``."""

    start: Ints
    number: Ints
    weight: Floats


class Terms3(NamedTuple):
    """Rows of (feature, embedding weight, key weight)."""

    start: Ints
    feature: Ints
    embedded: Floats
    weight: Floats


class Heads(NamedTuple):
    """All heads; `layer` gives the range of heads of each layer, `component` and `value` those of each head.

    ``finite`` is 1 where every score is certain to be finite. ``pool`` is the place of a grouped head's groups; ``given``
    has a row for each pool and token: the values, not 0, that the token determines, by their places in a group.
    """

    layer: Ints
    kind: Ints
    finite: Ints
    component: Ints
    value: Ints
    output: Ints
    linear: Ints
    square: Ints
    linear_weight: Floats
    square_weight: Floats
    tie: Ints
    sign: Ints
    slot: Ints
    pool: Ints
    hist: Ints
    query: Rows
    key: Rows
    key_kind: Ints
    key_terms: Terms3
    value_kind: Ints
    value_place: Ints
    value_row: Rows
    value_terms: Terms3
    value_of_token: Floats
    given: Rows
    output_row: Ints
    output_terms: Rows


class Body(NamedTuple):
    """Embedding and the feed-forward parts up to the last attention; see `_body`."""

    token: Rows
    place_row: Ints
    place: Rows
    layer_units: Ints
    bias: Floats
    seed: Ints
    seeds: Floats
    unit: Rows
    layer_rows: Ints
    row: Ints
    row_bias: Floats
    row_units: Rows
    assigned: Rows


class Tail(NamedTuple):
    """The layers after the last attention, by column, and the unembedding; units are numbered through.

    ``reads`` has a row for each direction in each layer, ``writes`` one for each unit.
    """

    first: int
    width: int
    layer_units: Ints
    reads: Rows
    bias: Floats
    always_start: Ints
    always: Ints
    writes: Rows
    row_bias: Rows
    unembedding: Rows
    logit_bias: Floats
    moving: Ints
    of_token: Rows
    key: Ints


class Early(NamedTuple):
    """The last layer with heads, if they are all grouped: what its answer depends on besides the groups; see `early`.

    ``layer`` is -1 if that layer is another. Of the directions that the token does not determine, ``key`` has those that
    matter at its beginning; ``pools`` has the pools of its heads.
    """

    layer: int
    key: Ints
    pools: Ints


class Probes(NamedTuple):
    """The values read off the stream after the last layer: labels of one-hot directions, and numbers."""

    label_start: Ints
    label_stop: Ints
    label_memo: Ints
    number: Ints
    number_memo: Ints


class Laid(NamedTuple):
    """All that the kernel needs; `table` has the directions of each position, none if there is no position table."""

    features: Ints
    table: Rows
    heads: Heads
    body: Body
    tail: Tail
    early: Early
    probes: Probes


def rows(table: Iterable[Sequence[tuple[int, float]]]) -> Rows:
    """Return a list of rows as arrays."""
    table = list(table)
    flat = [entry for row in table for entry in row]
    start = np.zeros(len(table) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in table], out=start[1:])
    numbers, weights = ([e[0] for e in flat], [e[1] for e in flat])
    return Rows(start, np.array(numbers, dtype=np.int64), np.array(weights, dtype=np.float64))


def by_column(matrix: Matrix) -> Rows:
    """Return the (row, value) pairs of each column of `matrix`."""
    order = np.lexsort((matrix.rows, matrix.columns))
    start = np.searchsorted(matrix.columns[order], np.arange(matrix.shape[1] + 1)).astype(np.int64)
    return Rows(start, matrix.rows[order], matrix.values[order])


def terms_of(table: Sequence[Terms]) -> Terms3:
    start = np.zeros(len(table) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in table], out=start[1:])
    flat = [term for row in table for term in row]
    features = ints(feature_code(name) for name, _, _ in flat)
    return Terms3(start, features, *(np.array([t[k] for t in flat], dtype=np.float64) for k in (1, 2)))


def feature_code(name: str) -> int:
    """Return the kernel's code of a position feature.

    Raises:
        EngineError: if the kernel does not know it.
    """
    if name not in FEATURES:
        raise EngineError(f"the fast engine does not know the position feature {name!r}: use the dense engine")
    return FEATURES.index(name)


def ints(values: Iterable[int]) -> Ints:
    """Return integers as an array."""
    return np.array(list(values), dtype=np.int64)


def values_by_token(held: Sequence[dict[int, float]], table: Sequence[tuple[int, Entries]]) -> list[Entries]:
    """Return for every token the values that are not 0 of ``row · x`` as (number of the row, value); see `token_values`."""
    readers: dict[int, Entries] = {}
    for number, row in table:
        for direction, weight in row:
            readers.setdefault(direction, []).append((number, weight))
    found = []
    for x in held:
        totals: dict[int, float] = {}
        for direction in sorted(x):
            for number, weight in readers.get(direction, ()):
                totals[number] = totals.get(number, 0.0) + weight * x[direction]
        found.append([(number, total) for number, total in sorted(totals.items()) if total != 0.0])
    return found


def token_values(held: Sequence[dict[int, float]], row: Entries) -> Floats:
    """Return ``row · x`` for every token, where x is what the token determines: (vocabulary,)."""
    found, ordered = [], sorted(row)
    for x in held:
        total = 0.0
        for direction, weight in ordered:
            if direction in x:
                total += weight * x[direction]
        found.append(total)
    return np.array(found, dtype=np.float64)
