"""Soft attention by local bounds: each head's queries multiplied by what this head needs, and no more.

Where what a head carries is rounded to bits or whole numbers, errors under softmax do not add up from layer to layer: a
head reads exact values, and what it carries is exact again once it is rounded (Lemma 9). So each head has a bound of its
own. Let the best score be ahead by γ, and w be the weight elsewhere. Where the others are behind by different multiples of
γ, w ≤ e^{-γ/τ} (since, until: rivals with the same marker stand on one side, at the distances 1, 2, …, and those without
one are further behind); where two are behind by each multiple, w ≤ 2e^{-γ/τ}/(1 + e^{-γ/τ}) (lookups: rivals on both
sides, Lemma 6 before its last step). A bit is rounded right if w ≤ 1/4: for e^{γ/τ} ≥ 4 and ≥ 7. That number is the
head's `margin`, a claim of its construction, and ``1/τ = ln(margin)/γ`` the head's bound. A number that is compared without
being rounded is off by w times numbers of up to N: there the margin is times N^degree.

The temperature that a whole decoder needs is thus the worst head's, not a product over layers as in Theorem 26. Better
still is one for each head: `locally_softened` multiplies each head's queries by ln(margin)/γ. Where all gaps and
margins are the same at every position of every run, this holds for any length: there is softmax, and no temperature at all.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import numpy as np

from tm2tfr.base.errors import CompileError
from tm2tfr.transformer import provenance
from tm2tfr.transformer.soft import already_soft, with_softmax
from tm2tfr.transformer.weights import Decoder, Head

BITS = 6
"""The significant bits of a factor, which is rounded up: it is at most 3.2 % larger than needed, and scores of queries
that are small whole numbers are still exact."""


def bounded(decoder: Decoder) -> bool:
    """Return whether some head is not uniform, and each of those has a margin, so that local bounds are all it needs."""
    heads = list(_attending(decoder))
    return bool(heads) and all(_margin(head) is not None for _, head in heads)


def any_length(decoder: Decoder) -> bool:
    """Return whether the local bounds hold for runs of any length: no gap depends on the position or the length."""
    return all(_any_length(head) for _, head in _attending(decoder))


def needed(head: Head, n: int) -> float:
    """Return ln(margin·N^degree)/γ, the local bound of `head` on 1/τ in runs of at most `n` positions; 0 if it is uniform.

    Raises:
        CompileError: if nothing is proved about this head alone.
    """
    if head.uniform:
        return 0.0
    claim, margin = head.claim, _margin(head)
    gap = None if claim is None else claim.smallest_gap(n)
    if margin is None or gap is None:
        what = f"head {head.name!r} has no local bound under softmax, since what it carries is not rounded"
        raise CompileError(f"{what}: use the temperature theorem-26, or a number")
    degree = 0 if claim is None else claim.degree
    return (math.log(margin) + degree * math.log(n)) / gap


def local_temperature(decoder: Decoder, n: int) -> float:
    """Return the largest τ allowed by the local bounds of all heads in runs of at most `n` positions; ∞ if all are uniform.

    Raises:
        CompileError: if a head has no such bound.
    """
    most = max((needed(head, n) for layer in decoder.layers for head in layer.heads), default=0.0)
    return 1 / most if most else math.inf


def locally_softened(decoder: Decoder, n: int | None) -> Decoder:
    """Return `decoder` with softmax, each head's queries multiplied by its own local bound, rounded up.

    Args:
        n: it is right in runs of at most `n` positions; None: in all, which is for weights whose gaps and margins are all
            constant.

    Raises:
        CompileError: if a head has no local bound, or, for None, a gap that shrinks; for weights that are already soft.
    """
    if decoder.soft:
        raise already_soft(decoder)

    def soft(number: int, head: Head) -> Head:
        if head.uniform:
            return dataclasses.replace(head, weighting="softmax")
        if n is None and head.claim is not None and not _any_length(head):
            over = "length" if head.claim.over == "length" else "position"
            why = "what it needs grows with the length" if head.claim.constant else f"its gap shrinks with the {over}"
            what = f"layer {number}, head {head.name!r}: {why}, so softmax needs a temperature"
            steep = (
                "" if _counts_or_looks_ahead(decoder) else ", or compile with --steep, which is for since and prev alone"
            )
            raise CompileError(f"{what}: use local, with the length of the runs{steep}")
        factor = rounded_up(needed(head, 1 if n is None else n))
        with np.errstate(over="ignore"):
            values = head.query.values * factor
        return with_softmax(head, values, f"the queries of head {head.name!r} times {factor:g}", "use a shorter length")

    layers = tuple(
        dataclasses.replace(layer, heads=tuple(soft(number, head) for head in layer.heads))
        for number, layer in enumerate(decoder.layers, start=1)
    )
    said = provenance.locally_softened(decoder.provenance, n)
    return dataclasses.replace(decoder, layers=layers, provenance=said)


def _counts_or_looks_ahead(decoder: Decoder) -> bool:
    """Return whether there is what has no steep queries: uniform heads, and those that see what follows."""
    return any(head.uniform or head.mask != "future" for layer in decoder.layers for head in layer.heads)


def rounded_up(number: float) -> float:
    """Return the least number with `BITS` significant bits that is not below the positive `number`, which may be ∞."""
    if number == math.inf:
        return number
    mantissa, exponent = math.frexp(number)
    return math.ldexp(math.ceil(math.ldexp(mantissa, BITS)), exponent - BITS)


def _attending(decoder: Decoder) -> Iterator[tuple[int, Head]]:
    """Yield the heads that are not uniform, each with its layer, counted from 1."""
    for number, layer in enumerate(decoder.layers, start=1):
        yield from ((number, head) for head in layer.heads if not head.uniform)


def _any_length(head: Head) -> bool:
    return head.claim is not None and head.claim.constant and not head.claim.degree


def _margin(head: Head) -> float | None:
    return None if head.claim is None else head.claim.margin
