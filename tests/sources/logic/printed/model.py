"""Section 3.1 of the paper, as printed: one head, a mask, a weighting, and a feed-forward layer with nothing added to it.

Positions are 1..n there and rows 0..n - 1 here; every array has a row for each position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np

Rows = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Weighting = Callable[[Rows, int, int], Rows]
"""From the scores in sight, the position i from 1 and the length n to the attention weights."""
Mask = Literal["none", "future", "past"]


def lhardmax(scores: Rows, _i: int = 0, _n: int = 0) -> Rows:
    """Definition 2: all weight on the leftmost maximum."""
    return np.eye(len(scores))[int(np.argmax(scores))]


def rhardmax(scores: Rows, _i: int = 0, _n: int = 0) -> Rows:
    """Definition 2: all weight on the rightmost maximum."""
    return lhardmax(scores[::-1])[::-1]


def ahardmax(scores: Rows, _i: int = 0, _n: int = 0) -> Rows:
    """Definition 2: equal weight on all maxima."""
    best = scores == scores.max()
    return best / best.sum()


def softmax(scores: Rows, _i: int = 0, _n: int = 0) -> Rows:
    """Definition 3 with temperature 1."""
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def softmax_at(temperature: Callable[[int, int], float]) -> Weighting:
    """Definition 3: softmax of the scores divided by τ(i, n)."""
    return lambda scores, i, n: softmax(scores / temperature(i, n))


def attend(scores: Rows, values: Rows, weighting: Weighting, mask: Mask = "none") -> Rows:
    """Return c_1..c_n of Definition 1, from the scores s_ij, (n, n), and the values, (n,) or (n, d).

    Args:
        scores: s_ij; those out of sight are not looked at.
        values: v_j.
        weighting: from the scores in sight to the attention weights.
        mask: which positions are in sight.
    """
    rows = []
    for i, row in enumerate(scores):
        sight = {"none": slice(None), "future": slice(0, i + 1), "past": slice(i, None)}[mask]
        rows.append(weighting(row[sight], i + 1, len(scores)) @ values[sight])
    return np.array(rows)


def products(queries: Rows, keys: Rows) -> Rows:
    """Return the products q_i·k_j, (n, n): the scores that the theorems give, without Definition 1's 1/√d_k."""
    return queries @ keys.T


@dataclass(frozen=True)
class FeedForward:
    """h = W₂ ReLU(W₁ c + b₁) + b₂ (Section 3.1): no c is added to it."""

    w1: Any
    b1: Any
    w2: Any
    b2: Any

    def __call__(self, c: Rows) -> Rows:
        hidden = np.maximum(c @ np.atleast_2d(self.w1).T + self.b1, 0)
        return np.asarray(hidden @ np.atleast_2d(self.w2).T + self.b2)


def rounded(x: Rows) -> Rows:
    """Lemma 9: 0 up to 1/4, 1 from 3/4 on, linear between."""
    layer = FeedForward([[1.0], [1.0]], [-0.25, -0.75], [[2.0, -2.0]], [0.0])
    return layer(np.asarray(x, float).reshape(-1, 1)).reshape(np.shape(x))


def positions(n: int, *, bos: int = 0) -> Rows:
    """Return 1..n, or 0..n with a position in front of the word."""
    return np.arange(1 - bos, n + 1, dtype=float)


def words(alphabet: str, longest: int) -> Iterator[str]:
    """Yield all words from length 1 to `longest`."""
    return ("".join(word) for n in range(1, longest + 1) for word in product(alphabet, repeat=n))


def cells(alphabet: str, longest: int) -> int:
    """Return the number of positions of all words from length 1 to `longest`."""
    return sum(n * len(alphabet) ** n for n in range(1, longest + 1))
