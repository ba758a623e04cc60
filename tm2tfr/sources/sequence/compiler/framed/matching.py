"""Integer equality as a score: ``-(k_j - q_i)²``, less ``q_i²``, is ``2·q_i·k_j - k_j²``; the key brings k_j and k_j².

A square is not a linear form of a number, so a key is looked up: at the position whose number it is. A key is a count,
or a position; of other amounts d with |d| ≤ i, d/(i+1) is a sum of means and two heads look at max(0, d) and max(0, -d).
Larger amounts are compared by quotient and remainder, see `tm2tfr.sources.sequence.compiler.framed.quotients`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Protocol

from tm2tfr.sources.sequence.compiler.codes import BitForm, Time, added
from tm2tfr.sources.sequence.compiler.framed.bits import Bit, BitPlan
from tm2tfr.sources.sequence.compiler.framed.counting import Counted, Counting, Timed, bounds
from tm2tfr.sources.sequence.compiler.framed.heads import FramedHead, HeadPlan
from tm2tfr.sources.sequence.graph import Operation

STEEPNESS = 8.0
"""The scores of the lookups that bring sums to be compared are multiplied by this, so that the head that compares is what
takes a low temperature, as long as a word has fewer than some 10,000 positions, and not the lookups."""


def margin_of(key: Counted, query: Counted, among: int) -> float:
    """Return what the heads that a comparison of numbers reads need under softmax: this times N², N positions.

    Args:
        among: how many such comparisons the score adds up, since their errors add up.

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
        weight 1/w is at one position; `among`: how many comparisons the score adds up.
        """

    def scores(self, stood: Stood) -> list[tuple[BitForm, BitForm, Time]]:
        """Return the products whose sum is the score: the form of the query, that of the key, and when both are there."""


class Stood(Protocol):
    """What keys have: their own, or that of the position that they stand for."""

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
    """Return an amount and its square; None if it may be larger than what can be looked up.

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
