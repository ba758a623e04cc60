"""What every subspace must hold at every position of a run, and where each head must look: the model on one input.

Computed from what the interpreter says of the input, and from what weights claim. No weight is read, and nothing is shared
with the compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from tm2tfr.contract.specification import ClaimedSpecification
from tm2tfr.sources.rasp.evaluate import Stages
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
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder

_Holding = str | int | Fraction | None | Mapping[str, Fraction]
"""A number, the label of a one-hot vector, None for the zero vector, or the coordinates that are not 0, by label."""


@dataclass(frozen=True)
class RaspSpecification(ClaimedSpecification):
    """The specification of a run.

    Args:
        stages: what the interpreter says.
        layout: the residual stream of the weights, for what its subspaces are claimed to hold.
        claims: what the weights claim.
    """

    stages: Stages
    layout: Residual
    claims: RaspClaims

    @classmethod
    def of(cls, stages: Stages, decoder: Decoder) -> RaspSpecification:
        """Return the specification for weights: their claims, and nothing else of them."""
        return cls(stages, decoder.layout, RaspClaims([*stages.values, *stages.matrices], decoder))

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
