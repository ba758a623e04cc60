"""From scores to attention weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def average_hard(scores: NDArray[Any]) -> NDArray[np.int64]:
    """Return the positions that share the attention weight evenly: those of maximal score (Eq. 8.1).

    Ties are exact equality of the scores as computed, without a tolerance.

    Args:
        scores: (n_key,).

    Returns:
        (n_maximal,) positions in increasing order.
    """
    return np.flatnonzero(scores == scores.max())


def softmax(scores: NDArray[Any]) -> NDArray[Any]:
    """Return the weights ``e^{s_j} / Σ_k e^{s_k}``, in the dtype of the scores.

    Computed as ``e^{s_j - max}``, so that nothing overflows and the sum is at least 1. A weight below the smallest
    number of the dtype is 0: if the best score is ahead by 746 (float64; 104 in float32), this is hard attention.

    Args:
        scores: (n_key,), finite.

    Returns:
        (n_key,), summed from the first to the last.
    """
    powers = np.exp(scores - scores.max())
    weights: NDArray[Any] = powers / np.add.accumulate(powers)[-1]
    return weights
