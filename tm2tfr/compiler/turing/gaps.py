"""The gap of each head's best score, which makes the construction uniform-tieless (Yang et al., Section 5).

A lookup scores position j by ``(h² - (h-j)²)/(i+1)``, so that the best is ahead by ``1/(i+1)``. The latest write has
``h² - (h-k_j)² + j/(2(i+1))``: other cells are behind by at least 1, less a tie-break of 1/2, and earlier writes of the
same cell by at least ``1/(2(i+1))``. If the cell was never written, there is only one nearest cell: the cells visited
are contiguous, so they all lie to one side. `tm2tfr.softness.measure` checks this on a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tm2tfr.errors import CompileError
from tm2tfr.transformer.weights import Decoder, Head


class Claim(NamedTuple):
    """The claim about a head: the gap at position i is at least ``per_position/(i+1)``; None: it is uniform."""

    per_position: float | None
    lookup: bool = False
    """Whether the scores are γ(2cj - j²), as in Lemma 7."""


_LOOKUP, _LATEST, _UNIFORM = Claim(1.0, lookup=True), Claim(0.5), Claim(None)

CLAIMS: Mapping[str, Claim] = {
    "sum of moves": _UNIFORM,
    **dict.fromkeys(("cell h", "cell h_{i-1}", "cell h+", "cell h-", "cell h_{i-1}+", "cell h_{i-1}-"), _LOOKUP),
    "latest write": _LATEST,
}
"""The name of a head -> the claim about it."""


def claim(head: Head) -> Claim:
    """Return the claim of the construction about `head`.

    Raises:
        CompileError: if it is not a head of the construction.
    """
    if head.name not in CLAIMS:
        raise CompileError(f"the gap of head {head.name!r} is not known: give the temperature as a number")
    return CLAIMS[head.name]


def smallest_gap(decoder: Decoder, n: int) -> float:
    """Return γ(n), the smallest gap claimed for any head at any of `n` positions; at most 1.

    Raises:
        CompileError: if a head is not one of the construction.
    """
    claims = [claim(head).per_position for layer in decoder.layers for head in layer.heads]
    return min([1.0, *(each / n for each in claims if each is not None)])
