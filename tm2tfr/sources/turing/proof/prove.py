"""The certificate: "for every input and every run with at most N positions and |h| ≤ H, this engine in this dtype
generates exactly the simulator's tokens", proved from the weights.

By induction over positions and, within one, over the layers: if all earlier tokens are the simulator's and every
earlier stream holds what the construction says (`tm2tfr.sources.turing.truth`), so does this one. `embedding`,
`feed_forward` and `attention` show it in exact arithmetic, on the matrices; `rounding` says up to which N and H the
floats of an engine change nothing. N counts the prompt, BOS and the generated tokens except the verdict: a run of T
steps on n symbols has at most n + T + 2 positions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Protocol, TypeVar

from tm2tfr.base.errors import ShapeError
from tm2tfr.certificates.kit import DIGITS, Proof, Questions, Refusal, checked, unrepresentable
from tm2tfr.engines.recognise import recognise
from tm2tfr.sources.turing.proof.attention import AttentionProof, HeadProof, Lookups, Retrieval
from tm2tfr.sources.turing.proof.cases import LayerInputs
from tm2tfr.sources.turing.proof.certificate import Bound, CertifiedRuns, MachineCertificate, MachineReport
from tm2tfr.sources.turing.proof.domain import Domain
from tm2tfr.sources.turing.proof.embedding import (
    embedding_refusals,
    layout_refusals,
    spread,
    unclaimed,
    unembedding_refusals,
)
from tm2tfr.sources.turing.proof.feed_forward import FeedForwardProof, Sums, feed_forwards
from tm2tfr.sources.turing.proof.rounding import LONGEST_FAST, Condition, conditions, largest, overflow
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.transformer.residual import by_claims
from tm2tfr.transformer.weights import Decoder, digest


class Provable(Protocol):
    """What a proof is about: a machine, or a class of machines."""

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
        self,
        engine: str = "dense",
        dtype: str | None = None,
        *,
        positions: int | None = None,
        max_head: int | None = None,
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
    """Return what can be proved about `decoder` as a simulator of `machine`: refusals, or the facts that bound N.

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
    """Return the decoder with its subspaces called what they are claimed to hold, and the names that differ from that.

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
    """Return the function that tells how far a proof reaches; the proofs of the last few decoders are cached."""
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
