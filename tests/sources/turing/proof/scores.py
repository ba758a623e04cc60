"""Scores of a head as the engines compute them, straight from its matrices, on streams as they should be.

Written for these tests with numpy alone: an adversary for the bounds of `tm2tfr.sources.turing.proof.rounding`. Every
product and every sum is rounded once to the dtype; rows are summed in column order, scores by component.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import Decoder, Head

Stream = Mapping[str, NDArray[Any]]


def integers(values: Any, dtype: str) -> NDArray[Any]:
    """Position features and head positions: rounded once to float64, once to the dtype, as the engines do."""
    return np.asarray(values, dtype=np.int64).astype(np.float64).astype(dtype)


def query_stream(i: int, h: int, m: int, dtype: str) -> Stream:
    """What a query at position i reads, the head having moved by m to h."""
    kind = np.dtype(dtype).type
    v = kind(np.float64(1) / np.float64(i + 1))
    here = kind(h) / kind(i + 1)
    moved = kind(m) * v
    before = here - moved
    named = {"1": 1, "1/(i+1)": v, "h/(i+1)": here, "m/(i+1)": moved, "h": h}
    for name, value in (("h", here), ("h_{i-1}", before)):
        named |= {f"{name}+/(i+1)": max(value, 0), f"{name}-/(i+1)": max(-value, 0)}
    return {name: np.array([value]).astype(dtype) for name, value in named.items()}


def key_stream(j: NDArray[np.int64], k: NDArray[np.int64], dtype: str) -> Stream:
    """What keys at the positions j read, with h_{j-1} = k."""
    values = {"i": j, "i^2": j * j, "h_{i-1}": k, "h_{i-1}^2": k * k, "1": np.ones_like(j)}
    return {name: integers(numbers, dtype) for name, numbers in values.items()}


def scores(decoder: Decoder, head: Head, query: Stream, keys: Stream, dtype: str) -> NDArray[Any]:
    """(n_key,) the rounded scores."""
    q, k = (_applied(decoder, matrix, s, dtype) for matrix, s in ((head.query, query), (head.key, keys)))
    total = None
    for component in sorted(set(q) & set(k)):
        term = q[component] * k[component]
        total = term if total is None else total + term
    assert total is not None
    assert total.dtype == dtype
    return total


def _applied(decoder: Decoder, matrix: Matrix, stream: Stream, dtype: str) -> dict[int, NDArray[Any]]:
    rows: dict[int, NDArray[Any]] = {}
    for row, column, weight in matrix.entries():
        term = np.dtype(dtype).type(weight) * stream[decoder.layout.directions[column]]
        rows[row] = rows[row] + term if row in rows else term
    return rows


def near(bound: int, rng: np.random.Generator, count: int) -> list[int]:
    """Numbers up to `bound`, most of them near it, near powers of two, or random."""
    powers = [2**k + d for k in range(64) for d in (-1, 0, 1) if 0 <= 2**k + d <= bound]
    chance = rng.integers(0, bound + 1, count).tolist()
    return sorted({*range(max(0, bound - 3), bound + 1), *powers, *chance})


def positions(low: int, high: int, rng: np.random.Generator, count: int) -> list[int]:
    """Positions from `low` to `high`: both ends, powers of two and their neighbours, random ones."""
    powers = [2**k + d for k in range(64) for d in (-1, 0, 1)]
    ends = [low, low + 1, low + 2, high - 1, high, *powers, *rng.integers(low, high + 1, count).tolist()]
    return sorted({i for i in ends if low <= i <= high})


def lookup_picks(
    decoder: Decoder, head: Head, cases: Iterable[tuple[int, int, int, int]], dtype: str
) -> Iterator[tuple[int, int, int, NDArray[np.int64]]]:
    """Yield (i, h, m, wrong positions) for lookups of t at (i, h, m, t): those that score as high as t or higher."""
    for i, h, m, t in cases:
        span = np.arange(max(0, t - 40), min(i, t + 40) + 1)
        j = np.unique(np.concatenate([span, np.array([0, i, i // 2, min(i, 2 * t), t])])).astype(np.int64)
        found = scores(decoder, head, query_stream(i, h, m, dtype), key_stream(j, np.zeros_like(j), dtype), dtype)
        yield i, h, m, j[(found >= found[j == t][0]) & (j != t)]


def latest_ties(decoder: Decoder, head: Head, i: int, h: int, j: NDArray[np.int64], dtype: str) -> NDArray[np.int64]:
    """Those of the positions j > 0 which, written to the cell h, do not score above the position before them."""
    query = query_stream(i, h, 0, dtype)
    both = [scores(decoder, head, query, key_stream(p, np.full_like(p, h), dtype), dtype) for p in (j, j - 1)]
    return j[both[0] <= both[1]]


def other_cells(decoder: Decoder, head: Head, i: int, h: int, dtype: str) -> NDArray[np.int64]:
    """Cells other than h whose write at the last position scores as high as one to h at position 0."""
    k = np.array([h - 3, h - 2, h - 1, h + 1, h + 2, h + 3, 0, -h, h // 2], dtype=np.int64)
    k = k[k != h]
    query = query_stream(i, h, 0, dtype)
    own = scores(decoder, head, query, key_stream(np.array([0]), np.array([h]), dtype), dtype)[0]
    return k[scores(decoder, head, query, key_stream(np.full_like(k, i), k, dtype), dtype) >= own]
