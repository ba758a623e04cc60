"""Layer normalisation in floats: what a part reads from the stream, in the arithmetic of the dense engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.errors import EngineError
from tm2tfr.transformer.weights import Norm

_Vector = NDArray[Any]


class LayerNorm:
    """A norm, ``gain · ((x - μ) / √(σ² + ε)) + bias`` with ``μ = Σx / width`` and ``σ² = Σ(x - μ)² / width``.

    Each sum runs from the first entry to the last, and each operation is rounded once, in the order of the formula.

    Args:
        where: says where the norm is, in refusals.
    """

    def __init__(self, norm: Norm, where: Callable[[], str], dtype: np.dtype[Any]) -> None:
        self._where = where
        self._gain, self._bias = norm.gain.dense(dtype)[:, 0], norm.bias.dense(dtype)[:, 0]
        self._epsilon = dtype.type(norm.epsilon)

    def __call__(self, x: _Vector, position: int) -> _Vector:
        """x: (width,) → (width,); x stays as it is.

        Raises:
            EngineError: if it would divide by 0, or the variance is too large for the dtype.
        """
        if not len(x):
            return x
        width = x.dtype.type(len(x))
        centred = x - np.add.accumulate(x)[-1] / width
        root = np.sqrt(np.add.accumulate(centred * centred)[-1] / width + self._epsilon)
        if root == 0:
            what = f"{self._where()}, position {position:,}: its variance and its epsilon are 0, so that it divides by 0"
            raise EngineError(f"{what}: use an epsilon above 0")
        if not root < np.inf:
            what = f"{self._where()}, position {position:,}: the variance is too large for {x.dtype.name}"
            raise EngineError(f"{what}: use {'--dtype float64 or ' if x.dtype == np.float32 else ''}smaller weights")
        normalised: _Vector = self._gain * (centred / root) + self._bias
        return normalised


def read(norm: LayerNorm | None, x: _Vector, position: int) -> _Vector:
    """Return what a part reads from the stream x, (width,): x itself if there is no norm."""
    return x if norm is None else norm(x, position)
