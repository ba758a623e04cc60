"""The certificate: "for every input and every run with at most N positions and |h| ≤ H, this engine in this dtype
generates exactly the simulator's tokens", proved from the weights.

By induction over positions and, within one, over the layers: if all earlier tokens are the simulator's and every
earlier stream holds what the construction says (`tm2tfr.sources.turing.truth`), so does this one. This module (of the ends
of the decoder), `feed_forward` and `attention` show it in exact arithmetic, on the matrices; `rounding` says up to which N
and H the floats of an engine change nothing. N counts the prompt, BOS and the generated tokens except the verdict: a run of
T steps on n symbols has at most n + T + 2 positions.

Unembedding. After the last layer ``e_y`` is one answer's one-hot vector. The logits are that column of the matrix plus
the bias; nothing else may be read; the answer's own logit must be larger than all others (Definition 8.1: the first of
the largest). One product with 1 and one sum of two numbers: exact in floats if `spread` ≤ 2^p, in units of 2^-g.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Protocol, TypeVar

from tm2tfr.base.errors import ShapeError
from tm2tfr.certificates.kit import DIGITS, Proof, Questions, Refusal, checked, unrepresentable
from tm2tfr.engines.overflow import nearest
from tm2tfr.engines.recognise import recognise
from tm2tfr.sources.turing.proof.attention import AttentionProof, HeadProof, Lookups, Retrieval
from tm2tfr.sources.turing.proof.cases import FEATURES, LayerInputs, columns
from tm2tfr.sources.turing.proof.certificate import Bound, CertifiedRuns, MachineCertificate, MachineReport
from tm2tfr.sources.turing.proof.domain import Domain
from tm2tfr.sources.turing.proof.feed_forward import FeedForwardProof, Sums, feed_forwards
from tm2tfr.sources.turing.proof.rounding import LONGEST_FAST, Condition, conditions, largest, overflow
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.tokens import BOS, VERDICTS, parsed
from tm2tfr.transformer.matrix import Rational, rational
from tm2tfr.transformer.parts import AHEAD, NO_BOS, parts
from tm2tfr.transformer.residual import at, by_claims
from tm2tfr.transformer.weights import Decoder, digest

COUNTS = {6: "six", 7: "seven"}
"""Numbers of layers in words."""


def unclaimed(witness: str) -> Refusal:
    """Return the refusal of weights that do not claim what each of their subspaces holds."""
    return _refuse(0, "layout", "every subspace must be claimed to hold something of its own", witness)


def layout_refusals(decoder: Decoder, domain: LayerInputs) -> Iterator[Refusal]:
    """Yield the reasons why the decoder cannot come from this construction at all."""
    if len(decoder.layers) != domain.layers:
        yield _refuse(
            0, "layout", f"the construction has {COUNTS[domain.layers]} layers", f"this decoder has {len(decoder.layers)}"
        )
    layout = decoder.layout
    lacking = [t for t in dict.fromkeys((*domain.tokens, *domain.answers)) if t not in decoder.vocabulary]
    if lacking and not {"[h=0]", "[rule]"} & {*layout.directions} and all(map(_stays, lacking)):
        yield _refuse(
            0,
            "layout",
            "a move left at cell 0 must emit m = 0 (Exercise 8.3), but these weights have no flag [h=0]",
            f"{lacking[0]} is needed there but is not in the vocabulary",
        )
        return
    for name, labels in domain.subspaces.items():
        if name not in layout:
            yield _refuse(0, "layout", "a subspace is missing", f"there is no {name}")
        elif (labels is None) != (layout.subspace(name).labels is None):
            kind = "a single number" if labels is None else "a direction for each label"
            yield _refuse(0, "layout", f"{name} must be {kind}", "it is not")
        elif missing := sorted(set(labels or ()) - set(layout.subspace(name).labels or ())):
            yield _refuse(0, "layout", f"{name} must have a direction for each label", f"there is no {name}[{missing[0]}]")
    for subspace in layout.subspaces:
        if subspace.name not in domain.subspaces:
            yield _refuse(0, "layout", "a subspace is not part of the construction", f"found {subspace.name}")
    yield from _foreign_parts(decoder)
    vocabulary = frozenset(decoder.vocabulary)
    for token in dict.fromkeys((*domain.tokens, *domain.answers)):
        if token not in vocabulary:
            yield _refuse(0, "layout", "the vocabulary lacks a token that can occur", token)
        elif (token in VERDICTS.values()) != (token in decoder.stop):
            yield _refuse(0, "layout", "exactly the verdicts must stop a run", f"{token}, stop tokens {decoder.stop}")


def _foreign_parts(decoder: Decoder) -> Iterator[Refusal]:
    """Yield refusals of parts that the decoder has, or lacks, beside its layers."""
    for part in parts(decoder):
        if part not in (NO_BOS, AHEAD):  # masks are refused head by head
            yield _refuse(0, "layout", "the construction has no such part", f"these weights have {part}")
    if decoder.bos != BOS:
        yield _refuse(0, "layout", "the prompt must end with BOS", f"bos is {decoder.bos!r}")


def _stays(token: str) -> bool:
    """Return whether a token is a triple that does not move the head."""
    triple = parsed(token)
    return triple is not None and triple.move == 0


def embedding_refusals(decoder: Decoder, domain: LayerInputs) -> Iterator[Refusal]:
    """Yield the errors in the embeddings: token t must be e_x[t], each feature the direction of its name (Eq. 8.4)."""
    layout = decoder.layout
    tokens, places = columns(decoder.token_embedding), columns(decoder.position_embedding)
    fed = frozenset(domain.tokens)
    for n, token in enumerate(decoder.vocabulary):
        wanted = {at("e_x", token): 1}
        if token in fed and (found := layout.named(dict(tokens.get(n, [])))) != wanted:
            problem = f"token {token} is not embedded as {domain.shown(at('e_x', token))}"
            yield _refuse(0, "embedding", problem, f"it is {_shown(found, domain)}")
    for n, feature in enumerate(decoder.features):
        found = layout.named(dict(places.get(n, [])))
        if found != {feature: 1}:
            yield _refuse(0, "embedding", f"feature {feature} is not embedded as itself", f"it is {_shown(found, domain)}")
    if sorted(decoder.features) != sorted(FEATURES):
        text = f"they are {', '.join(decoder.features)}"
        yield _refuse(0, "embedding", f"the position features must be {', '.join(FEATURES)}, each once", text)


def unembedding_refusals(decoder: Decoder, domain: LayerInputs) -> Iterator[Refusal]:
    """Yield the errors in the unembedding."""
    last, layout, matrix = len(decoder.layers) + 1, decoder.layout, decoder.unembedding
    block = layout["e_y"]
    for row, column, value in matrix.entries():
        if not block.start <= column < block.stop:
            text = f"it reads {domain.shown(layout.directions[column])} with weight {value:g}"
            yield _refuse(last, "unembedding", f"the logit of {decoder.vocabulary[row]} depends on more than e_y", text)
            return
    for answer, own, rival, other in _contests(decoder, domain):
        if other is not None and other >= own:
            told = f"that of {decoder.vocabulary[rival]} is {nearest(other):g}"
            text = f"for {domain.shown(at('e_y', answer))} its logit is {nearest(own):g}, {told}"
            yield _refuse(last, "unembedding", f"{answer} is not the only token with the largest logit", text)


def lead(decoder: Decoder, domain: LayerInputs) -> Fraction:
    """Return by how much the logit of an answer is ahead of all others at least, in exact arithmetic."""
    ahead = (Fraction(own - other) for _, own, _, other in _contests(decoder, domain) if other is not None)
    return min(ahead, default=Fraction(1))


def _contests(decoder: Decoder, domain: LayerInputs) -> Iterator[tuple[str, Rational, int, Rational | None]]:
    """Yield each answer with its own logit, the token with the largest other one, and that logit; None: there is none."""
    bias, read = (
        ({row: rational(value) for row, _, value in decoder.unembedding_bias.entries()}),
        columns(decoder.unembedding),
    )
    ranked = sorted(range(len(decoder.vocabulary)), key=lambda n: bias.get(n, 0), reverse=True)
    for answer in domain.answers:
        touched = {n: bias.get(n, 0) + w for n, w in read.get(decoder.layout.index(at("e_y", answer)), ())}
        untouched = next((n for n in ranked if n not in touched and n != decoder.numbers[answer]), None)
        logits = touched if untouched is None else {**touched, untouched: bias.get(untouched, 0)}
        own = logits.pop(decoder.numbers[answer], bias.get(decoder.numbers[answer], 0))
        rival = max(logits, key=lambda n: logits[n], default=0)
        yield answer, own, rival, logits.get(rival)


def spread(decoder: Decoder) -> Sums:
    """Return the largest logit in units of 2^-g: if it is below 2^p of them, every logit is exact."""
    matrices = (decoder.unembedding, decoder.unembedding_bias)
    unit = max((Fraction(w).denominator for m in matrices for w in set(m.values.tolist())), default=1)
    total = sum((max(map(abs, map(Fraction, set(m.values.tolist()))), default=Fraction(0)) for m in matrices), Fraction(0))
    return Sums(len(decoder.layers) + 1, "unembedding", int(total * unit), 0, "logits")


def _shown(form: dict[str, Rational], domain: LayerInputs) -> str:
    return " + ".join(f"{nearest(w):g}·{domain.shown(name)}" for name, w in form.items()) or "0"


def _refuse(layer: int, part: str, what: str, witness: str) -> Refusal:
    return Refusal(layer=layer, layer_name=part, part=part, what=what, witness=witness)


class Provable(Protocol):
    """The subject of a proof: a machine, or a class of machines."""

    @property
    def name(self) -> str:
        """Its name."""


@dataclass(frozen=True)
class MachineProof(Proof[MachineCertificate]):
    """What was found out about `decoder` as a simulator of `machine`, for all engines.

    Args:
        refusals: everything that could not be proved right: any number at the ends, at most one for each part of a layer.
        sums: the sums of integers in each layer; `lookups`, `retrieval`: the heads. None if they are refused.
    """

    machine: Provable
    refusals: tuple[Refusal, ...]
    sums: tuple[Sums, ...]
    lookups: Lookups | None
    retrieval: Retrieval | None

    @property
    def every(self) -> str:
        """What it is for, in words."""
        return "every input"

    @property
    def lead(self) -> int:
        """The largest number of tokens before the input."""
        return 0

    def largest(self, engine: str, dtype: str | None = None, max_head: int | None = None) -> int | None:
        """Return the largest N certified for |h| ≤ `max_head`; None: no limit; 0: nothing is certified.

        Raises:
            EngineError: for an unknown engine or dtype.
        """
        dtype = checked(engine, dtype)
        if self.refusals:
            return 0
        if engine == "exact":
            return None
        most = LONGEST_FAST if engine == "fast" else 2 ** DIGITS[dtype]
        return largest(self.conditions(engine, dtype), most, max_head)

    def conditions(self, engine: str, dtype: str) -> tuple[Condition, ...]:
        """Return the conditions on N and H for an engine, by layer; empty for rationals and for refused weights."""
        if self.lookups is None or self.retrieval is None or dtype not in DIGITS:
            return ()
        fast = engine == "fast"
        apart = fast and self._kept_apart
        found = conditions(dtype, self.lookups, self.retrieval, self.sums, numbered=fast, apart=apart)
        return (*self._rounded_weights(dtype), overflow(self.decoder, dtype), *found)

    def certificate(
        self, engine: str = "dense", dtype: str | None = None, *, positions: int | None = None, max_head: int | None = None
    ) -> MachineCertificate:
        """Return the certificate for an engine, for N = `positions`, by default for the largest certified N.

        Raises:
            EngineError: for an unknown engine or dtype.
        """
        dtype = checked(engine, dtype)
        most = self.largest(engine, dtype, max_head)
        n = max(1, positions or most or 1)
        h = n - 1 if max_head is None else min(max_head, n - 1)
        found = () if self.refusals else self.conditions(engine, dtype)
        bounds = [
            Bound(
                layer=c.layer,
                part=c.part,
                where=c.where,
                claim=c.claim,
                formula=c.formula,
                slack=float(1 - min(c.use(n, h), Fraction(10**6))),
            )
            for c in found
        ]
        return MachineCertificate(
            machine=self.machine.name,
            weights=self.digest,
            engine=engine,
            dtype=dtype,
            positions=most,
            max_head=max_head,
            asked=positions,
            refusals=self.refusals,
            bounds=tuple(sorted(bounds, key=lambda b: b.slack)),
            every=self.every,
        )

    def report(self, questions: Questions) -> MachineReport:
        """Return the answer for a number of positions or steps on one engine (by default ``dense``), or the table.

        The table has each engine and dtype that is asked about: for H = N, and for H = `max_head` if that is given.

        Raises:
            EngineError: for an unknown engine or dtype.
        """
        steps, head = questions.steps, questions.max_head
        runs = None if steps is None else CertifiedRuns(steps, questions.symbols, self.lead)
        positions = questions.positions if runs is None else runs.positions
        if positions is not None:
            engine = questions.engine or "dense"
            found = [self.certificate(engine, questions.dtype, positions=positions, max_head=head)]
        else:
            pairs, bounds = questions.pairs(self.engines), dict.fromkeys((None, head))
            found = [self.certificate(*pair, max_head=h) for pair in pairs for h in bounds]
        return MachineReport(certificates=tuple(found), questions=questions, runs=runs)

    @cached_property
    def digest(self) -> str:
        """The digest of the weights; see `tm2tfr.transformer.weights.digest`."""
        return digest(self.decoder)

    @cached_property
    def _kept_apart(self) -> bool:
        """Whether the fast engine keeps the latest of equal keys apart in the head of layer 4 throughout every run.

        What it recognises is a guess: it stores positions by their keys as long as these are integers below a billion with
        their squares, and not too sparse; otherwise it scans and compares rounded scores. So the component that it takes
        for k must be ±h_{i-1}, and the one that it takes for k² its square: other conditions keep H far below a billion.
        """
        if self.retrieval is None:
            return False
        head, found = self.decoder.layers[3].heads[self.retrieval.head], recognise(self.decoder)[3][self.retrieval.head]
        if found.kind != "latest":
            return False
        rows, place = head.key.by_row(), self.decoder.layout.index
        one, square = (place(self.decoder.layout.holder(what).name) for what in ("h_{i-1}", "h_{i-1}^2"))
        return rows[found.key] in ({one: 1.0}, {one: -1.0}) and rows[found.key_square] == {square: 1.0}

    def _rounded_weights(self, dtype: str) -> tuple[Condition, ...]:
        """Return a condition that never holds if a weight is not representable in `dtype`."""
        if (path := unrepresentable(self.decoder, dtype)) is None:
            return ()
        text = "all weights are representable in the dtype"
        return (Condition(0, "weights", path, text, f"{dtype}(w) = w", lambda _n, _h: Fraction(2)),)


def prove(decoder: Decoder, machine: Machine) -> MachineProof:
    """Return the proof about `decoder` as a simulator of `machine`: refusals, or the facts that bound N.

    The proof is about what subspaces are claimed to hold; a refusal shows the names that the weights have.
    """
    try:
        meant, called = claimed(decoder)
    except ShapeError as error:
        return MachineProof(decoder, machine, (unclaimed(str(error)),), (), None, None)
    domain = Domain(machine, flagged=machine.tape == "one-way" and "[h=0]" in meant.layout, called=called)
    ends = tuple(layout_refusals(meant, domain))
    if ends:  # nothing more can be said
        return MachineProof(decoder, machine, ends, (), None, None)
    heads = AttentionProof(meant, domain)
    refusals, sums = collected(meant, domain, list(feed_forwards(meant, domain)), heads)
    return MachineProof(decoder, machine, refusals, sums, heads.lookups, heads.retrieval)


def claimed(decoder: Decoder) -> tuple[Decoder, Mapping[str, str]]:
    """Return the decoder with its subspaces named after their claimed contents, and the names that differ from that.

    Raises:
        ShapeError: if nothing is claimed about a subspace, or the same about two.
    """
    meant = dataclasses.replace(decoder, layout=by_claims(decoder.layout))
    names = zip(meant.layout.directions, decoder.layout.directions, strict=True)
    return meant, {direction: name for direction, name in names if direction != name}


def collected(
    meant: Decoder, domain: LayerInputs, layers: Sequence[FeedForwardProof], heads: HeadProof
) -> tuple[tuple[Refusal, ...], tuple[Sums, ...]]:
    """Return all refusals of a decoder whose layout is right, by layer, and the sums of integers in each layer."""
    refusals = [*embedding_refusals(meant, domain), *heads.refusals, *unembedding_refusals(meant, domain)]
    refusals += [refusal for layer in layers for refusal in layer.refusals]
    sums = (*(layer.sums for layer in layers if layer.sums is not None), spread(meant))
    return tuple(sorted(refusals, key=lambda r: (r.layer, r.part))), sums


_Program = TypeVar("_Program")


def limits(proved: Callable[[Decoder, _Program], MachineProof]) -> Callable[..., int | None]:
    """Return the function that tells how far a proof reaches.

    The proofs of the last few decoders are cached: a proof takes longer than a short run, and each run asks about its |h|.
    """
    cached = lru_cache(maxsize=8)(proved)

    def limit(
        decoder: Decoder, machine: _Program, engine: str = "dense", dtype: str | None = None, max_head: int | None = None
    ) -> int | None:
        """Return the number of positions that are certified for |h| ≤ `max_head`; None: no limit; 0: none.

        Raises:
            EngineError: for an unknown engine or dtype.
        """
        return cached(decoder, machine).largest(engine, dtype, max_head)

    return limit


limit = limits(prove)
