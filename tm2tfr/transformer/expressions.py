"""Position features that are written as an expression in the position i and the length n, in whole numbers and fractions.

::

    either  = both {"|" both}                  both  = holds {"&" holds}             holds = "!" holds | compared
    compared = sum [("=" | "!=" | "<" | "<=" | ">" | ">=") sum | "in" "{" [whole {"," whole}] "}"]
    sum     = term {("+" | "-") term}          term  = power {("*" | "/" | "%") power}
    power   = ["-"] atom ["^" whole]           atom  = whole | "i" | "n" | "(" either ")"

i counts from 0, and n is the number of positions of the run, so that 0 ≤ i < n. What holds is 1, otherwise 0; ``x % y`` is
x mod y, with the sign of y, and x for y = 0, both whole numbers; a divisor is one that cannot be 0.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from tm2tfr.base.errors import ShapeError

LONGEST, DEEPEST, LARGEST_POWER = 1_200, 40, 9
"""The most characters of an expression, how deep it may be nested, and the largest exponent."""
_WORD = re.compile(r" *(?:([0-9]{1,12})(?![0-9])|(in\b|[in]\b|!=|<=|>=|[-+*/%^()=<>!&|{},])) *", re.ASCII)
FeatureValue = Fraction | int
Evaluated = Callable[[int, int], FeatureValue]
Bounds = tuple[float, float]
_RELATIONS: Mapping[str, Callable[[FeatureValue, FeatureValue], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ANYTHING = (-math.inf, math.inf)


@dataclass(frozen=True)
class FeatureExpression:
    """A part of an expression.

    Args:
        at: (i, n) -> its value.
        bounds: N -> the least and the largest value, or numbers beyond these, for all 0 ≤ i < n ≤ N.
        linear: (a, b, c) if it is a·i + b·n + c.
        of_length: whether n occurs in it.
        whole: whether all its values are whole numbers.
    """

    at: Evaluated
    bounds: Callable[[int], Bounds]
    linear: tuple[int, int, int] | None = None
    of_length: bool = False
    whole: bool = True


def parsed(text: str) -> FeatureExpression | None:
    """Return the expression that a text is; None if it is none.

    Raises:
        ShapeError: if it may divide by 0, or take a fraction modulo something.
    """
    if len(text) > LONGEST or text != text.strip():
        return None
    words, start = [], 0
    while start < len(text):
        if (found := _WORD.match(text, start)) is None:
            return None
        words.append(found[1] or found[2])
        start = found.end()
    reading = _Reading(text, words)
    try:
        expression = reading.either(0)
    except _NoneError:
        return None
    return None if reading.left else expression


class _NoneError(Exception):
    """The words are no expression."""


class _Reading:
    def __init__(self, text: str, words: list[str]) -> None:
        self._text, self.left = text, words[::-1]

    def _next(self, *wanted: str) -> str:
        """Take the next word if it is one of these; otherwise return nothing."""
        return self.left.pop() if self.left and self.left[-1] in wanted else ""

    def _need(self, *wanted: str) -> str:
        if not (found := self._next(*wanted)):
            raise _NoneError
        return found

    def _whole(self) -> int:
        if not (self.left and self.left[-1].isdecimal()):
            raise _NoneError
        return int(self.left.pop())

    def either(self, depth: int) -> FeatureExpression:
        if depth > DEEPEST:
            raise _NoneError
        found = self._both(depth)
        while self._next("|"):
            found = _truth(lambda a, b: bool(a) or bool(b), found, self._both(depth))
        return found

    def _both(self, depth: int) -> FeatureExpression:
        found = self._holds(depth)
        while self._next("&"):
            found = _truth(lambda a, b: bool(a) and bool(b), found, self._holds(depth))
        return found

    def _holds(self, depth: int) -> FeatureExpression:
        if depth > DEEPEST:
            raise _NoneError
        if self._next("!"):
            found = self._holds(depth + 1)
            return _truth(lambda a, _: not a, found, found)
        return self._compared(depth)

    def _compared(self, depth: int) -> FeatureExpression:
        found = self._sum(depth)
        if relation := self._next(*_RELATIONS):
            return _truth(_RELATIONS[relation], found, self._sum(depth))
        if not self._next("in"):
            return found
        self._need("{")
        among = set[FeatureValue]()
        if not self._next("}"):
            among.add(self._whole())
            while self._need(",", "}") == ",":
                among.add(self._whole())
        return _truth(lambda a, _: a in among, found, found)

    def _sum(self, depth: int) -> FeatureExpression:
        found = self._term(depth)
        while sign := self._next("+", "-"):
            found = _added(found, self._term(depth), 1 if sign == "+" else -1)
        return found

    def _term(self, depth: int) -> FeatureExpression:
        found = self._power(depth)
        while sign := self._next("*", "/", "%"):
            other = self._power(depth)
            if sign == "*":
                found = _multiplied(found, other)
            else:
                found = self._divided(found, other) if sign == "/" else self._remainder(found, other)
        return found

    def _power(self, depth: int) -> FeatureExpression:
        if self._next("-"):
            return _added(_constant(0), self._power_of(depth), -1)
        return self._power_of(depth)

    def _power_of(self, depth: int) -> FeatureExpression:
        found = self._atom(depth)
        if not self._next("^"):
            return found
        if self.left and self.left[-1].isdecimal():
            exponent = self._whole()
            if exponent > LARGEST_POWER:
                raise _NoneError
            power = _constant(1)
            for _ in range(exponent):
                power = _multiplied(power, found)
            return power
        raise _NoneError

    def _atom(self, depth: int) -> FeatureExpression:
        if self._next("("):
            found = self.either(depth + 1)
            self._need(")")
            return found
        if name := self._next("i", "n"):
            return _linear((0, 1, 0), lambda _i, n: n) if name == "n" else _linear((1, 0, 0), lambda i, _n: i)
        return _constant(self._whole())

    def _divided(self, one: FeatureExpression, other: FeatureExpression) -> FeatureExpression:
        def at(i: int, n: int) -> FeatureValue:
            return Fraction(one.at(i, n)) / other.at(i, n)

        def bounds(most: int) -> Bounds:
            low, high = other.bounds(most)
            if low <= 0 <= high:
                return _ANYTHING
            if one.linear is not None and other.linear is not None:  # monotone along every line: largest at a corner
                ends = [float(at(i, n)) for i, n in _corners(most)]
                return min(ends), max(ends)
            return _products(one.bounds(most), (1 / high, 1 / low))

        low, high = other.bounds(2**31)
        if low <= 0 <= high:
            raise ShapeError(f"the position feature {self._text!r} may divide by 0: divide by what is never 0, such as i+1")
        return FeatureExpression(at, bounds, None, one.of_length or other.of_length, whole=False)

    def _remainder(self, one: FeatureExpression, other: FeatureExpression) -> FeatureExpression:
        if not (one.whole and other.whole):
            raise ShapeError(f"the position feature {self._text!r} has a remainder of a fraction: divide whole numbers")

        def at(i: int, n: int) -> FeatureValue:
            by = other.at(i, n)
            return one.at(i, n) % by if by else one.at(i, n)

        def bounds(most: int) -> Bounds:
            (low, high), (least, largest) = one.bounds(most), other.bounds(most)
            return min(low, least, 0.0), max(high, largest, 0.0)

        return FeatureExpression(at, bounds, None, one.of_length or other.of_length)


def _corners(most: int) -> tuple[tuple[int, int], ...]:
    """Return the corners of all (i, n) with 0 ≤ i < n ≤ `most`."""
    return (0, 1), (0, most), (most - 1, most)


def _constant(number: int) -> FeatureExpression:
    return _linear((0, 0, number), lambda _i, _n: number)


def _linear(linear: tuple[int, int, int], at: Evaluated) -> FeatureExpression:
    a, b, c = linear

    def bounds(most: int) -> Bounds:
        ends = [float(a * i + b * n + c) for i, n in _corners(most)]
        return min(ends), max(ends)

    return FeatureExpression(at, bounds, linear, bool(b))


def _added(one: FeatureExpression, other: FeatureExpression, sign: int) -> FeatureExpression:
    at = lambda i, n: one.at(i, n) + sign * other.at(i, n)  # noqa: E731
    if one.linear is not None and other.linear is not None:
        a, b, c = (x + sign * y for x, y in zip(one.linear, other.linear, strict=True))
        found = _linear((a, b, c), at)
        return FeatureExpression(at, found.bounds, found.linear, one.of_length or other.of_length)

    def bounds(most: int) -> Bounds:
        (low, high), (least, largest) = one.bounds(most), other.bounds(most)
        return (low + least, high + largest) if sign > 0 else (low - largest, high - least)

    return FeatureExpression(at, bounds, None, one.of_length or other.of_length, one.whole and other.whole)


def _multiplied(one: FeatureExpression, other: FeatureExpression) -> FeatureExpression:
    def bounds(most: int) -> Bounds:
        return _products(one.bounds(most), other.bounds(most))

    constant = next((c for each in (one, other) for a, b, c in [each.linear or (1, 1, 1)] if not (a or b)), None)
    varies = other if one.linear is not None and one.linear[:2] == (0, 0) else one
    linear = None
    if constant is not None and varies.linear is not None:
        a, b, c = varies.linear
        linear = (constant * a, constant * b, constant * c)
    at = lambda i, n: one.at(i, n) * other.at(i, n)  # noqa: E731
    exact = bounds if linear is None else _linear(linear, at).bounds
    return FeatureExpression(at, exact, linear, one.of_length or other.of_length, one.whole and other.whole)


def _products(one: Bounds, other: Bounds) -> Bounds:
    ends = [x * y if x and y else 0.0 for x in one for y in other]  # 0 times infinity is 0: a bound of 0 is exact
    return min(ends), max(ends)


def _truth(
    holds: Callable[[FeatureValue, FeatureValue], bool], one: FeatureExpression, other: FeatureExpression
) -> FeatureExpression:
    at = lambda i, n: int(holds(one.at(i, n), other.at(i, n)))  # noqa: E731
    return FeatureExpression(at, lambda _: (0.0, 1.0), None, one.of_length or other.of_length)
