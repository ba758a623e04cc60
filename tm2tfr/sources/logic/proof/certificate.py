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

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import ClassVar

from tm2tfr.base.errors import counted
from tm2tfr.base.text.shown import aligned
from tm2tfr.base.text.words import written
from tm2tfr.certificates.kit import (
    ENGINES,
    Certificate,
    Proof,
    Questions,
    Refused,
    Report,
    attempted,
    checked,
    largest,
    not_certified,
    roundoff,
    unrepresentable,
)
from tm2tfr.engines.decode import run_whole
from tm2tfr.engines.exact import Exact
from tm2tfr.engines.reading import answered
from tm2tfr.runs.cause import find_cause
from tm2tfr.sources.logic.nodes import needed
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.proof.heads import HeadScores, lead
from tm2tfr.sources.logic.proof.quantities import Directions, Fits, answers, carried, computed, embedded, rows_of
from tm2tfr.sources.logic.proof.soft import agree, finer, hardened, hardened_decoder, is_per_position, rounded
from tm2tfr.sources.logic.truth import LogicTruth
from tm2tfr.transformer.parts import UNIQUE
from tm2tfr.transformer.weights import Decoder, digest

# ── That the stream holds what it is claimed to hold, and every answer is right, on all short words in exact arithmetic.
MOST_WORDS = 40
"""All words are verified up to the longest length at which there are at most this many."""


def verified(decoder: Decoder, program: LogicProgram) -> tuple[int, int]:
    """Return the number of words on which the stream was verified, and the number of tokens of the longest.

    Raises:
        Refused: if a claim cannot be interpreted, or a number of the stream or an answer is wrong.
    """
    words = longest = 0
    while words + len(program.alphabet) ** (longest + 1) <= MOST_WORDS or not longest:
        longest += 1
        for word in product(program.alphabet, repeat=longest):
            truth = LogicTruth(program, written(word), decoder)
            specification = truth.specification(longest)
            if not specification.covers(decoder.layout):
                raise Refused("words", "not every claim of the weights can be interpreted", "compile them again")
            cause = find_cause(decoder, specification, 0, engine=Exact())
            if cause is not None:
                raise Refused("words", f"the stream is wrong on the word {' '.join(word)}", str(cause).splitlines()[0])
            passed = run_whole(decoder, [decoder.numbers[token] for token in truth.prompt], engine=Exact())
            found = zip(*(answered(decoder, each.logits) for each in passed), strict=True)
            wrong = next((name for name, own in zip(truth.values, found, strict=True) if own != truth.values[name]), None)
            if wrong is not None:
                raise Refused("words", f"an answer is wrong on the word {' '.join(word)}", wrong)
            words += 1
    return words, longest


MOST = 2**53
"""The most positions that are asked about."""
_LAST = "feed_forward"
"""The last part of a layer."""
_SHARED = ("program", "weights", "heads", "gaps", "ends", "words", "longest")


@dataclass(frozen=True, kw_only=True)
class LogicCertificate(Certificate):
    """The proved statement about weights on one engine in one dtype, for all words.

    Args:
        program: its name.
        heads, gaps: the number of heads, and of those that are tieless with a gap; the others are uniform.
        ends: the number of positions around a word, for BOS and EOS.
        words, longest: the number of words on which the stream was verified, and their greatest length.
        most_positions: the most positions for which it is granted; None: no limit.
        soft: whether heads have softmax, at a temperature per position.
    """

    subject: ClassVar = "program"
    place: ClassVar = ("part", "layer")

    program: str
    heads: int
    gaps: int = 0
    ends: int = 1
    words: int = 0
    longest: int = 0
    most_positions: int | None = None
    soft: bool = False

    @property
    def most_tokens(self) -> int | None:
        """The most tokens of a word for which it is granted; None: no limit."""
        return None if self.most_positions is None else self.most_positions - self.ends

    @property
    def statement(self) -> str:
        """The proved statement, as text."""
        most = "of any length" if self.most_tokens is None else f"of up to {counted(self.most_tokens, 'token')}"
        what = "as with average-hard attention in exact arithmetic" if self.soft else "tieless, and as in exact arithmetic"
        return f"{what}, on words {most}"

    def as_dict(self) -> dict[str, object]:
        """Return the certificate as plain data."""
        return {**super().as_dict(), "most_tokens": self.most_tokens}


class LogicReport(Report[LogicCertificate]):
    """What ``certify`` prints of a formula or a program."""

    def reaches(self, certificate: LogicCertificate) -> bool:
        """Return whether a certificate proves the question."""
        most, positions = certificate.most_positions, self.questions.positions
        return certificate.granted and (positions is None or most is None or most >= positions)

    def lines(self) -> list[str]:
        """Return the report for people, without its heading."""
        if self.certificates[0].soft:
            lines = [
                "claim: on every word of up to N tokens the engine, with softmax, answers like average-hard attention in"
            ]
            lines += [
                "exact arithmetic, if each subspace has its claimed value and the margins are right (Lemma G)",
                "",
            ]
        else:
            lines = ["claim: on every word of up to N tokens the engine answers like exact arithmetic, and every head is"]
            lines += ["tieless with its claimed gap, if each subspace of the stream has its claimed value", ""]
        table = [("engine", "dtype", "certified", "tokens N")]
        table += [(each.engine, each.dtype, *self._cells(each)) for each in self.certificates]
        lines += aligned(table, {3})
        lines += [line for each in self.certificates if not each.granted for line in not_certified(each)]
        shown = next((each for each in self.certificates if each.granted), None)
        if shown is not None:
            heads = f"{counted(shown.gaps, 'head')} of {shown.heads} with a gap, all others uniform"
            lines += ["", f"proved from the weights, for words of any length: {heads}"]
            words = f"{counted(shown.words, 'word')} of up to {counted(shown.longest, 'token')}"
            lines += [f"verified, not proved: the claimed values and the answers, on all {words}"]
        return lines

    def shared(self) -> dict[str, object]:
        """Return the common fields of the certificates as plain data, in the order of the JSON, with ``granted``."""
        best = next((each for each in self.certificates if each.granted), self.certificates[0])
        about = {name: getattr(best, name) for name in _SHARED}
        return {**about, "positions": self.questions.positions, "granted": self.granted}

    def _cells(self, certificate: LogicCertificate) -> tuple[str, str]:
        if not certificate.granted:
            return "no", ""
        tokens = "any" if certificate.most_tokens is None else f"{certificate.most_tokens:,}"
        return "yes" if self.reaches(certificate) else "not as far", tokens


@dataclass(frozen=True)
class LogicProof(Proof[LogicCertificate]):
    """The proof that the heads of `decoder` are tieless and rounding changes nothing; it is carried out on first use.

    Args:
        program: the formula or program that it was compiled from.
    """

    engines: ClassVar = {name: dtypes for name, dtypes in ENGINES.items() if name != "fast"}
    """The fast engine generates, and these weights read whole words."""

    program: LogicProgram

    def certificate(self, engine: str = "dense", dtype: str | None = None) -> LogicCertificate:
        """Return the certificate for an engine and a dtype, by default its widest.

        Raises:
            EngineError: for an unknown engine, or a dtype that it does not compute in.
        """
        plain = LogicCertificate(
            program=self.program.name,
            weights=digest(self.decoder),
            engine=engine,
            dtype=checked(engine, dtype, self.engines),
            heads=self.decoder.heads,
            ends=1 + ("EOS" in self.decoder.vocabulary),
            soft=self.decoder.soft,
        )
        return attempted(plain, self._proved)

    def report(self, questions: Questions) -> LogicReport:
        """Return the requested certificates.

        Raises:
            EngineError: for an unknown engine or dtype.
        """
        return LogicReport(certificates=self.certificates(questions), questions=questions)

    def _proved(self, plain: LogicCertificate) -> LogicCertificate:
        decoder = self.decoder
        if decoder.normed:
            raise Refused("shape", "the proof does not know layer norms", "compile the formula anew")
        if decoder.unique:
            raise Refused("shape", f"the proof does not know {UNIQUE}", "soften the weights, or omit --variant unique")
        if decoder.soft and not is_per_position(decoder):
            remedy = "soften the formula per position, or see tm2tfr soften for what is known of softmax"
            raise Refused("shape", "the proof knows softmax at a temperature per position alone", remedy)
        if decoder.soft and plain.dtype == "rational":
            raise Refused("shape", "the exact engine runs hard attention only", "use the dense engine")
        fits, (words, longest) = self._fitting, self._verified
        uniform = sum(head.uniform for layer in decoder.layers for head in layer.heads)
        most = None
        if plain.dtype != "rational":
            if (path := unrepresentable(decoder, plain.dtype)) is not None:
                raise Refused("rounding", f"a weight is not a number of {plain.dtype}", path)
            u = roundoff(plain.dtype)
            most = largest(lambda positions: all(each(positions, u) for each in fits), MOST)
            if most <= plain.ends:
                raise Refused("rounding", f"no word is shown to be right in {plain.dtype}", "use a wider dtype")
        return replace(plain, gaps=plain.heads - uniform, words=words, longest=longest, most_positions=most)

    @cached_property
    def _verified(self) -> tuple[int, int]:
        if not self.decoder.soft:
            return verified(self.decoder, self.program)
        words, longest = verified(hardened_decoder(self.decoder), self.program)
        agree(self.decoder, self.program, longest)
        return words, longest

    @cached_property
    def _fitting(self) -> list[Fits]:
        return list(self._fits())

    def _fits(self) -> Iterator[Fits]:
        """Yield the quantities that must fit into a dtype for a number of positions.

        Raises:
            Refused: for what holds for no number of positions, or is not known to hold.
        """
        decoder = self.decoder
        nodes = {node.number: node for node in needed([self.program.root])}
        directions = Directions(decoder, nodes)
        yield from embedded(decoder, directions.at(-1, "embedding"))
        for n, layer in enumerate(decoder.layers):
            before, middle, after = (directions.at(*stage) for stage in ((n - 1, _LAST), (n, "attention"), (n, _LAST)))
            hard = hardened(layer, n + 1).heads if decoder.soft else layer.heads
            yield from (rounded(head, n + 1) for head in layer.heads if decoder.soft)
            for head in hard:
                queries, keys = rows_of(head.query), rows_of(head.key)
                components = tuple((queries[row], keys[row]) for row in head.components.tolist())
                if any(before[at] is None for pair in components for row in pair for at in row):
                    raise Refused("attention", "a head compares what is not known there", head.name, layer=n + 1)
                fits = lead(HeadScores(head, components, before), n + 1).fits
                yield finer(fits) if decoder.soft else fits
            yield from carried(hard, before, middle, n + 1)
            if layer.feed_forward is not None:
                yield from computed(layer.feed_forward, middle, after, n + 1)
        yield from answers(decoder, directions.at(len(decoder.layers), _LAST))
