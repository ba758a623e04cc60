"""Position features by name, as exact fractions (numerator, denominator) of the position ``i = 0, 1, …``.

``1/(i+1)``, ``1``, ``i`` and ``i^2`` are the four components of the chapter's position embedding, Eq. 8.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

POSITION_FEATURES: Mapping[str, Callable[[int], tuple[int, int]]] = {
    "1/(i+1)": lambda i: (1, i + 1),
    "1": lambda i: (1, 1),
    "i": lambda i: (i, 1),
    "i^2": lambda i: (i * i, 1),
}
