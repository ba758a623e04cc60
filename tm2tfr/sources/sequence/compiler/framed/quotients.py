"""Integer equality of numbers y up to C·i + C - 1: quotients by C, which are at most i, are compared, and remainders.

The quotient is looked up: at the position nearest to (y - (C-1)/2)/C, which is y // C plus less than 1/2. The remainder
is what is left, a number below C, and compared as a label: a step f(r - k + 1) for each k. The score of a key is then
``-(p_j - p_i)² + [r_j = r_i]``, which is 1 where both are equal, otherwise 0 or less. Of numbers that may be negative, that
is done for max(0, y) and for max(0, -y), which is exact in a hidden unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import ceil

from tm2tfr.sources.sequence.compiler.codes import BitForm, Time, added
from tm2tfr.sources.sequence.compiler.framed.counting import INVERSE, Counted, Counting, Timed, bounds
from tm2tfr.sources.sequence.compiler.framed.matching import STEEPNESS, Squared, Stood, within
from tm2tfr.sources.sequence.graph import Operation
from tm2tfr.transformer.residual import at

MOST_PER = 16
"""The largest number that is divided by; all are powers of 2, so that no weight is rounded."""


@dataclass(frozen=True)
class Divided:
    """max(0, y) or max(0, -y) of a number, divided.

    Args:
        sign: ``+`` or ``-``.
        quotient: with its square.
        steps: k -> whether the remainder is k or more, for k from 1 on, as linear forms from `time` on.
    """

    sign: str
    quotient: Squared
    steps: dict[str, BitForm]
    time: Time


@dataclass(frozen=True)
class Division:
    """A number, and what it is divided into.

    Args:
        node: that it is the number of.
    """

    node: Operation
    number: Timed
    parts: tuple[Divided, ...]


@dataclass(frozen=True)
class QuotientEquality:
    """A conjunct that says that two numbers are equal; see `tm2tfr.sources.sequence.compiler.framed.matching.Matched`.

    Args:
        per: C.
    """

    per: int
    key: Division
    query: Division
    margin: float

    @property
    def numbers(self) -> tuple[tuple[Operation, Timed], tuple[Operation, Timed]]:
        """See `Matched.numbers`."""
        return (self.key.node, self.key.number), (self.query.node, self.query.number)

    @property
    def times(self) -> list[Time]:
        """See `Matched.times`."""
        return [self.key.number.time, *(max(part.time, part.quotient.number.time) for part in self.key.parts)]

    def group(self, conjunct: int) -> str:
        """See `Matched.group`."""
        return f"{conjunct}/{self.per}{'-' if len(self.key.parts) > 1 else ''}"

    def apart(self, among: int) -> int:
        """See `Matched.apart`: a number that has the same score as one next to the query's may be 2C away from it."""
        return 8 * self.per * among + 4

    def scores(self, stood: Stood) -> list[tuple[BitForm, BitForm, Time]]:
        """See `Matched.scores`."""
        found: list[tuple[BitForm, BitForm, Time]] = []
        for own, asked in zip(self.key.parts, self.query.parts, strict=True):
            of = f"{self.per} {own.sign} {self.key.node.key}"
            number = stood.number(own.quotient.number, f"quotient {of}", self.margin)
            square = stood.number(own.quotient.square, f"quotient square {of}", self.margin)
            steps, time = stood.labels(own.steps, own.time, f"reaches {of}", self.margin)
            doubled = {direction: 2 * c for direction, c in asked.quotient.number.form.items()}
            found.append((doubled, number.form, max(asked.quotient.number.time, number.time)))
            found.append(({"1": -1}, square.form, square.time))
            same = zip(_labels(asked.steps), _labels(steps), strict=True)
            found += [(query, key, max(asked.time, time)) for query, key in same]
        return found


def _labels(steps: dict[str, BitForm]) -> list[BitForm]:
    """Return the bits of the remainders 0, 1, …"""
    reached: list[BitForm] = [{"1": 1}, *steps.values(), {}]
    return [added(pair, times=[1, -1]) for pair in pairwise(reached)]


def per(counting: Counting, amounts: list[Counted]) -> tuple[int, bool] | None:
    """Return by what numbers have to be divided, and whether one may be negative; None if it is more than `MOST_PER`."""
    limits = [bounds(amount, counting.truths) for amount in amounts]
    negative = any(low[0] < 0 or low[1] < 0 or low[0] + low[1] < 0 for low, _ in limits)
    most = 1 + max(abs(amount.constant) for amount in amounts)
    for low, high in limits:
        for slope, start in (high, (-low[0], -low[1])) if negative else (high,):
            most = max(most, slope, ceil((slope + start + 1) / 2))
            if not within((slope, start), most):
                return None
    return None if most > MOST_PER else (1 << (max(2, most) - 1).bit_length(), negative)


def division(
    counting: Counting, node: Operation, amount: Counted, per: int, *, negative: bool, margin: float
) -> Division | None:
    """Return a number divided by `per`, or both its positive and its negative part; None if it counts to the right.

    Args:
        margin: what its lookups need under softmax, times N².
    """
    scaled = counting.scaled(amount)
    if scaled is None:
        return None
    number = counting.exact(amount, margin, 2)
    signs = (("+", 1), ("-", -1)) if negative else (("+", 1),)
    parts = [_divided(counting, node, number, scaled, per, sign, alone=not negative, margin=margin) for sign in signs]
    return Division(node, number, tuple(parts))


def _divided(
    counting: Counting,
    node: Operation,
    number: Timed,
    scaled: Timed,
    per: int,
    sign: tuple[str, int],
    *,
    alone: bool,
    margin: float,
) -> Divided:
    word, factor = sign
    of, stream = f"{per} {word} {node.key}", counting.bits.stream
    target = added([scaled.form, INVERSE], times=[factor / per, -(per - 1) / (2 * per)])
    head = counting.at_number(Timed(target, scaled.time), f"quotient {of}", gap=1 / per, steepness=STEEPNESS)
    head.needs(margin, 2)
    quotient = counting.named(head, f"quotient {of}", "i")
    square = counting.named(head, f"quotient square {of}", "i^2")
    found = Squared(Timed(quotient, Time(head.depth)), Timed(square, Time(head.depth)))
    part = number
    if not alone:
        holds = f"{'positive' if factor > 0 else 'negative'} {node.key}"
        time = Time(number.time.depth, number.time.slot + 1)
        if (holds, per) not in counting.parts:
            space = stream.space(holds, holds=holds, time=time)
            stream.unit(time, space, [{direction: factor * c for direction, c in number.form.items()}], {space: 1})
            counting.parts[holds, per] = Timed({space: 1}, time)
        part = counting.parts[holds, per]
    last = max(part.time, Time(head.depth))
    time, holds = Time(last.depth, last.slot + 1), f"reaches {of}"
    if holds not in counting.steps:
        labels = [str(k) for k in range(1, per)]
        space = stream.space(holds, holds=holds, time=time, labels=labels)
        rest = added([part.form, quotient], times=[1, -per])
        for k in range(1, per):
            direction = at(space, str(k))
            counting.bits.rounded(direction, added([rest, {"1": 1}], times=[1, 1 - k]), direction, time, within=False)
        counting.steps[holds] = {label: {at(space, label): 1} for label in labels}
    return Divided(word, found, counting.steps[holds], time)
