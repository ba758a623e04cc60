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

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from tm2tfr.base.errors import EngineError, counted, did_you_mean, visible
from tm2tfr.base.text.shown import aligned
from tm2tfr.base.text.words import written
from tm2tfr.engines.decode import run_whole
from tm2tfr.engines.exact import Exact
from tm2tfr.engines.reading import answered
from tm2tfr.runs.cause import find_cause
from tm2tfr.sources.logic.nodes import needed
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.proof.heads import Fits, HeadScores, LogicRefusal, NotShown, lead
from tm2tfr.sources.logic.proof.quantities import Directions
from tm2tfr.sources.logic.proof.units import answers, carried, computed, embedded, rows_of
from tm2tfr.sources.logic.truth import LogicTruth
from tm2tfr.transformer.weights import Decoder, digest, matrices

# ── That the stream holds what it is claimed to hold, and every answer is right, on all short words in exact arithmetic.
MOST_WORDS = 40
"""All words are verified up to the longest length at which there are at most so many."""


def verified(decoder: Decoder, program: LogicProgram) -> tuple[int, int]:
    """Return on how many words the stream was verified, and of up to how many tokens.

    Raises:
        NotShown: if a claim cannot be interpreted, or a number of the stream or an answer is wrong.
    """
    words = longest = 0
    while words + len(program.alphabet) ** (longest + 1) <= MOST_WORDS or not longest:
        longest += 1
        for word in product(program.alphabet, repeat=longest):
            truth = LogicTruth(program, written(word), decoder)
            specification = truth.specification(longest)
            if not specification.covers(decoder.layout):
                raise NotShown("words", "not every claim of the weights can be interpreted", "compile them again")
            cause = find_cause(decoder, specification, 0, engine=Exact())
            if cause is not None:
                raise NotShown("words", f"the stream is wrong on the word {' '.join(word)}", str(cause).splitlines()[0])
            passed = run_whole(decoder, [decoder.numbers[token] for token in truth.prompt], engine=Exact())
            found = zip(*(answered(decoder, each.logits) for each in passed), strict=True)
            wrong = next((name for name, own in zip(truth.values, found, strict=True) if own != truth.values[name]), None)
            if wrong is not None:
                raise NotShown("words", f"an answer is wrong on the word {' '.join(word)}", wrong)
            words += 1
    return words, longest


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
        fits, (words, longest) = self._fitting, verified(self.decoder, self.program)
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


# ── Certificates of a formula's or program's weights in words and as JSON.
_MOST_REFUSALS = 5
_SHARED = ("program", "weights", "heads", "gaps", "ends", "words", "longest")


@dataclass(frozen=True)
class LogicReport:
    """What ``certify`` prints of a formula or a program.

    Args:
        certificates: those asked for, one for each engine and dtype.
        asked: whether an engine or a dtype was named; otherwise the claim is that of the dense engine in float64.
        positions: up to how many positions it is asked about; None: it is not.
    """

    certificates: tuple[LogicCertificate, ...]
    asked: bool
    positions: int | None = None

    @property
    def granted(self) -> bool:
        """Whether what is asked for is proved."""
        widest = [each for each in self.certificates if (each.engine, each.dtype) == ("dense", "float64")]
        return all(map(self._reaches, self.certificates if self.asked or not widest else widest))

    def _reaches(self, found: LogicCertificate) -> bool:
        most = found.most_positions
        return found.granted and (self.positions is None or most is None or most >= self.positions)

    def text(self) -> str:
        """Return the report for people."""
        first = self.certificates[0]
        lines = [f"{visible(first.program)}, weights {first.weights[:16]}"]
        lines += ["claim: on every word of up to N tokens the engine answers as exact arithmetic does, and every head is"]
        lines += ["tieless, with the gap that it claims, if the stream holds there what it is claimed to hold", ""]
        table = [("engine", "dtype", "certified", "tokens N")]
        table += [(each.engine, each.dtype, *self._cells(each)) for each in self.certificates]
        lines += [line.rstrip() for line in aligned(table, {3})]
        for each in self.certificates:
            lines += [] if each.granted else ["", f"{each.engine} in {each.dtype}: NOT certified"]
            lines += [f"  {refusal}" for refusal in each.refusals[:_MOST_REFUSALS]]
        shown = next((each for each in self.certificates if each.granted), None)
        if shown is not None:
            heads = f"{counted(shown.gaps, 'head')} of {shown.heads} with a gap, all others uniform"
            lines += ["", f"proved from the weights, for words of any length: {heads}"]
            words = f"{counted(shown.words, 'word')} of up to {counted(shown.longest, 'token')}"
            lines += [f"verified only, not proved: that stream and answers are what they have to be: on all {words}"]
        return "\n".join(lines) + "\n"

    def json(self) -> str:
        """Return the report as JSON: what all certificates share, once, then each of them."""
        best = next((each for each in self.certificates if each.granted), self.certificates[0])
        rows = [{k: v for k, v in each.as_dict().items() if k not in _SHARED} for each in self.certificates]
        about: dict[str, Any] = {name: getattr(best, name) for name in _SHARED}
        whole = {**about, "positions": self.positions, "granted": self.granted, "certificates": rows}
        return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"

    def _cells(self, found: LogicCertificate) -> tuple[str, str]:
        if not found.granted:
            return "no", ""
        tokens = "any" if found.most_tokens is None else f"{found.most_tokens:,}"
        return "yes" if self._reaches(found) else "not as far", tokens


def logic_report(
    proof: LogicProof, *, engine: str | None = None, dtype: str | None = None, positions: int | None = None
) -> LogicReport:
    """Return the certificates of an engine and a dtype, of all that there are where none is named.

    Raises:
        EngineError: for an engine or a dtype that has none.
    """
    engines = RUNS if engine is None else {engine: RUNS.get(engine, ())}
    pairs = [(name, each) for name, dtypes in engines.items() for each in dtypes if dtype in (None, each)]
    if not pairs:
        where = f" in {dtype}" if dtype is not None else ""
        raise EngineError(f"there is no certificate of formulas for {engine or 'any engine'}{where}: use --engine dense")
    certificates = tuple(proof.certificate(*pair) for pair in pairs)
    return LogicReport(certificates, engine is not None or dtype is not None, positions)
