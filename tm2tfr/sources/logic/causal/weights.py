"""What is the same for all runs of a formula's weights: claims, wiring, and what comes together in runs."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from tm2tfr.contract.model import ModelVariable
from tm2tfr.sources.logic.causal.seen import ENDS
from tm2tfr.sources.logic.evaluate import evaluate
from tm2tfr.sources.logic.nodes import needed
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.specification import claims
from tm2tfr.sources.logic.truth import answered
from tm2tfr.transformer.listing import wiring
from tm2tfr.transformer.residual import Subspace
from tm2tfr.transformer.weights import Decoder, digest

TRIED, LONGEST = 120, 8
"""How many words, of up to which length, say what comes together."""
FEATURE = "it says where a position is, and has no cause"
_MEAN = "it is a mean over positions: set what it is rounded to, or what is looked up by it"


class LogicWeights:
    """What is the same for all runs of a formula's weights: claims, wiring, and what comes together."""

    def __init__(self, program: LogicProgram, decoder: Decoder) -> None:
        self.program, self.decoder = program, decoder
        self.spaces, self.wires, self.outputs = wiring(decoder)
        self.claims = {what: claims.subspace_claim(space.holds) for what, space in self.spaces.items()}
        self.nodes = answered(program, decoder)
        self.by_number = {node.number: node for node in needed(self.nodes)}
        self.eos = "EOS" in decoder.vocabulary
        self.together: dict[str, set[Any]] = {}
        self.steps: dict[str, bool] = {}
        self.learning = True
        chance = random.Random(0)
        self.words = [tuple(chance.choices(program.alphabet, k=1 + n * LONGEST // TRIED)) for n in range(TRIED)]
        labels: dict[int, set[str]] = {n: set() for n, node in self.by_number.items() if node.kind == "label"}
        for word in self.words:
            right = evaluate(self.nodes, word)
            for n, known in labels.items():
                known.update(map(str, right[self.by_number[n]]))
        self.labels = {n: frozenset(known) for n, known in labels.items()}

    def of(self, program: LogicProgram, decoder: Decoder) -> bool:
        """Return whether it is of this program and these weights: the same text, and the same matrices."""
        if self.decoder is decoder and self.program is program:
            return True
        own = self.program
        same = (program.text, program.chosen, program.alphabet) == (own.text, own.chosen, own.alphabet)
        return same and (decoder.layout == self.decoder.layout and digest(decoder) == digest(self.decoder))

    def reads(self, what: Iterable[str]) -> dict[str, claims.SubspaceClaim | None]:
        """Return variables with their claims."""
        return {each: self.claims[each] for each in what}

    def variables(self) -> dict[str, ModelVariable]:
        """Return the variables, by what their subspaces hold."""
        read_by: dict[str, list[str]] = {}
        for what, wire in self.wires.items():
            others = (*wire.head.query, *wire.head.key) if wire.head else ()
            for read in (*wire.reads, *others):
                read_by.setdefault(read, []).append(self.spaces[what].name)
        for name, reads in self.outputs.items():
            for read in reads:
                read_by.setdefault(read, []).append(f"the output {name}")
        found = {}
        for what, space in self.spaces.items():
            claim = self.claims[what]
            if claim is not None and not is_feature(claim):
                words = list(dict.fromkeys(read_by.get(what, ())))
                found[what] = _variable(what, space, claim, ", ".join(words))
        return found


def is_feature(claim: claims.SubspaceClaim) -> bool:
    return isinstance(claim, claims.GivenClaim) and claim.what != "token"


def is_number(claim: claims.SubspaceClaim | None) -> bool:
    while isinstance(claim, claims.InsideClaim | claims.ShareClaim | claims.MeanClaim):
        claim = claim.of
    return isinstance(claim, claims.DividedClaim) or (
        isinstance(claim, claims.NodeClaim) and claim.what not in ("label", "found")
    )


def _variable(what: str, space: Subspace, claim: claims.SubspaceClaim, read_by: str) -> ModelVariable:
    bit = isinstance(claim, claims.BitClaim | claims.StepClaim) or space.holds.startswith(("rounded ", "within "))
    bit |= isinstance(claim, claims.NodeClaim) and claim.what == "found"
    counted = isinstance(claim, claims.NodeClaim) and claim.what == "number"
    unset = "" if space.labels is not None or bit or counted else _MEAN
    return ModelVariable(
        name=what,
        meaning=space.name,
        kind="number" if space.labels is None else "label",
        since=space.since or (-1, "embedding"),
        read_by=read_by,
        subspace=space.name,
        labels=tuple(label for label in space.labels or () if label not in ENDS),
        nothing=what != "token",
        least=0 if bit else None,
        largest=1 if bit else None,
        unset=unset,
    )
