"""Piecewise-linear functions, compared exactly: what a ReLU layer adds to the stream against what it should add.

Along a line of inputs ``at + s · along`` every unit of a layer is ``max(0, a + b·s)``: affine on either side of its
kink s = -a/b. Where the expected answer is affine in s as well, the difference is affine between neighbouring kinks,
and vanishes there if it vanishes at both ends. So finitely many exact evaluations settle all s of a range,
unbounded ones included: beyond the last kink two points are evaluated. For integers s the floor and the ceiling of
a kink take its place, since the difference is affine between one kink's ceiling and the next one's floor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain
from math import ceil, floor

from tm2tfr.transformer.matrix import Matrix, Rational, rational
from tm2tfr.transformer.weights import FeedForward

Sparse = Mapping[int, Rational]
"""The coordinates of a vector that are not 0."""


def columns(matrix: Matrix) -> dict[int, list[tuple[int, Rational]]]:
    """Return the entries of each column that is not 0, as (row, value)."""
    table: dict[int, list[tuple[int, Rational]]] = {}
    for row, column, value in matrix.entries():
        table.setdefault(column, []).append((row, rational(value)))
    return table


@dataclass(frozen=True)
class Case:
    """One line of inputs of a layer with the expected answer: ``wanted + s · wanted_along`` for all s of the range.

    Args:
        label: a description of the case; `variable` is the name of s.
        low, high: the ends of the range, None if unbounded; `integers`: whether s runs over the integers only.

    Raises:
        ValueError: for an empty range.
    """

    label: str
    at: Sparse
    wanted: Sparse
    along: Sparse = field(default_factory=dict)
    wanted_along: Sparse = field(default_factory=dict)
    low: int | None = 0
    high: int | None = 0
    integers: bool = True
    variable: str = "s"

    def __post_init__(self) -> None:
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"{self.label}: the range from {self.low} to {self.high} is empty")


@dataclass(frozen=True)
class Miss:
    """A point at which a layer is wrong: the case, s, the coordinate, the value added and the value expected."""

    case: Case
    s: Rational
    row: int
    found: Rational
    wanted: Rational


class Neurons:
    """A feed-forward layer as its units, in exact numbers; None is a layer without units."""

    def __init__(self, layer: FeedForward | None) -> None:
        size = 0 if layer is None else len(layer.units)
        self.bias: list[Rational] = [0] * size
        self.readers: dict[int, list[tuple[int, Rational]]] = {}
        self.writes: dict[int, list[tuple[int, Rational]]] = {}
        self.offset: dict[int, Rational] = {}
        if layer is not None:
            for unit, _, value in layer.input_bias.entries():
                self.bias[unit] = rational(value)
            self.readers, self.writes = columns(layer.input), columns(layer.output)
            self.offset = {row: rational(value) for row, _, value in layer.output_bias.entries()}
        self._awake = [unit for unit, bias in enumerate(self.bias) if bias > 0]

    def lines(self, at: Sparse, along: Sparse) -> dict[int, list[Rational]]:
        """Return ``[a, b]`` for each unit that can be active on the line ``at + s · along``: its input is a + b·s."""
        found: dict[int, list[Rational]] = {unit: [self.bias[unit], 0] for unit in self._awake}
        for part, stream in enumerate((at, along)):
            for column, x in stream.items():
                for unit, weight in self.readers.get(column, ()):
                    line = found.get(unit)
                    if line is None:
                        line = found[unit] = [self.bias[unit], 0]
                    line[part] += weight * x
        return found

    def added(self, lines: Mapping[int, list[Rational]], s: Rational) -> dict[int, Rational]:
        """Return the values that the layer adds to the stream at s."""
        total = dict(self.offset)
        for unit, (a, b) in lines.items():
            value = a + b * s
            if value > 0:
                for row, weight in self.writes.get(unit, ()):
                    total[row] = total.get(row, 0) + weight * value
        return total

    def miss(self, case: Case, lines: Mapping[int, list[Rational]] | None = None) -> Miss | None:
        """Return a point of the case at which the layer is wrong; None if it is right on the whole range."""
        lines = self.lines(case.at, case.along) if lines is None else lines
        for s in _points(case, lines):
            found = self.added(lines, s)
            for row in {**found, **case.wanted, **case.wanted_along}:
                wanted = case.wanted.get(row, 0) + s * case.wanted_along.get(row, 0)
                if found.get(row, 0) != wanted:
                    return Miss(case, s, row, found.get(row, 0), wanted)
        return None


class Woken:
    """A layer with part of its input fixed, for many cases that share it: only units that the rest touches differ."""

    def __init__(self, neurons: Neurons, shared: Sparse) -> None:
        self._neurons = neurons
        self._lines = {unit: line[0] for unit, line in neurons.lines(shared, {}).items()}
        self._awake = {unit: a for unit, a in self._lines.items() if a > 0}

    def lines(self, *rest: Sparse) -> dict[int, list[Rational]]:
        """Return what `Neurons.lines` would return for the whole input, the sum of all parts, without inactive units."""
        neurons, touched = self._neurons, dict[int, Rational]()
        for column, x in chain.from_iterable(part.items() for part in rest):
            for unit, weight in neurons.readers.get(column, ()):
                before = touched.get(unit)
                if before is None:
                    before = self._lines.get(unit, neurons.bias[unit])
                touched[unit] = before + weight * x
        return {unit: [a, 0] for unit, a in {**self._awake, **touched}.items() if a > 0}


def _points(case: Case, lines: Mapping[int, list[Rational]]) -> list[Rational]:
    low, high = case.low, case.high
    if low is not None and low == high:
        return [low]
    points: set[Rational] = {end for end in (low, high) if end is not None}
    for a, b in lines.values():
        if b != 0:
            kink = Fraction(-a) / b
            points |= {floor(kink), ceil(kink)} if case.integers else {kink}
    inside = sorted(p for p in points or {0} if (low is None or p >= low) and (high is None or p <= high))
    inside = inside or [0]
    if low is None:
        inside.insert(0, inside[0] - 1)
    if high is None:
        inside.append(inside[-1] + 1)
    return inside
