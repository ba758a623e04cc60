"""The sums of a forward pass, added up in one order or another: what a kernel may do, and what none would think of.

Terms that are 0 are left out, which changes nothing. `FUSED` rounds no product (fused multiply-add), emulated in float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
ORDERS = ("forward", "backward", "pairwise", "random", "positive first", "large first", "small first")


class Numpy:
    """The sums as numpy makes them."""

    def product(self, x: Array, w: Array, bias: Array) -> Array:
        """Return x·w + bias, (n, m): x (n, k), w (k, m), bias (m,)."""
        return x @ w + bias

    def scores(self, q: Array, k: Array) -> Array:
        """Return q·k, (heads, n, n): q, k (heads, n, size); what a causal mask hides, later keys, may be left 0."""
        return q @ k.transpose(0, 2, 1)

    def mixed(self, weights: Array, v: Array) -> Array:
        """Return weights·v, (heads, n, size): weights (heads, n, n), 0 at later positions."""
        return weights @ v

    def mean(self, x: Array) -> Array:
        """Return the means, (n, 1): x (n, width)."""
        return x.mean(axis=-1, keepdims=True)


@dataclass
class Ordered(Numpy):
    """The sums in one of `ORDERS`, with products rounded or, where `fused`, not."""

    order: str
    fused: bool = False
    chance: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))

    def product(self, x: Array, w: Array, bias: Array) -> Array:
        one = np.ones((len(x), 1), dtype=x.dtype)
        found = np.zeros((len(x), w.shape[1]), dtype=x.dtype)
        for column in range(w.shape[1]):
            used = np.flatnonzero(w[:, column])
            factors = [w[used, column], bias[column : column + 1]]
            found[:, column] = self._sum(np.concatenate([x[:, used], one], axis=1), np.concatenate(factors)[None])
        return found

    def scores(self, q: Array, k: Array) -> Array:
        found = np.zeros((len(q), q.shape[1], k.shape[1]), dtype=q.dtype)
        for head, used in enumerate(np.logical_and(q.any(axis=1), k.any(axis=1))):
            for rows in _chunks(q.shape[1]):
                seen = slice(rows.stop)
                found[head, rows, seen] = self._sum(q[head, rows][:, None, used], k[head, seen][None, :, used])
        return found

    def mixed(self, weights: Array, v: Array) -> Array:
        found = np.zeros((len(v), weights.shape[1], v.shape[2]), dtype=v.dtype)
        for head in range(len(v)):
            used = np.flatnonzero(v[head].any(axis=0))
            if not len(used):
                continue
            single = (weights[head] != 0).sum(axis=1) == 1
            best = weights[head].argmax(axis=1)
            found[head, single] = weights[head, single, best[single]][:, None] * v[head, best[single]]
            many = np.flatnonzero(~single)
            for column in used:
                for rows in _chunks(len(many)):
                    at = many[rows]
                    seen = slice(at[-1] + 1)
                    found[head, at, column] = self._sum(weights[head, at, seen], v[head, seen][None, :, column])
        return found

    def mean(self, x: Array) -> Array:
        return (self._sum(x, np.ones((1, 1), dtype=x.dtype)) / x.dtype.type(x.shape[-1]))[:, None]

    def _sum(self, left: Array, right: Array) -> Array:
        """Return the sums of products along the last axis."""
        left, right = np.broadcast_arrays(left, right)
        products = left * right
        if products.shape[-1] == 0:
            return np.zeros(products.shape[:-1], dtype=products.dtype)
        if self.order == "pairwise":
            return _pairwise(products)
        places = self._places(products)
        if not self.fused:
            ordered = products[..., places] if places.ndim == 1 else np.take_along_axis(products, places, axis=-1)
            return np.add.accumulate(ordered, axis=-1)[..., -1]
        assert products.dtype == np.float32
        wide = left.astype(float) * right
        wide = wide[..., places] if places.ndim == 1 else np.take_along_axis(wide, places, axis=-1)
        total = np.zeros(products.shape[:-1], dtype=np.float32)
        for term in range(wide.shape[-1]):
            total = (total + wide[..., term]).astype(np.float32)
        return total

    def _places(self, products: Array) -> Array:
        number = products.shape[-1]
        if self.order in ("forward", "backward", "random"):
            places = np.arange(number)
            return {"forward": places, "backward": places[::-1], "random": self.chance.permutation(number)}[self.order]
        keys = {"positive first": -products, "large first": -abs(products), "small first": abs(products)}[self.order]
        return np.argsort(keys, axis=-1, kind="stable")


def _pairwise(products: Array) -> Array:
    while products.shape[-1] > 1:
        half = products.shape[-1] // 2
        rest = products[..., 2 * half :]
        products = np.concatenate([products[..., :half] + products[..., half : 2 * half], rest], axis=-1)
    return products[..., 0]


def _chunks(number: int) -> Iterator[slice]:
    yield from (slice(start, start + 128) for start in range(0, number, 128))
