"""The arrays of compiled code: those of a plan, which are made from lists, and those that change; see `plan`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import EngineError
from tm2tfr.engines.recognise import Terms
from tm2tfr.transformer.matrix import Floats, Ints, Matrix

Entries = list[tuple[int, float]]
"""(number, weight) in order of summation."""

KINDS = ("mean", "position", "latest", "scan", "grouped")
FEATURES = ("1/(i+1)", "1", "i", "i^2")
"""The position features by their codes, as `jit.feature` computes them."""
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
    start = np.array([0, *accumulate(map(len, table))], dtype=np.int64)
    numbers, weights = zip(*chain.from_iterable(table), strict=True) if start[-1] else ((), ())
    return Rows(start, np.array(numbers, dtype=np.int64), np.array(weights, dtype=np.float64))


def joined(tables: Sequence[Rows], offsets: Sequence[int] | None = None) -> Rows:
    """Return the rows of all tables, in order; offsets: what is added to the numbers in each table."""
    if len(tables) == 1 and not (offsets and offsets[0]):
        return tables[0]
    ends = [0, *accumulate(len(table.number) for table in tables)]
    starts = [table.start[1:] + end if end else table.start[1:] for table, end in zip(tables, ends, strict=False)]
    numbers = [table.number for table in tables]
    if offsets is not None:
        numbers = [number + more if more else number for number, more in zip(numbers, offsets, strict=True)]
    return Rows(
        np.concatenate([_NOTHING.start, *starts]),
        np.concatenate([_NOTHING.number, *numbers]),
        np.concatenate([_NOTHING.weight, *(table.weight for table in tables)]),
    )


_NOTHING = Rows(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))


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


# ── arrays that change
U = 2.0**-53
TINY = 1e-250
"""With a coefficient of j² or k² below this a head is scanned: products near the smallest floats round by more than U."""
DONE, STOPPED, GROW, GUARD, OVERFLOW, LEFT = range(6)
"""What compiled code returns; LEFT: straight-line code has given up, and the kernel runs the next position."""
POSITION, NEXT, RESUME, HEAD, WANTED, COUNT, ENTRIES, REASON, HITS, EARLY = PLACES = range(10)
"""The places of the control array."""
NOT_SQUARE, NOT_CONCAVE, MANY_KEYS, SHARED = range(4)
"""The reasons of GUARD."""
GROUPS, LAST, AT, SLOT, WINNER = POOL = range(5)
"""The places of `Pools.info`: the number of groups, those of the last position and of this one, the slot of a new one; the
group attended to, -1 if there are several."""


class State(NamedTuple):
    """All that changes. Shapes: P positions, G slots for keys, W width, H heads, C components, V values."""

    x: NDArray[np.float64]  # (W,) the residual stream
    query: NDArray[np.float64]  # (C,)
    keys: NDArray[np.float64]  # (C,)
    asked: NDArray[np.int64]  # (C,) components that a scan needs
    mean: NDArray[np.float64]  # (V,) of the attended positions
    sums: NDArray[np.float64]  # (V,) running sums of mean heads
    tokens: NDArray[np.uint8] | NDArray[np.int32]  # (P,), the smaller type where it has all tokens
    hist: NDArray[np.float64]  # (P, columns)
    group_position: NDArray[np.int64]  # (slots, G), -1 where there is none
    group_token: NDArray[np.int32]  # (slots, G)
    group_value: NDArray[np.float64]  # (slots, G, columns)
    span: NDArray[np.int64]  # (slots, 3): the smallest key, the largest, the place of key 0
    winners: NDArray[np.int64]  # (P or so,)
    scores: NDArray[np.float64]
    hidden: NDArray[np.float64]
    mark: NDArray[np.int64]
    row_mark: NDArray[np.int64]
    row_sum: NDArray[np.float64]
    active: NDArray[np.int64]
    touched: NDArray[np.int64]
    logits: NDArray[np.float64]
    stamp: NDArray[np.int64]
    key_values: NDArray[np.float64]
    key_bits: NDArray[np.int64]
    memo_slot: NDArray[np.int32]
    memo_token: NDArray[np.int32]
    memo_bits: NDArray[np.int64]
    memo_answer: NDArray[np.int32]
    memo_codes: NDArray[np.int32]
    memo_numbers: NDArray[np.float64]
    stop: NDArray[np.bool_]
    overflow: NDArray[np.int64]  # (1,): 1 once a number was infinite and the dense engine would refuse it


class Pools(NamedTuple):
    """The state of grouped heads. It is not part of `State`, which is passed to many functions: its size costs time.

    Shapes: K pools, one for each such head, G groups in each, C components, V values; E answers of `early`.
    """

    keys: NDArray[np.float64]  # (C of all heads,) the key of this position
    bits: NDArray[np.int64]  # the same
    key: NDArray[np.float64]  # (K, G, C)
    members: NDArray[np.int64]  # (K, G) their number
    sum: NDArray[np.float64]  # (K, G, V)
    size: NDArray[np.float64]  # (K,) the size of the largest value; see `groups`
    slot: NDArray[np.int32]  # (K, slots), -1 where there is none
    info: NDArray[np.int64]  # (K, 5)
    values: NDArray[np.float64]  # (V,) those of this position
    winners: NDArray[np.int64]  # (G,)
    early_values: NDArray[np.float64]
    early_bits: NDArray[np.int64]  # the same
    early_found: NDArray[np.int64]  # (2,) the entry of this position, or -1, and its slot
    early_slot: NDArray[np.int32]
    early_place: NDArray[np.int32]  # (E,) the slot
    early_token: NDArray[np.int32]  # (E,)
    early_key: NDArray[np.int64]
    early_answer: NDArray[np.int32]  # (E,) the place in the tail's memo
    early_groups: NDArray[np.int64]  # (E, K, 3): the group attended to, its number of positions, the number of groups


class InTurn(NamedTuple):
    """Runs of one decoder, one after the other.

    Run r is fed ``given[start[r] : start[r + 1]]`` and has at most ``most[r]`` positions. Its rows are from ``row[r]`` to
    before ``row[r + 1]``, and ``how[r]`` says whether it was stopped; both are filled. ``at`` is (1,): the run at hand.
    """

    start: Ints
    most: Ints
    row: Ints
    how: Ints
    at: Ints


# ── Arrays for what is read off many positions, which can be filled again and again.
@dataclass(frozen=True)
class Buffers:
    """Arrays for the answers, codes and numbers of many positions: (n,), (n, labels), (n, numbers)."""

    answers: NDArray[np.int32]
    codes: NDArray[np.int32]
    numbers: NDArray[np.float64]

    @classmethod
    def of(cls, n: int, labels: int, numbers: int) -> Self:
        """Return arrays for n positions."""
        codes = np.empty((n, labels), dtype=np.int32)
        return cls(np.empty(n, dtype=np.int32), codes, np.empty((n, numbers)))
