"""What kind of number each direction of the stream is, by what it is claimed to hold, and how large it can get.

With N positions, a direction is a *whole* number of absolute value at most f·N^p, or a whole number divided by the number
of positions in sight: by i + 1 (a *share*), by N - i (a *rest*), or it is 1/N.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

from tm2tfr.contract.specification import written
from tm2tfr.sources.logic.model import claims
from tm2tfr.sources.logic.nodes import Node, Sum
from tm2tfr.transformer.residual import Subspace
from tm2tfr.transformer.weights import Decoder

Whole = Literal["whole", "share", "rest", "1/N"]


@dataclass(frozen=True)
class Quantity:
    """A direction.

    Args:
        name: what it is claimed to hold, with its label; no two directions of a stream have the same.
        kind: see above.
        factor, power: it is at most ``factor · N^power``; 1 of what is divided.
    """

    name: str
    kind: Whole
    factor: int = 1
    power: int = 0

    def size(self, positions: int) -> int:
        """Return how large it can get with so many positions."""
        return self.factor * int(positions**self.power)


@dataclass(frozen=True)
class Directions:
    """The directions of a decoder, by number: what each is, and since when; None: the proof does not know it."""

    decoder: Decoder
    nodes: Mapping[int, Node]

    def at(self, layer: int, part: str) -> list[Quantity | None]:
        """Return what the directions are after `part` of `layer`; None as well before they are written."""
        found: list[Quantity | None] = []
        for subspace, known in self._known:
            found += known if written(subspace, layer, part) else [None] * subspace.width
        return found

    @cached_property
    def _known(self) -> list[tuple[Subspace, list[Quantity | None]]]:
        """Each subspace with what its directions are.

        Where two subspaces have the same claim, which is equal in exact arithmetic, but need not be rounded alike, the
        second one has a name of its own: the products of a score that are added up by names are those of one direction.
        """
        found: dict[str, tuple[Subspace, list[Quantity | None]]] = {}
        for subspace in self.decoder.layout.subspaces:
            name = subspace.holds if subspace.holds not in found else f"{subspace.holds} ({subspace.name})"
            found[name] = subspace, self._of(subspace, name)
        return list(found.values())

    def _of(self, subspace: Subspace, name: str) -> list[Quantity | None]:
        claim = claims.subspace_claim(subspace.holds)
        kind = None if claim is None else self._kind(claim)
        if kind is None:
            return [None] * subspace.width
        labels = [f"[{label}]" for label in subspace.labels] if subspace.labels is not None else [""]
        return [Quantity(name + label, *kind) for label in labels]

    def _kind(self, claim: claims.SubspaceClaim) -> tuple[Whole, int, int] | None:
        found: tuple[Whole, int, int] | None = ("whole", 1, 0)
        match claim:
            case claims.GivenClaim():
                found = ("whole", 1, {"i": 1, "i^2": 2}.get(claim.what, 0)) if claim.what != "1/(i+1)" else ("share", 1, 0)
            case claims.NodeClaim() | claims.DividedClaim():
                found = self._of_node(claim)
            case claims.InsideClaim():
                found = self._kind(claim.of)
            case claims.ShareClaim():
                found = ("share", 1, 0) if self._kind(claim.of) == ("whole", 1, 0) else None
            case claims.MeanClaim():
                found = self._mean(claim)
        return found

    def _of_node(self, claim: claims.NodeClaim | claims.DividedClaim) -> tuple[Whole, int, int] | None:
        if claim.what in ("label", "found", "reaches"):
            return ("whole", 1, 0)
        node = self.nodes.get(claim.node)
        if node is None:
            return None
        factor = largest(node)
        return ("whole", factor * factor, 2) if claim.what.endswith("square") else ("whole", factor, 1)

    def _mean(self, claim: claims.MeanClaim) -> tuple[Whole, int, int] | None:
        inner = self._kind(claim.of)
        if claim.head.kind != "all":  # of one position
            return inner if inner is not None and inner[0] == "whole" else None
        if inner != ("whole", 1, 0):
            return None
        kinds: Mapping[str, Whole] = {"future": "share", "past": "rest"}
        if claim.head.mask == "none":
            return ("1/N", 1, 0) if claim.of == claims.GivenClaim("bos") else None
        return (kinds[claim.head.mask], 1, 0)


def largest(node: Node) -> int:
    """Return a factor f with which a number is at most f·N with N positions: positions and counts are at most N."""
    if not isinstance(node, Sum):
        return 1
    return abs(node.constant) + sum(abs(factor) * largest(term) for factor, term in node.terms)


MatrixRow = Mapping[int, Fraction]
"""A row of a matrix: direction -> weight."""


def size_of(row: MatrixRow, known: list[Quantity | None], positions: int) -> Fraction:
    """Return how large the sum of the absolute values of the terms of a row can get."""
    found = ((weight, known[at]) for at, weight in row.items())
    return sum((abs(weight) * each.size(positions) for weight, each in found if each is not None), Fraction(0))
