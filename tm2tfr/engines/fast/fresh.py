"""The kernel's arrays at position 0, and how they grow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.engines.fast import state as k
from tm2tfr.engines.fast.arrays import KINDS, STORED, Heads, Plan
from tm2tfr.engines.fast.groups import place_groups

MEAN, PLACE, LATEST, SCAN, GROUPED = range(len(KINDS))
MEMO = 2**16
"""The number of the tail's answers that are kept."""
LARGEST_MEMO = 2**23
"""The most numbers in all of their keys."""
EARLY_MEMO = 2**14
"""The number of answers that are kept for the beginning of the last layer with heads."""
GROUPS = 64
"""The number of groups that there is room for at first."""
NO_SPAN = (2**40, -(2**40))
"""The smallest and the largest key of a head that has none yet."""


def fresh(plan: Plan, width: int, stop: NDArray[np.bool_]) -> k.State:
    """Return the arrays at position 0, without room for any; stop: (vocabulary,) whether a token ends the run."""
    heads, tail = plan.heads, plan.tail
    components, values = len(heads.key_kind), len(heads.value_kind)
    scanned, owner = heads.kind == SCAN, np.repeat(heads.kind, np.diff(heads.value))
    stored = (heads.value_kind == STORED) & (heads.value_place >= 0)
    in_hist = stored & (owner != LATEST) & (owner != GROUPED)
    columns = int(heads.value_place[in_hist].max(initial=-1)) + 1
    if scanned.any():
        ends = heads.hist + np.diff(heads.component)
        columns = max(columns, int(ends[scanned].max()))
    slots, pools = (int(places.max(initial=-1)) + 1 for places in (heads.slot, heads.pool))
    inside = int(heads.value_place[stored & (owner == LATEST)].max(initial=-1)) + 1
    pooled = int(heads.value_place[owner == GROUPED].max(initial=-1)) + 1
    key = int(np.diff(heads.component)[heads.kind == GROUPED].max(initial=0))
    units = max(len(plan.body.bias), len(tail.bias), 1)
    labels, numbers = len(plan.probes.label_start), len(plan.probes.number)
    memo = min(MEMO, LARGEST_MEMO // max(1, len(tail.key)))
    early = min(EARLY_MEMO, LARGEST_MEMO // max(1, len(plan.early.key))) if plan.early.layer >= 0 else 0
    keys, key_values, early_values = np.zeros(components), np.zeros(len(tail.key)), np.zeros(len(plan.early.key))
    return k.State(
        x=np.zeros(width),
        query=np.zeros(components),
        keys=keys,
        keys_bits=keys.view(np.int64),
        asked=np.zeros(components, dtype=np.int64),
        mean=np.zeros(values),
        sums=np.zeros(values),
        tokens=np.zeros(0, dtype=np.int32),
        hist=np.zeros((0, columns)),
        group_position=np.full((slots, 1), -1, dtype=np.int64),
        group_token=np.zeros((slots, 1), dtype=np.int32),
        group_value=np.zeros((slots, 1, inside)),
        span=np.array([[*NO_SPAN, 0]] * slots, dtype=np.int64).reshape(slots, 3),
        pool_key=np.zeros((pools, GROUPS, key)),
        pool_count=np.zeros((pools, GROUPS), dtype=np.int64),
        pool_sum=np.zeros((pools, GROUPS, pooled)),
        pool_size=np.zeros(pools),
        pool_slot=np.full((pools, 4 * GROUPS), -1, dtype=np.int32),
        pool_info=np.zeros((pools, len(k.POOL)), dtype=np.int64),
        winners=np.zeros(4096, dtype=np.int64),
        scores=np.zeros(1),
        hidden=np.zeros(units),
        mark=np.zeros(units, dtype=np.int64),
        row_mark=np.zeros(width, dtype=np.int64),
        row_sum=np.zeros(width),
        active=np.zeros(width, dtype=np.int64),
        touched=np.zeros(units, dtype=np.int64),
        logits=np.zeros(len(stop)),
        stamp=np.zeros(1, dtype=np.int64),
        key_values=key_values,
        key_bits=key_values.view(np.int64),
        memo_slot=np.full(4 * MEMO, -1, dtype=np.int32),
        memo_token=np.empty(memo, dtype=np.int32),
        memo_bits=np.empty((memo, len(tail.key)), dtype=np.int64),
        memo_answer=np.empty(memo, dtype=np.int32),
        memo_codes=np.empty((memo, labels), dtype=np.int32),
        memo_numbers=np.empty((memo, numbers)),
        early_values=early_values,
        early_value_bits=early_values.view(np.int64),
        early_slot=np.full(4 * EARLY_MEMO if early else 1, -1, dtype=np.int32),
        early_place=np.empty(early, dtype=np.int32),
        early_token=np.empty(early, dtype=np.int32),
        early_bits=np.empty((early, len(early_values)), dtype=np.int64),
        early_answer=np.empty(early, dtype=np.int32),
        early_group=np.empty((early, pools), dtype=np.int64),
        early_count=np.empty((early, pools), dtype=np.int64),
        early_groups=np.empty((early, pools), dtype=np.int64),
        stop=stop,
        overflow=np.zeros(1, dtype=np.int64),
    )


def longer(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Return an array with more rows, those that it does not have yet filled with 0."""
    more = np.zeros((size, *array.shape[1:]), dtype=array.dtype)
    more[: len(array)] = array
    return more


def more_groups(state: k.State, heads: Heads) -> k.State:
    """Return the arrays with room for twice as many groups of each grouped head."""
    pools, had = state.pool_count.shape
    size, slots = 2 * had, np.full((pools, 8 * had), -1, dtype=np.int32)
    changed: dict[str, Any] = {
        name: np.concatenate([array, np.zeros_like(array)], axis=1)
        for name, array in (("pool_key", state.pool_key), ("pool_count", state.pool_count), ("pool_sum", state.pool_sum))
    }
    winners = state.winners if len(state.winners) >= size else np.zeros(size, dtype=np.int64)
    state = state._replace(**changed, pool_slot=slots, winners=winners)
    place_groups(heads, state)
    return state
