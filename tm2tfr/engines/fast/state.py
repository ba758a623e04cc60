"""The arrays that change, and the numbers by which their places and what happens are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tm2tfr.transformer.matrix import Ints

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
    tokens: NDArray[np.int32]  # (P,)
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
    """All that changes in grouped heads, apart from `State`, which so many functions take that its size costs time.

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
