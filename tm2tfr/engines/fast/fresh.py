"""The kernel's arrays at position 0, how they grow, and how they are saved and restored.

Compiled code does not check its indices: a token, a position or a place that lies outside the arrays would read or write
foreign memory. So every number that is used as an index is checked here, and whatever follows from others is not saved but
made again: the position, whether the run has stopped, the hash table of groups. Numbers that only arithmetic reads may be
anything: a wrong one makes a wrong token, which the comparison finds.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tm2tfr.base.errors import CheckpointError
from tm2tfr.base.native.function import Caller, KeptFunction, sources
from tm2tfr.base.waiting import COMPILING_MACHINE
from tm2tfr.engines.fast import arrays as k
from tm2tfr.engines.fast.arrays import KINDS, STORED, Heads, Laid, Pools, Tail
from tm2tfr.transformer.matrix import AnyArray

# ── the compiled functions of this engine, as they are called from Python: their machine code is cached ─
# Modules that need Numba are imported only where something has to be compiled.
_HERE = Path(__file__).parent
SOURCES = sources(_HERE)
"""The digest of everything that determines the functions."""
NEED, OTHERWISE = "the fast engine needs Numba", "use the dense engine"
_ADVANCE = KeptFunction.of("tm2tfr.engines.fast.kernel", "advance", NEED, otherwise=OTHERWISE, called=(_HERE,))
_ADVANCE_MANY = KeptFunction.of("tm2tfr.engines.fast.kernel", "advance_many", NEED, otherwise=OTHERWISE, called=(_HERE,))
_PLACE_GROUPS = KeptFunction.of("tm2tfr.engines.fast.groups", "place_groups", NEED, otherwise=OTHERWISE, called=(_HERE,))


def advance() -> Caller:
    """Return `kernel.advance`, for the calls of one session."""
    return Caller(_ADVANCE)


def advance_many() -> Caller:
    """Return `kernel.advance_many`, for the calls of one session."""
    return Caller(_ADVANCE_MANY)


def place_groups(heads: Heads, pools: Pools) -> None:
    """Call `groups.place_groups`."""
    Caller(_PLACE_GROUPS)(heads, pools)


def called() -> Mapping[str, Callable[..., Any]]:
    """Return the compiled functions that straight-line code calls."""
    from tm2tfr.engines.fast.groups import add_values, find_group, join  # noqa: PLC0415
    from tm2tfr.engines.fast.kernel import again, valid  # noqa: PLC0415
    from tm2tfr.engines.fast.tail import find  # noqa: PLC0415

    return {f.__name__: f for f in (find, find_group, valid, join, add_values, again)}


def straight_line(text: str) -> Caller:
    """Return the function ``run`` of `straight.written`: from the cache, or compiled when it is called."""
    return Caller(_straight_line(text))


@lru_cache(maxsize=16)
def _in_turns(text: str) -> KeptFunction:
    """Return the same for all threads: one of them compiles it."""
    return _straight_line(text)


def straight_turns(text: str) -> Caller:
    """Return the function ``run`` of `straight.written` for many runs, in the same way."""
    return Caller(_in_turns(text))


def _straight_line(text: str) -> KeptFunction:
    def made() -> Callable[..., Any]:
        from tm2tfr.engines.fast.jit import compiled_once  # noqa: PLC0415

        names: dict[str, Any] = {"np": np, **called()}
        exec(compile(text, "<plan>", "exec"), names)
        run: Callable[..., Any] = compiled_once(names["run"])
        return run

    return KeptFunction(f"{SOURCES}\n{text}", made, compiling=COMPILING_MACHINE)


MEAN, PLACE, LATEST, SCAN, GROUPED = range(len(KINDS))
MEMO = 2**16
"""The number of the tail's cached answers."""
SMALL_MEMO, FEW_TOKENS = 2**12, 64
"""The same at first, for few tokens: making the arrays of a short run should not take longer than the run."""
LARGEST_MEMO = 2**23
"""The most numbers in all of their keys."""
BYTE = 2**8
"""With at most this many tokens a position takes one byte."""
EARLY_MEMO = 2**14
"""The number of cached answers for the beginning of the last layer with heads."""
ROOM = 64
"""The number of groups that there is room for at first."""
NO_SPAN = (2**40, -(2**40))
"""The smallest and the largest key of a head that has none yet."""


AT_ONCE = 2**31
"""Arrays of more bytes than this are made longer step by step: one byte for each of the most positions is not more."""


def fresh(plan: Laid, width: int, stop: NDArray[np.bool_]) -> k.State:
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
    slots = int(heads.slot.max(initial=-1)) + 1
    inside = int(heads.value_place[stored & (owner == LATEST)].max(initial=-1)) + 1
    units = max(len(plan.body.bias), len(tail.bias), 1)
    labels, numbers = len(plan.probes.label_start), len(plan.probes.number)
    memo = _memo(tail, labels, numbers, SMALL_MEMO if len(stop) <= FEW_TOKENS else MEMO)
    key_values = np.zeros(len(tail.key))
    return k.State(
        x=np.zeros(width),
        query=np.zeros(components),
        keys=np.zeros(components),
        asked=np.zeros(components, dtype=np.int64),
        mean=np.zeros(values),
        sums=np.zeros(values),
        tokens=np.zeros(0, dtype=np.uint8) if len(stop) <= BYTE else np.zeros(0, dtype=np.int32),
        hist=np.zeros((0, columns)),
        group_position=np.full((slots, 1), -1, dtype=np.int64),
        group_token=np.zeros((slots, 1), dtype=np.int32),
        group_value=np.zeros((slots, 1, inside)),
        span=np.array([[*NO_SPAN, 0]] * slots, dtype=np.int64).reshape(slots, 3),
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
        **memo,
        stop=stop,
        overflow=np.zeros(1, dtype=np.int64),
    )


def _memo(tail: Tail, labels: int, numbers: int, size: int) -> dict[str, AnyArray]:
    """Return the arrays of an empty memo for `size` of the tail's answers, or as many as there is room for."""
    most = min(size, LARGEST_MEMO // max(1, len(tail.key)))
    return {
        "memo_slot": np.full(4 * size, -1, dtype=np.int32),
        "memo_token": np.empty(most, dtype=np.int32),
        "memo_bits": np.empty((most, len(tail.key)), dtype=np.int64),
        "memo_answer": np.empty(most, dtype=np.int32),
        "memo_codes": np.empty((most, labels), dtype=np.int32),
        "memo_numbers": np.empty((most, numbers)),
    }


def with_large_memo(state: k.State, plan: Laid) -> k.State:
    """Return the arrays with an empty memo of full size: what was in it is forgotten."""
    return state._replace(**_memo(plan.tail, state.memo_codes.shape[1], state.memo_numbers.shape[1], MEMO))


def fresh_pools(plan: Laid) -> k.Pools:
    """Return the arrays of grouped heads at position 0."""
    heads, owner = plan.heads, np.repeat(plan.heads.kind, np.diff(plan.heads.value))
    pools = int(heads.pool.max(initial=-1)) + 1
    values = int(heads.value_place[owner == GROUPED].max(initial=-1)) + 1
    components = int(np.diff(heads.component)[heads.kind == GROUPED].max(initial=0))
    answers = min(EARLY_MEMO, LARGEST_MEMO // max(1, len(plan.early.key))) if plan.early.layer >= 0 else 0
    keys, early_values = np.zeros(len(heads.key_kind)), np.zeros(len(plan.early.key))
    return k.Pools(
        keys=keys,
        bits=keys.view(np.int64),
        key=np.zeros((pools, ROOM, components)),
        members=np.zeros((pools, ROOM), dtype=np.int64),
        sum=np.zeros((pools, ROOM, values)),
        size=np.zeros(pools),
        slot=np.full((pools, 4 * ROOM), -1, dtype=np.int32),
        info=np.zeros((pools, len(k.POOL)), dtype=np.int64),
        values=np.zeros(values),
        winners=np.zeros(ROOM, dtype=np.int64),
        early_values=early_values,
        early_bits=early_values.view(np.int64),
        early_found=np.zeros(2, dtype=np.int64),
        early_slot=np.full(4 * EARLY_MEMO if answers else 1, -1, dtype=np.int32),
        early_place=np.empty(answers, dtype=np.int32),
        early_token=np.empty(answers, dtype=np.int32),
        early_key=np.empty((answers, len(early_values)), dtype=np.int64),
        early_answer=np.empty(answers, dtype=np.int32),
        early_groups=np.empty((answers, pools, 3), dtype=np.int64),
    )


class SessionArrays(NamedTuple):
    """The arrays of a session for many runs, and what calls the kernel with them."""

    state: k.State
    pools: k.Pools
    control: NDArray[np.int64]
    call: Caller


class Spare:
    """Arrays of sessions that are over, by the sizes of new ones: sweeps have a session for each of thousands of machines.

    Making arrays, touching their pages, and telling a kernel where they are takes as long as running a few short inputs.
    """

    most = 32

    def __init__(self) -> None:
        self._free: dict[Hashable, list[SessionArrays]] = {}

    def take(self, sizes: Hashable) -> SessionArrays | None:
        """Return arrays whose session had these sizes at its beginning, None if there are none."""
        free = self._free.get(sizes)
        try:
            return free.pop() if free else None
        except IndexError:  # another thread has just taken it
            return None

    def give(self, sizes: Hashable, arrays: SessionArrays) -> None:
        """Take back arrays that no session has any more; those given long ago make room."""
        if len(self._free) >= self.most:
            self._free = {}
        free = self._free.setdefault(sizes, [])
        if len(free) < 2:
            free.append(arrays)


def sizes_of(plan: Laid, width: int, tokens: int) -> Hashable:
    """Return what decides the sizes of the arrays at position 0: equal for plans of equal sizes."""
    heads, tail = plan.heads, plan.tail
    of_heads = (
        heads.kind,
        heads.value,
        heads.value_kind,
        heads.value_place,
        heads.component,
        heads.hist,
        heads.slot,
        heads.pool,
    )
    counts = len(plan.body.bias), len(tail.bias), len(tail.key), len(plan.probes.label_start), len(plan.probes.number)
    return width, tokens, plan.early.layer >= 0, len(plan.early.key), *counts, *(array.tobytes() for array in of_heads)


def roomier(positions: int, had: int, row: int, most: int) -> int:
    """Return how long arrays of `had` rows are made for this many positions, of at most `most`, each `row` bytes in all.

    Four times as long while that is not much: what is not used yet takes no memory, and moving takes time and memory.
    """
    longer = min(4 * had, most)
    return max(positions, longer if longer * row <= AT_ONCE else min(had + had // 2, most), 1024)


def longer(array: AnyArray, size: int) -> AnyArray:
    """Return an array with more rows, those that it does not have yet filled with 0."""
    more = np.zeros((size, *array.shape[1:]), dtype=array.dtype)
    more[: len(array)] = array
    return more


def more_groups(pools: k.Pools, heads: Heads) -> k.Pools:
    """Return the arrays with room for twice as many groups of each grouped head."""
    number, had = pools.members.shape
    changed: dict[str, Any] = {
        name: np.concatenate([array, np.zeros_like(array)], axis=1)
        for name, array in (("key", pools.key), ("members", pools.members), ("sum", pools.sum))
    }
    slot, winners = np.full((number, 8 * had), -1, dtype=np.int32), np.zeros(2 * had, dtype=np.int64)
    pools = pools._replace(**changed, slot=slot, winners=winners)
    place_groups(heads, pools)
    return pools


def forgotten_early(pools: k.Pools, answers: int) -> None:
    """Forget the first `answers` answers of `early`; the groups stay, which are those of the run."""
    pools.early_slot[pools.early_place[:answers]] = -1


def forgotten(pools: k.Pools, answers: int) -> None:
    """Empty all groups, and forget the first `answers` answers of `early`."""
    forgotten_early(pools, answers)
    pools.slot[:], pools.info[:], pools.size[:] = -1, 0, 0.0


# ── snapshots
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
    _within("tokens", array_of(saved, "tokens", state.tokens.dtype, (None,)), 0, last)
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
