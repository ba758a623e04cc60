"""Theorem 20's counting, as printed and repaired: a mean under a mask, and the count looked up from it."""

from __future__ import annotations

import numpy as np

from tests.sources.logic.printed.model import Mask, Rows, ahardmax, attend, positions, products, softmax_at

PRINTED = softmax_at(lambda _i, n: 1 / n)
"""Condition (a): τ(n) = 1/n, where n is the number of positions."""


def marks(word: str, token: str = "1") -> Rows:
    """Return the values of Q_token."""
    return np.array([float(each == token) for each in word])


def retrieved(
    bits: Rows,
    values: Rows,
    *,
    side: Mask = "future",
    mask: Mask | None = None,
    scale: float = 3.0,
    plus: int = 0,
    bos: int = 0,
) -> Rows:
    """Return what the second step brings at each position of the word, (n,), for the count of `bits`.

    Args:
        bits: φ_k at the positions of the word, (n,).
        values: v_j: j itself, or θ(j); (n,), or (n + 1,) with a position 0.
        side: ``future`` counts with #←, ``past`` with #→.
        mask: that of the retrieval; that of the count if it is None.
        scale: 3C.
        plus: this is added to the count, for the second retrieval of the zero test.
        bos: 1 for the repair: a position 0, where no bit is true.
    """
    n = len(bits)
    places = positions(n, bos=bos)
    padded = np.concatenate([np.zeros(bos), bits])
    mean = attend(np.zeros((n + bos, n + bos)), padded, ahardmax, side)
    seen = np.arange(1, n + 1 + bos, dtype=float) if side == "future" else np.arange(n + bos, 0, -1, dtype=float)
    queries = scale * np.stack([mean + plus / seen, 1 / seen], axis=1)
    keys = np.stack([2 * places, -(places**2)], axis=1)
    return attend(products(queries, keys), values, PRINTED, side if mask is None else mask)[bos:]
