"""Arrays for what is read off many positions, which can be filled again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Buffers:
    """Arrays for the answers, codes and numbers of many positions: (n,), (n, labels), (n, numbers)."""

    answers: NDArray[np.int32]
    codes: NDArray[np.int32]
    numbers: NDArray[np.float64]

    @classmethod
    def of(cls, n: int, labels: int, numbers: int) -> Self:
        """Return arrays for n positions."""
        codes = np.empty((n, labels), dtype=np.int32)
        return cls(np.empty(n, dtype=np.int32), codes, np.empty((n, numbers)))
