"""How much of the truth a claim found: precision and recall, of each kind of thing that there is to find.

Of heads, layers and units these are shares of what was claimed, and of what there is to claim. Of subspaces they are shares
of dimensions: with orthonormal bases of the claimed one and the right one, the squares of the cosines of their principal
angles add up to the number of dimensions that they share. Divided by the dimensions claimed that is precision, and by
those of the right one recall; over all variables both are sums.

Heads with a role and decoys are kinds of their own: most heads are decoys, and who calls all of them so has found nothing.
What can be had for nothing is the base line: that of the best claim that knows only how many of each there are. It claims
all there is to claim, of heads the most frequent role, since claiming at random the share s of it has the same precision
and the recall s. *Dead code* is what a claim scores that was made by following products of matrices, see
`tm2tfr.lab.hidden.dead_code`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tm2tfr.base.errors import DisguiseError
from tm2tfr.lab.hidden.claim import NOTHING, HiddenClaim, HiddenTruth, orthonormal
from tm2tfr.lab.hidden.dyadic import Dyadic

COLUMNS = """\
precision: right / claimed; recall: right / there; F1: their harmonic mean; –: nothing to divide by, or not computed
base: the F1 of the best claim that knows only how many of each there are, and not the weights
dead code: the F1 of a search for what nothing reads, along products of matrices
right, claimed, there: how much of the claim is right, how much was claimed, how much could be: heads, layers, units; of
subspaces, dimensions"""
"""What the columns of a table of scores are, below it."""
KINDS = ("heads", "decoys", "layers", "units", "subspaces")


@dataclass(frozen=True)
class Score:
    """The score of one kind.

    Args:
        right: how much of what was claimed is right: a number of things, or of dimensions.
        claimed, there: how much was claimed, and how much there is.
    """

    right: float
    claimed: float
    there: float

    @property
    def precision(self) -> float | None:
        """The share of the claim that is right; None if nothing was claimed."""
        return self.right / self.claimed if self.claimed else None

    @property
    def recall(self) -> float | None:
        """The share of the truth that the claim found; None if there is nothing to find."""
        return self.right / self.there if self.there else None

    @property
    def f1(self) -> float | None:
        """The harmonic mean of the two, 0 if nothing was claimed; None if there is nothing and nothing was claimed."""
        return 2 * self.right / (self.claimed + self.there) if self.claimed or self.there else None

    def as_dict(self) -> dict[str, float | None]:
        """Return it as plain data."""
        return {
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "right": self.right,
            "claimed": self.claimed,
            "there": self.there,
        }


@dataclass(frozen=True)
class ClaimScores:
    """The scores of a claim: of each kind, with the base line of each, of each role of heads, and of each variable.

    Args:
        dead_code: what a search for dead code scores, of the kinds that it is about; empty if the key does not say.
    """

    kinds: Mapping[str, Score]
    base: Mapping[str, Score]
    roles: Mapping[str, Score]
    variables: Mapping[str, Score]
    dead_code: Mapping[str, Score]

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        named = {"kinds": self.kinds, "base": self.base, "dead_code": self.dead_code}
        named |= {"roles": self.roles, "variables": self.variables}
        return {name: {what: score.as_dict() for what, score in scores.items()} for name, scores in named.items()}

    def __str__(self) -> str:
        lines = [
            f"{'':<12} {'precision':>9} {'recall':>7} {'F1':>7} {'base':>7} {'dead code':>10}   right / claimed / there"
        ]
        for kind, score in self.kinds.items():
            counts = " / ".join(f"{number:.4g}" for number in (score.right, score.claimed, score.there))
            shares = f"{_shown(score.precision):>9} {_shown(score.recall):>7} {_shown(score.f1):>7}"
            dead = _shown(self.dead_code[kind].f1 if kind in self.dead_code else None)
            lines.append(f"{kind:<12} {shares} {_shown(self.base[kind].f1):>7} {dead:>10}   {counts}")
        return "\n".join(lines) + "\n" + COLUMNS


def _shown(number: float | None) -> str:
    return "–" if number is None else f"{number:.3f}"


def score(claim: HiddenClaim, truth: HiddenTruth) -> ClaimScores:
    """Return the scores of a claim, by kind.

    Raises:
        DisguiseError: if it is about heads, layers, units or variables that there are not, or has vectors that are none.
    """
    _refuse(claim, truth)
    roles = {role: _of_role(role, claim, truth) for role in sorted(set(truth.heads.values()) | set(claim.heads.values()))}
    variables = dict(_of_variables(claim, truth))
    kinds = {
        "heads": _total([found for role, found in roles.items() if role != NOTHING]),
        "decoys": _of_role(NOTHING, claim, truth),
        "layers": _of_sets(claim.layers, truth.layers),
        "units": _of_sets(claim.units, truth.units),
        "subspaces": _total(variables.values()),
    }
    return ClaimScores(kinds, base_line(truth), roles, variables, by_dead_code(truth))


def _refuse(claim: HiddenClaim, truth: HiddenTruth) -> None:
    """Raise DisguiseError for a claim that was not read (`tm2tfr.lab.hidden.claim`) and is about something else."""
    for noun, said, there in (
        ("head", claim.heads, truth.heads),
        ("layer", claim.layers, range(1, truth.layer_count + 1)),
        ("unit", claim.units, truth.unit_paths),
        ("variable", claim.subspaces, truth.subspaces),
    ):
        if wrong := [each for each in said if each not in there]:
            raise DisguiseError(f"the claim is about {noun} {wrong[0]!r}, which these weights do not have: omit it")
    for name, vectors in claim.subspaces.items():
        given = np.asarray(vectors)
        if given.ndim != 2 or given.shape[1] != truth.width or not np.isfinite(given).all():
            what = f"the claim has something else than vectors of {truth.width} finite numbers for {name!r}"
            raise DisguiseError(f"{what}: give an array of shape (vectors, {truth.width})")


def base_line(truth: HiddenTruth) -> dict[str, Score]:
    """Return the score, by kind, of the best claim that only knows how many of each there are; see the module."""
    every, roles = len(truth.heads), list(truth.heads.values())
    counts = [roles.count(role) for role in set(roles) - {NOTHING}]
    decoys, sizes = roles.count(NOTHING), [len(basis) for basis in truth.subspaces.values()]
    return {
        "heads": Score(max(counts, default=0), every, sum(counts)),
        "decoys": Score(decoys, every, decoys),
        "layers": Score(len(truth.layers), truth.layer_count, len(truth.layers)),
        "units": Score(len(truth.units), len(truth.unit_paths), len(truth.units)),
        "subspaces": Score(sum(sizes), truth.width * len(sizes), sum(sizes)),
    }


def by_dead_code(truth: HiddenTruth) -> dict[str, Score]:
    """Return the scores of a search for dead code; empty if the key does not have them."""
    if truth.dead is None:
        return {}
    decoys = {head for head, role in truth.heads.items() if role == NOTHING}
    found = {"decoys": (truth.dead.heads, decoys), "layers": (truth.dead.layers, truth.layers)}
    return {kind: _of_sets(*sets) for kind, sets in (found | {"units": (truth.dead.units, truth.units)}).items()}


def _of_sets(claimed: Collection[object], there: Collection[object]) -> Score:
    return Score(len(set(claimed) & set(there)), len(claimed), len(there))


def _of_role(role: str, claim: HiddenClaim, truth: HiddenTruth) -> Score:
    claimed = {head for head, said in claim.heads.items() if said == role}
    return _of_sets(claimed, {head for head, right in truth.heads.items() if right == role})


def _of_variables(claim: HiddenClaim, truth: HiddenTruth) -> Iterator[tuple[str, Score]]:
    for name, basis in truth.subspaces.items():
        claimed = orthonormal(claim.subspaces.get(name, np.zeros((0, truth.width))))
        yield name, Score(shared(claimed, basis), len(claimed), len(basis))


def shared(one: Dyadic, other: Dyadic) -> float:
    """Return how many dimensions two subspaces share, by orthonormal bases: the sum of the squared cosines."""
    if not len(one) or not len(other):
        return 0.0
    cosines = np.linalg.svd(one @ other.T, compute_uv=False)
    cosines[np.abs(cosines - 1) < 1e-9] = 1.0
    return float((cosines**2).sum())


def _total(scores: Collection[Score]) -> Score:
    return Score(sum(s.right for s in scores), sum(s.claimed for s in scores), sum(s.there for s in scores))
