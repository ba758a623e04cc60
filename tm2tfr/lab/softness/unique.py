"""Weights with softmax in place of hard attention, and the certificate of what they are right for, as text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from tm2tfr.base.errors import CompileError, counted, visible
from tm2tfr.base.text.shown import aligned
from tm2tfr.engines.decode import Engine, Observation, observe_all
from tm2tfr.lab.softness.measure import gap_below
from tm2tfr.transformer import provenance
from tm2tfr.transformer.claims import DIVIDED
from tm2tfr.transformer.occurring import UnknownGapError
from tm2tfr.transformer.soft import temperature_of
from tm2tfr.transformer.unique import Tieless, tieless
from tm2tfr.transformer.weights import Decoder, Head

FLOATS_HOLD = 10**6
"""Scores get closer with the length: beyond this many positions, what rounding does to them is not bounded here."""


@dataclass(frozen=True)
class Softened:
    """Weights with softmax attention.

    Args:
        name: of the weights or the program that they are made of, `before`.
        decoder: with softmax.
        tieless: of leftmost and rightmost heads, the same with average-hard attention; None: there are none.
        length: the number of positions that a temperature of a length is for.
        guaranteed: whether the temperature is one that a theorem states, and not a number requested.
    """

    name: str
    before: Decoder
    decoder: Decoder
    tieless: Tieless | None
    length: int
    guaranteed: bool

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        hard = "average-hard" if self.tieless is None else "leftmost and rightmost"
        yield f"{visible(self.name)}: softmax in place of {hard} attention"
        if self.tieless is not None:
            yield from self._certificate(self.tieless)
        sizes = [
            (
                counted(len(one.layers), "layer"),
                counted(one.heads, "head"),
                counted(one.hidden, "hidden unit"),
                one.layout.width,
            )
            for one in (self.before, self.decoder)
        ]
        before, after = (f"{layers}, {heads}, {units}, width {width}" for layers, heads, units, width in sizes)
        yield before if before == after else f"{before}; now {after}"
        temperature = temperature_of(self.decoder)
        shown = f"{temperature:g}" if isinstance(temperature, float) else str(temperature).partition(",")[0]
        yield f"temperature {shown}: {self._covers()}"

    def _certificate(self, made: Tieless) -> Iterator[str]:
        if made.occurring is None:
            yield f"gap of scores: {made.gap:g}, as given; nothing is proved of it"
            return
        streams = ", ".join(f"{each.streams:,}" for each in made.occurring)
        which = "in words of any length" if made.positions is None else f"in words of up to {made.positions:,} positions"
        yield f"gaps: proved, from all streams that can occur before each layer {which}: {streams}"
        yield ""
        hard = [head for layer in made.decoder.layers for head in layer.heads]
        own = [(n, head) for n, layer in enumerate(self.before.layers, start=1) for head in layer.heads]
        seen = list(chain.from_iterable(each.heads for each in made.occurring))
        titles = ["layer", "head", "attention", "mask", "gap", "ties broken by", "values", "margin"]
        rows = [
            [
                str(n),
                visible(head.name),
                head.weighting,
                head.mask,
                "-" if compared.gap is None else f"{float(compared.gap):g}",
                _term(tied, head),
                " ".join(str(len(values)) for values in compared.carried.values()) or "-",
                f"{tied.claim.margin or 0:g}" if tied.claim is not None else "",
            ]
            for (n, head), tied, compared in zip(own, hard, seen, strict=True)
        ]
        yield from aligned([titles, *rows], {0, 4, 7})
        yield ""
        yield "gap: the least by which a best score is ahead of a lower one; values: how many each carried number can have"

    def _covers(self) -> str:
        word = provenance.words_for_temperature(self.decoder.provenance)
        if word is None and not self.guaranteed:
            return "as asked for; nothing is proved of it"
        if word is not None and not word.startswith("local"):
            return "right for words of any length, as far as floats hold"
        told = f"right for words of up to {self.length:,} positions"
        if self.tieless is not None and self.tieless.gap is not None:
            told += ", if that is the gap"
        elif word is None and self._equal_scores:
            told += ", if no two positions after the first layer share the best score, which Theorem 26 does not cover"
        return told if self.length <= FLOATS_HOLD else f"{told}, as far as floats hold"

    @property
    def _equal_scores(self) -> bool:
        """Whether a head after the first layer of an encoder may have several best scores: it has no bound of its own."""
        later = [head for layer in self.before.layers[1:] for head in layer.heads if not head.uniform]
        may_tie = [head for head in later if head.claim is None or head.claim.margin is None]
        return self.tieless is None and not self.before.sequential and bool(may_tie)


# ── one word, on which a gap that cannot be derived is measured
def measurable(decoder: Decoder, tokens: Sequence[str], gap: float | None, *, engine: Engine) -> Decoder:
    """Return average-hard weights in place of leftmost and rightmost heads, which answer the same on a word.

    Args:
        gap: see `tieless`; None: it is derived.

    Raises:
        CompileError: if no gap is given and none can be derived, or the one that is given is too large on this word; the
            error says what it is there.
    """
    seen = observe_all(decoder, tokens, engine=engine)
    there = min(_gaps(decoder, seen), default=math.inf)
    try:
        made = tieless(decoder, positions=len(tokens), gap=gap).decoder
    except UnknownGapError as error:
        raise CompileError(f"{error}; on this word it is {there:g}") from error
    if gap is not None and gap > there:
        raise CompileError(f"the gap of scores is {there:g} on this word, less than the {gap:g} that is given: give less")
    return made


def _gaps(decoder: Decoder, seen: Sequence[Observation]) -> Iterator[float]:
    """Yield by how much each best score of a leftmost or rightmost head is ahead of a lower one."""
    for n, layer in enumerate(decoder.layers):
        for k in (k for k, head in enumerate(layer.heads) if head.unique):
            yield from (gap_below(np.asarray(each.heads[n, k][0], dtype=np.float64)) for each in seen)


def _term(tied: Head, head: Head) -> str:
    """Return what breaks the ties of a head, as text: ``+0.5·j/(i+1)``."""
    claim = tied.claim
    if claim is None or claim.gap is None:
        return ""
    return f"{'+' if head.weighting == 'rightmost' else '-'}{claim.gap:g}·j{DIVIDED[claim.over]}"
