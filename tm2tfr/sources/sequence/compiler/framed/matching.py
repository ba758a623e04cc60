"""Integer equality as a score: ``-(k_j - q_i)²``, less ``q_i²``, is ``2·q_i·k_j - k_j²``; the key brings k_j and k_j².

A square is not a linear form of a number, so a key is looked up: at the position whose number it is. A key is a count,
or a position; of other amounts d with |d| ≤ i, d/(i+1) is a sum of means and two heads look at max(0, d) and max(0, -d).
Larger amounts are compared by quotient and remainder, see below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import Protocol

from tm2tfr.sources.sequence.compiler.codes import BitForm, Time, added
from tm2tfr.sources.sequence.compiler.framed.bits import Bit, BitPlan
from tm2tfr.sources.sequence.compiler.framed.counting import INVERSE, Counted, Counting, Timed, bounds
from tm2tfr.sources.sequence.compiler.framed.heads import FramedHead, HeadPlan
from tm2tfr.sources.sequence.graph import Operation
from tm2tfr.transformer.residual import at

STEEPNESS = 8.0
"""The factor of the scores of lookups that fetch sums to compare: with it, up to about 10,000 positions the head that
compares determines how low the temperature must be, and not the lookups."""


def margin_of(key: Counted, query: Counted, among: int) -> float:
    """Return what the heads that a comparison of numbers reads need under softmax: this times N², N positions.

    Args:
        among: the number of such comparisons in the score, since their errors add up.

    The numbers are off by δ, their squares by about N·δ, and so the scores by E = N·δ·K·(33 + 14 S + 3 F), where K·N
    bounds the numbers, S is by how much a key changes from a position to the next, and F the sum of the factors of the
    query's counts. While E ≤ 1/(32 N), a 16th of the gap, the nearest position that is selected is still ahead by 7/8 of
    what it is ahead by otherwise, and all others have at most the weight w at the margin w^(-8/7); so the number it brings
    is off by less than 1/4, also where the two nearest numbers are on both sides of the query, see `Matched.apart`.
    """
    size = 1 + key.factors + query.factors + abs(key.constant) + abs(query.constant)
    size += sum(abs(factor) for amount in (key, query) for factor, _ in amount.every_bit.values())
    size += abs(key.place) + abs(query.place)
    step = key.factors + abs(key.place) + sum(abs(factor) for factor, _ in key.every_bit.values())
    return 32.0 * among * size * (33 + 14 * step + 3 * query.factors)


@dataclass(frozen=True)
class Squared:
    """A number and its square."""

    number: Timed
    square: Timed


class Matched(Protocol):
    """A conjunct that says that a number at the key is equal to one at the query."""

    @property
    def numbers(self) -> tuple[tuple[Operation, Timed], tuple[Operation, Timed]]:
        """The number at the key and the one at the query, each after the node that it is of."""

    @property
    def times(self) -> list[Time]:
        """When everything that is read at keys is there."""

    @property
    def margin(self) -> float:
        """What the heads that bring it need under softmax, times N²."""

    def group(self, conjunct: int) -> str:
        """Return how claims say that this is the conjunct of that number."""

    def apart(self, among: int) -> int:
        """Return w such that the number brought is not nearly that of the query, where none is equal, if all but the
        weight 1/w is at one position; `among`: the number of comparisons in the score.
        """

    def scores(self, stood: Stood) -> list[tuple[BitForm, BitForm, Time]]:
        """Return the products whose sum is the score: the form of the query, that of the key, and when both are there."""


class Stood(Protocol):
    """The values of keys: their own, or that of the position that they represent."""

    def number(self, number: Timed, what: str, margin: float) -> Timed:
        """Return a number; `what` says it, as claims do, and `margin` times N² is what it needs under softmax."""

    def labels(self, forms: dict[str, BitForm], time: Time, what: str, margin: float) -> tuple[dict[str, BitForm], Time]:
        """Return linear forms, by label, and when they are there."""


@dataclass(frozen=True)
class Equality:
    """A conjunct whose key has a square: see `Matched`.

    Args:
        keys, key: the node at the key, and its number with its square.
        queries, query: the node at the query, and its number.
    """

    keys: Operation
    key: Squared
    queries: Operation
    query: Timed
    margin: float

    @property
    def numbers(self) -> tuple[tuple[Operation, Timed], tuple[Operation, Timed]]:
        """See `Matched.numbers`."""
        return (self.keys, self.key.number), (self.queries, self.query)

    @property
    def times(self) -> list[Time]:
        """See `Matched.times`."""
        return [self.key.number.time, self.key.square.time]

    def group(self, conjunct: int) -> str:
        """See `Matched.group`."""
        return str(conjunct)

    def apart(self, among: int) -> int:
        """See `Matched.apart`: the numbers with the second best score are at most √among times as far away as the best."""
        return max(16, 4 * (1 + among))

    def scores(self, stood: Stood) -> list[tuple[BitForm, BitForm, Time]]:
        """See `Matched.scores`."""
        number = stood.number(self.key.number, f"number {self.keys.key}", self.margin)
        square = stood.number(self.key.square, f"square {self.keys.key}", self.margin)
        doubled = {direction: 2 * c for direction, c in self.query.form.items()}
        return [
            (doubled, number.form, max(self.query.time, number.time)),
            ({"1": -1}, square.form, square.time),
        ]


def equal_there(matched: Matched, head: FramedHead, of: str, bits: BitPlan, heads: HeadPlan, stood: Stood) -> Bit:
    """Return whether the number at the position that a head attends to is that at this one: a hat with a plateau.

    Args:
        of: the key of the attention and the number of this conjunct, for the claim.
    """
    (keys, number), (_, query) = matched.numbers
    what = f"number {keys.key}"
    brought = heads.carry(head, what, stood.number(number, what, matched.margin).form)
    holds, time = f"equal {of} at {head.gaze.attends}", Time(head.depth, 1)
    space = bits.stream.space(holds, holds=holds, time=time)
    difference = added([brought, query.form], times=[1, -1])
    for edge, factor in ((0.75, 2), (0.25, -2), (-0.25, -2), (-0.75, 2)):
        bits.stream.unit(time, f"{holds}: {edge:+}", [difference], {space: factor}, bias=edge)
    return Bit({space: 1}, time, ((holds,),))


def steadied(matched: Sequence[Matched]) -> float:
    """Return the margin of a head that compares numbers: w^(8/7) if all but the weight 1/w has to be at one position."""
    return float(ceil(max((each.apart(len(matched)) for each in matched), default=1) ** (8 / 7)))


def squared(counting: Counting, node: Operation, amount: Counted, margin: float) -> Squared | None:
    """Return an amount and its square; None if it may be too large to be looked up.

    Args:
        margin: its lookups need this times N² under softmax, see `margin_of`.
    """
    if amount.fixed or (amount.place and not (amount.counts or amount.bits)):
        factor = amount.place
        return _moved(Squared(Timed({"i": factor}, Time()), Timed({"i^2": factor * factor}, Time())), amount.constant)
    if amount.single is not None:
        count, factor = amount.single
        number, square = counting.number(count, margin, 2), counting.square(count, margin, 2)
        return _moved(
            Squared(
                Timed(added([number.form], times=[factor]), number.time),
                Timed(added([square.form], times=[factor * factor]), square.time),
            ),
            amount.constant,
        )
    return _looked_up(counting, node, amount, margin)


def _moved(base: Squared, constant: int) -> Squared:
    """Return a number plus a constant."""
    number = added([base.number.form, {"1": 1}], times=[1, constant])
    square = added([base.square.form, base.number.form, {"1": 1}], times=[1, 2 * constant, constant * constant])
    return Squared(Timed(number, base.number.time), Timed(square, max(base.square.time, base.number.time)))


def _looked_up(counting: Counting, node: Operation, amount: Counted, margin: float) -> Squared | None:
    low, high = bounds(amount, counting.truths)
    scaled = counting.scaled(amount)
    if scaled is None or amount.constant or not (within(high, 1) and within((-low[0], -low[1]), 1)):
        return None
    parts = []
    if high[0] > 0 or high[1] > 0:
        parts.append((1, "positive", scaled.form))
    if low[0] < 0 or low[1] < 0:
        parts.append((-1, "negative", {direction: -c for direction, c in scaled.form.items()}))
    numbers, squares, times = [], [], []
    for sign, word, form in parts:
        head = counting.at_number(Timed(form, scaled.time), f"{word} {node.key}", steepness=STEEPNESS)
        head.needs(margin, 2)
        numbers.append((sign, counting.named(head, f"{word} {node.key}", "i")))
        squares.append(counting.named(head, f"{word} square {node.key}", "i^2"))
        times.append(Time(head.depth))
    number = added([form for _, form in numbers], times=[sign for sign, _ in numbers])
    return Squared(Timed(number, max(times)), Timed(added(squares), max(times)))


def within(bound: tuple[int, int], most: int) -> bool:
    """Return whether an upper bound a·i + b on a number is at most C·i + C - 1 at every i ≥ 1, where C is `most`."""
    slope, start = bound
    return slope <= most and slope + start <= 2 * most - 1


# ── by quotient and remainder: numbers y up to C·i + C - 1, whose quotients by C are at most i
# The quotient is looked up: at the position nearest to (y - (C-1)/2)/C, which is y // C plus less than 1/2. The remainder
# is what is left, a number below C, and compared as a label: a step f(r - k + 1) for each k. The score of a key is then
# -(p_j - p_i)² + [r_j = r_i], which is 1 where both are equal, otherwise 0 or less. Of numbers that may be negative, that
# is done for max(0, y) and for max(0, -y), which is exact in a hidden unit.
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
    """Return the divisor of numbers, and whether a number may be negative; None if the divisor is above `MOST_PER`."""
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
