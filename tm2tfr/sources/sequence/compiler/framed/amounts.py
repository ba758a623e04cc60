"""Whole numbers without bound, as sums: of counts, of bits that count as 1 or 0, of the position, and a constant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tm2tfr.sources.sequence.compiler.framed.bits import Bit, Said
from tm2tfr.sources.sequence.graph import Reckoned


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
        truths: what each count counts.
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
