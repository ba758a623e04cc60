"""Softmax whose temperature is a function of the position or the length: right at every length, up to what floats can hold.

Two words for it. ``per-position``: each head's queries are multiplied by ln(margin)/γ, with some room for rounding, and its
scores at position i by what its gap is divided by: i + 1, (i + 1)² or the number n of positions. ``paper``: the temperature
of the theorem that the heads are printed in, the same for all heads, for weights whose queries have the printed constants:

=========  =======================  ==================================
weights    1/τ                      theorems of Yang et al.
=========  =======================  ==================================
encoders   n                        12a, 15a, 17a, 20a, 22a
decoders   (i+1)², for the paper's  13a, 16a, 18a, 23
           1/i²
decoders   i+1, of counts alone     21
either     1, with queries or keys  12b, 13b, 15b, 16b, 17b, 18b, 20b,
           that grow                22b
=========  =======================  ==================================

The margins are those of the local bounds, see `tm2tfr.transformer.soft`: what a head carries is rounded to the right value
where the best score, divided by the temperature, is ahead by ln(margin). Both words check that of every head.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping

import numpy as np

from tm2tfr.base.errors import CompileError
from tm2tfr.transformer import provenance
from tm2tfr.transformer.claims import Claim, Over
from tm2tfr.transformer.positions import feature
from tm2tfr.transformer.soft import already_soft, claimed, refuse_loops, rounded_up, with_softmax
from tm2tfr.transformer.weights import Decoder, Head

INVERSE: Mapping[Over, str] = {"constant": "1", "position": "i+1", "square": "(i+1)^2", "length": "n"}
"""The divisor of a gap, as a position feature."""
ROOM = 1 / 32
"""A factor is larger than needed by this share, so that rounded scores are far enough apart as well."""
_SHORTEST = 2
"""With fewer positions in sight there is nothing to decide, and with more of them no scores get closer: a theorem's
temperature falls at least as fast as the gaps of its heads."""


def per_position(decoder: Decoder) -> Decoder:
    """Return `decoder` with softmax, each head with the temperature that it needs itself at each position.

    Raises:
        CompileError: for a head about which nothing is proved alone, or whose margin grows with the length; for weights
            that are already soft, or run layers again.
    """

    def soft(number: int, head: Head) -> Head:
        claim = _rounded(head, number)
        factor = factor_of(claim)
        with np.errstate(over="ignore"):
            values = head.query.values * factor
        made = with_softmax(head, values, f"the queries of head {head.name!r} times {factor:g}", "use local")
        return dataclasses.replace(made, inverse_temperature=INVERSE[claim.over])

    return _each(decoder, soft, "per-position")


def factor_of(claim: Claim) -> float:
    """Return the factor of the queries of a head with this claim, which has a margin."""
    return rounded_up(math.log(claim.margin or 1.0) / (claim.gap or 1.0) * (1 + ROOM))


def as_printed(decoder: Decoder) -> Decoder:
    """Return `decoder` with softmax at the temperature of the paper's theorem about heads like these.

    Raises:
        CompileError: if that is not cold enough for a head, as for queries without the printed constants; for weights that
            are already soft, or run layers again.
    """
    inverse = printed_inverse(decoder)

    def soft(number: int, head: Head) -> Head:
        claim = _rounded(head, number)
        above, below = feature(inverse)(_SHORTEST - 1, _SHORTEST)
        lead = (claim.gap_at(_SHORTEST - 1, _SHORTEST) or 0.0) * above / below
        if lead < math.log(claim.margin or 1.0):
            what = f"layer {number}, head {head.name!r}: at the printed temperature its best score is ahead by {lead:.3g}"
            raise CompileError(f"{what}, and {math.log(claim.margin or 1.0):.3g} is needed: compile with --variant paper")
        return dataclasses.replace(with_softmax(head, head.query.values, "", ""), inverse_temperature=inverse)

    return _each(decoder, soft, f"paper, 1/τ = {inverse}")


def printed_inverse(decoder: Decoder) -> str:
    """Return 1/τ of the theorem about heads like these, as a position feature."""
    claims = [head.claim for layer in decoder.layers for head in layer.heads if not head.uniform]
    over = {claim.over for claim in claims if claim is not None and claim.gap is not None}
    if over <= {"constant"}:
        return INVERSE["constant"]
    if not decoder.sequential:
        return INVERSE["length"]
    return INVERSE["square" if "square" in over else "position"]


def _rounded(head: Head, number: int) -> Claim:
    """Return the claim of a head whose answer is rounded.

    Raises:
        CompileError: if it has no margin, or one that grows with the length.
    """
    claim = claimed(head)
    if claim.margin is None or claim.degree:
        why = "compares numbers that are not rounded" if claim.degree else "has no bound of its own"
        problem = f"layer {number}, head {head.name!r} {why}, so what it needs at a position depends on the length"
        raise CompileError(f"{problem}: use local, theorem-26, or a number")
    return claim


def _each(decoder: Decoder, soft: Callable[[int, Head], Head], word: str) -> Decoder:
    refuse_loops(decoder)
    if decoder.soft:
        raise already_soft(decoder)
    layers = tuple(
        dataclasses.replace(
            layer,
            heads=tuple(
                dataclasses.replace(head, weighting="softmax") if head.uniform else soft(number, head)
                for head in layer.heads
            ),
        )
        for number, layer in enumerate(decoder.layers, start=1)
    )
    return dataclasses.replace(decoder, layers=layers, provenance=provenance.tempered(decoder.provenance, word))
