"""The certificate: "every head is tieless with the gap that it claims, and rounding changes no bit, label or number".

By induction over the stages of the stream, for words of any length: with what was written before as it is claimed to be,
each head has one best position (or all of them, where its scores are 0), and is ahead by what it claims (`heads`); so in
floats with unit roundoff u it attends to the same position as in exact arithmetic, as long as scores are off by less than
half of that; and what is carried and computed from whole numbers is exact (`units`). So up to the number of positions that
the certificate says, every answer of the engine is that of exact arithmetic.

That in exact arithmetic the stream holds what it is claimed to hold, and the answers are right, is not proved: it is
verified, number by number, on all words up to a length (`words`), beside the printed definitions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from tm2tfr.errors import EngineError, counted, did_you_mean, visible
from tm2tfr.sources.logic.nodes import needed
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.proof.heads import Fits, HeadScores, lead
from tm2tfr.sources.logic.proof.quantities import Directions
from tm2tfr.sources.logic.proof.refused import LogicRefusal, NotShown
from tm2tfr.sources.logic.proof.units import answers, carried, computed, embedded, rows_of
from tm2tfr.sources.logic.proof.words import verified
from tm2tfr.transformer.weights import Decoder, digest, matrices

RUNS: Mapping[str, tuple[str, ...]] = {"dense": ("float32", "float64"), "exact": ("rational",)}
"""Engine -> the dtypes for which there are certificates."""
DIGITS: Mapping[str, int] = {"float32": 24, "float64": 53}
MOST = 2**53
"""The most positions that are asked about."""
_LAST = "feed_forward"
"""The last part of a layer."""


@dataclass(frozen=True, kw_only=True)
class LogicCertificate:
    """What is proved about some weights on one engine in one dtype, for all words.

    Args:
        program: its name.
        weights: their digest.
        heads, gaps: how many heads there are, and how many of them are tieless with a gap; the others are uniform.
        ends: how many positions stand around a word, for BOS and EOS.
        words, longest: on how many words the stream was verified, and of up to how many tokens.
        refusals: why it is not granted; none if it is.
        most_positions: up to how many positions it is granted; None: no limit.
    """

    program: str
    weights: str
    engine: str
    dtype: str
    heads: int
    gaps: int = 0
    ends: int = 1
    words: int = 0
    longest: int = 0
    refusals: tuple[LogicRefusal, ...] = ()
    most_positions: int | None = None

    @property
    def granted(self) -> bool:
        """Whether the claim is proved, up to `most_positions`."""
        return not self.refusals

    @property
    def most_tokens(self) -> int | None:
        """Up to how many tokens of a word it is granted; None: no limit."""
        return None if self.most_positions is None else self.most_positions - self.ends

    def __str__(self) -> str:
        """Return the statement, or the refusals, one in a line."""
        where = f"{visible(self.program)} on {self.engine} in {self.dtype}"
        if self.refusals:
            return "\n".join([f"{where}: NOT certified", *(f"  {refusal}" for refusal in self.refusals)])
        most = "of any length" if self.most_tokens is None else f"of up to {counted(self.most_tokens, 'token')}"
        return f"{where}: certified: tieless, and as in exact arithmetic, on words {most}"

    def as_dict(self) -> dict[str, Any]:
        """Return the certificate as plain data."""
        plain = {**asdict(self), "refusals": [refusal.as_dict() for refusal in self.refusals], "granted": self.granted}
        return {**plain, "most_tokens": self.most_tokens}


@dataclass(frozen=True)
class LogicProof:
    """The proof for one decoder and the formula or program that it was compiled from."""

    decoder: Decoder
    program: LogicProgram

    def certificate(self, engine: str = "dense", dtype: str | None = None) -> LogicCertificate:
        """Return what is proved for an engine and a dtype, by default its widest.

        Raises:
            EngineError: for an unknown engine, or a dtype that it does not have.
        """
        if engine not in RUNS:
            raise EngineError(f"unknown engine {engine!r}{did_you_mean(engine, RUNS)}: use {', '.join(RUNS)}")
        dtype = dtype or RUNS[engine][-1]
        if dtype not in RUNS[engine]:
            raise EngineError(f"there is no certificate for {engine} in {dtype}: use {' or '.join(RUNS[engine])}")
        plain = LogicCertificate(
            program=self.program.name,
            weights=digest(self.decoder),
            engine=engine,
            dtype=dtype,
            heads=self.decoder.heads,
            ends=1 + ("EOS" in self.decoder.vocabulary),
        )
        try:
            return self._proved(plain)
        except NotShown as refused:
            return replace(plain, refusals=(refused.refusal,))

    def certificates(self) -> tuple[LogicCertificate, ...]:
        """Return the certificates of all engines and dtypes."""
        return tuple(self.certificate(engine, dtype) for engine, dtypes in RUNS.items() for dtype in dtypes)

    def _proved(self, plain: LogicCertificate) -> LogicCertificate:
        decoder = self.decoder
        if decoder.soft or decoder.normed:
            what = "heads with softmax" if decoder.soft else "layer norms"
            raise NotShown("shape", f"the proof does not know {what}", "see tm2tfr soften for what is known of softmax")
        fits, (words, longest) = self._fitting, self._verified
        uniform = sum(head.uniform for layer in decoder.layers for head in layer.heads)
        most = None
        if plain.dtype != "rational":
            for path, matrix in matrices(decoder).items():
                with np.errstate(over="ignore", under="ignore"):
                    rounded = matrix.values.astype(plain.dtype)
                if (rounded != matrix.values).any():
                    raise NotShown("rounding", f"a weight is not a number of {plain.dtype}", path)
            most = _largest(fits, Fraction(1, 2 ** DIGITS[plain.dtype]))
            if most <= plain.ends:
                raise NotShown("rounding", f"no word is shown to be right in {plain.dtype}", "use a wider dtype")
        return replace(plain, gaps=plain.heads - uniform, words=words, longest=longest, most_positions=most)

    @cached_property
    def _fitting(self) -> list[Fits]:
        return list(self._fits())

    @cached_property
    def _verified(self) -> tuple[int, int]:
        return verified(self.decoder, self.program)

    def _fits(self) -> Iterator[Fits]:
        """Yield what has to fit into a dtype for a number of positions.

        Raises:
            NotShown: for what holds for no number of positions, or is not known to hold.
        """
        decoder = self.decoder
        nodes = {node.number: node for node in needed([self.program.root])}
        directions = Directions(decoder, nodes)
        yield from embedded(decoder, directions.at(-1, "embedding"))
        for n, layer in enumerate(decoder.layers):
            before, middle, after = (directions.at(*stage) for stage in ((n - 1, _LAST), (n, "attention"), (n, _LAST)))
            for head in layer.heads:
                queries, keys = rows_of(head.query), rows_of(head.key)
                components = tuple((queries[row], keys[row]) for row in head.components.tolist())
                if any(before[at] is None for pair in components for row in pair for at in row):
                    raise NotShown("attention", "a head compares what is not known there", head.name, n + 1)
                yield lead(HeadScores(head, components, before), n + 1).fits
            yield from carried(layer.heads, before, middle, n + 1)
            if layer.feed_forward is not None:
                yield from computed(layer.feed_forward, middle, after, n + 1)
        yield from answers(decoder, directions.at(len(decoder.layers), _LAST))


def prove(decoder: Decoder, program: LogicProgram) -> LogicProof:
    """Return the proof that the heads of `decoder` are tieless and rounding changes nothing; nothing is computed yet."""
    return LogicProof(decoder, program)


def _largest(fits: list[Fits], u: Fraction) -> int:
    """Return the largest number of positions for which everything fits, as it does for fewer; 0 if there is none."""
    low, high = 0, MOST
    while low < high:
        middle = (low + high + 1) // 2
        if all(each(middle, u) for each in fits):
            low = middle
        else:
            high = middle - 1
    return low
