"""Counts: a mean of bits is a count divided by i + 1, and the count itself is looked up (Theorem 20, repaired).

BOS stands at position 0, so that a count c ≤ i is the number of a position in sight, 0 included: the score
``(2c·j - j²)/(i+1)`` is largest at j = c alone, by 1/(i+1). Counts to the right are means of what is still to come, divided
by N - i, and are looked up among all positions: position c need not be one of those still to come.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tm2tfr.sources.sequence.compiler.codes import BitForm, Time, added
from tm2tfr.sources.sequence.compiler.framed.amounts import Counted
from tm2tfr.sources.sequence.compiler.framed.bits import BOS, EOS, Bit, BitPlan
from tm2tfr.sources.sequence.compiler.framed.heads import Aim, FramedHead, HeadPlan, uniform
from tm2tfr.sources.sequence.compiler.stream import TOKEN
from tm2tfr.sources.sequence.graph import Reckoned
from tm2tfr.transformer.residual import at

INVERSE: BitForm = {"1/(i+1)": 1}


@dataclass(frozen=True)
class Timed:
    """A linear form, from a time on."""

    form: BitForm
    time: Time


@dataclass
class Counting:
    """The counts of a plan."""

    bits: BitPlan
    heads: HeadPlan
    truths: dict[Reckoned, Bit] = field(default_factory=dict)
    _lookups: dict[Reckoned, FramedHead] = field(default_factory=dict)

    # ── numbers divided by how many positions they are about ────────────────────────────────────────────────
    def mean(self, count: Reckoned) -> Timed:
        """Return a count divided by the number of positions in sight: i + 1, or N - i."""
        bit = self.truths[count]
        head = self.heads.add(uniform("future" if count.sight == "<=" else "past"), [bit.time])
        return Timed(self.heads.carry(head, bit.text, bit.form), Time(head.depth))

    def share_of_end(self, *, whole: bool) -> Timed:
        """Return 1/N, or 1/(N - i): the mean of the one BOS of all positions, or of the one EOS of those to come."""
        end, mask = (BOS, "none") if whole else (EOS, "past")
        head = self.heads.add(uniform(mask), [])  # type: ignore[arg-type]
        return Timed(self.heads.carry(head, end.lower(), {at(TOKEN, end): 1}), Time(head.depth))

    def scaled(self, amount: Counted) -> Timed | None:
        """Return an amount divided by i + 1; None if it counts to the right."""
        parts: list[tuple[float, Timed]] = [(amount.constant, Timed(INVERSE, Time()))]
        parts.append((amount.place, Timed({"1": 1, "1/(i+1)": -1}, Time())))
        for count, factor in amount.every_count.items():
            if count.sight != "<=":
                return None
            parts.append((factor, self.mean(count)))
        parts += [(factor, self._bit_scaled(bit)) for factor, bit in amount.every_bit.values()]
        kept = [(factor, part) for factor, part in parts if factor]
        form = added([part.form for _, part in kept], times=[factor for factor, _ in kept])
        return Timed(form, max((part.time for _, part in kept), default=Time()))

    def _bit_scaled(self, bit: Bit) -> Timed:
        """Return a bit divided by i + 1: ReLU(1/(i+1) - 1 + b), since neither is more than 1."""
        before = max(bit.time, Time(1, 0))  # no sooner than the means that it is added to
        holds, time = f"over i+1: {bit.text}", Time(before.depth, before.slot + 1)
        if holds not in self._products:
            space = self.bits.stream.space(holds, holds=holds, time=time)
            self.bits.stream.unit(time, space, [INVERSE, bit.form], {space: 1}, bias=-1.0)
            self._products[holds] = Timed({space: 1}, time)
        return self._products[holds]

    _products: dict[str, Timed] = field(default_factory=dict)
    parts: dict[tuple[str, int], Timed] = field(default_factory=dict)
    """max(0, y) and max(0, -y) of numbers y."""
    steps: dict[str, dict[str, BitForm]] = field(default_factory=dict)
    """What a remainder reaches."""

    # ── the numbers themselves ──────────────────────────────────────────────────────────────────────────────
    def lookup(self, count: Reckoned) -> FramedHead:
        """Return the head that attends to the position whose number the count is."""
        if count not in self._lookups:
            mean = self.mean(count)
            if count.sight == "<=":
                self._lookups[count] = self.at_number(mean, f"number {count.key}")
            else:
                inverse = self.share_of_end(whole=False)
                gaze = Aim(
                    attends=f"lookup none number {count.key}",
                    scores=_lookup_scores(mean.form, inverse.form),
                    mask="none",
                    gap=1.0,
                    over="length",
                    source="Theorem 20, second step, repaired",
                )
                self._lookups[count] = self.heads.add(gaze, [mean.time, inverse.time])
        return self._lookups[count]

    def at_number(self, scaled: Timed, what: str, gap: float = 1.0, steepness: float = 1.0) -> FramedHead:
        """Return the head that attends to the position nearest to a number, `scaled` times i + 1; 0 if it is negative.

        Args:
            gap: by how much, times i + 1, it is ahead of the next nearest one, with scores as for a count.
            steepness: what the scores are multiplied by.
        """
        gaze = Aim(
            attends=f"lookup future {what}",
            scores=_lookup_scores(scaled.form, INVERSE, steepness),
            mask="future",
            gap=gap * steepness,
            source="Theorem 20, second step, repaired",
        )
        return self.heads.add(gaze, [scaled.time])

    def number(self, count: Reckoned, margin: float, degree: int = 0) -> Timed:
        """Return a count as a number."""
        return self._looked_up(count, f"number {count.key}", "i", margin, degree)

    def square(self, count: Reckoned, margin: float, degree: int) -> Timed:
        """Return the square of a count."""
        return self._looked_up(count, f"square {count.key}", "i^2", margin, degree)

    def _looked_up(self, count: Reckoned, holds: str, feature: str, margin: float, degree: int) -> Timed:
        head = self.lookup(count)
        head.needs(margin, degree)
        return Timed(self.named(head, holds, feature), Time(head.depth))

    def named(self, head: FramedHead, holds: str, feature: str) -> BitForm:
        """Return the position that a head attends to, or its square, in a subspace that says what it is."""
        if holds not in head.carried:
            space = self.bits.stream.space(holds, holds=holds, time=Time(head.depth))
            head.carried[holds] = space
            head.looking.carries.append(({feature: 1}, {space: 1}))
        return {head.carried[holds]: 1}

    def exact(self, amount: Counted, margin: float, degree: int = 0) -> Timed:
        """Return an amount as a linear form.

        Args:
            margin, degree: what its counts need under softmax, see `FramedHead`.
        """
        parts: list[tuple[float, Timed]] = [(amount.constant, Timed({"1": 1}, Time()))]
        parts.append((amount.place, Timed({"i": 1}, Time())))
        parts += [(factor, self.number(count, margin, degree)) for count, factor in amount.every_count.items()]
        parts += [(factor, Timed(bit.form, bit.time)) for factor, bit in amount.every_bit.values()]
        kept = [(factor, part) for factor, part in parts if factor]
        form = added([part.form for _, part in kept], times=[factor for factor, _ in kept])
        return Timed(form, max((part.time for _, part in kept), default=Time()))


def _lookup_scores(scaled: BitForm, inverse: BitForm, steepness: float = 1.0) -> list[tuple[BitForm, BitForm]]:
    doubled = {direction: 2 * steepness * c for direction, c in scaled.items()}
    return [(doubled, {"i": 1}), ({direction: -steepness * c for direction, c in inverse.items()}, {"i^2": 1})]
