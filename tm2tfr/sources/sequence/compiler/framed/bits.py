"""Bits, as linear forms of the stream that are 0 outside the word, and the hidden units that conjunctions of them need.

Truth is 1 - [BOS] - [EOS], ¬φ is truth - φ and needs no unit; a conjunction of k bits is one, ReLU(b1 + … + bk - (k - 1));
a disjunction is the negation of a conjunction. Outside the word all bits are 0, and so is a conjunction of two or more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tm2tfr.sources.sequence.compiler.codes import BitForm, Time, added
from tm2tfr.sources.sequence.compiler.stream import TOKEN, StreamPlan
from tm2tfr.sources.sequence.graph import Item, text_of
from tm2tfr.transformer.gadgets import ramp
from tm2tfr.transformer.residual import at

BOS, EOS = "BOS", "EOS"
"""The tokens before and behind a word."""


Said = tuple[tuple[str, ...], ...]
"""Alternatives, each a tuple of literals such as ``s3`` and ``!s4``."""


@dataclass(frozen=True)
class Bit:
    """A linear form that is 0 or 1, and 0 outside the word.

    Args:
        form: it; empty: never 1.
        time: from when on.
        said: what it says, as claims do; two bits that say the same are the same.
    """

    form: BitForm
    time: Time
    said: Said

    @property
    def text(self) -> str:
        """What it says, as claims do: ``is s3 !s4 | s5``."""
        if not self.form:
            return "is never"
        alternatives = " | ".join(map(" ".join, self.said))
        return f"is {alternatives}" if alternatives else "is"


NEVER = Bit({}, Time(), ())


@dataclass(frozen=True)
class Finite:
    """A value of which there are finitely many: the bit of each. Inside the word, exactly one of them is 1."""

    bits: Mapping[Item, Bit]

    @property
    def time(self) -> Time:
        """From when on all of them are there."""
        return max((bit.time for bit in self.bits.values()), default=Time())

    @property
    def truth(self) -> Bit:
        """The bit of true, of a truth value."""
        return self.bits.get(True, NEVER)


class BitPlan:
    """The bits of a plan; what is made of the same bits is made once."""

    def __init__(self, stream: StreamPlan, *, eos: bool) -> None:
        self.stream = stream
        ends = [BOS, EOS] if eos else [BOS]
        stream.embedded(TOKEN)
        self.ends: BitForm = {at(TOKEN, end): 1 for end in ends}
        self.inside = Bit(added([{"1": 1}, self.ends], times=[1, -1]), Time(), ((),))
        self._known: dict[frozenset[Said], Bit] = {}

    def negated(self, bit: Bit, *said: str) -> Bit:
        """Return the bit that is 1 where `bit` is 0 inside the word, and says one of the literals `said`."""
        return Bit(added([self.inside.form, bit.form], times=[1, -1]), bit.time, tuple((each,) for each in said))

    def both(self, bits: Iterable[Bit]) -> Bit:
        """Return the conjunction of `bits`: one hidden unit, unless it is one of them, or never true."""
        different = {bit.said: bit for bit in bits if bit.form != self.inside.form}
        if any(not bit.form for bit in different.values()):
            return NEVER
        if len(different) < 2:
            return next(iter(different.values()), self.inside)
        key = frozenset(different)
        if key not in self._known:
            self._known[key] = self._unit(list(different.values()))
        return self._known[key]

    def _unit(self, bits: Sequence[Bit]) -> Bit:
        said = _distributed([bit.said for bit in bits])
        time = after(bits)
        claim = Bit({"": 1}, time, said).text
        space = self.stream.space(claim.removeprefix("is "), holds=claim, time=time)
        self.stream.unit(time, space, [bit.form for bit in bits], {space: 1}, bias=1.0 - len(bits))
        return Bit({space: 1}, time, said)

    def several(self, alternatives: Sequence[Sequence[Bit]]) -> Bit:
        """Return the bit that is 1 where all bits of one of the alternatives are; no two alternatives are so together."""
        parts = [self.both(bits) for bits in alternatives]
        said = tuple(sorted({words for part in parts for words in part.said}))
        return Bit(added(part.form for part in parts), max((part.time for part in parts), default=Time()), said)

    def either(self, alternatives: Iterable[Sequence[Bit]], holds: str, said: str) -> Bit:
        """Return the bit that is 1 where all bits of one of the alternatives are; no two alternatives are so together.

        Args:
            holds: the claim of the subspace that it is written to, if it needs one; `said`: what it says.
        """
        needed = [kept for bits in alternatives if (kept := self._kept(bits)) is not None]
        if all(len(bits) <= 1 for bits in needed):
            every = [bits[0] if bits else self.inside for bits in needed]
            return Bit(added(bit.form for bit in every), max((b.time for b in every), default=Time()), ((said,),))
        time = max(after(bits) for bits in needed)
        space = self.stream.space(holds, holds=holds, time=time)
        for n, bits in enumerate(needed, start=1):
            self.all_of(f"{space}: {n}", bits, {space: 1}, time)
        return Bit({space: 1}, time, ((said,),))

    def labelled(self, alternatives: Mapping[Item, Sequence[Sequence[Bit]]], key: str) -> Finite:
        """Return the code of a label, given the alternatives of each value, see `either`."""
        kept = {v: [k for bits in ways if (k := self._kept(bits)) is not None] for v, ways in alternatives.items()}
        linear = {v for v, ways in kept.items() if all(len(bits) <= 1 for bits in ways)}
        found: dict[Item, Bit] = {}
        tabled = [v for v in kept if v not in linear]
        space, time = "", Time()
        if tabled:
            time = max(after(bits) for v in tabled for bits in kept[v])
            space = self.stream.space(f"label {key}", holds=f"label {key}", time=time, labels=list(map(text_of, tabled)))
        for value, ways in kept.items():
            said = (literal(key, value),)
            if value in linear:
                every = [bits[0] if bits else self.inside for bits in ways]
                when = max((bit.time for bit in every), default=Time())
                found[value] = Bit(added(bit.form for bit in every), when, (said,))
                continue
            direction = at(space, text_of(value))
            for n, bits in enumerate(ways, start=1):
                self.all_of(f"{direction}: {n}", bits, {direction: 1}, time)
            found[value] = Bit({direction: 1}, time, (said,))
        return Finite({value: bit for value, bit in found.items() if bit.form})

    def all_of(self, name: str, bits: Sequence[Bit], writes: BitForm, time: Time) -> None:
        """Add the unit that adds `writes` where all bits are 1; of none, inside the word."""
        forms = [bit.form for bit in bits] or [self.inside.form]
        self.stream.unit(time, name, forms, writes, bias=1.0 - len(forms))

    def _kept(self, bits: Sequence[Bit]) -> list[Bit] | None:
        """Return the bits that matter of a conjunction; None if it is never true."""
        kept = list({bit.said: bit for bit in bits if bit.form != self.inside.form}.values())
        return None if any(not bit.form for bit in kept) else kept

    def rounded(self, name: str, raw: BitForm, direction: str, time: Time, *, within: bool) -> None:
        """Write f(raw) to `direction`: 0 up to 1/4, 1 from 3/4 on (Lemma 9); with `within`, 0 outside the word."""
        forms = [raw, {d: -2 * c for d, c in self.ends.items()}] if within else [raw]
        for edge, factor in ramp(0.25, 0.75):
            self.stream.unit(time, f"{name}: {edge}", forms, {direction: factor}, bias=-edge)


def after(bits: Sequence[Bit]) -> Time:
    """Return when a unit that reads `bits` has written."""
    last = max((bit.time for bit in bits), default=Time())
    return Time(last.depth, last.slot + 1)


def literal(key: str, value: Item) -> str:
    """Return what a bit of a node says, as claims do."""
    if isinstance(value, bool):
        return key if value else f"!{key}"
    escaped = text_of(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'{key}="{escaped}"'


def _distributed(parts: Sequence[Said]) -> Said:
    """Return the conjunction of some disjunctions of conjunctions, as one of them."""
    found: list[tuple[str, ...]] = [()]
    for part in parts:
        found = [(*left, *(word for word in right if word not in left)) for left in found for right in part]
    return tuple(sorted(dict.fromkeys(tuple(sorted(each)) for each in found)))
