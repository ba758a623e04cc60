"""Shared by the compiled parts: the decorator, the arrays that change, and sums over rows."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numba import config as numba_config
from numba import njit
from numba.core.errors import NumbaError
from numpy.typing import NDArray

config: Any = numba_config
U = 2.0**-53
TINY = 1e-250
"""With a coefficient of j² or k² below this a head is scanned: products near the smallest floats round by more than U."""
DONE, STOPPED, GROW, GUARD, OVERFLOW = range(5)
POSITION, NEXT, RESUME, HEAD, WANTED, COUNT, ENTRIES, REASON, HITS, EARLY = PLACES = range(10)
"""The places of the control array."""
NOT_SQUARE, NOT_CONCAVE, MANY_KEYS, SHARED = range(4)
"""The reasons of GUARD."""
GROUPS, LAST, AT, SLOT, WINNER = POOL = range(5)
"""The places of `Pools.info`: the number of groups, those of the last position and of this one, the slot of a new one; the
group attended to, -1 if there are several."""


_F = TypeVar("_F", bound=Callable[..., Any])


def _options() -> dict[str, Any]:
    """Return the options for Numba: compile into the callers, without wrappers for Python and C that nobody calls.

    The kernel allocates nothing, so that it needs none of Numba's reference counts, which cost ten times the rest.
    These options are not part of Numba's public interface; a version without them gets a slower kernel.
    """
    options: dict[str, Any] = {"_nrt": False, "forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    try:
        njit(error_model="numpy", **options)(_same).compile("i8(i8)")
    except (KeyError, TypeError, AttributeError, NumbaError):
        return {}
    return options


def _same(n: Any) -> Any:
    return n


_OPTIONS = _options()


def compiled(function: _F) -> _F:
    """Compile a function with Numba, into its callers, and keep the code on disk."""
    return _jit(function, _OPTIONS)


def entry(function: _F) -> _F:
    """Compile a function that is called from Python, and keep the code on disk."""
    return _jit(function, {name: value for name, value in _OPTIONS.items() if "wrapper" not in name})


def compiled_once(function: _F) -> _F:
    """Compile a function that is called from Python, without keeping its code."""
    options = {name: value for name, value in _OPTIONS.items() if "wrapper" not in name}
    done: _F = njit(error_model="numpy", **options)(function)
    return done


def _jit(function: _F, options: dict[str, Any]) -> _F:
    with _kept() as kept:
        done: _F = njit(cache=kept, error_model="numpy", **options)(function)
    return done


@contextmanager
def _kept() -> Iterator[bool]:
    """Have Numba keep compiled code in a folder named after the digest of this package's sources; yield whether it can.

    By itself Numba looks only at the file of the outermost function, and would keep using the old code of those
    that are compiled into it.
    """
    folder = _folder()
    before, config.CACHE_DIR = config.CACHE_DIR, "" if folder is None else str(folder)
    try:
        yield folder is not None
    finally:
        config.CACHE_DIR = before


@cache
def _folder() -> Path | None:
    """Return the folder for compiled code: in NUMBA_CACHE_DIR, beside the sources, or in the user's cache; None if none."""
    here, total = Path(__file__).parent, hashlib.sha256()
    for path in sorted(here.glob("*.py")):
        total.update(path.read_bytes())
    named = [Path(config.CACHE_DIR)] if config.CACHE_DIR else []
    for base in (*named, here / "__pycache__", Path.home() / ".cache" / "tm2tfr"):
        folder = base / f"kernel-{total.hexdigest()[:16]}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return None


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


@compiled
def feature(code: Any, j: Any) -> Any:
    """Return a position feature at position j, correctly rounded; codes as in `arrays.FEATURES`, which has no other."""
    if code == 0:
        return 1.0 / np.float64(j + 1)
    if code == 1:
        return 1.0
    if code == 2:
        return np.float64(j)
    if code == 3:
        return np.float64(j * j)
    return np.nan


@compiled
def row(table: Any, r: Any, x: Any) -> Any:
    total = 0.0
    for e in range(table.start[r], table.start[r + 1]):
        total += table.weight[e] * x[table.number[e]]
    return total


@compiled
def pure(table: Any, r: Any, j: Any) -> Any:
    total = 0.0
    for e in range(table.start[r], table.start[r + 1]):
        total += table.weight[e] * (table.embedded[e] * feature(table.feature[e], j))
    return total
