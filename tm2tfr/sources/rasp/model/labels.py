"""Labels of RASP programs: the values of s-ops, and what subspaces and heads make of them: the model on many inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from tm2tfr.contract.labelling import (
    RESERVED,
    HeadLabels,
    HeldVariable,
    LabelledWords,
    LabelVariable,
    Scheme,
    Seen,
    VariableKind,
    heads_of,
)
from tm2tfr.sources.rasp.model.claims import (
    ClassOf,
    FoundOf,
    GivenOf,
    MeanOf,
    PickedOf,
    SharesOf,
    SopNumbers,
    StepsOf,
    ValueOf,
)
from tm2tfr.sources.rasp.model.columns import NumberGrid, RaspClaims, RaspColumns
from tm2tfr.sources.rasp.naming import RaspNames
from tm2tfr.sources.rasp.program import Program, shown_atom
from tm2tfr.sources.rasp.sops import SOp
from tm2tfr.sources.rasp.truth import RaspLabels, answered, refuse_loops
from tm2tfr.sources.rasp.values import kinds_of
from tm2tfr.sources.sequence.naming import ended, unique
from tm2tfr.transformer.residual import Subspace
from tm2tfr.transformer.weights import Decoder

_GIVEN = {
    "token": HeldVariable(column="token"),
    "position": HeldVariable(column="position"),
    "1": HeldVariable(),
    "i": HeldVariable(column="position"),
    "i^2": HeldVariable(column="position", function="square"),
}
_TEXT = frozenset({"text"})
_Computed = SopNumbers | Callable[[RaspColumns], NumberGrid]
"""The s-ops whose values together are the texts of a variable, or the function that computes its numbers."""


class RaspVariables:
    """Computes the labels of inputs of one program.

    Args:
        decoder: the weights, of which only claims, labels and the names of outputs are read.

    Raises:
        CompileError: if the weights answer no s-ops of the program.
    """

    def __init__(self, program: Program, decoder: Decoder) -> None:
        refuse_loops(program, decoder, "labels are")
        self._program, self._decoder = program, decoder
        self._outputs, self.right = answered(program, decoder), RaspLabels(program, decoder)
        self._people = RaspNames(program)
        self._claims = RaspClaims(self.right.many.nodes, decoder)
        self._alphabet = [shown_atom(token) for token in program.alphabet]
        self._known: dict[SopNumbers, dict[str, int]] = {}

    # ── what there is
    @cached_property
    def scheme(self) -> Scheme:
        """The scheme of the labels."""
        kinds = kinds_of(node for node in self.right.many.nodes if isinstance(node, SOp))
        texts = {name for sop, name in self._names.items() if kinds.get(sop, _TEXT) - {"bool"} != {"number"}}
        of_sops = [
            LabelVariable(name=name, kind="text", meaning=f"the value of the s-op {name}", numeric=name not in texts)
            for name in dict.fromkeys(self._names.values())
        ]
        return Scheme(
            variables=(*of_sops, *(variable for variable, _ in self._own.values())),
            heads=self._heads,
            held={subspace.name: self._held(subspace) for subspace in self._decoder.layout.subspaces},
            answers=self._decoder.outputs[0].labels,
            by_name=True,
        )

    @cached_property
    def _heads(self) -> tuple[HeadLabels, ...]:
        def seen(claim: str) -> Seen | None:
            gaze = self._claims.gaze(claim)
            return None if gaze is None else "several" if gaze.clusters else "all"

        return heads_of(self._decoder, seen)

    @cached_property
    def _head_of(self) -> Mapping[int, str]:
        """Number of a selector -> the column of the head that computes it."""
        columns = {self._claims.gaze(head.claim): head.column for head in self._heads}
        return {number: columns[gaze] for number, gaze in self._claims.gazes.items()}

    @cached_property
    def _names(self) -> Mapping[SOp, str]:
        """Each s-op with a column of its own, and the name of the column."""
        names = {sop: output.name for sop, output in zip(self._outputs, self._decoder.outputs, strict=True)}
        for name, sop in self._program.sops.items():
            if sop.number in self._claims.sops:
                names.setdefault(sop, name)
        for subspace in self._decoder.layout.subspaces:
            claim = self._claims.of(subspace)
            if isinstance(claim, ValueOf):
                self._add(names, self._claims.sops[claim.sop])
            elif isinstance(claim, PickedOf):
                self._add(names, self._claims.aggregate(claim.sop).values)
        taken, found = dict.fromkeys(RESERVED, -1), dict[SOp, str]()
        for sop, name in names.items():
            alike = self._people.alike(sop)
            found[sop] = name if taken.get(name, alike) == alike else unique(name, taken)
            taken[found[sop]] = alike
        return found

    def _add(self, names: dict[SOp, str], sop: SOp) -> None:
        """Give an s-op a column, or that of one that is made in the same way."""
        same = (name for each, name in names.items() if self._people.alike(each) == self._people.alike(sop))
        names.setdefault(sop, next(same, self._people.of_weights[sop.number]))

    @cached_property
    def _own(self) -> Mapping[str, tuple[LabelVariable, _Computed]]:
        """The variable of each subspace that is not the value of an s-op, by its name, and what it is computed from."""
        found: dict[str, tuple[LabelVariable, _Computed]] = {}
        for subspace in self._decoder.layout.subspaces:
            name = unique(subspace.name, self._names.values())
            kind: VariableKind = "text"
            computed: _Computed
            claim = self._claims.of(subspace)
            match claim:
                case ClassOf():
                    meaning, computed = self._together(claim.sops), claim.sops
                case SharesOf():
                    name, computed = ended(name, ": here"), claim.sops
                    meaning = f"what is averaged by {self._carrier(claim.selector)}: {self._together(claim.sops)}"
                case MeanOf():
                    kind, computed = "number", partial(RaspColumns.mean, claim=claim)
                    node = self._claims.aggregate(claim.sop)
                    carrier = self._carrier(node.selector.number)
                    meaning = f"the mean that {carrier} carries: of the values of {self._people[node.values]}, scaled"
                case FoundOf():
                    kind, computed = "whole", partial(RaspColumns.found, claim=claim)
                    carrier = self._carrier(claim.selector)
                    meaning = f"whether the selector of {carrier} selects a position in sight: 1 or 0"
                case _:
                    continue
            found[subspace.name] = LabelVariable(name=name, kind=kind, meaning=meaning), computed
        return found

    def _together(self, sops: SopNumbers) -> str:
        shown = ", ".join("the token" if n is None else self._people[self._claims.sops[n]] for n in sops)
        return f"the values of {shown or 'nothing'}, separated by commas"

    def _carrier(self, selector: int) -> str:
        """Return which head attends as a selector says, in words."""
        return f"head {self._head_of[selector]}"

    def _held(self, subspace: Subspace) -> HeldVariable | None:
        claim = self._claims.of(subspace)
        match claim:
            case None:
                return None
            case GivenOf():
                return _GIVEN[claim.what]
            case ValueOf():
                return HeldVariable(column=self._names[self._claims.sops[claim.sop]])
            case PickedOf():
                node = self._claims.aggregate(claim.sop)
                return HeldVariable(column=self._names[node.values], mean=self._head_of[node.selector.number])
            case StepsOf():
                mean, _ = self._claims.means[claim.sop]
                return HeldVariable(column=self._own[mean.name][0].name, function="steps")
        head = self._head_of[claim.selector] if isinstance(claim, SharesOf) else None
        groups = subspace.groups if isinstance(claim, ClassOf | SharesOf) else ()
        return HeldVariable(column=self._own[subspace.name][0].name, groups=groups, mean=head)

    # ── on many inputs
    def __call__(self, words: NDArray[np.int64]) -> LabelledWords:
        """Return the labels of inputs of one length, given as indices of their tokens in the alphabet: (inputs, n)."""
        values = self.right.many.run(words, matrices=True)
        defined = values.defined
        model = RaspColumns(
            self._claims,
            {sop: places[defined] for sop, places in values.places.items()},
            values.atoms,
            {selector: matrix[defined] for selector, matrix in values.matrices.items()},
            (words[defined], self._alphabet),
            known=self._known,
        )
        columns: dict[str, NumberGrid] = {}
        texts: dict[str, Sequence[str]] = {}
        for sop, name in self._names.items():
            places, texts[name] = model.values(sop.number)
            columns[name] = places.astype(np.int32)
        for variable, computed in self._own.values():
            if isinstance(computed, tuple):
                columns[variable.name], texts[variable.name] = model.texts(computed)
            else:
                columns[variable.name] = computed(model)
        gazes = {head.column: self._claims.gaze(head.claim) for head in self._heads}
        looks = {column: model.looked(gaze) for column, gaze in gazes.items() if gaze is not None}
        return LabelledWords(defined, columns, texts, looks, self.right.fed(words[defined]), self.right.wanted(values))
