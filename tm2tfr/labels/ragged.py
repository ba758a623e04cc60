"""Where heads look on many words of one length, as matrices, and in the form of a column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.labels.variables import Ragged

LookMatrix = NDArray[np.bool_]
"""(words, n, n): to which positions (the last axis) a head attends from each."""


def in_sight(mask: str, n: int) -> NDArray[np.bool_]:
    """Return which positions are in sight from each: (n, n); for masks see `tm2tfr.transformer.weights.MASKS`."""
    i, j = np.arange(n)[:, None], np.arange(n)[None, :]
    return {"future": j <= i, "past": j >= i, "none": np.ones((n, n), dtype=bool)}[mask]


def ragged(looks: LookMatrix, sight: NDArray[np.bool_]) -> Ragged:
    """Return where a head looks as a column: (words · n,) entries."""
    everything = (looks == sight).all(axis=-1).ravel()
    rows = looks.reshape(-1, looks.shape[-1]) & ~everything[:, None]
    offsets = np.concatenate([[0], np.cumsum(rows.sum(axis=1))]).astype(np.int64)
    return Ragged(offsets, np.nonzero(rows)[1].astype(np.int32), everything)


def ragged_of(seen: Sequence[Sequence[int] | None]) -> Ragged:
    """Return positions as a column; None: every position in sight."""
    offsets = np.concatenate([[0], np.cumsum([len(places or ()) for places in seen])]).astype(np.int64)
    flat = np.array([j for places in seen for j in places or ()], dtype=np.int32)
    return Ragged(offsets, flat, np.array([places is None for places in seen], dtype=bool))


def joined(parts: list[Ragged]) -> Ragged:
    """Return several columns, one after the other."""
    sizes = np.concatenate([np.diff(part.offsets) for part in parts])
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    places, everything = (np.concatenate([getattr(p, name) for p in parts]) for name in ("places", "everything"))
    return Ragged(offsets, places, everything)


def mean_over(looks: LookMatrix, values: NDArray[Any]) -> NDArray[np.float64]:
    """Return the mean of values, (words, n), over the positions that are looked at: (words, n)."""
    shares = looks / looks.sum(axis=-1, keepdims=True)
    found: NDArray[np.float64] = np.matmul(shares, values.astype(np.float64)[..., None])[..., 0]
    return found
