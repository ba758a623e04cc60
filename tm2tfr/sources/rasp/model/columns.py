"""The equations of the model: what subspaces hold and where heads look, on all positions of many inputs at once.

Computed from the values of s-ops and the matrices of selectors, and from what weights claim, see
`tm2tfr.sources.rasp.model.claims`. No weight is read, and nothing is shared with the compiler.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tm2tfr.contract.labelling import LookMatrix, claimed, sight_matrix
from tm2tfr.sources.rasp.evaluate_many import Matrices
from tm2tfr.sources.rasp.model.claims import (
    FoundOf,
    Gaze,
    MeanOf,
    PickedOf,
    RaspClaim,
    SharesOf,
    SopNumbers,
    StepsOf,
    ValueOf,
    claim_of,
    look,
)
from tm2tfr.sources.rasp.sops import Aggregate, Atom, Node, Selector, SOp, made_alike
from tm2tfr.sources.rasp.value_lists import Places
from tm2tfr.sources.rasp.values import number, numeric, shown_value
from tm2tfr.transformer.residual import Subspace
from tm2tfr.transformer.weights import Decoder

_fractions = np.frompyfunc(Fraction, 2, 1)
NumberGrid = NDArray[np.generic]
"""Numbers, rationals as objects: (inputs, n)."""


class RaspClaims:
    """The claims of weights that say something of a program.

    Args:
        nodes: the s-ops and selectors that the outputs need.
        decoder: the weights, of which only claims are read.
    """

    def __init__(self, nodes: Sequence[Node], decoder: Decoder) -> None:
        self.sops = {node.number: node for node in nodes if isinstance(node, SOp)}
        self.selectors = {node.number: node for node in nodes if isinstance(node, Selector)}
        self.numeric = numeric(self.sops.values())
        self.heads = {claim: self.gaze(claim) for claim in claimed(decoder)}
        self.gazes = self._gazes(nodes)
        self.means: dict[int, tuple[Subspace, MeanOf]] = {}
        for subspace in decoder.layout.subspaces:
            claim = self.of(subspace)
            if isinstance(claim, MeanOf):
                self.means.setdefault(claim.sop, (subspace, claim))

    def _gazes(self, nodes: Sequence[Node]) -> dict[int, Gaze]:
        """Return where the heads of selectors look, by their numbers; selectors that say the same have one head.

        Tokens are taken as texts here, so that ``tokens_str`` and ``tokens_asis`` are the same; where they are not, each of
        two selectors has a head of its own.
        """
        own = {gaze.selector: gaze for gaze in self.heads.values() if gaze is not None}
        alike = made_alike(nodes, texts=True)
        shared = {alike[self.selectors[number]]: gaze for number, gaze in own.items() if number in self.selectors}
        others = {number: shared[alike[node]] for number, node in self.selectors.items() if alike[node] in shared}
        return {**others, **own}

    def found(self, selector: Selector) -> FoundOf:
        """Return the claim whether a selector selects a position, as its head makes it."""
        gaze = self.gazes.get(selector.number)
        return FoundOf(selector.number if gaze is None else gaze.selector)

    def of(self, subspace: Subspace) -> RaspClaim | None:
        """Return what a subspace is claimed to hold; None if that says nothing of this program."""
        claim = claim_of(subspace)
        match claim:
            case ValueOf():
                known = claim.sop in self.sops
            case PickedOf() | MeanOf():
                sop = self.sops.get(claim.sop)
                known = isinstance(sop, Aggregate) and sop.selector.number in self.gazes
            case StepsOf():
                known = claim.sop in self.means and len(thresholds(subspace)) == len(subspace.labels or ())
            case FoundOf() | SharesOf():
                known = claim.selector in self.gazes and claim.selector in self.selectors
            case _:
                known = claim is not None
        return claim if known and self.lists(getattr(claim, "sops", ())) else None

    def lists(self, sops: SopNumbers) -> bool:
        """Return whether these are s-ops of the program."""
        return all(n is None or n in self.sops for n in sops)

    def aggregate(self, number: int) -> Aggregate:
        """Return the aggregate of this number."""
        node = self.sops[number]
        if not isinstance(node, Aggregate):
            raise TypeError(f"{node!r} is not an aggregate")
        return node

    def gaze(self, claim: str) -> Gaze | None:
        """Return where a head with this claim looks; None if it says nothing of this program."""
        gaze = look(claim)
        known = gaze is not None and all(n in self.selectors for cluster in gaze.clusters for n, _ in cluster)
        return gaze if known else None


def thresholds(subspace: Subspace) -> dict[str, tuple[Fraction, Fraction]]:
    """Return the numbers a and b of each label ``a..b``; none if one of the labels is not of this form."""
    found = {}
    for label in subspace.labels or ():
        try:
            start, end = map(Fraction, label.split(".."))
        except (ValueError, ZeroDivisionError):
            return {}
        if start == end:
            return {}
        found[label] = start, end
    return found


@dataclass(frozen=True)
class RaspColumns:
    """Inputs of one length on which the program is defined, and what claims about them say.

    Args:
        claims: those of the weights.
        places: s-op -> the place of each value in its list: (inputs, n).
        atoms: s-op -> its list of values.
        matrices: selector -> its matrix on each input.
        tokens: the places of the tokens in a list of texts, (inputs, n), and the list.
        exact: whether means are rationals instead of floats.
        known: s-ops -> the texts of their values together that have come up so far, with their places; it grows.
    """

    claims: RaspClaims
    places: Mapping[SOp, Places]
    atoms: Mapping[SOp, Sequence[Atom]]
    matrices: Mapping[Selector, Matrices]
    tokens: tuple[Places, Sequence[str]]
    exact: bool = False
    known: dict[SopNumbers, dict[str, int]] = field(default_factory=dict)

    # ── values as texts
    def texts(self, sops: SopNumbers) -> tuple[NDArray[np.int32], list[str]]:
        """Return the values of s-ops as text, separated by commas: their places in a list, (inputs, n), and the list."""
        if sops not in self._joined:
            self._joined[sops] = self._join(sops)
        return self._joined[sops]

    @cached_property
    def _joined(self) -> dict[SopNumbers, tuple[NDArray[np.int32], list[str]]]:
        return {}

    def _join(self, sops: SopNumbers) -> tuple[NDArray[np.int32], list[str]]:
        places, texts = zip(*map(self.values, sops), strict=True) if sops else ((), ())
        size = tuple(len(own) + 1 for own in texts)
        flat = np.ravel_multi_index(places, size) if sops else np.zeros_like(self.tokens[0])
        combinations, which = np.unique(flat, return_inverse=True)
        known = self.known.setdefault(sops, {})
        table = []
        for combination in combinations:
            at = np.unravel_index(combination, size) if sops else ()
            table.append(known.setdefault(",".join(own[k] for own, k in zip(texts, at, strict=True)), len(known)))
        return np.array(table or [0], dtype=np.int32)[which].reshape(flat.shape), list(known)

    def values(self, sop: int | None) -> tuple[Places, Sequence[str]]:
        """Return the values of an s-op, or the tokens, as text: their places in a list, (inputs, n), and the list."""
        if sop is None:
            return self.tokens
        node = self.claims.sops[sop]
        return self.places[node], [shown_value(atom, self.claims.numeric[node]) for atom in self.atoms[node]]

    # ── where heads look, and what they bring
    def looked(self, gaze: Gaze) -> LookMatrix:
        """Return the visible positions that satisfy the most clusters, for each query position: (inputs, n, n)."""
        if gaze not in self._looks:
            self._looks[gaze] = self._looked(gaze)
        return self._looks[gaze]

    @cached_property
    def _looks(self) -> dict[Gaze, LookMatrix]:
        return {}

    def _looked(self, gaze: Gaze) -> LookMatrix:
        inputs, n = self.tokens[0].shape
        sight = sight_matrix(gaze.mask, n)
        counts = np.zeros((inputs, n, n), dtype=np.int16)
        for cluster in gaze.clusters:
            satisfied = np.ones((inputs, n, n), dtype=bool)
            for selector, wanted in cluster:
                satisfied &= self.matrices[self.claims.selectors[selector]] == wanted
            counts += satisfied
        counts[:, ~sight] = -1
        best: LookMatrix = counts == counts.max(axis=-1, keepdims=True)
        return best & sight

    def mean(self, claim: MeanOf) -> NumberGrid:
        """Return the mean of scaled values over the positions that the head of an aggregate attends to."""
        if claim not in self._means:
            node = self.claims.aggregate(claim.sop).values
            scaled = (0 if isinstance(a, str) else claim.scale * (number(a) - claim.least) for a in self.atoms[node])
            values = np.array([*scaled] or [0], dtype=object if self.exact else np.float64)[self.places[node]]
            seen = self.keys(claim)
            sizes = seen.sum(axis=-1, keepdims=True)
            shares = _fractions(seen.astype(np.int64), sizes) if self.exact else seen / sizes
            self._means[claim] = np.matmul(shares, values[..., None])[..., 0]
        return self._means[claim]

    @cached_property
    def _means(self) -> dict[MeanOf, NumberGrid]:
        return {}

    def keys(self, claim: PickedOf | MeanOf | SharesOf) -> LookMatrix:
        """Return the positions over which a claim has the mean: (inputs, n, n)."""
        if isinstance(claim, SharesOf):
            return self.looked(self.claims.gazes[claim.selector])
        return self.looked(self.claims.gazes[self.claims.aggregate(claim.sop).selector.number])

    def found(self, claim: FoundOf) -> NumberGrid:
        """Return whether a selector selects a position in sight of its head: 1 or 0."""
        sight = sight_matrix(self.claims.gazes[claim.selector].mask, self.tokens[0].shape[1])
        return np.asarray((self.matrices[self.claims.selectors[claim.selector]] & sight).any(axis=-1), dtype=np.int32)
