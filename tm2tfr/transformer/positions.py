"""Position features by name, as exact fractions (numerator, denominator) of the position ``i = 0, 1, …``.

``1/(i+1)``, ``1``, ``i`` and ``i^2`` are the four components of the chapter's position embedding, Eq. 8.4. The others are
for formulas of temporal logic (Yang et al.): ``(-1)^i`` (Theorems 12 and 13), and those that are 0 or 1, a unary numerical
predicate each (Theorem 20): ``i mod M = R``, ``prime(i)``, ``square(i)`` and ``power of 2(i)``. Any other feature is an
expression in i and the number n of positions of the run, such as ``i/n`` (Theorem 12) or ``i % 5 in {1, 4}``, see
`tm2tfr.transformer.expressions`: the name is the definition.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from math import isqrt
from typing import Literal

from tm2tfr.base.errors import ShapeError
from tm2tfr.transformer.expressions import FeatureExpression, parsed

Range = Literal["positive", "0 or more", "any sign"]
"""Facts about a feature's values at all positions."""


@dataclass(frozen=True)
class Feature:
    """A position feature: called with a position and the number of positions, it returns its value there as a fraction.

    Args:
        at: (i, n) -> (numerator, denominator); n is not read unless it is `of_length`.
        values: whether it may be 0 or negative.
        bounds: N -> the least and the largest value, or numbers beyond these, in all runs of at most N positions.
        of_length: whether it depends on n, so that only a whole sequence can be run.
        period: the number of positions after which its values repeat; None if unknown.
    """

    name: str
    at: Callable[[int, int], tuple[int, int]]
    values: Range = "0 or more"
    bounds: Callable[[int], tuple[float, float]] = lambda _: (0.0, 1.0)
    of_length: bool = False
    period: int | None = None

    def __call__(self, i: int, n: int = 0) -> tuple[int, int]:
        """Return its value at position `i` of `n`, as (numerator, denominator)."""
        return self.at(i, n)

    def largest(self, positions: int) -> float:
        """Return an upper bound on the absolute values in runs of at most `positions`."""
        return max(map(abs, self.bounds(positions)))


POSITION_FEATURES: Mapping[str, Feature] = {
    feature.name: feature
    for feature in (
        Feature("1/(i+1)", lambda i, _: (1, i + 1), "positive"),
        Feature("1", lambda i, _: (1, 1), "positive", period=1),
        Feature("i", lambda i, _: (i, 1), bounds=lambda most: (0.0, float(most - 1))),
        Feature("i^2", lambda i, _: (i * i, 1), bounds=lambda most: (0.0, float((most - 1) ** 2))),
    )
}
"""Those of Eq. 8.4, which are all that the fast engine has; `feature` knows the others as well."""

_OTHERS: Mapping[str, Feature] = {
    feature.name: feature
    for feature in (
        Feature("prime(i)", lambda i, _: (int(_is_prime(i)), 1)),
        Feature("square(i)", lambda i, _: (int(isqrt(i) ** 2 == i), 1)),
        Feature("power of 2(i)", lambda i, _: (int(i.bit_count() == 1), 1)),
        Feature("(-1)^i", lambda i, _: (1 - 2 * (i % 2), 1), "any sign", lambda _: (-1.0, 1.0), period=2),
    )
}
_MODULO = re.compile(r"i mod ([1-9][0-9]*) = (0|[1-9][0-9]*)", re.ASCII)
_NAMES = ", ".join((*POSITION_FEATURES, *_OTHERS))
_USE = f"use {_NAMES}, i mod M = R with whole numbers 0 ≤ R < M, or an expression in i and n"


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
            return Feature(name, lambda i, _: (int(i % modulus == remainder), 1), period=modulus)
    if (expression := parsed(name)) is not None:
        return _written(name, expression)
    raise ShapeError(f"unknown position feature {name!r}: {_USE}")


def is_built_in(name: str) -> bool:
    """Return whether a feature has a name of its own, and is not an expression."""
    return name in POSITION_FEATURES or name in _OTHERS or _MODULO.fullmatch(name) is not None


def expression(name: str) -> FeatureExpression:
    """Return the expression that a feature is, or that the inverse temperature of a head is.

    Raises:
        ShapeError: for a feature that is not written as an expression.
    """
    if (found := parsed(name)) is None:
        raise ShapeError(f"the position feature {name!r} is not an expression in i and n: use one, such as i+1")
    return found


def _written(name: str, expression: FeatureExpression) -> Feature:
    low, _ = expression.bounds(2**31)

    def at(i: int, n: int) -> tuple[int, int]:
        return expression.at(i, n).as_integer_ratio()

    values: Range = "positive" if low > 0 else "0 or more" if low == 0 else "any sign"
    return Feature(name, at, values, expression.bounds, expression.of_length)


def _is_prime(i: int) -> bool:
    return i > 1 and all(i % divisor for divisor in range(2, isqrt(i) + 1))
