"""By how much each head of the construction has one best score: what makes it uniform-tieless (Yang et al., Section 5).

A lookup scores position j by ``(h² - (h-j)²)/(i+1)``, so that the best is ahead by ``1/(i+1)``. The latest write has
``h² - (h-k_j)² + j/(2(i+1))``: other cells are behind by 1 at least, less a tie-break of 1/2, and earlier writes of the
same cell by ``1/(2(i+1))`` at least. Where the cell was never written, the nearest one is nearest alone: the cells visited
have no gaps, so that all lie to one side. `tm2tfr.trace.softness` checks it on a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tm2tfr.errors import CompileError
from tm2tfr.transformer.weights import Decoder, Head


class Claim(NamedTuple):
    """What is claimed of a head: the gap at position i is at least ``per_position/(i+1)``; None: it is uniform."""

    per_position: float | None
    lookup: bool = False
    """Whether its scores are γ(2cj - j²), as in Lemma 7."""


_LOOKUP, _LATEST, _UNIFORM = Claim(1.0, lookup=True), Claim(0.5), Claim(None)

CLAIMS: Mapping[str, Claim] = {
    "sum of moves": _UNIFORM,
    **dict.fromkeys(("cell h", "cell h_{i-1}", "cell h+", "cell h-", "cell h_{i-1}+", "cell h_{i-1}-"), _LOOKUP),
    "latest write": _LATEST,
}
"""The name of a head -> what is claimed of it."""


def claim(head: Head) -> Claim:
    """Return what the construction claims of `head`.

    Raises:
        CompileError: if it is no head of the construction.
    """
    if head.name not in CLAIMS:
        raise CompileError(f"nothing is known of the gap of head {head.name!r}: give the temperature as a number")
    return CLAIMS[head.name]


def smallest_gap(decoder: Decoder, n: int) -> float:
    """Return γ(n), the smallest gap that is claimed of any head at any of `n` positions; at most 1.

    Raises:
        CompileError: if a head is none of the construction.
    """
    claims = [claim(head).per_position for layer in decoder.layers for head in layer.heads]
    return min([1.0, *(each / n for each in claims if each is not None)])
