"""Integer equality as a score: ``-(k_j - q_i)²``, less ``q_i²``, is ``2·q_i·k_j - k_j²``; the key brings k_j and its
square.

A square is no linear form of a number, so that a key is looked up: at the position whose number it is. A key is a
count, or a
position; of other amounts d with |d| ≤ i, d/(i+1) is a sum of means and two heads look at max(0, d) and max(0, -d).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tm2tfr.sources.sequence.compiler.codes import BitForm, Time, added
from tm2tfr.sources.sequence.compiler.framed.amounts import Counted, bounds
from tm2tfr.sources.sequence.compiler.framed.bits import Bit, BitPlan
from tm2tfr.sources.sequence.compiler.framed.counting import Counting, Timed
from tm2tfr.sources.sequence.compiler.framed.heads import FramedHead, HeadPlan
from tm2tfr.sources.sequence.graph import Operation

Moved = Callable[[Timed, str, float], Timed]
"""What a number is where a position stands for another one, see `tm2tfr.sources.sequence.compiler.framed.nearest`."""


MATCH = 1024.0
"""The margin of a head that compares numbers: 32², see `margin_of`."""


def margin_of(key: Counted, query: Counted) -> float:
    """Return what the heads that a comparison of numbers reads need under softmax: this times N², N positions.

    The numbers are off by δ, their squares by about N·δ, and so the scores by E = N·δ·K·(33 + 14 S + 3 F), where K·N
    bounds the numbers, S is by how much a key changes from a position to the next, and F the sum of the factors of the
    query's counts. While E ≤ 1/(8N), a quarter of the gap, the nearest position that is selected is still ahead by
    half of what it is ahead by otherwise, and all others have at most the weight 1/32 at the margin `MATCH`; so the number
    it brings is off by less than 1/4, also where the two nearest numbers are on both sides of the query.
    """
    size = 1 + key.factors + query.factors + abs(key.constant) + abs(query.constant)
    size += sum(abs(factor) for amount in (key, query) for factor, _ in amount.every_bit.values())
    size += abs(key.place) + abs(query.place)
    step = key.factors + abs(key.place) + sum(abs(factor) for factor, _ in key.every_bit.values())
    return 8.0 * size * (33 + 14 * step + 3 * query.factors)


class NoSquareError(Exception):
    """A key whose square is not known: with the reason."""


@dataclass(frozen=True)
class Squared:
    """A number and its square."""

    number: Timed
    square: Timed


@dataclass(frozen=True)
class Matched:
    """A conjunct that says that two numbers are equal.

    Args:
        keys, key: the node at the key, and its number with its square.
        queries, query: the node at the query, and its number.
        margin: what the heads that bring them need under softmax, times N².
    """

    keys: Operation
    key: Squared
    queries: Operation
    query: Timed
    margin: float

    def scores(self, moved: Moved) -> list[tuple[BitForm, BitForm, Time]]:
        """Return the products whose sum is the score, each as the form of the query, that of the key, and when both are."""
        number = moved(self.key.number, f"number {self.keys.key}", self.margin)
        square = moved(self.key.square, f"square {self.keys.key}", self.margin)
        doubled = {direction: 2 * c for direction, c in self.query.form.items()}
        return [
            (doubled, number.form, max(self.query.time, number.time)),
            ({"1": -1}, square.form, square.time),
        ]

    def equal(self, head: FramedHead, of: str, bits: BitPlan, heads: HeadPlan, moved: Moved) -> Bit:
        """Return whether the number at the position that a head attends to is that at this one: a hat with a plateau.

        Args:
            of: the key of the attention and the number of this conjunct, for the claim.
        """
        head.needs(MATCH)
        what = f"number {self.keys.key}"
        brought = heads.carry(head, what, moved(self.key.number, what, self.margin).form)
        holds, time = f"equal {of} at {head.gaze.attends}", Time(head.depth, 1)
        space = bits.stream.space(holds, holds=holds, time=time)
        difference = added([brought, self.query.form], times=[1, -1])
        for edge, factor in ((0.75, 2), (0.25, -2), (-0.25, -2), (-0.75, 2)):
            bits.stream.unit(time, f"{holds}: {edge:+}", [difference], {space: factor}, bias=edge)
        return Bit({space: 1}, time, ((holds,),))


def squared(counting: Counting, node: Operation, amount: Counted, margin: float) -> Squared:
    """Return an amount and its square; its lookups need `margin` times N², see `margin_of`.

    Raises:
        NoSquareError: if it may be larger than what can be looked up.
    """
    base = _base(counting, node, amount.base, margin)
    shift = amount.constant
    number = Timed(added([base.number.form, {"1": 1}], times=[1, shift]), base.number.time)
    square = added([base.square.form, base.number.form, {"1": 1}], times=[1, 2 * shift, shift * shift])
    return Squared(number, Timed(square, max(base.square.time, base.number.time)))


def _base(counting: Counting, node: Operation, base: Counted, margin: float) -> Squared:
    """Return an amount without a constant, and its square."""
    if base.fixed:
        return Squared(Timed({}, Time()), Timed({}, Time()))
    if not base.counts and not base.bits:
        factor = base.place
        return Squared(Timed({"i": factor}, Time()), Timed({"i^2": factor * factor}, Time()))
    if base.single is not None:
        count, factor = base.single
        number, square = counting.number(count, margin, 2), counting.square(count, margin, 2)
        return Squared(
            Timed(added([number.form], times=[factor]), number.time),
            Timed(added([square.form], times=[factor * factor]), square.time),
        )
    return _looked_up(counting, node, base, margin)


def _looked_up(counting: Counting, node: Operation, base: Counted, margin: float) -> Squared:
    scaled = counting.scaled(base)
    if scaled is None:
        raise NoSquareError("counts to the right, and such sums have no square here")
    low, high = bounds(base, counting.truths)
    if high[0] > 1 or low[0] < -1 or high[0] + high[1] > 1 or low[0] + low[1] < -1:
        raise NoSquareError(f"may be as large as {_line(high)} or as small as {_line(low)} at position i")
    parts = []
    if high[0] > 0 or high[1] > 0:
        parts.append((1, "positive", scaled.form))
    if low[0] < 0 or low[1] < 0:
        parts.append((-1, "negative", {direction: -c for direction, c in scaled.form.items()}))
    numbers, squares, times = [], [], []
    for sign, word, form in parts:
        head = counting.at_number(Timed(form, scaled.time), f"{word} {node.key}")
        head.needs(margin, 2)
        numbers.append((sign, counting.named(head, f"{word} {node.key}", "i")))
        squares.append(counting.named(head, f"{word} square {node.key}", "i^2"))
        times.append(Time(head.depth))
    number = added([form for _, form in numbers], times=[sign for sign, _ in numbers])
    return Squared(Timed(number, max(times)), Timed(added(squares), max(times)))


def _line(bound: tuple[int, int]) -> str:
    slope, start = bound
    behind = "" if not start else f" {'+' if start > 0 else '-'} {abs(start)}"
    return f"{'' if slope == 1 else '-' if slope == -1 else slope}i{behind}" if slope else str(start)
