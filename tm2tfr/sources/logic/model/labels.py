"""Labels of formulas and programs of temporal logic: the values of nodes, and what subspaces and heads make of them.

The model on many words of one length at once, with BOS before them and EOS behind, if the weights have one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tm2tfr.contract.labelling import (
    RESERVED,
    HeadLabels,
    HeldFunction,
    HeldVariable,
    LabelledWords,
    LabelVariable,
    LookMatrix,
    Scheme,
    Seen,
    VariableKind,
    heads_of,
    recoded,
)
from tm2tfr.sources.logic.evaluate_many import ManyWords
from tm2tfr.sources.logic.model.claims import (
    BitClaim,
    DividedClaim,
    GivenClaim,
    MeanClaim,
    NodeClaim,
    ShareClaim,
    SubspaceClaim,
    head_claim,
    labelled,
    means,
    nested,
    subspace_claim,
)
from tm2tfr.sources.logic.model.columns import ReferenceColumns
from tm2tfr.sources.logic.model.described import described_logic
from tm2tfr.sources.logic.model.seen import held_as
from tm2tfr.sources.logic.nodes import Node
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.truth import LogicLabels
from tm2tfr.sources.logic.write import output_names
from tm2tfr.sources.sequence.naming import unique
from tm2tfr.transformer.residual import Subspace
from tm2tfr.transformer.weights import Decoder

_GIVEN = {
    "token": HeldVariable(column="token"),
    "1": HeldVariable(),
    "i": HeldVariable(column="position"),
    "i^2": HeldVariable(column="position", function="square"),
    "1/(i+1)": HeldVariable(over=True),
}


class LogicVariables:
    """Finds the labels of words of one formula or program.

    Args:
        decoder: the weights, of which only claims, labels, the names of outputs and whether there is an EOS are read.

    Raises:
        CompileError: if the weights answer no nodes of the program.
    """

    def __init__(self, program: LogicProgram, decoder: Decoder) -> None:
        self.right = LogicLabels(program, decoder)
        self._program, self._decoder = program, decoder
        self._eos = "EOS" in decoder.vocabulary
        self._many = ManyWords(program.nodes, program.alphabet)
        self._by_number = {node.number: node for node in self._many.nodes}

    # ── the columns ─────────────────────────────────────────────────────────────────────────────────────────
    @cached_property
    def scheme(self) -> Scheme:
        """The scheme of the labels."""
        nodes = [self._variable(name, node) for node, name in self._names.items()]
        own = [made for made, _ in self._own.values()]
        return Scheme(
            variables=(*nodes, *own),
            heads=self._heads,
            held={subspace.name: self._held(subspace) for subspace in self._decoder.layout.subspaces},
            answers=self._decoder.outputs[0].labels,
            by_name=True,
        )

    @cached_property
    def _names(self) -> Mapping[Node, str]:
        """Each node with the name of its column."""
        names = {node: name for node, name in output_names(self._program).items() if node.number in self._by_number}
        return {node: f"{name} (node)" if name in RESERVED else name for node, name in names.items()}

    def _variable(self, name: str, node: Node) -> LabelVariable:
        if node.kind == "label":
            meaning = "the value of this step; none outside the word"
            return LabelVariable(name=name, kind="label", meaning=meaning, labels=self._many.labels[node])
        if node.kind == "bit":
            return LabelVariable(name=name, kind="whole", meaning="whether this holds: 1 or 0; 0 outside the word")
        return LabelVariable(
            name=name, kind="whole", meaning="this number; outside the word the one that the definition has there"
        )

    @cached_property
    def _heads(self) -> tuple[HeadLabels, ...]:
        def seen(claim: str) -> Seen | None:
            found = head_claim(claim)
            return None if found is None else "all" if found.kind == "all" else "one"

        return heads_of(self._decoder, seen)

    @cached_property
    def _columns(self) -> Mapping[str, str]:
        """Claim of a head -> the column of such a head."""
        return {head.claim: head.column for head in reversed(self._heads)}

    @cached_property
    def _said(self) -> Mapping[str, str]:
        """The equation of each subspace."""
        variables, _ = described_logic(self._program, self._decoder)
        return {each.subspace: each.formula for each in variables if each.formula}

    @cached_property
    def _own(self) -> Mapping[str, tuple[LabelVariable, SubspaceClaim]]:
        """Of each subspace that is not a node's value, by its name, the variable and the claim that it has the value of."""
        found: dict[str, tuple[LabelVariable, SubspaceClaim]] = {}
        taken = {*self._names.values(), *RESERVED}
        for subspace in self._decoder.layout.subspaces:
            claim = subspace_claim(subspace.holds)
            if claim is None or self._plain(subspace) is not None:
                continue
            claim = claim.of if isinstance(claim, ShareClaim) else claim
            inner = _under_a_mean(claim)
            of = claim if inner is None else inner
            if of == GivenClaim("token") or not self._there(of):
                continue
            name = unique(subspace.name, taken)
            taken.add(name)
            label = labelled(claim) and not _thermometer(claim)
            what = f"{'the label that' if label else 'what'} holds here: {self._said.get(subspace.name, name)}"
            if label:
                found[subspace.name] = LabelVariable(name=name, kind="label", meaning=what, labels=subspace.labels), of
            else:
                kind: VariableKind = "number" if any(map(_is_a_share, nested(of))) else "whole"
                found[subspace.name] = (
                    LabelVariable(name=name, kind=kind, meaning=what),
                    of,
                )
        return found

    def _there(self, claim: SubspaceClaim) -> bool:
        """Return whether a claim is about nodes of this program, and no share of a vector."""
        vector = labelled(claim) and not _thermometer(claim)
        return not (vector and any(map(_is_a_share, nested(claim)))) and means(claim, self._by_number)

    def _plain(self, subspace: Subspace) -> HeldVariable | None:
        """Return the content of a subspace that needs no column of its own."""
        if subspace.holds in _GIVEN:
            return _GIVEN[subspace.holds]
        claim = subspace_claim(subspace.holds)
        over = isinstance(claim, ShareClaim)
        claim = claim.of if isinstance(claim, ShareClaim) else claim
        if isinstance(claim, NodeClaim) and claim.node in self._by_number and claim.what in _FUNCTIONS:
            column = self._names[self._by_number[claim.node]]
            return HeldVariable(column=column, function=_FUNCTIONS[claim.what], over=over)
        if isinstance(claim, BitClaim) and len(claim.alternatives) == 1:
            node = next((node for node in self._names if node.kind == "bit" and held_as(claim, node)), None)
            return None if node is None else HeldVariable(column=self._names[node], over=over)
        return None

    def _held(self, subspace: Subspace) -> HeldVariable | None:
        plain = self._plain(subspace)
        claim = subspace_claim(subspace.holds)
        if plain is not None or claim is None:
            return plain
        over = isinstance(claim, ShareClaim)
        claim = claim.of if isinstance(claim, ShareClaim) else claim
        inner = _under_a_mean(claim)
        mean = None if inner is None else self._columns.get(_text_of_head(subspace.holds))
        if inner == GivenClaim("token"):
            return HeldVariable(column="token", mean=mean)
        if subspace.name not in self._own:
            return None
        function: HeldFunction = "up to" if _thermometer(claim) else ""
        return HeldVariable(column=self._own[subspace.name][0].name, function=function, over=over, mean=mean)

    # ── on many words ───────────────────────────────────────────────────────────────────────────────────────
    def __call__(self, words: NDArray[np.int64]) -> LabelledWords:
        """Return the labels of words of one length, given as indices of their tokens in the alphabet: (words, n)."""
        rows, fed = self._many.run(words), self.right.fed(words)
        model = ReferenceColumns(rows, fed, self._decoder.vocabulary, eos=self._eos)
        columns: dict[str, NDArray[np.generic]] = {}
        for node, name in self._names.items():
            column = model.places(node) if node.kind == "label" else model.numbers(node)
            columns[name] = column.astype(np.int32)
        for made, claim in self._own.values():
            if made.kind == "label":
                columns[made.name] = recoded(model.names, made.labels)[model.value(claim)]
            else:
                columns[made.name] = model.value(claim).astype(np.float64 if made.kind == "number" else np.int32)
        looks = {head.column: self._look(head, model) for head in self._heads}
        return LabelledWords(np.ones(len(words), dtype=bool), columns, {}, looks, fed, self.right.wanted(rows))

    def _look(self, head: HeadLabels, model: ReferenceColumns) -> LookMatrix:
        claim = head_claim(head.claim)
        if claim is None or claim.kind == "all":
            return np.ones((1, model.positions, model.positions), dtype=bool)
        looks: LookMatrix = model.looked(claim)[:, :, None] == model.here
        return looks


def _under_a_mean(claim: SubspaceClaim) -> SubspaceClaim | None:
    """Return the vector of which a claim is the mean over all positions in sight; None if it is not such a mean."""
    return claim.of if isinstance(claim, MeanClaim) and claim.head.kind == "all" and labelled(claim) else None


def _is_a_share(claim: SubspaceClaim) -> bool:
    if isinstance(claim, GivenClaim):
        return "/" in claim.what
    return isinstance(claim, ShareClaim) or (isinstance(claim, MeanClaim) and claim.head.kind == "all")


def _thermometer(claim: SubspaceClaim) -> bool:
    *_, last = nested(claim)
    return isinstance(last, DividedClaim) and last.what == "reaches"


def _text_of_head(holds: str) -> str:
    return holds.removeprefix("over i+1: ").removeprefix("at ").partition(": ")[0]


_FUNCTIONS: Mapping[str, HeldFunction] = {
    "label": "",
    "number": "",
    "square": "square",
    "positive": "positive",
    "negative": "negative",
}
"""What a subspace holds of a node -> the function of the node's value that this is, see `FUNCTIONS`."""
