"""What a construction claims about a head, as data of the head."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tm2tfr.errors import ShapeError


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What a construction claims about one of its heads under average-hard attention; nobody computes with it.

    Claims take part in equality, since checks and proofs rely on them, but not in `digest`, which is that of the weights.

    Args:
        attends: the positions that the head attends to, a key of the construction's specification.
        gap: γ, where the best score at position i is ahead of the next one by at least γ/(i+1); None: all scores are 0.
        lookup: whether the scores are γ(2cj - j²), as in Lemma 7.
        constant: whether the best score is ahead by at least γ itself, at every position.

    Raises:
        ShapeError: for a gap that is not a positive number, or a lookup or a constant gap without one.
    """

    attends: str
    gap: float | None
    lookup: bool = False
    constant: bool = False

    def __post_init__(self) -> None:
        if self.gap is not None:
            object.__setattr__(self, "gap", float(self.gap))
        if self.gap is None and (self.lookup or self.constant):
            what = "lookup" if self.lookup else "constant gap"
            raise ShapeError(f"a {what} has a gap: claim it, or claim no {what}")
        if self.gap is not None and not 0 < self.gap < math.inf:
            raise ShapeError(f"a claimed gap must be a positive number, not {self.gap:g}: claim none for uniform attention")

    def gap_at(self, position: int) -> float | None:
        """Return by how much the best score at `position` is ahead at least; None: all scores are 0."""
        return self.gap if self.gap is None or self.constant else self.gap / (position + 1)
