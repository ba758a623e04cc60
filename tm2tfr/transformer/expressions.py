"""Position features that are written as an expression in the position i and the length n, in whole numbers and fractions.

::

    either  = both {"|" both}                  both  = holds {"&" holds}             holds = "!" holds | compared
    compared = sum [("=" | "!=" | "<" | "<=" | ">" | ">=") sum | "in" "{" [whole {"," whole}] "}"]
    sum     = term {("+" | "-") term}          term  = power {("*" | "/" | "%") power}
    power   = ["-"] atom ["^" whole]           atom  = whole | "i" | "n" | "(" either ")"

i counts from 0, and n is the number of positions of the run, so that 0 ≤ i < n. What holds is 1, otherwise 0; ``x % y`` is
x mod y, with the sign of y, and x for y = 0, both whole numbers; a divisor is one that cannot be 0.

A text is read into steps of a stack machine (postfix). Whatever computes an expression, here, in an export or in a page,
runs these steps on its own numbers, and reads no text.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from tm2tfr.base.errors import ShapeError

LONGEST, DEEPEST, LARGEST_POWER = 1_200, 40, 9
"""The most characters of an expression, how deep it may be nested, and the largest exponent."""
_WORD = re.compile(r" *(?:([0-9]{1,12})(?![0-9])|(in\b|[in]\b|!=|<=|>=|[-+*/%^()=<>!&|{},])) *", re.ASCII)
FeatureValue = Fraction | int
FeatureStep = int | str | tuple[str, tuple[int, ...]]
"""A whole number, ``i`` or ``n`` is put on the stack; ``("^", (k,))``, ``("in", (k, …))`` and ``!`` replace its
last value; any other operator replaces its last two, of which the right one came last."""
Bounds = tuple[float, float]
_TWO: Mapping[str, Callable[[FeatureValue, FeatureValue], FeatureValue]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda a, b: Fraction(a) / b,
    "%": lambda a, b: a % b if b else a,
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "&": lambda a, b: bool(a) and bool(b),
    "|": lambda a, b: bool(a) or bool(b),
}
_RELATIONS = ("=", "!=", "<", "<=", ">", ">=")
EXACT_BITS = 53
"""Whole numbers of fewer bits are exact in float64: what runs steps in fractions of them rounds the last quotient alone."""
MOST_BITS = 1_000
"""An expression has numbers of at most this many bits at 1,024 positions."""


@dataclass(frozen=True)
class FeatureExpression:
    """An expression.

    Args:
        text: as it was written.
        steps: what computes it.

    Raises:
        ShapeError: if it may divide by 0, take a fraction modulo something, or need numbers of more bits than `MOST_BITS`.
    """

    text: str
    steps: tuple[FeatureStep, ...]

    def __post_init__(self) -> None:
        _range(self, 2**31, check=True)
        if self.bits(2**10) > MOST_BITS:  # powers of powers, which would take hours to compute
            raise ShapeError(f"the position feature {self.text!r} has numbers of too many digits: use smaller powers")

    @property
    def of_length(self) -> bool:
        """Whether n occurs in it."""
        return "n" in self.steps

    def at(self, i: int, n: int) -> FeatureValue:
        """Return its value at position `i` of `n`."""
        stack: list[FeatureValue] = []
        for step in self.steps:
            if isinstance(step, int):
                stack.append(step)
            elif isinstance(step, tuple):
                name, among = step
                stack.append(stack.pop() ** among[0] if name == "^" else int(stack.pop() in among))
            elif step in ("i", "n"):
                stack.append(i if step == "i" else n)
            elif step == "!":
                stack.append(int(not stack.pop()))
            else:
                right = stack.pop()
                found = _TWO[step](stack.pop(), right)
                stack.append(int(found) if isinstance(found, bool) else found)
        return stack.pop()

    def bounds(self, most: int) -> Bounds:
        """Return the least and the largest value, or numbers beyond these, for all 0 ≤ i < n ≤ `most`."""
        found = _range(self, most)
        return found.low, found.high

    def bits(self, most: int) -> float:
        """Return the most bits of any whole number that occurs while it is computed, for n ≤ `most`, or a few more.

        Values are then fractions of two whole numbers that nobody reduces, and are compared by cross multiplication.
        """
        stack, largest = list[tuple[float, float]](), 0.0  # logarithms to base 2
        for step in self.steps:
            if isinstance(step, int) or step in ("i", "n"):
                stack.append((math.log2(max(1, step if isinstance(step, int) else most)), 0.0))
            elif isinstance(step, tuple):
                (above, below), (name, among) = stack.pop(), step
                stack.append((above * among[0], below * among[0]) if name == "^" else (0.0, 0.0))
                largest = max(largest, above, below + math.log2(max(1, *among, 1)))
            elif step == "!":
                stack[-1] = (0.0, 0.0)
            else:
                (over, under), (above, below) = stack.pop(), stack.pop()
                crossed = _sum_of_logs(above + under, over + below)
                stack.append(
                    {
                        "+": (crossed, below + under),
                        "-": (crossed, below + under),
                        "*": (above + over, below + under),
                        "/": (above + under, below + over),
                        "%": (max(above, over), 0.0),
                    }.get(step, (0.0, 0.0))
                )
                largest = max(largest, crossed)
            largest = max(largest, *stack[-1])
        return largest


def _sum_of_logs(one: float, other: float) -> float:
    """Return log2(2^one + 2^other)."""
    return max(one, other) + math.log2(1 + 2 ** -abs(one - other))


def parsed(text: str) -> FeatureExpression | None:
    """Return the expression that a text states; None if it is not an expression.

    Raises:
        ShapeError: see `FeatureExpression`.
    """
    if len(text) > LONGEST or text != text.strip():
        return None
    words, start = [], 0
    while start < len(text):
        if (found := _WORD.match(text, start)) is None:
            return None
        words.append(found[1] or found[2])
        start = found.end()
    reading = _Reading(words)
    try:
        reading.either(0)
    except _NoneError:
        return None
    return None if reading.left else FeatureExpression(text, tuple(reading.steps))


class _NoneError(Exception):
    """The words are not an expression."""


class _Reading:
    def __init__(self, words: list[str]) -> None:
        self.left = words[::-1]
        self.steps: list[FeatureStep] = []

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

    def _several(self, part: Callable[[int], None], depth: int, *operators: str) -> None:
        part(depth)
        while word := self._next(*operators):
            part(depth)
            self.steps.append(word)

    def either(self, depth: int) -> None:
        if depth > DEEPEST:
            raise _NoneError
        self._several(self._both, depth, "|")

    def _both(self, depth: int) -> None:
        self._several(self._holds, depth, "&")

    def _holds(self, depth: int) -> None:
        if depth > DEEPEST:
            raise _NoneError
        if self._next("!"):
            self._holds(depth + 1)
            self.steps.append("!")
        else:
            self._compared(depth)

    def _compared(self, depth: int) -> None:
        self._sum(depth)
        if relation := self._next(*_RELATIONS):
            self._sum(depth)
            self.steps.append(relation)
        elif self._next("in"):
            self._need("{")
            among = list[int]()
            if not self._next("}"):
                among.append(self._whole())
                while self._need(",", "}") == ",":
                    among.append(self._whole())
            self.steps.append(("in", tuple(among)))

    def _sum(self, depth: int) -> None:
        self._several(self._term, depth, "+", "-")

    def _term(self, depth: int) -> None:
        self._several(self._power, depth, "*", "/", "%")

    def _power(self, depth: int) -> None:
        if self._next("-"):
            self.steps.append(0)
            self._power_of(depth)
            self.steps.append("-")
        else:
            self._power_of(depth)

    def _power_of(self, depth: int) -> None:
        self._atom(depth)
        if self._next("^"):
            if (exponent := self._whole()) > LARGEST_POWER:
                raise _NoneError
            self.steps.append(("^", (exponent,)))

    def _atom(self, depth: int) -> None:
        if self._next("("):
            self.either(depth + 1)
            self._need(")")
        else:
            self.steps.append(self._next("i", "n") or self._whole())


# ── Bounds: the same steps on ranges of values.
class _Range(NamedTuple):
    """Facts about a value for all 0 ≤ i < n ≤ N: its bounds; (a, b, c) if it is a·i + b·n + c; whether it is whole."""

    low: float
    high: float
    linear: tuple[int, int, int] | None = None
    whole: bool = True


_TRUTH = _Range(0.0, 1.0)


def _range(expression: FeatureExpression, most: int, *, check: bool = False) -> _Range:
    """Return facts about an expression for runs of at most `most` positions.

    Raises:
        ShapeError: with `check`, if it may divide by 0, or take a fraction modulo something.
    """
    stack: list[_Range] = []
    for step in expression.steps:
        if isinstance(step, int):
            stack.append(_linear((0, 0, step), most))
        elif isinstance(step, tuple):
            name, among = step
            base = stack.pop()
            power = _linear((0, 0, 1), most)
            for _ in range(among[0] if name == "^" else 0):
                power = _multiplied(power, base, most)
            stack.append(power if name == "^" else _TRUTH)
        elif step in ("i", "n"):
            stack.append(_linear((1, 0, 0) if step == "i" else (0, 1, 0), most))
        elif step == "!":
            stack[-1] = _TRUTH
        else:
            right, left = stack.pop(), stack.pop()
            if check:
                _check(expression.text, step, left, right)
            stack.append(_combined(step, left, right, most))
    return stack.pop()


def _check(text: str, step: str, left: _Range, right: _Range) -> None:
    if step == "/" and right.low <= 0 <= right.high:
        raise ShapeError(f"the position feature {text!r} may divide by 0: divide by what is never 0, such as i+1")
    if step == "%" and not (left.whole and right.whole):
        raise ShapeError(f"the position feature {text!r} has a remainder of a fraction: divide whole numbers")


def _combined(step: str, left: _Range, right: _Range, most: int) -> _Range:
    match step:
        case "+":
            return _added(left, right, 1, most)
        case "-":
            return _added(left, right, -1, most)
        case "*":
            return _multiplied(left, right, most)
        case "/":
            return _divided(left, right, most)
        case "%":
            return _Range(min(left.low, right.low, 0.0), max(left.high, right.high, 0.0))
        case _:
            return _TRUTH


def _corners(most: int) -> tuple[tuple[int, int], ...]:
    """Return the corners of all (i, n) with 0 ≤ i < n ≤ `most`."""
    return (0, 1), (0, most), (most - 1, most)


def _linear(form: tuple[int, int, int], most: int) -> _Range:
    ends = [float(_value(form, i, n)) for i, n in _corners(most)]
    return _Range(min(ends), max(ends), form)


def _value(form: tuple[int, int, int], i: int, n: int) -> int:
    a, b, c = form
    return a * i + b * n + c


def _small(form: tuple[int, ...]) -> bool:
    return max(map(abs, form)) < 1 << EXACT_BITS  # of a larger one the bounds are those of its parts


def _added(one: _Range, other: _Range, sign: int, most: int) -> _Range:
    if one.linear is not None and other.linear is not None:
        a, b, c = (x + sign * y for x, y in zip(one.linear, other.linear, strict=True))
        if _small((a, b, c)):
            return _linear((a, b, c), most)
    low, high = (other.low, other.high) if sign > 0 else (-other.high, -other.low)
    return _ranged(one.low + low, one.high + high, one.whole and other.whole)


def _multiplied(one: _Range, other: _Range, most: int) -> _Range:
    for constant, varies in ((one, other), (other, one)):
        if constant.linear is not None and varies.linear is not None and constant.linear[:2] == (0, 0):
            a, b, c = (constant.linear[2] * x for x in varies.linear)
            if _small((a, b, c)):
                return _linear((a, b, c), most)
    return _ranged(*_products((one.low, one.high), (other.low, other.high)), one.whole and other.whole)


def _divided(one: _Range, other: _Range, most: int) -> _Range:
    if other.low <= 0 <= other.high:
        return _Range(-math.inf, math.inf, whole=False)
    if one.linear is not None and other.linear is not None:  # monotone along every line: largest at a corner
        ends = [_value(one.linear, i, n) / _value(other.linear, i, n) for i, n in _corners(most)]
        return _Range(min(ends), max(ends), whole=False)
    return _ranged(*_products((one.low, one.high), (1 / other.high, 1 / other.low)), whole=False)


def _products(one: Bounds, other: Bounds) -> Bounds:
    ends = [x * y if x and y else 0.0 for x in one for y in other]  # 0 times infinity is 0: a bound of 0 is exact
    return min(ends), max(ends)


def _ranged(low: float, high: float, whole: bool) -> _Range:
    """Return a range; a bound that is a difference of two infinities becomes infinite."""
    return _Range(-math.inf if math.isnan(low) else low, math.inf if math.isnan(high) else high, whole=whole)


def plain(steps: Sequence[FeatureStep]) -> list[int | str | list[object]]:
    """Return steps as plain data: ``["^", 2]`` and ``["in", 1, 4]`` are lists."""
    return [[step[0], *step[1]] if isinstance(step, tuple) else step for step in steps]
