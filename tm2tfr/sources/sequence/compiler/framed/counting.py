"""Counts: a mean of bits is a count divided by i + 1, and the count itself is looked up (Theorem 20, repaired).

BOS stands at position 0, so that a count c ≤ i is the number of a position in sight, 0 included: the score
``(2c·j - j²)/(i+1)`` is largest at j = c alone, by 1/(i+1). Counts to the right are means of what is still to come, divided
by N - i, and are looked up among all positions: position c need not be one of those still to come.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tm2tfr.sources.sequence.compiler.codes import BitForm, Time, added
from tm2tfr.sources.sequence.compiler.framed.bits import BOS, EOS, Bit, BitPlan, Said
from tm2tfr.sources.sequence.compiler.framed.heads import Aim, FramedHead, HeadPlan, uniform
from tm2tfr.sources.sequence.compiler.stream import TOKEN
from tm2tfr.sources.sequence.graph import Reckoned
from tm2tfr.transformer.residual import at


# ── Whole numbers without bound, as sums: of counts, of bits that count as 1 or 0, of the position, and a constant.
@dataclass(frozen=True)
class Counted:
    """``constant + place·i + Σ a·#[φ] + Σ b·[ψ]``, where i is the position, 0 at BOS.

    Args:
        counts: the factor of each count.
        bits: what a bit says -> its factor, and the bit.
    """

    constant: int = 0
    place: int = 0
    counts: Mapping[Reckoned, int] | None = None
    bits: Mapping[Said, tuple[int, Bit]] | None = None

    @property
    def every_count(self) -> Mapping[Reckoned, int]:
        """The factor of each count, none of them 0."""
        return self.counts or {}

    @property
    def every_bit(self) -> Mapping[Said, tuple[int, Bit]]:
        """The bits, none of which has the factor 0."""
        return self.bits or {}

    @property
    def fixed(self) -> bool:
        """Whether it is the same number everywhere."""
        return not (self.place or self.counts or self.bits)

    @property
    def factors(self) -> int:
        """Σ|a| over its counts, which are what is approximate under softmax."""
        return sum(map(abs, self.every_count.values()))

    @property
    def single(self) -> tuple[Reckoned, int] | None:
        """The count and its factor, if it is that and a constant."""
        alone = len(self.every_count) == 1 and not (self.place or self.bits)
        return next(iter(self.every_count.items())) if alone else None


def total(parts: Iterable[tuple[int, Counted]], constant: int = 0) -> Counted:
    """Return the sum of amounts, each with a factor."""
    place, counts, bits = 0, dict[Reckoned, int](), dict[Said, tuple[int, Bit]]()
    for factor, part in parts:
        constant, place = constant + factor * part.constant, place + factor * part.place
        for count, own in part.every_count.items():
            counts[count] = counts.get(count, 0) + factor * own
        for said, (own, bit) in part.every_bit.items():
            bits[said] = (bits.get(said, (0, bit))[0] + factor * own, bit)
    return Counted(
        constant,
        place,
        {count: factor for count, factor in counts.items() if factor},
        {said: (factor, bit) for said, (factor, bit) in bits.items() if factor},
    )


def bounds(amount: Counted, truths: Mapping[Reckoned, Bit]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return (a, b) of a lower bound a·i + b on an amount of counts to the left at every i ≥ 1, and of an upper bound.

    A bit that is 1 is counted by its own count, so that #[φ] - [φ] is from 0 to i - 1.

    Args:
        truths: the bit that each count counts.
    """
    low, high = [amount.place, amount.constant], [amount.place, amount.constant]
    bits = {said: factor for said, (factor, _) in amount.every_bit.items()}
    for count, factor in amount.every_count.items():
        own = bits.pop(truths[count].said, 0)
        # where φ is false the count is 0 … i - 1, where it is true 1 … i
        steep, flat = (high, low) if factor > 0 else (low, high)
        pick, other = (max, min) if factor > 0 else (min, max)
        steep[0], steep[1] = steep[0] + factor, steep[1] + pick(-factor, own)
        flat[1] += other(0, factor + own)
    for own in bits.values():
        low[1], high[1] = low[1] + min(0, own), high[1] + max(0, own)
    return (low[0], low[1]), (high[0], high[1])


INVERSE: BitForm = {"1/(i+1)": 1}


@dataclass(frozen=True)
class Timed:
    """A linear form, from a time on."""

    form: BitForm
    time: Time


@dataclass
class Counting:
    """The counts of a plan.

    Args:
        steep: whether keys of look-ups are multiplied by the length, as in Theorem 20b.
        printed: whether look-ups have the paper's constant, and its position embedding of 1/(n-i+1).
    """

    bits: BitPlan
    heads: HeadPlan
    steep: bool = False
    printed: bool = False
    truths: dict[Reckoned, Bit] = field(default_factory=dict)
    _lookups: dict[Reckoned, FramedHead] = field(default_factory=dict)

    # ── numbers divided by the number of positions ─────────────────────────────────────────────────────────
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
                inverse = self._inverse_to_come()
                gaze = Aim(
                    attends=f"lookup none number {count.key}",
                    scores=self._lookup_scores(mean.form, inverse.form),
                    mask="none",
                    gap=1.0,
                    over="constant" if self.steep else "length",
                    source="Theorem 20, second step, repaired",
                )
                self._lookups[count] = self.heads.add(gaze, [mean.time, inverse.time])
        return self._lookups[count]

    def _inverse_to_come(self) -> Timed:
        """Return 1/(N - i), N positions: computed, or embedded as the paper has it."""
        if not self.printed:
            return self.share_of_end(whole=False)
        return Timed({self.bits.stream.embedded("1/(n-i)"): 1}, Time())

    def _lookup_scores(self, scaled: BitForm, inverse: BitForm, steepness: float = 1.0) -> list[tuple[BitForm, BitForm]]:
        doubled = {direction: 2 * steepness * c for direction, c in scaled.items()}
        place, square = (self.bits.stream.embedded(name) for name in (("i*n", "i^2*n") if self.steep else ("i", "i^2")))
        return [(doubled, {place: 1}), ({direction: -steepness * c for direction, c in inverse.items()}, {square: 1})]

    def at_number(self, scaled: Timed, what: str, gap: float = 1.0, steepness: float = 1.0) -> FramedHead:
        """Return the head that attends to the position nearest to a number, `scaled` times i + 1; 0 if it is negative.

        Args:
            gap: by how much, times i + 1, it is ahead of the next nearest one, with scores as for a count.
            steepness: what the scores are multiplied by.
        """
        gaze = Aim(
            attends=f"lookup future {what}",
            scores=self._lookup_scores(scaled.form, INVERSE, steepness),
            mask="future",
            gap=gap * steepness,
            over="constant" if self.steep else "position",
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
        if self.printed:
            head.factor = max(head.factor, margin / 2)  # 3C, where the margin is 6C
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
