"""What every subspace must hold at every position of a run, and where each head must look: the model on one input.

Computed from what the interpreter says of the input, and from what weights claim. No weight is read, and nothing is shared
with the compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from tm2tfr.contract.specification import ClaimedSpecification
from tm2tfr.sources.rasp.evaluate import Stages, evaluate
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
from tm2tfr.sources.rasp.model.columns import RaspClaims, RaspColumns, thresholds
from tm2tfr.sources.rasp.program import shown_atom
from tm2tfr.sources.rasp.sops import Repeat
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder

_Holding = str | int | Fraction | None | Mapping[str, Fraction]
"""A number, the label of a one-hot vector, None for the zero vector, or the coordinates that are not 0, by label."""


@dataclass(frozen=True)
class RaspSpecification(ClaimedSpecification):
    """The specification of a run.

    Args:
        stages: what the interpreter says.
        layout: the residual stream of the weights, for the claims of its subspaces.
        claims: what the weights claim.
        loops: the first and the last layer of each loop of the weights, from 1.
    """

    stages: Stages
    layout: Residual
    claims: RaspClaims
    loops: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, stages: Stages, decoder: Decoder) -> RaspSpecification:
        """Return the specification for weights: their claims, and nothing else of them."""
        claims = RaspClaims([*stages.values, *stages.matrices], decoder)
        return cls(stages, decoder.layout, claims, tuple((loop.first, loop.last) for loop in decoder.loops))

    def in_pass(self, layer: int, made: int) -> RaspSpecification:
        """Return the specification of the run with the loop of `layer` ended after its pass number `made`."""
        places = [k for k, (first, last) in enumerate(self.loops) if first <= layer + 1 <= last]
        loop = self._repeats[places[0]] if places else None
        if loop is None or made >= self.stages.passes[loop]:
            return self
        if (loop, made) not in self._earlier:
            nodes = (*self.stages.values, *self.stages.matrices, *self.stages.passes)
            stages = evaluate(nodes, self.stages.word, passes={loop.number: made})
            self._earlier[loop, made] = replace(self, stages=stages)
        return self._earlier[loop, made]

    @cached_property
    def _earlier(self) -> dict[tuple[Repeat, int], RaspSpecification]:
        return {}

    def passes(self, loop: int) -> int | None:
        """Return the number of passes of a loop of the weights; None if no state determines it."""
        found = self._repeats[loop]
        return None if found is None else self.stages.passes[found]

    @cached_property
    def _repeats(self) -> list[Repeat | None]:
        """The loop of the program that each loop of the weights is: the one whose states have their values in it."""
        of_state = {state.number: loop for loop in self.stages.passes for state in loop.states}
        found: list[Repeat | None] = [None] * len(self.loops)
        for subspace in self.layout.subspaces:
            claim, since = self.claims.of(subspace), subspace.since
            if isinstance(claim, ValueOf) and claim.sop in of_state and since is not None:
                for k, (first, last) in enumerate(self.loops):
                    if first <= since[0] + 1 <= last:
                        found[k] = of_state[claim.sop]
        return found

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens of the input."""
        return tuple(map(shown_atom, self.stages.word))

    def covers(self, layout: Residual) -> bool:
        """Return whether every claim of `layout` can be interpreted, and so can those of all heads."""
        spaces = (self.claims.of(subspace) is not None for subspace in layout.subspaces)
        return all(spaces) and None not in self.claims.heads.values()

    def attended(self, where: str, i: int) -> Sequence[int]:
        """Return the positions that a head with the claim `where` must attend to from position `i`; none: no such claim."""
        gaze = self.claims.gaze(where)
        return () if gaze is None else tuple(np.flatnonzero(self._columns.looked(gaze)[0, i]).tolist())

    @cached_property
    def _columns(self) -> RaspColumns:
        here = np.arange(len(self.stages.word))[None]
        places = dict.fromkeys(self.stages.values, here)
        matrices = {selector: np.array([rows]) for selector, rows in self.stages.matrices.items()}
        return RaspColumns(self.claims, places, self.stages.values, matrices, (here, self.tokens), exact=True)

    def held(self, subspace: Subspace, i: int) -> _Holding:  # noqa: PLR0911
        claim = self.claims.of(subspace)
        match claim:
            case GivenOf():
                given: dict[str, str | int] = {"token": self.tokens[i], "position": str(i), "1": 1, "i": i, "i^2": i * i}
                return given[claim.what]
            case ValueOf():
                return self._text((claim.sop,), i)
            case ClassOf():
                return next(iter(_classes(subspace, self._text(claim.sops, i))), None)
            case PickedOf():
                values = self.claims.aggregate(claim.sop).values.number
                return self._shares(claim, i, lambda j: [self._text((values,), j)])
            case SharesOf():
                return self._shares(claim, i, lambda j: _classes(subspace, self._text(claim.sops, j)))
            case MeanOf():
                return Fraction(self._columns.mean(claim)[0, i])
            case FoundOf():
                return int(self._columns.found(claim)[0, i])
            case StepsOf():
                x = Fraction(self._columns.mean(self.claims.means[claim.sop][1])[0, i])
                ends = thresholds(subspace).items()
                return {label: min(max((x - a) / (b - a), Fraction(0)), Fraction(1)) for label, (a, b) in ends}
        return None

    def _text(self, sops: SopNumbers, i: int) -> str:
        places, texts = self._columns.texts(sops)
        return texts[int(places[0, i])]

    def _shares(self, claim: PickedOf | SharesOf, i: int, labels: Callable[[int], Iterable[str]]) -> Mapping[str, Fraction]:
        """Return the mean of the 0/1 vectors of labels over the positions that a head attends to."""
        keys, shares = np.flatnonzero(self._columns.keys(claim)[0, i]).tolist(), dict[str, Fraction]()
        for label in (label for j in keys for label in labels(j)):
            shares[label] = shares.get(label, Fraction(0)) + Fraction(1, len(keys))
        return shares


def _classes(subspace: Subspace, text: str) -> list[str]:
    """Return the labels with which the groups of a subspace pair a text."""
    return [label for value, label in subspace.groups if value == text]
