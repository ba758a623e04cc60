"""The certificate for a class: "for every machine with at most S states and K symbols, every input and every run with at
most N positions and |h| ≤ H, this engine in this dtype generates exactly the simulator's tokens"; N counts the prompt.

By induction over positions and, within one, over the layers, as for a single machine. Nothing in it depends on the machine:
what a rule can be is a case of each layer (`domain`), and where its rules are is found by attention (`layers`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from tm2tfr.base.errors import ShapeError, counted
from tm2tfr.certificates.kit import Refusal
from tm2tfr.sources.turing.proof.prove import MachineProof, claimed, collected, layout_refusals, limits, unclaimed
from tm2tfr.sources.turing.proof.rounding import Condition
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.sources.turing.universal.proof.domain import ClassDomain, failing_run
from tm2tfr.sources.turing.universal.proof.layers import ClassHeadProof, Description, class_conditions, class_feed_forwards
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder, digest

SHOWN = 3
"""The most refusals of one part that are shown: a class has many tokens."""


@dataclass(frozen=True)
class ClassProof(MachineProof):
    """What was found out about `decoder` as a simulator of every machine of a class, see `MachineProof`.

    Args:
        universal: the class, with the names that the decoder's tokens have.
        description: the heads that read the machine's description; None if they are refused.
    """

    universal: Universal
    description: Description | None

    @property
    def every(self) -> str:
        """What it is for, in words."""
        found = self.universal
        tape = "" if found.tapes else f"a {found.tape} tape, "
        sizes = f"{counted(found.states, 'state')} with rules and {counted(found.symbols, 'symbol')}"
        return f"every machine with {tape}at most {sizes}, every input"

    @property
    def lead(self) -> int:
        """The largest number of tokens before the input: of the machine in the prompt, or else of any."""
        found = self.universal
        return domain_of(found).longest if found.machine is None else len(found.description)

    @cached_property
    def digest(self) -> str:
        """The digest of the weights with the names of the class: the same whichever machine is in the prompt."""
        return digest(with_names_of_the_class(self.decoder, self.universal))

    def conditions(self, engine: str, dtype: str) -> tuple[Condition, ...]:
        """Return the conditions on N and H for an engine, by layer; empty for rationals and for refused weights."""
        found = super().conditions(engine, dtype)
        if self.description is None or not found:
            return ()
        meant, domain = claimed(self.decoder)[0], domain_of(self.universal)
        more = class_conditions(meant, domain, dtype, self.description, domain.longest)
        return tuple(sorted((*found, *more), key=lambda c: c.layer))


def domain_of(universal: Universal) -> ClassDomain:
    """Return the domain of the class of `universal`, with its names."""
    return ClassDomain(universal.names, universal.tapes, two_way=universal.two_way, walled=universal.walled)


def with_names_of_the_class(decoder: Decoder, universal: Universal) -> Decoder:
    """Return `decoder` with the canonical names of states and symbols instead of those of the machine in `universal`.

    Weights with labels that are neither, or both, are returned as they are.
    """
    tokens = dict(zip(universal.vocabulary, universal.empty.vocabulary, strict=True))
    own, every = domain_of(universal).subspaces, domain_of(universal.empty).subspaces

    def renamed(subspace: Subspace) -> Subspace:
        labels = dict(zip(own.get(subspace.holds) or (), every.get(subspace.holds) or (), strict=True))
        if subspace.labels is None:
            return subspace
        return replace(subspace, labels=tuple(labels.get(label, label) for label in subspace.labels))

    with suppress(ShapeError):
        layout = Residual(tuple(map(renamed, decoder.layout.subspaces)))
        return replace(decoder, layout=layout, vocabulary=tuple(tokens.get(t, t) for t in decoder.vocabulary))
    return decoder


def prove(decoder: Decoder, universal: Universal) -> ClassProof:
    """Return the proof about `decoder` for the whole class of `universal`, whatever machine is in its prompt.

    A refusal of weights that go wrong on a machine of the class tells, where trying finds one, its prompt.
    """
    if {*decoder.vocabulary} != {*universal.vocabulary}:  # weights with the canonical names
        universal = universal.empty
    try:
        meant, called = claimed(decoder)
    except ShapeError as error:
        return _refused(decoder, universal, (unclaimed(str(error)),))
    domain = replace(domain_of(universal), called=called)
    if ends := tuple(layout_refusals(meant, domain)):  # nothing more can be said
        return _refused(decoder, universal, ends)
    heads = ClassHeadProof(meant, domain)
    refusals, sums = collected(meant, domain, list(class_feed_forwards(meant, domain)), heads)
    if refusals:
        return _refused(decoder, universal, _witnessed(decoder, universal, refusals))
    return ClassProof(decoder, universal, (), sums, heads.lookups, heads.retrieval, universal, heads.description)


def _refused(decoder: Decoder, universal: Universal, refusals: tuple[Refusal, ...]) -> ClassProof:
    return ClassProof(decoder, universal, refusals, (), None, None, universal, None)


def _witnessed(decoder: Decoder, universal: Universal, refusals: Sequence[Refusal]) -> tuple[Refusal, ...]:
    """Return a few refusals of each part, the first of them with a run that goes wrong, where one is found."""
    places = [(refusal.layer, refusal.part) for refusal in refusals]
    first, *others = [r for n, r in enumerate(refusals) if places[:n].count(places[n]) < SHOWN]
    run = failing_run(decoder, universal, str(first))
    return (first if run is None else replace(first, witness=f"{first.witness}; {run}"), *others)


limit = limits(prove)
