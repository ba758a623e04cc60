"""Expressions in the position i and the length n as nodes of an ONNX graph: position features and temperatures.

A value is a fraction of two whole numbers of 64 bits, so that nothing is rounded but the last division. Positions i and
the length n are nodes themselves, from the shape of the input: (n,) and a single number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from tm2tfr.targets.common.directory import Array
from tm2tfr.transformer.expressions import FeatureStep

LOGIC = {"&": "And", "|": "Or"}
RELATIONS = {"=": "Equal", "<": "Less", "<=": "LessOrEqual", ">": "Greater", ">=": "GreaterOrEqual"}


class Building(Protocol):
    """What of a graph is needed here, see `tm2tfr.targets.onnx.graph.Graph`."""

    def add(self, kind: str, *inputs: str, name: str, **attributes: object) -> str:
        """Add a node."""

    def constant(self, value: Array, name: str) -> str:
        """Add a constant."""

    def cast(self, x: str, dtype: str, name: str) -> str:
        """Add a conversion."""


class Ratio(NamedTuple):
    """The names of two nodes whose quotient is a value; below: None for 1."""

    above: str
    below: str | None = None


class Computing:
    """The nodes of one expression. All names begin with `path`."""

    def __init__(self, graph: Building, path: str) -> None:
        self._graph, self._path, self._number = graph, path, 0

    def _name(self, what: str) -> str:
        self._number += 1
        return f"{self._path}.{self._number} {what}"

    def _add(self, kind: str, *inputs: str) -> str:
        return self._graph.add(kind, *inputs, name=self._name(kind))

    def _whole(self, value: int) -> str:
        return self._graph.constant(np.array(value, np.int64), self._name("constant"))

    def _times(self, one: str, other: str | None) -> str:
        return one if other is None else self._add("Mul", one, other)

    def _truth(self, node: str) -> Ratio:
        return Ratio(self._graph.cast(node, "int64", self._name("truth")))

    def _holds(self, value: Ratio) -> str:
        return self._add("Not", self._add("Equal", value.above, self._whole(0)))

    def result(self, steps: Sequence[FeatureStep], name: str) -> str:
        """Add the nodes of the expression with these steps, and return its value in float64, (n,) or a single number."""
        stack: list[Ratio] = []
        for step in steps:
            if isinstance(step, int):
                stack.append(Ratio(self._whole(step)))
            elif isinstance(step, tuple):
                stack.append(self._with_numbers(stack.pop(), *step))
            elif step in ("i", "n"):
                stack.append(Ratio(step))
            elif step == "!":
                stack.append(self._truth(self._add("Equal", stack.pop().above, self._whole(0))))
            else:
                right = stack.pop()
                stack.append(self._two(step, stack.pop(), right))
        above, below = stack.pop()
        if below is None:
            return self._graph.cast(above, "float64", name)
        floats = [self._graph.cast(each, "float64", self._name("float64")) for each in (above, below)]
        return self._graph.add("Div", *floats, name=name)

    def _with_numbers(self, value: Ratio, operator: str, numbers: tuple[int, ...]) -> Ratio:
        if operator == "^":
            power = Ratio(self._whole(1))
            for _ in range(numbers[0]):
                power = self._two("*", power, value)
            return power
        found = self._add("Less", value.above, value.above)  # of the same shape, and false
        for number in numbers:
            equal = self._add("Equal", value.above, self._times(self._whole(number), value.below))
            found = self._add("Or", found, equal)
        return self._truth(found)

    def _two(self, operator: str, left: Ratio, right: Ratio) -> Ratio:
        (a, b), (c, d) = left, right
        match operator:
            case "*":
                return Ratio(self._add("Mul", a, c), self._below(b, d))
            case "/":  # the sign is that of the numerator
                over, size = self._add("Mul", self._times(a, d), self._add("Sign", c)), self._add("Abs", c)
                return Ratio(over, self._below(b, size))
            case "+" | "-":
                sides = self._times(a, d), self._times(c, b)
                return Ratio(self._add("Add" if operator == "+" else "Sub", *sides), self._below(b, d))
            case "%":  # of whole numbers; nothing is left of a division by 0
                none = self._add("Equal", c, self._whole(0))
                rest = self._add("Mod", a, self._add("Where", none, self._whole(1), c))
                return Ratio(self._add("Where", none, a, rest))
            case _:
                return self._truth(self._compared(operator, left, right))

    def _below(self, one: str | None, other: str | None) -> str | None:
        return other if one is None else self._times(one, other)

    def _compared(self, operator: str, left: Ratio, right: Ratio) -> str:
        """Add what holds of two values, and return the name of the node."""
        if operator in LOGIC:
            return self._add(LOGIC[operator], self._holds(left), self._holds(right))
        sides = self._times(left.above, right.below), self._times(right.above, left.below)
        return self._add("Not", self._add("Equal", *sides)) if operator == "!=" else self._add(RELATIONS[operator], *sides)
