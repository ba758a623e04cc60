"""Comparisons of numbers, and numerical predicates.

``d ≥ K`` for an integer d is f(d - K + 1) with f of Lemma 9, which is right for numbers that are off by up to 1/4; equality
is the difference of two of them. The sign head compares without any lookup: the query is (d - K + 1/2)/(i+1), a mean, the
key is [BOS], and all other positions but the first are behind, so that the head looks at BOS if d ≥ K, otherwise at
position 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tm2tfr.sources.sequence.compiler.codes import BitForm, Time, added
from tm2tfr.sources.sequence.compiler.framed.amounts import Counted, total
from tm2tfr.sources.sequence.compiler.framed.bits import BOS, Bit, BitPlan, literal
from tm2tfr.sources.sequence.compiler.framed.counting import INVERSE, Counting, Timed
from tm2tfr.sources.sequence.compiler.framed.heads import Aim, HeadPlan
from tm2tfr.sources.sequence.compiler.stream import TOKEN
from tm2tfr.sources.sequence.graph import Apply, Property
from tm2tfr.transformer.residual import at

STEPS = {"<=": (0, 1), "<": (0, 0), ">=": (1, 0), ">": (1, 1), "==": (2, 0), "!=": (3, 0)}
"""Relation -> whether [d ≥ K] (1) or its negation (0) says it, and K; of == and !=, what two of them say."""
HOLDS: dict[str, Callable[[int], bool]] = {
    "<=": lambda x: x <= 0,
    "<": lambda x: x < 0,
    ">=": lambda x: x >= 0,
    ">": lambda x: x > 0,
    "==": lambda x: x == 0,
    "!=": lambda x: x != 0,
}
"""Relation -> whether it holds of numbers that differ by x."""
BOS_FORM: BitForm = {at(TOKEN, BOS): 1}
SIGN = 3.01
"""The margin of the sign head (Lemma H): 3 for the weight on the wrong one of two positions, a little for all others."""


@dataclass
class Comparing:
    """The comparisons of a plan; `sign`: by the sign head wherever it applies."""

    bits: BitPlan
    counting: Counting
    heads: HeadPlan
    sign: bool
    _early: Timed | None = field(default=None)

    def compared(self, node: Apply, left: Counted, right: Counted) -> Bit:
        """Return the bit of ``left relation right``."""
        difference = total([(1, left), (-1, right)])
        if len(difference.every_bit) == 1 and not (difference.counts or difference.place):
            return self._of_one_bit(node, difference)
        how, least = STEPS[node.operator]

        def reached(least: int) -> _Reached:
            return self._reached(node, difference, least)

        if how < 2:
            found = reached(least)
            truth = found if how else found.negated()
        else:
            truth = reached(0).without(reached(1))
            truth = truth if how == 2 else truth.negated()
        return self._within(node.key, truth)

    def _of_one_bit(self, node: Apply, difference: Counted) -> Bit:
        """Return a comparison that is about one bit alone: that bit, its negation, or the same everywhere."""
        ((factor, bit),) = difference.every_bit.values()
        off, on = (HOLDS[node.operator](x) for x in (difference.constant, difference.constant + factor))
        form = added([self.bits.inside.form, bit.form], times=[int(off), on - off])
        return Bit(form, bit.time, ((literal(node.key, True),),))

    def _within(self, key: str, truth: _Reached) -> Bit:
        """Return a truth value that is known at BOS as a bit: 0 at BOS and EOS."""
        said = ((literal(key, True),),)
        if truth.within:
            return Bit(added([self.bits.inside.form, truth.form], times=[truth.inside, 1]), truth.time, said)
        if len(self.bits.ends) == 1:
            form = added([{"1": 1}, truth.form, BOS_FORM], times=[truth.inside, 1, -int(truth.at_bos)])
            return Bit(form, truth.time, said)
        natural = added([{"1": 1}, truth.form, self.bits.ends], times=[truth.inside, 1, -1])
        time = Time(truth.time.depth, truth.time.slot + 1)
        space = self.bits.stream.space(f"is {key}", holds=f"is {key}", time=time)
        self.bits.stream.unit(time, space, [natural], {space: 1})
        return Bit({space: 1}, time, said)

    def _reached(self, node: Apply, difference: Counted, least: int) -> _Reached:
        """Return [difference ≥ least]."""
        at_bos = difference.constant >= least
        if difference.fixed:
            return _Reached({}, Time(), at_bos, int(at_bos))
        if self.sign:
            scaled = self.counting.scaled(difference)
            if scaled is not None:
                return self._by_sign(node, difference, scaled, least)
        return self._by_lookup(node, difference, least, at_bos)

    def _by_lookup(self, node: Apply, difference: Counted, least: int, at_bos: bool) -> _Reached:
        exact = self.counting.exact(difference, 6.0 * max(1, difference.factors))
        time = Time(exact.time.depth, exact.time.slot + 1)
        holds = f"at least {least} {node.key}"
        space = self.bits.stream.space(holds, holds=holds, time=time)
        moved = added([exact.form, {"1": 1}], times=[1, 1 - least])
        self.bits.rounded(holds, moved, space, time, within=False)
        return _Reached({space: 1}, time, at_bos, 0)

    def _by_sign(self, node: Apply, difference: Counted, scaled: Timed, least: int) -> _Reached:
        """Return [difference ≥ least] by the weight on BOS."""
        early = self._is_early()
        query = added([scaled.form, INVERSE], times=[1, 0.5 - least])
        far = -(difference.factors + abs(difference.place) + abs(difference.constant - least) + 2.0)
        far -= sum(abs(factor) for factor, _ in difference.every_bit.values())
        gaze = Aim(
            attends=f"sign {least} {node.key}",
            scores=[(query, BOS_FORM), ({"1": far}, added([{"1": 1}, early.form], times=[1, -1]))],
            mask="future",
            gap=0.5,
            source="the sign head",
        )
        head = self.heads.add(gaze, [scaled.time, early.time])
        head.needs(SIGN)
        raw = self.heads.carry(head, "bos", BOS_FORM)
        holds = f"within rounded at {gaze.attends}: bos"
        time = Time(head.depth, 1)
        space = self.bits.stream.space(holds, holds=holds, time=time)
        self.bits.rounded(holds, raw, space, time, within=True)
        return _Reached({space: 1}, time, False, 0, within=True)

    def _is_early(self) -> Timed:
        """Return [i ≤ 1]: a step of 1/(i+1) between 1/3 and 1/2, with sums that are exact."""
        if self._early is None:
            time = Time(0, 1)
            space = self.bits.stream.space("early", holds="early", time=time)
            for edge, factor in ((0.375, 16), (0.4375, -16)):
                self.bits.stream.unit(time, f"early: {edge}", [INVERSE], {space: factor}, bias=-edge)
            self._early = Timed({space: 1}, time)
        return self._early

    # ── predicates ──────────────────────────────────────────────────────────────────────────────────────────
    def predicated(self, node: Property, of: Counted, refused: Callable[[], Exception]) -> Bit:
        """Return the bit of θ(t), where t is the position or a count.

        Args:
            refused: the error if it is neither.
        """
        feature, said = feature_of(node), ((literal(node.key, True),),)
        if of.place == 1 and not (of.constant or of.counts or of.bits):
            self.bits.stream.embedded(feature)
            time = Time(0, 1)
            space = self.bits.stream.space(f"is {node.key}", holds=f"is {node.key}", time=time)
            others = {direction: -c for direction, c in self.bits.ends.items()}
            self.bits.stream.unit(time, space, [{feature: 1}, others], {space: 1})
            return Bit({space: 1}, time, said)
        single = of.single
        if single is None or single[1] != 1 or of.constant:
            raise refused()
        head = self.counting.lookup(single[0])
        head.needs(7.0)
        self.bits.stream.embedded(feature)
        raw = self.heads.carry(head, feature, {feature: 1})
        time = Time(head.depth, 1)
        space = self.bits.stream.space(f"is {node.key}", holds=f"is {node.key}", time=time)
        self.bits.rounded(f"is {node.key}", raw, space, time, within=True)
        return Bit({space: 1}, time, said)


@dataclass(frozen=True)
class _Reached:
    """A truth value: `form` plus `inside` where there is a position; at BOS it is `at_bos`, or 0 at both ends if
    `within`.
    """

    form: BitForm
    time: Time
    at_bos: bool
    inside: int
    within: bool = False

    def negated(self) -> _Reached:
        form = {direction: -c for direction, c in self.form.items()}
        return _Reached(form, self.time, not self.at_bos, 1 - self.inside, self.within)

    def without(self, other: _Reached) -> _Reached:
        """Return that this is true, and `other`, which is true only where this is, is not."""
        form = added([self.form, other.form], times=[1, -1])
        time, inside = max(self.time, other.time), self.inside - other.inside
        return _Reached(form, time, self.at_bos and not other.at_bos, inside, self.within and other.within)


def feature_of(node: Property) -> str:
    """Return the position feature that is 1 where the predicate holds of the position's number."""
    return f"i mod {node.modulus} = {node.remainder}" if node.predicate == "mod" else f"{node.predicate}(i)"
