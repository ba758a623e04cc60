"""How scores become weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def average_hard(scores: NDArray[Any]) -> NDArray[np.int64]:
    """Return the positions that share the attention weight evenly: those of maximal score (Eq. 8.1).

    Ties are exact equality of the scores as computed; nothing is near enough.

    Args:
        scores: (n_key,).

    Returns:
        (n_maximal,) positions in increasing order.
    """
    return np.flatnonzero(scores == scores.max())
