"""The model on one word as a part of the weights sees it: columns, with doubts where what is read leaves a value open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from tm2tfr.contract.wired import KnownOrNot
from tm2tfr.sources.logic import nodes as tl
from tm2tfr.sources.logic.model import claims
from tm2tfr.sources.logic.model.claims import SubspaceClaim
from tm2tfr.sources.logic.model.columns import FramedColumn, FramedColumns
from tm2tfr.sources.logic.model.seen import ENDS, SeenNodes, whole
from tm2tfr.transformer.attention import in_sight


class SeenColumns(FramedColumns):
    """The model on one word, where nodes are what a part of the weights sees of them.

    Args:
        seen: what nodes are at each position.
        tokens: those fed, with BOS and EOS, as they are seen.
        names: nothing, and all tokens and labels.

    Attributes:
        step: the bit that says whether a step of since or until continues, and what it is where one does; None: none does.
    """

    def __init__(self, seen: SeenNodes, tokens: Sequence[str], names: tuple[str | None, ...]) -> None:
        places = np.array([[names.index(token) for token in tokens]])
        super().__init__(seen.nodes, places, names, eos=seen.tokens[-1] == ENDS[1], exact=True)
        self.inside = np.array([token not in ENDS for token in tokens])
        self.seen = seen
        self.step: tuple[str, bool] | None = None
        self._known: dict[tuple[str, Any], tuple[list[Any], list[str]]] = {}
        self._doubts: list[list[str]] = []
        self._asked_of: list[list[str]] = []
        self._asking = False
        self._columns: dict[SubspaceClaim, list[KnownOrNot]] = {}
        self._places: dict[claims.HeadClaim, list[tuple[int, str]]] = {}

    def known(self, claim: SubspaceClaim) -> list[KnownOrNot]:
        """Return the value of a claim of each position, from its nodes as they are seen."""
        if claim in self._columns:
            return self._columns[claim]
        self._doubts = []
        (*_, last) = claims.nested(claim)
        if isinstance(last, claims.MeanClaim | claims.DividedClaim):
            why = f"nothing says how {type(last).__name__} of the weights is computed"
            values: list[Any] = [0] * self.positions
            self._doubts = [[why] * self.positions]
        else:
            values = self.value(claim)[0].tolist()
        if claims.labelled(claim):
            values = [self.names[value] for value in values]
        held = [whole(value) if isinstance(value, int | Fraction) else value for value in values]
        beside = isinstance(claim, claims.InsideClaim)
        whys = ("" if beside and not self.inside[p] else self._doubt(p) for p in range(self.positions))
        self._columns[claim] = list(zip(held, whys, strict=True))
        return self._columns[claim]

    def places(self, head: claims.HeadClaim) -> list[tuple[int, str]]:
        """Return the position that a head attends to from each, with a doubt."""
        if head not in self._places:
            self._places[head] = self._found_by(head)
        return self._places[head]

    def _found_by(self, head: claims.HeadClaim) -> list[tuple[int, str]]:
        self._doubts, self._asked_of = [], []
        found = [int(j) for j in self.looked(head)[0]]
        if head.kind in ("since", "until"):  # what is beyond the step at which it ends is not looked at
            steps = [[k for k in range(min(j, p), max(j, p) + 1) if self.inside[k]] for p, j in enumerate(found)]
            return [(j, next(filter(None, map(self._doubt, seen)), "")) for j, seen in zip(found, steps, strict=True)]
        if head.kind not in ("latest", "earliest"):
            return [(j, self._doubt(p)) for p, j in enumerate(found)]
        looked = []
        for p, j in enumerate(found):
            of_query = next((doubts[p] for doubts in self._asked_of if doubts[p]), "")
            of_keys = map(self._doubt, in_sight(head.mask, p, self.positions))
            looked.append((j, of_query or next(filter(None, of_keys), "")))
        return looked

    def _doubt(self, p: int) -> str:
        return next((doubts[p] for doubts in self._doubts if doubts[p]), "")

    def _all(self, at: Callable[[Any, int], Any], of: Any) -> list[Any]:
        """Return a value at every position, and note the doubts about it."""
        key = at.__name__, of
        if key not in self._known:
            values, whys = [], []
            for p in range(self.positions):
                self.seen.why = ""
                values.append(at(of, p))
                whys.append(self.seen.why)
            self._known[key] = values, whys
        values, whys = self._known[key]
        (self._asked_of if self._asking else self._doubts).append(whys)
        return values

    def bits(self, node: tl.Node) -> FramedColumn:
        return np.array([self._all(self.seen.bit, node)], dtype=bool)

    def labels(self, node: tl.Node) -> FramedColumn:
        return np.array([[self._place.get(label, 0) for label in self._all(self.seen.label, node)]])

    def numbers(self, node: tl.Node) -> FramedColumn:
        return np.array([self._all(self.seen.number, node)], dtype=object)

    def _any(self, claim: claims.BitClaim) -> FramedColumn:
        found, noted = np.zeros((1, self.positions), dtype=bool), self._doubts
        for literals in claim.alternatives:
            every = self.inside[None, :]
            for literal in literals:
                matters, self._doubts = (every & ~found)[0], []
                every = every & self._literal(literal)
                noted += [[why * bool(here) for why, here in zip(whys, matters, strict=True)] for whys in self._doubts]
            found |= every
        self._doubts = noted
        return found

    def ends(self, head: claims.HeadClaim) -> FramedColumn:
        if self.step is not None:
            return np.array([self._all(self.seen.take, self.step[0])], dtype=bool) != self.step[1]
        return ~np.array([self._all(self.seen.goes_on, self.nodes[head.node])], dtype=bool)

    def _found(self, node: tl.Node) -> FramedColumn:
        return np.array([self._all(self.seen.selected, node)], dtype=bool)

    def _equal(self, claim: claims.EqualityClaim) -> FramedColumn:
        return np.array([self._all(self.seen.equal, claim)], dtype=bool)

    def _asked(self, node: tl.Node, values: Callable[[tl.Node], FramedColumn]) -> FramedColumn:
        self._asking = True
        found = super()._asked(node, values)
        self._asking = False
        return found
