"""Shared by the compiled functions: the decorators, and sums over rows. Importing this module imports Numba."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numba import config as numba_config
from numba import njit

from tm2tfr.base.native.building import OPTIONS, OUTERMOST
from tm2tfr.engines.fast.arrays import Rows, Terms3
from tm2tfr.transformer.matrix import Floats, Int

config: Any = numba_config
_F = TypeVar("_F", bound=Callable[..., Any])


def compiled(function: _F) -> _F:
    """Compile a function with Numba, into its callers, and keep the code on disk."""
    return _jit(function, OPTIONS)


def entry(function: _F) -> _F:
    """Compile a function that is called from Python, without Python's lock, and keep the code on disk."""
    return _jit(function, {**OUTERMOST, "nogil": True})


def compiled_once(function: _F) -> _F:
    """Compile a function that is called from Python, without keeping its code."""
    done: _F = njit(error_model="numpy", **OUTERMOST)(function)
    return done


def inside(function: _F) -> _F:
    """Compile a function that is called from Python into another one."""
    done: _F = njit(error_model="numpy", **OPTIONS)(getattr(function, "py_func", function))
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


@compiled
def feature(code: Int, j: Int) -> float:
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
def row(table: Rows, r: Int, x: Floats) -> float:
    total = 0.0
    for e in range(table.start[r], table.start[r + 1]):
        total += table.weight[e] * x[table.number[e]]
    return total


@compiled
def pure(table: Terms3, r: Int, j: Int) -> float:
    total = 0.0
    for e in range(table.start[r], table.start[r + 1]):
        total += table.weight[e] * (table.embedded[e] * feature(table.feature[e], j))
    return total
