"""How a value stands in the residual stream: as a code, as a number, and from when on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product
from math import lcm
from typing import NamedTuple

from tm2tfr.sources.sequence.domains import Domains
from tm2tfr.sources.sequence.functions import NOTHING, Tuple, is_number
from tm2tfr.sources.sequence.graph import Apply, Fixed, Item, Operation, Position

BitForm = Mapping[str, float]
"""A linear form of the stream: direction -> coefficient, a whole one wherever it is a bit."""
ONE: BitForm = {"1": 1}


class Time(NamedTuple):
    """When a value is written: the number of attention layers, and of feed-forward sublayers since the last of them."""

    depth: int = 0
    slot: int = 0


@dataclass(frozen=True)
class Code:
    """A value as a code.

    Args:
        alternatives: for each value the ways in which it can come about, of which exactly one is the case for exactly one
            value: in each, all of some bits are 1. A bit is a linear form that is 0 or 1.
        time: from when on.
    """

    alternatives: Mapping[Item, tuple[tuple[BitForm, ...], ...]]
    time: Time = field(default=Time())

    @property
    def linear(self) -> bool:
        """Whether the code of each value is one bit."""
        return all(len(ways) == 1 and len(ways[0]) == 1 for ways in self.alternatives.values())

    @cached_property
    def bits(self) -> dict[Item, BitForm]:
        """The bit of each value, where the code is linear."""
        return {value: ways[0][0] for value, ways in self.alternatives.items()}


def of_bits(bits: Mapping[Item, BitForm], time: Time) -> Code:
    """Return the code of which each value is one bit."""
    return Code({value: ((bit,),) for value, bit in bits.items()}, time)


def added(forms: Iterable[BitForm], *, times: Iterable[float] | None = None) -> dict[str, float]:
    """Return the sum of `forms`, each as many times as `times` says."""
    total: dict[str, float] = {}
    for form, factor in zip(forms, times, strict=True) if times is not None else ((form, 1) for form in forms):
        for direction, coefficient in form.items():
            total[direction] = total.get(direction, 0) + factor * coefficient
    return {direction: coefficient for direction, coefficient in total.items() if coefficient}


def complement(bit: BitForm) -> dict[str, float]:
    """Return the bit that is 1 where `bit` is 0."""
    return added([ONE, bit], times=[1, -1])


# ── What a function of several values is tabulated over: its arguments, taken apart where that makes fewer sublayers.
JOINT = 2_048
"""An argument is taken apart only if the table then has at most this many entries."""
Earliest = Callable[[Operation], Time]
"""When a node is there at the earliest."""


def taken_apart(node: Operation, domains: Domains, expected: Earliest) -> tuple[Operation, ...]:
    """Return what the function `node` is tabulated over.

    These are its arguments. One that would be a table in the very sublayer that this one could be in is taken apart
    into its
    own arguments, as long as the combinations stay few: so that there are as few sublayers as can be.
    """
    sources = _distinct(node.arguments) if isinstance(node, Apply) else (node,)
    while (further := _further(sources, domains, expected)) is not None:
        sources = further
    return sources


def _further(sources: tuple[Operation, ...], domains: Domains, expected: Earliest) -> tuple[Operation, ...] | None:
    """Return `sources` with one that would be late taken apart; None if none is, or that makes too many combinations."""
    last = max(map(expected, sources))
    for n, source in enumerate(sources):
        late = isinstance(source, Apply) and expected(source) == last
        if late and isinstance(source, Apply) and len(domains.function(source).roots) > 1:
            taken = _distinct((*sources[:n], *source.arguments, *sources[n + 1 :]))
            if domains.count(taken, JOINT) <= JOINT:
                return taken
    return None


def known(function: Callable[[Tuple], object], every: Iterable[Tuple]) -> dict[Tuple, Item]:
    """Return the table of a function: its value on each of some combinations, where it has one."""
    found = {values: function(values) for values in every}
    return {values: value for values, value in found.items() if value is not NOTHING}  # type: ignore[misc]


def _distinct(nodes: Iterable[Operation]) -> tuple[Operation, ...]:
    """Return the nodes that are not constant, each once."""
    return tuple(dict.fromkeys(node for node in nodes if not isinstance(node, Fixed)))


# ── Functions of several values as tables of hidden units, one for each combination of classes of values (Lemma 5).
Box = tuple[frozenset[Item], ...]
"""For each source the values of which one is the case."""
Way = tuple[BitForm, ...]
"""Bits that have to be 1, all of them."""


FEW_BOXES = 64
"""Of a table with more boxes, neighbours are merged; smaller tables keep a unit for each combination of classes."""


def boxes(table: Mapping[Tuple, Item]) -> list[tuple[Box, Item]]:
    """Return `table` with the values of a source that make no difference taken together.

    Every combination of `table` is in exactly one box, and a box contains no combination with another result.
    """
    if not table:
        return []
    width = len(next(iter(table)))
    results: dict[tuple[Item, type], int] = {}
    numbers: list[dict[Item, int]] = [{} for _ in range(width)]
    found: dict[tuple[int, ...], int] = {}
    for values, result in table.items():
        box = tuple([known.setdefault(value, len(known)) for known, value in zip(numbers, values, strict=True)])
        found[box] = results.setdefault((result, type(result)), len(results))
    classes = [[frozenset([value]) for value in known] for known in numbers]
    for place in range(width):
        found = _classed(found, place, classes[place])
    if len(found) > FEW_BOXES:
        found = _merged(found, classes)
    every = [result for result, _ in results]
    return [(tuple([own[n] for own, n in zip(classes, box, strict=True)]), every[r]) for box, r in found.items()]


def _classed(found: dict[tuple[int, ...], int], place: int, classes: list[frozenset[Item]]) -> dict[tuple[int, ...], int]:
    """Return boxes with the classes of one source that make no difference taken together.

    Args:
        found: the number of the class of each source -> that of the result.
        classes: those of the source; added to.
    """
    rows: dict[int, list[tuple[tuple[int, ...], int]]] = {}
    for box, result in found.items():
        rows.setdefault(box[place], []).append((box[:place] + box[place + 1 :], result))
    alike: dict[frozenset[tuple[tuple[int, ...], int]], list[int]] = {}
    for own, row in rows.items():
        alike.setdefault(frozenset(row), []).append(own)
    merged = {own: _united(group, classes) for group in alike.values() for own in group[:1]}
    merged = {own: merged[group[0]] for group in alike.values() for own in group}
    return {(*box[:place], merged[box[place]], *box[place + 1 :]): result for box, result in found.items()}


def _united(group: Sequence[int], classes: list[frozenset[Item]]) -> int:
    """Return the number of the class that some classes are together; it is added to `classes`."""
    if len(group) == 1:
        return group[0]
    classes.append(frozenset[Item]().union(*(classes[own] for own in group)))
    return len(classes) - 1


def _merged(found: dict[tuple[int, ...], int], classes: list[list[frozenset[Item]]]) -> dict[tuple[int, ...], int]:
    """Return boxes with those taken together that differ in one source alone and have the same result, until none do.

    A disjunction of n conjunctions has as many boxes as there are ways to find the first that is true, in place of one
    for each combination of truth values.
    """
    before, united = len(found) + 1, [dict[frozenset[Item], int]() for _ in classes]
    while len(found) < before:
        before = len(found)
        for place, own in enumerate(classes):
            alike: dict[tuple[tuple[int, ...], int], list[int]] = {}
            for box, result in found.items():
                alike.setdefault((box[:place] + box[place + 1 :], result), []).append(box[place])
            found = {}
            for (rest, result), group in alike.items():
                number = _united(group, own)
                number = united[place].setdefault(own[number], number)  # the same class, the same number
                found[*rest[:place], number, *rest[place:]] = result
    return found


def ways(sources: Sequence[Code], classes: Box, every: Sequence[frozenset[Item]]) -> Iterator[Way]:
    """Yield the ways in which the value of each source is in its class; those of all values of a source need no bit."""
    choices = [
        _of_class(source, own)
        for source, own, whole in zip(sources, classes, every, strict=True)
        if own != whole or len(sources) == 1
    ]
    for chosen in product(*choices):
        yield tuple(bit for way in chosen for bit in way)


def _of_class(source: Code, values: frozenset[Item]) -> list[Way]:
    """Return the ways in which the value is one of `values`: those with the same further conditions taken together."""
    grouped: dict[frozenset[tuple[str, float]], tuple[list[BitForm], Way]] = {}
    for value in source.alternatives:
        if value in values:
            for first, *rest in source.alternatives[value]:
                key = frozenset(item for form in rest for item in form.items())
                grouped.setdefault(key, ([], tuple(rest)))[0].append(first)
    return [(added(firsts), *rest) for firsts, rest in grouped.values()]


# ── values as numbers: linear forms of the stream, a whole multiple of what they stand for
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
    """Return the number that a node is everywhere; None if it is not a constant number."""
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


# ── Whole numbers without bound, as linear forms of the stream: counts, lengths, positions, and what is made of them.
@dataclass(frozen=True)
class WholeNumber:
    """A whole number without bound.

    Args:
        form: it, as a linear form, from `time` on.
        square: its square, if that is a linear form too.
        terms: (a, b, c) if it is a·n + b·i + c, where n is the length and i the position.
    """

    form: BitForm
    time: Time
    square: BitForm | None = None
    terms: tuple[int, int, int] | None = None


@dataclass(frozen=True)
class Share:
    """1/w for the number w of positions that a selector selects, from `time` on; w itself where it is known already."""

    form: BitForm
    time: Time
    count: WholeNumber | None = None


EDGES = {
    "==": ((1, 1, 1), (1, 0, -2), (1, -1, 1)),
    ">": ((1, 0, 1), (1, -1, -1)),
    ">=": ((1, 1, 1), (1, 0, -1)),
    "<": ((-1, 0, 1), (-1, -1, -1)),
    "<=": ((-1, 1, 1), (-1, 0, -1)),
}
"""Comparison -> (sign of the difference, bias, weight) of each hidden unit that says whether it holds."""


def summed(counts: Sequence[WholeNumber], factors: Sequence[int]) -> WholeNumber:
    """Return the sum of counts, each times a factor; its square is known if that of one is and the other is constant."""
    form = added([count.form for count in counts], times=factors)
    time, terms = max(count.time for count in counts), None
    known_terms = [count.terms for count in counts if count.terms is not None]
    if len(known_terms) == len(counts):
        pairs = list(zip(known_terms, factors, strict=True))
        terms = tuple(sum(factor * each[n] for each, factor in pairs) for n in range(3))
    square = None
    constants = [n for n, each in enumerate(counts) if each.terms is not None and each.terms[:2] == (0, 0)]
    if len(counts) == 1:
        square = None if counts[0].square is None else added([counts[0].square], times=[factors[0] ** 2])
    elif len(counts) == 2 and constants:
        n = 1 - constants[0]
        own, other, shift = counts[n], counts[1 - n], 0
        shift = factors[1 - n] * (other.terms or (0, 0, 0))[2]
        if own.square is not None:
            square = added([own.square, own.form, ONE], times=[factors[n] ** 2, 2 * factors[n] * shift, shift * shift])
    return WholeNumber(form, time, square, terms)  # type: ignore[arg-type]


def inside(key: WholeNumber, query: WholeNumber) -> bool:
    """Return whether there is always a position whose key is the query: for every length n ≥ 1 and position 0 ≤ i < n."""
    if query.terms is None or key.terms is None:
        return False
    _, slope, start = key.terms
    a, b, c = ((each - own) * slope for each, own in zip(query.terms, (0, 0, start), strict=True))
    ends = ((a, c), (a + b, c - b))  # the position at i = 0 and at i = n - 1, as at_n · n + at_1
    return all(0 <= at_n <= 1 and at_n + at_1 == 0 for at_n, at_1 in ends)


# ── Thermometers: which of some numbers a mean has reached, exactly, in floats as well (Lemma 4).
#
# A step from t1 to t2 = t1 + 2^-p is 2^p (ReLU(x - t1) - ReLU(x - t2)): 0 up to t1, 1 from t2 on. All numbers are dyadic
# and x ≥ 0, so that x - t is exact in floats where it is positive, and the difference of two of them is exactly 2^-p.
@dataclass(frozen=True)
class Threshold:
    """A step between two numbers: 0 up to `start`, 1 from ``start + 2^-power`` on."""

    start: Fraction
    power: int

    @property
    def end(self) -> Fraction:
        """Where it is 1 first."""
        return self.start + Fraction(1, 1 << self.power)

    @property
    def label(self) -> str:
        """It, as labels have it: ``3/8..1/2``."""
        return f"{self.start}..{self.end}"


def between(below: Fraction, above: Fraction) -> Threshold:
    """Return the step of the largest width that is away from both numbers by a quarter of their distance."""
    unit = 4 * lcm(below.denominator, above.denominator)
    low, high = (number.numerator * (unit // number.denominator) for number in (below, above))
    quarter, power = (high - low) // 4, 0
    while True:
        start = -(-((low + quarter) << power) // unit)
        if (start + 1) * unit <= (high - quarter) << power:
            return Threshold(Fraction(start, 1 << power), power)
        power += 1


def steps(numbers: Sequence[Fraction]) -> tuple[Threshold, ...]:
    """Return the steps between neighbours of increasing numbers from 0 on."""
    return tuple(between(below, above) for below, above in pairwise(numbers))
