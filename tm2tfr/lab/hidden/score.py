"""How much of the truth a claim found: one number for each kind of thing that there is to find.

*decoys*, *layers* and *units* are sets, and most heads of a model are decoys. So their measure is the balanced accuracy:
the mean of the share of these that was claimed and the share of the others that was not. A claim made without knowledge
scores 1/2 on average.

*heads* have roles, and *subspaces* are variables: their measure is the mean of the F1 of each role and each variable, so
that a rare role counts as much as a frequent one, and a variable of one dimension as much as one of twenty. F1 is the
harmonic mean of precision and recall, of subspaces those of dimensions: with orthonormal bases of the claimed one and the
right one, the squares of the cosines of their principal angles add up to the number of dimensions that they share.
Variables that embedding or unembedding touch, which can be read off these, are apart, as *surface*.

The baseline is a claim for nothing: claims that know only how many of each there are. Of sets that is 1/2; of
heads the most frequent role for all of them; of variables the whole stream for each. *Dead code* is what a claim scores
that was made by following products of matrices, see `tm2tfr.lab.hidden.dead_code`. Others are in
`tm2tfr.lab.hidden.baselines`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tm2tfr.base.errors import DisguiseError
from tm2tfr.lab.hidden.claim import NOTHING, HiddenClaim, HiddenTruth, orthonormal
from tm2tfr.lab.hidden.dyadic import Dyadic

COLUMNS = """\
score: heads, subspaces, surface: mean F1 over roles or variables; decoys, layers, units: balanced accuracy (chance: 0.5)
base: the score of the best claim that knows only how many of each there are; –: nothing to find, or not computed
dead code: the score of a search along products of matrices for parts that nothing reads
right, claimed, there: counts of heads, layers or units; of subspaces and surface, dimensions
surface: variables that the embedding writes or the unembedding reads; subspaces: all other variables"""
"""What the columns of a table of scores are, below it."""
KINDS = ("heads", "decoys", "layers", "units", "subspaces", "surface")


@dataclass(frozen=True)
class Score:
    """The score of a role, a variable, or a set.

    Args:
        right: how much of what was claimed is right: a number of things, or of dimensions.
        claimed, there: how much was claimed, and how much there is.
        of: how many things a claim may name; None: it is about dimensions, or a role.
    """

    right: float
    claimed: float
    there: float
    of: int | None = None

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

    @property
    def balanced(self) -> float | None:
        """The mean of the shares rightly claimed and rightly not claimed; None if all or nothing is to be found."""
        if self.of is None or not 0 < self.there < self.of:
            return None
        return (self.right / self.there + 1 - (self.claimed - self.right) / (self.of - self.there)) / 2

    @property
    def measure(self) -> float | None:
        """The number that counts: balanced accuracy of a set, F1 otherwise."""
        return self.f1 if self.of is None else self.balanced

    def as_dict(self) -> dict[str, float | None]:
        """Return it as plain data."""
        names = ("measure", "precision", "recall", "f1", "balanced", "right", "claimed", "there", "of")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class AveragedScore:
    """The scores of roles or variables, each of which counts once."""

    scores: tuple[Score, ...]

    @property
    def precision(self) -> float | None:
        """The mean precision of those that were claimed."""
        return mean_of([score.precision for score in self.scores if score.claimed])

    @property
    def recall(self) -> float | None:
        """The mean recall."""
        return mean_of([score.recall for score in self.scores])

    @property
    def measure(self) -> float | None:
        """The mean F1; None if there is nothing to find."""
        return mean_of([score.f1 for score in self.scores])

    @property
    def right(self) -> float:
        """How much is right, in all."""
        return sum(score.right for score in self.scores)

    @property
    def claimed(self) -> float:
        """How much was claimed, in all."""
        return sum(score.claimed for score in self.scores)

    @property
    def there(self) -> float:
        """How much there is, in all."""
        return sum(score.there for score in self.scores)

    def as_dict(self) -> dict[str, float | None]:
        """Return it as plain data."""
        return {name: getattr(self, name) for name in ("measure", "precision", "recall", "right", "claimed", "there")}


def mean_of(numbers: Sequence[float | None]) -> float | None:
    """Return the mean of those that are there, None if none is."""
    known = [number for number in numbers if number is not None]
    return sum(known) / len(known) if known else None


@dataclass(frozen=True)
class ClaimScores:
    """The scores of a claim: of each kind, with the baseline of each, of each role of heads, and of each variable.

    Args:
        base: the measure of the best claim that only knows how many of each there are.
        dead_code: what a search for dead code scores, of the kinds that it is about; empty if the key does not say.
    """

    kinds: Mapping[str, Score | AveragedScore]
    base: Mapping[str, float | None]
    roles: Mapping[str, Score]
    variables: Mapping[str, Score]
    dead_code: Mapping[str, Score]

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        named: dict[str, Mapping[str, Score] | Mapping[str, Score | AveragedScore]] = {
            "kinds": self.kinds,
            "dead_code": self.dead_code,
            "roles": self.roles,
            "variables": self.variables,
        }
        plain = {name: {what: score.as_dict() for what, score in scores.items()} for name, scores in named.items()}
        return {**plain, "base": dict(self.base)}

    def __str__(self) -> str:
        lines = [
            f"{'':<12} {'precision':>9} {'recall':>7} {'score':>7} {'base':>7} {'dead code':>10}   right / claimed / there"
        ]
        for kind, score in self.kinds.items():
            counts = " / ".join(f"{number:.4g}" for number in (score.right, score.claimed, score.there))
            shares = f"{shown(score.precision):>9} {shown(score.recall):>7} {shown(score.measure):>7}"
            dead = shown(self.dead_code[kind].measure if kind in self.dead_code else None)
            lines.append(f"{kind:<12} {shares} {shown(self.base[kind]):>7} {dead:>10}   {counts}")
        return "\n".join(lines) + "\n" + COLUMNS


def shown(number: float | None) -> str:
    """Return a score as text."""
    return "–" if number is None else f"{number:.3f}"


def score(claim: HiddenClaim, truth: HiddenTruth) -> ClaimScores:
    """Return the scores of a claim, by kind.

    Raises:
        DisguiseError: if it is about heads, layers, units or variables that there are not, or has invalid vectors.
    """
    _refuse(claim, truth)
    roles = {role: _of_role(role, claim, truth) for role in sorted(set(truth.heads.values()) | set(claim.heads.values()))}
    variables = dict(_of_variables(claim, truth))
    kinds: dict[str, Score | AveragedScore] = {
        "heads": AveragedScore(tuple(found for role, found in roles.items() if role != NOTHING)),
        **score_of_sets(claim, truth),
        "subspaces": AveragedScore(tuple(found for name, found in variables.items() if name not in truth.surface)),
        "surface": AveragedScore(tuple(found for name, found in variables.items() if name in truth.surface)),
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


def base_line(truth: HiddenTruth) -> dict[str, float | None]:
    """Return the measure, by kind, of the best claim that only knows how many of each there are; see the module."""
    roles = [role for role in truth.heads.values() if role != NOTHING]
    counts = [roles.count(role) for role in set(roles)]
    sizes = {name: 2 * len(basis) / (truth.width + len(basis)) for name, basis in truth.subspaces.items()}
    sets = {kind: score.balanced and 0.5 for kind, score in score_of_sets(HiddenClaim(), truth).items()}
    return {
        "heads": 2 * max(counts) / (len(truth.heads) + max(counts)) / len(counts) if counts else None,
        **sets,
        "subspaces": mean_of([size for name, size in sizes.items() if name not in truth.surface]),
        "surface": mean_of([size for name, size in sizes.items() if name in truth.surface]),
    }


def score_of_sets(claim: HiddenClaim, truth: HiddenTruth) -> dict[str, Score]:
    """Return the scores of decoys, layers and units."""
    claimed = {head for head, role in claim.heads.items() if role == NOTHING}
    decoys = {head for head, role in truth.heads.items() if role == NOTHING}
    return {
        "decoys": _of_sets(claimed, decoys, len(truth.heads)),
        "layers": _of_sets(claim.layers, truth.layers, truth.layer_count),
        "units": _of_sets(claim.units, truth.units, len(truth.unit_paths)),
    }


def by_dead_code(truth: HiddenTruth) -> dict[str, Score]:
    """Return the scores of a search for dead code; empty if the key does not have them."""
    if truth.dead is None:
        return {}
    dead = truth.dead
    return score_of_sets(HiddenClaim(dict.fromkeys(dead.heads, NOTHING), dead.layers, dead.units), truth)


def _of_sets(claimed: Collection[object], there: Collection[object], of: int | None = None) -> Score:
    return Score(len(set(claimed) & set(there)), len(claimed), len(there), of)


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
