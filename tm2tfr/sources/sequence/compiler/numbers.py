"""Values as numbers: linear forms of the stream, a whole multiple of what they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from tm2tfr.sources.sequence.compiler.codes import BitForm, Code, Time, added
from tm2tfr.sources.sequence.domains import Domains
from tm2tfr.sources.sequence.functions import is_number
from tm2tfr.sources.sequence.graph import Fixed, Item, Operation, Position

SIGNS = {"+": (1, 1), "-": (1, -1), "neg": (-1,), "pos": (1,)}
"""Functions that are sums of their arguments, with the signs of these."""


@dataclass(frozen=True)
class Numbered:
    """A number: `form` is `scale` times it, from `time` on."""

    form: BitForm
    scale: int
    time: Time


def of_code(coded: Code) -> Numbered:
    """Return the number that a code of numbers stands for."""
    numbers = [Fraction(value) for value in coded.bits]  # type: ignore[arg-type]
    scale = lcm(*(number.denominator for number in numbers))
    times = [int(number * scale) for number in numbers]
    return Numbered(added(coded.bits.values(), times=times), scale, coded.time)


def combined(parts: Sequence[tuple[Numbered, Fraction]]) -> Numbered:
    """Return the sum of numbers, each times a factor."""
    scale = lcm(*(number.scale * factor.denominator for number, factor in parts))
    times = [int(factor * scale / number.scale) for number, factor in parts]
    form = added([number.form for number, _ in parts], times=times)
    return Numbered(form, scale, max(number.time for number, _ in parts))


def constant(node: Operation) -> Fraction | None:
    """Return the number that a node is everywhere; None if it is none."""
    if isinstance(node, Fixed) and is_number(node.value):
        return Fraction(node.value)  # type: ignore[arg-type]
    return None


def whole_numbers(values: Sequence[Item]) -> bool:
    """Return whether all of them are whole numbers, and no truth values."""
    return all(isinstance(value, int) and not isinstance(value, bool) for value in values)


@dataclass(frozen=True)
class StraightLine:
    """A value that is ``slope · i + start`` at every position i."""

    slope: int
    start: int

    @property
    def form(self) -> BitForm:
        """It, as a linear form."""
        return added([{"i": self.slope}, {"1": self.start}])

    @property
    def square(self) -> BitForm:
        """Its square, as a linear form."""
        slope, start = self.slope, self.start
        return added([{"i^2": slope * slope}, {"i": 2 * slope * start}, {"1": start * start}])


def line_of(domains: Domains, node: Operation) -> StraightLine | None:
    """Return the line on which the values of a node lie; None if they are functions of more, or lie on none."""
    function = domains.function(node)
    if len(function.roots) != 1 or not isinstance(function.roots[0], Position):
        return None
    values = [function([i]) for i in range(domains.length)]
    numbers = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
    if len(numbers) < len(values):
        return None
    slope = numbers[-1] - numbers[-2] if len(numbers) > 1 else 0
    straight = all(value == numbers[0] + slope * i for i, value in enumerate(numbers))
    return StraightLine(slope, numbers[0]) if straight else None
