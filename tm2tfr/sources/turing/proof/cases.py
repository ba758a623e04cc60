"""Piecewise-linear functions, compared exactly: the output of a ReLU layer against the right output.

Along a line of inputs ``at + s · along`` every unit of a layer is ``max(0, a + b·s)``: affine on either side of its
kink s = -a/b. Where the expected answer is affine in s as well, the difference is affine between neighbouring kinks,
and vanishes there if it vanishes at both ends. So finitely many exact evaluations settle all s of a range,
unbounded ones included: beyond the last kink two points are evaluated. For integers s the floor and the ceiling of
a kink take its place, since the difference is affine between one kink's ceiling and the next one's floor.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain
from math import ceil, floor
from typing import ClassVar, Generic, Literal, NamedTuple, TypeVar

from tm2tfr.sources.turing.tokens import Triple
from tm2tfr.transformer.matrix import Matrix, Rational, rational
from tm2tfr.transformer.residual import at
from tm2tfr.transformer.weights import FeedForward

Sparse = Mapping[int, Rational]
"""The coordinates of a vector that are not 0."""
Coordinates = Mapping[str, int]
"""The same by the names of directions, with integers."""
Coordinate = TypeVar("Coordinate", int, str)
"""A coordinate: the number of a direction, or its name."""


@dataclass(frozen=True)
class Case(Generic[Coordinate]):
    """One line of inputs of a layer with the expected answer: ``wanted + s · wanted_along`` for all s of the range.

    Args:
        label: a description of the case; `variable` is the name of s.
        low, high: the ends of the range, None if unbounded; `integers`: whether s runs over the integers only.

    Raises:
        ValueError: for an empty range.
    """

    label: str
    at: Mapping[Coordinate, Rational]
    wanted: Mapping[Coordinate, Rational]
    along: Mapping[Coordinate, Rational] = field(default_factory=dict)
    wanted_along: Mapping[Coordinate, Rational] = field(default_factory=dict)
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

    case: Case[int]
    s: Rational
    row: int
    found: Rational
    wanted: Rational


def columns(matrix: Matrix) -> dict[int, list[tuple[int, Rational]]]:
    """Return the entries of each column that is not 0, as (row, value)."""
    table: dict[int, list[tuple[int, Rational]]] = {}
    for row, column, value in matrix.entries():
        table.setdefault(column, []).append((row, rational(value)))
    return table


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

    def miss(self, case: Case[int], lines: Mapping[int, list[Rational]] | None = None) -> Miss | None:
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


def _points(case: Case[int], lines: Mapping[int, list[Rational]]) -> list[Rational]:
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


# ── The parameters of a proof about a construction of the chapter's kind: the inputs of its layers, and the right outputs.
V, MV, HV = "1/(i+1)", "m/(i+1)", "h/(i+1)"
FEATURES = (V, "1", "i", "i^2")
"""The position features, Eq. 8.4."""
NUMBERS = (V, "1", "i", "i^2", "m", MV, HV, "h", "h^2", "h_{i-1}", "h_{i-1}^2", "h_{j*-1}", "[h_{j*-1}=h]")
"""The subspaces with a number in all constructions, and then those of two-way tapes, where h may be negative."""
SIGNED = ("h+/(i+1)", "h-/(i+1)", "h_{i-1}+/(i+1)", "h_{i-1}-/(i+1)", "h-")

Manner = Literal["plain", "carried", "scaled", "differences", "questions"]
"""How a feed-forward layer is proved: by its cases alone; with a rounded 1/(i+1), which has to arrive unchanged; with
inputs that all scale with 1/(i+1); as a function of h_{j*-1} - h; by the questions asked of the last layer."""


class Question(NamedTuple):
    """A token, or a state (meaning any triple into it), with the symbol under the head, [h = 0], and the answer.

    Args:
        rule: the answer of the rule that is found in the prompt, if one is; in the universal decoder only.
    """

    token: str | None
    state: str | None
    symbol: str
    at_zero: bool
    answer: str
    rule: str | None = None


class LayerInputs(ABC):
    """The finitely many cases of each layer, by the names of directions. Layers count from 1.

    Attributes:
        manners: how each layer is proved.
        called: direction -> the name that the weights have for it, where that is another one.
    """

    manners: ClassVar[tuple[Manner, ...]]
    called: Mapping[str, str]

    @property
    @abstractmethod
    def gamma(self) -> tuple[str, ...]:
        """The tape alphabet."""

    @property
    @abstractmethod
    def subspaces(self) -> Mapping[str, tuple[str, ...] | None]:
        """Subspace -> the symbols that it needs, or None for a number."""

    @property
    @abstractmethod
    def tokens(self) -> tuple[str, ...]:
        """The tokens that can be fed."""

    @property
    @abstractmethod
    def triples(self) -> tuple[Triple, ...]:
        """The triples among them."""

    @property
    @abstractmethod
    def answers(self) -> tuple[str, ...]:
        """The tokens that can be answered."""

    @property
    def layers(self) -> int:
        """The number of layers."""
        return len(self.manners)

    def shown(self, direction: str) -> str:
        """Return the name that the weights have for a direction."""
        return self.called.get(direction, direction)

    @abstractmethod
    def holds(self, what: str, layer: int, part: str) -> bool:
        """Return whether the subspace that holds `what` can be other than 0 after `part` of `layer`, here from 0."""

    def manner(self, layer: int) -> Manner:
        """Return how the layer is proved."""
        return self.manners[layer - 1]

    @abstractmethod
    def reads(self, layer: int) -> frozenset[str]:
        """Return the subspaces that the cases of the layer vary; no other may be read."""

    def free(self, layer: int) -> frozenset[str]:
        """Return the subspaces with coordinates that can be any numbers from 0 to 1; a unit may read only one of those."""
        return frozenset()

    @abstractmethod
    def lines(self, layer: int) -> Iterator[Case[str]]:
        """Return the cases of the layer, if it is not proved by questions."""

    @abstractmethod
    def questions(self) -> Iterator[Question]:
        """Yield all that can be asked of the last layer."""

    @abstractmethod
    def context(self, question: Question) -> Coordinates:
        """Return the content of the stream before the last layer, beside the token and its parts."""

    @abstractmethod
    def asked(self, question: Question, token: str) -> str:
        """Return the question about a token in words."""


# ── The cases of the steps that all constructions of the chapter's kind share (Section 8.2).
def unpacked(token: str, holds: Coordinates | None = None) -> Case[str]:
    """Step 1, Eq. 8.5: a token that is not a triple, v = 1/(i+1) anywhere in [0, 1]; only `holds` is written."""
    return Case(f"token {token}", {at("e_x", token): 1, "1": 1}, holds or {}, {V: 1}, {}, 0, 1, False, "1/(i+1)")


def unpacked_triple(triple: Triple) -> Case[str]:
    """Step 1, Eq. 8.5: a triple."""
    fed = {at("e_x", triple.token): 1, "1": 1}
    wanted = {at("e_q", triple.state): 1, at("e_b", triple.symbol): 1, "m": triple.move}
    return Case(f"token {triple.token}", fed, wanted, {V: 1}, {MV: triple.move}, 0, 1, False, "1/(i+1)")


def parts(*, two_way: bool) -> Iterator[Case[str]]:
    """Step 2 of a two-way tape, repair 5: h and h - m by sign. No biases: it suffices to take 1/(i+1) as 1."""
    if not two_way:
        for m in (-1, 0, 1):
            yield Case(f"m = {m:+d}", {V: 1, MV: m}, {}, {HV: 1}, {}, 0, None, True, "h")
        return
    for m in (-1, 0, 1):
        for low, high in ((None, -2), (-1, -1), (0, 0), (1, 1), (2, None)):
            sign, before = (low if low is not None else -1), (low if low is not None else -2) - m
            wanted = {"h_{i-1}+/(i+1)": -m} if before > 0 else {"h_{i-1}-/(i+1)": m} if before < 0 else {}
            along = {"h+/(i+1)": 1} if sign > 0 else {"h-/(i+1)": -1} if sign < 0 else {}
            along |= {"h_{i-1}+/(i+1)": 1} if before > 0 else {"h_{i-1}-/(i+1)": -1} if before < 0 else {}
            yield Case(f"m = {m:+d}", {V: 1, MV: m}, wanted, {HV: 1}, along, low, high, True, "h")


def match() -> Iterator[Case[str]]:
    """Step 3: ``[h_{j*-1}=h]``, for some h, and every h_{j*-1}; h = 0 stands for all, see `feed_forward`."""
    for h in (0, 1, 2):
        start = {"h": h, "1": 1}
        for low, high, bit in ((None, h - 1, 0), (h, h, 1), (h + 1, None, 0)):
            wanted = {"[h_{j*-1}=h]": 1} if bit else {}
            yield Case(f"h = {h}", start, wanted, {"h_{j*-1}": 1}, {}, low, high, True, "h_{j*-1}")


def symbol(gamma: Sequence[str], sigma: Sequence[str], blank: str) -> Iterator[Case[str]]:
    """Step 3, Eq. 8.18: flag × latest write × input symbol, each of them possibly missing."""
    for f in (0, 1):
        for b in (None, *gamma):
            for u in (None, *sigma):
                stream = {"1": 1, "[h_{j*-1}=h]": f}
                stream |= {at("e_b(j*-1)", b): 1} if b is not None else {}
                stream |= {at("e_x(h)", u): 1} if u is not None else {}
                a = b if f and b is not None else u if u is not None else blank
                told = f"[h_{{j*-1}}=h] = {f}, written {b or '⊥'}, input {u or '⊥'}"
                yield Case(told, stream, {at("e_a", a): 1}, {}, {})
