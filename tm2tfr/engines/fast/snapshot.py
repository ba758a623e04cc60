"""A session as arrays, to be resumed later, and what these arrays must be before compiled code reads them.

Compiled code does not check its indices: a token, a position or a place that lies outside the arrays would read or write
foreign memory. So every number that is used as an index is checked here, and whatever follows from others is not saved but
made again: the position, whether the run has stopped, the hash table of groups. Numbers that only arithmetic reads may be
anything: a wrong one makes a wrong token, which the comparison finds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tm2tfr.base.errors import CheckpointError
from tm2tfr.engines.fast import state as k
from tm2tfr.engines.fast.arrays import Heads
from tm2tfr.engines.fast.fresh import NO_SPAN, more_groups, place_groups
from tm2tfr.transformer.matrix import AnyArray

Snapshot = dict[str, AnyArray]
KEPT = ("sums", "tokens", "hist", "span", *(f"group_{name}" for name in ("position", "token", "value")))
"""The arrays of `State` that are saved."""
POOLED = ("key", "members", "sum", "size")
"""The arrays of `Pools` that are saved, as far as there are groups."""
NAMES = ("scanned", "given", "next", *KEPT, *(f"pool_{name}" for name in POOLED))
FARTHEST = 2**40
"""The largest |place of key 0|: keys are below 10^9, so their sum does not overflow."""


def saved_of(state: k.State, pools: k.Pools, control: NDArray[np.int64], given: NDArray[np.int32]) -> Snapshot:
    """Return copies of the arrays that the rest of a run depends on, besides ``scanned``."""
    n, groups = int(control[k.POSITION]), pools.info[:, k.GROUPS]
    arrays: Snapshot = {"given": given, "next": np.array(control[k.NEXT])}
    arrays |= {name: getattr(state, name) for name in KEPT}
    arrays |= {name: arrays[name][:n] for name in ("tokens", "hist")}
    most = int(groups.max(initial=0))
    used = np.arange(most) < groups[:, None]  # what is beyond belongs to an earlier run
    for name in ("key", "sum"):
        arrays[f"pool_{name}"] = np.where(used[..., None], getattr(pools, name)[:, :most], 0.0)
    arrays |= {"pool_members": np.where(used, pools.members[:, :most], 0), "pool_size": pools.size}
    return {name: array.copy() for name, array in arrays.items()}


def scanned_of(saved: Mapping[str, AnyArray], heads: int) -> list[bool]:
    """Return by head whether it is scanned.

    Raises:
        CheckpointError: if there are too many or too few arrays, or this one is damaged.
    """
    for name in (*NAMES, *saved):
        if (name in saved) != (name in NAMES):
            raise damaged(name, "there is no such array" if name in NAMES else "a saved session does not have it")
    flags: list[bool] = array_of(saved, "scanned", np.bool_, (heads,)).tolist()
    return flags


def refuse_damaged(saved: Mapping[str, AnyArray], state: k.State, pools: k.Pools, most: int) -> None:
    """Raise CheckpointError unless the arrays are those of a session with this plan.

    Args:
        state, pools: the session's arrays at position 0, whose types and fixed sizes the saved ones must have.
        most: the most positions that the session can have.
    """
    last = len(state.logits) - 1
    _within("tokens", array_of(saved, "tokens", np.int32, (None,)), 0, last)
    _within("given", array_of(saved, "given", np.int32, (None,)), 0, last)
    _within("next", array_of(saved, "next", np.int64, ()), 0, last)
    n = len(saved["tokens"])
    if n > most:
        raise damaged("tokens", f"there are {n:,} positions, but at most {most:,}")
    cells, groups = (_columns(saved[name]) for name in ("group_position", "pool_members"))
    for name in KEPT[:1] + KEPT[2:]:
        like: AnyArray = getattr(state, name)
        cut = {"hist": (n,), "sums": like.shape[:1], "span": like.shape[:1]}.get(name, (len(like), cells))
        array_of(saved, name, like.dtype, (*cut, *like.shape[len(cut) :]))
    for name in POOLED:
        like = getattr(pools, name)
        cut = like.shape[:1] if like.ndim == 1 else (len(like), groups)
        array_of(saved, f"pool_{name}", like.dtype, (*cut, *like.shape[len(cut) :]))
    _within("group_position", saved["group_position"], -1, n - 1)
    _within("group_token", saved["group_token"], 0, last)
    for (low, high, zero), places in zip(saved["span"].tolist(), saved["group_position"], strict=True):
        inside = 0 <= low + zero <= high + zero < cells and places[low + zero] >= 0 and places[high + zero] >= 0
        if abs(zero) > FARTHEST or not ((low, high) == NO_SPAN or inside):
            raise damaged("span", f"the keys from {low} to {high} are not at the places from {low + zero} on")
    members = saved["pool_members"]
    full = members > 0
    in_order = (full[:, 1:] <= full[:, :-1]).all() and (members >= 0).all() and (members <= n).all()
    if not in_order or not (members.sum(axis=1) == n).all():
        raise damaged("pool_members", f"its groups do not have the {n:,} positions")


def pools_of(saved: Mapping[str, AnyArray], pools: k.Pools, heads: Heads) -> k.Pools:
    """Return the arrays of grouped heads with the saved groups in them; pools: those at position 0."""
    groups = saved["pool_members"].shape[1]
    while pools.members.shape[1] < groups:
        pools = more_groups(pools, heads)
    for name in ("key", "members", "sum"):
        getattr(pools, name)[:, :groups] = saved[f"pool_{name}"]
    pools.size[:] = saved["pool_size"]
    pools.info[:, k.GROUPS] = (saved["pool_members"] > 0).sum(axis=1)
    if len(pools.info):
        place_groups(heads, pools)
    return pools


def array_of(saved: Mapping[str, AnyArray], name: str, dtype: DTypeLike, shape: Sequence[int | None]) -> AnyArray:
    """Return a saved array of this type and shape; None stands for any length.

    Raises:
        CheckpointError: if there is none.
    """
    if name not in saved:
        raise damaged(name, "there is no such array")
    array = saved[name]
    fits = len(array.shape) == len(shape) and all(b in (None, a) for a, b in zip(array.shape, shape, strict=True))
    if array.dtype != np.dtype(dtype) or not fits:
        wanted = f"({', '.join('any' if length is None else str(length) for length in shape)})"
        found = f"({', '.join(map(str, array.shape))})"
        raise damaged(name, f"it must be {np.dtype(dtype)} {wanted}, not {array.dtype} {found}")
    return array


def damaged(name: str, what: str) -> CheckpointError:
    """Return the refusal of a saved array."""
    return CheckpointError(f"array {name}: {what}: it was changed or damaged: start the run again with --checkpoint")


def _columns(array: AnyArray) -> int:
    """Return the number of columns of an array, which may have any shape."""
    return array.shape[1] if array.ndim > 1 else 0


def _within(name: str, array: AnyArray, low: int, high: int) -> None:
    """Raise CheckpointError unless all numbers of an array are between `low` and `high`."""
    wrong = array[(array < low) | (array > high)]
    if wrong.size:
        raise damaged(name, f"its numbers must be from {low} to {high:,}, not {wrong[0]}")
