"""No number overflows: a bound on everything that an engine computes, from the weights and the largest of its inputs.

In a run of N positions the stream holds what it should (`prove` shows it), and (N - 1)² is the largest value: all |x| are
at most X = N². Then a row of a matrix gives at most X times the sum of its absolute values, a score the sum of products
of two of those, a sum of values N of them, and N ≤ X: everything, partial sums included, is at most G·X², where G is the
largest of the same sums for X = N = 1. Heads and units that write nothing are computed like all others, and an infinite
score in one of them could become NaN: they count.

Rounding, a factor of 1 + u for each operation, is far less than the factor of 2^8 left below the largest float.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from tm2tfr.sources.turing.proof.rounding import Condition
from tm2tfr.transformer.matrix import Floats, Matrix
from tm2tfr.transformer.weights import Decoder, FeedForward, Head

EXPONENT = {"float32": 119, "float64": 1015}
"""dtype -> k: no number may exceed 2^k, which is 2^-8 times the power of two above the largest float."""


def overflow(decoder: Decoder, dtype: str) -> Condition:
    """Return the condition that no number is too large for floats of `dtype`: G·N⁴ ≤ 2^k."""
    with np.errstate(over="ignore", invalid="ignore"):
        largest = max(float(size.max(initial=0.0)) for size in _sizes(decoder))
    top, claim = 2 ** EXPONENT[dtype], "no number is too large for the dtype"
    if not np.isfinite(largest):
        return Condition(0, "weights", "all", claim, "G is finite", lambda _n, _h: Fraction(2))
    factor = Fraction(largest) / top
    text = f"{largest:.3g}·N⁴ ≤ 2^{EXPONENT[dtype]}"
    return Condition(0, "weights", "all", claim, text, lambda n, _: factor * n**4)


def _sizes(decoder: Decoder) -> Iterator[Floats]:
    """Yield the largest numbers in each part for X = N = 1."""
    yield _rows(decoder.token_embedding)
    yield _rows(decoder.position_embedding)
    for layer in decoder.layers:
        for head in layer.heads:
            yield from _head(head)
        if layer.feed_forward is not None:
            yield from _units(layer.feed_forward)
    yield _rows(decoder.unembedding) + _rows(decoder.unembedding_bias)


def _head(head: Head) -> Iterator[Floats]:
    query, key, value = (_rows(matrix) for matrix in (head.query, head.key, head.value))
    yield from (query, key, np.array([(query * key).sum()]), value)
    yield 1.0 + _rows(head.output, value)


def _units(layer: FeedForward) -> Iterator[Floats]:
    hidden = _rows(layer.input) + _rows(layer.input_bias)
    yield hidden
    yield 1.0 + _rows(layer.output, hidden) + _rows(layer.output_bias)


def _rows(matrix: Matrix, x: Floats | None = None) -> Floats:
    """Return Σ|w||x| for each row, x: (columns,) or 1 everywhere."""
    sizes = np.abs(matrix.values) * (1.0 if x is None else x[matrix.columns])
    total: Floats = np.bincount(matrix.rows, sizes, minlength=matrix.shape[0]).astype(np.float64)
    return total
