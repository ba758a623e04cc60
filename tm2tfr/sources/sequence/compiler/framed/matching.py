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

Moved = Callable[[Timed, str], Timed]
"""What a number is where a position stands for another one, see `tm2tfr.sources.sequence.compiler.framed.nearest`."""


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
    """

    keys: Operation
    key: Squared
    queries: Operation
    query: Timed

    def scores(self, moved: Moved) -> list[tuple[BitForm, BitForm, Time]]:
        """Return the products whose sum is the score, each as the form of the query, that of the key, and when both are."""
        number = moved(self.key.number, f"number {self.keys.key}")
        square = moved(self.key.square, f"square {self.keys.key}")
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
        head.needs(None)
        what = f"number {self.keys.key}"
        brought = heads.carry(head, what, moved(self.key.number, what).form)
        holds, time = f"equal {of} at {head.gaze.attends}", Time(head.depth, 1)
        space = bits.stream.space(holds, holds=holds, time=time)
        difference = added([brought, self.query.form], times=[1, -1])
        for edge, factor in ((0.75, 2), (0.25, -2), (-0.25, -2), (-0.75, 2)):
            bits.stream.unit(time, f"{holds}: {edge:+}", [difference], {space: factor}, bias=edge)
        return Bit({space: 1}, time, ((holds,),))


def squared(counting: Counting, node: Operation, amount: Counted) -> Squared:
    """Return an amount and its square.

    Raises:
        NoSquareError: if it may be larger than what can be looked up.
    """
    base = _base(counting, node, amount.base)
    shift = amount.constant
    number = Timed(added([base.number.form, {"1": 1}], times=[1, shift]), base.number.time)
    square = added([base.square.form, base.number.form, {"1": 1}], times=[1, 2 * shift, shift * shift])
    return Squared(number, Timed(square, max(base.square.time, base.number.time)))


def _base(counting: Counting, node: Operation, base: Counted) -> Squared:
    """Return an amount without a constant, and its square."""
    if base.fixed:
        return Squared(Timed({}, Time()), Timed({}, Time()))
    if not base.counts and not base.bits:
        factor = base.place
        return Squared(Timed({"i": factor}, Time()), Timed({"i^2": factor * factor}, Time()))
    if base.single is not None:
        count, factor = base.single
        number, square = counting.number(count, None), counting.square(count)
        return Squared(
            Timed(added([number.form], times=[factor]), number.time),
            Timed(added([square.form], times=[factor * factor]), square.time),
        )
    return _looked_up(counting, node, base)


def _looked_up(counting: Counting, node: Operation, base: Counted) -> Squared:
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
        head.needs(None)
        numbers.append((sign, counting.named(head, f"{word} {node.key}", "i")))
        squares.append(counting.named(head, f"{word} square {node.key}", "i^2"))
        times.append(Time(head.depth))
    number = added([form for _, form in numbers], times=[sign for sign, _ in numbers])
    return Squared(Timed(number, max(times)), Timed(added(squares), max(times)))


def _line(bound: tuple[int, int]) -> str:
    slope, start = bound
    behind = "" if not start else f" {'+' if start > 0 else '-'} {abs(start)}"
    return f"{'' if slope == 1 else '-' if slope == -1 else slope}i{behind}" if slope else str(start)
