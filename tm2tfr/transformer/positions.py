"""Position features by name, as exact fractions (numerator, denominator) of the position ``i = 0, 1, …``.

``1/(i+1)``, ``1``, ``i`` and ``i^2`` are the four components of the chapter's position embedding, Eq. 8.4. The others are
for formulas of temporal logic (Yang et al.): ``(-1)^i`` (Theorems 12 and 13), and those that are 0 or 1, a unary numerical
predicate each (Theorem 20): ``i mod M = R``, ``prime(i)``, ``square(i)`` and ``power of 2(i)``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from math import isqrt
from typing import Literal

from tm2tfr.base.errors import ShapeError

Range = Literal["positive", "0 or more", "any sign"]
"""What is known of a feature's values at all positions."""


@dataclass(frozen=True)
class Feature:
    """A position feature: called with a position, it returns its value there as (numerator, denominator).

    Args:
        values: whether it may be 0 or negative.
        bounded: whether no value is larger than 1; otherwise values grow with the position.
    """

    name: str
    at: Callable[[int], tuple[int, int]]
    values: Range = "0 or more"
    bounded: bool = True

    def __call__(self, i: int) -> tuple[int, int]:
        return self.at(i)

    def largest(self, positions: int) -> float:
        """Return an upper bound on the absolute values at the positions 0 … `positions` - 1, exact unless it is 1."""
        above, below = (1, 1) if self.bounded else self.at(positions - 1)
        return above / below


POSITION_FEATURES: Mapping[str, Feature] = {
    feature.name: feature
    for feature in (
        Feature("1/(i+1)", lambda i: (1, i + 1), "positive"),
        Feature("1", lambda i: (1, 1), "positive"),
        Feature("i", lambda i: (i, 1), bounded=False),
        Feature("i^2", lambda i: (i * i, 1), bounded=False),
    )
}
"""Those of Eq. 8.4, which are all that the fast engine has; `feature` knows the others as well."""

_OTHERS: Mapping[str, Feature] = {
    feature.name: feature
    for feature in (
        Feature("prime(i)", lambda i: (int(_is_prime(i)), 1)),
        Feature("square(i)", lambda i: (int(isqrt(i) ** 2 == i), 1)),
        Feature("power of 2(i)", lambda i: (int(i.bit_count() == 1), 1)),
        Feature("(-1)^i", lambda i: (1 - 2 * (i % 2), 1), "any sign"),
    )
}
_MODULO = re.compile(r"i mod ([1-9][0-9]*) = (0|[1-9][0-9]*)", re.ASCII)
_USE = f"use {', '.join((*POSITION_FEATURES, *_OTHERS))} or i mod M = R with whole numbers 0 ≤ R < M"


@cache
def feature(name: str) -> Feature:
    """Return the position feature called `name`.

    Raises:
        ShapeError: if there is no such feature.
    """
    if (known := POSITION_FEATURES.get(name) or _OTHERS.get(name)) is not None:
        return known
    if (match := _MODULO.fullmatch(name)) is not None and len(name) < 100:
        modulus, remainder = map(int, match.groups())
        if remainder < modulus:
            return Feature(name, lambda i: (int(i % modulus == remainder), 1))
    raise ShapeError(f"unknown position feature {name!r}: {_USE}")


def _is_prime(i: int) -> bool:
    return i > 1 and all(i % divisor for divisor in range(2, isqrt(i) + 1))
