"""Weights whose answer is hidden as a GPT-2: nothing is known of their heads but by how much scores differ.

So no score is rewritten as those of machines are (`sharpen`): queries are multiplied by a 1/τ at which the smallest gap
that is claimed, at the last position, is 64 and more. What rounding leaves of a score that is the same for all keys is
multiplied by it too, so that runs are right as far as they were compared, and by default short.
"""

from __future__ import annotations

from dataclasses import dataclass

from tm2tfr.errors import ExportError
from tm2tfr.targets.common.tabled import MOST_POSITIONS, Uncertified
from tm2tfr.targets.gpt2.recipe import Gpt2Recipe, span
from tm2tfr.transformer.weights import Decoder

USUAL_HIDDEN = 128
"""The positions of such an export, if no other number is asked for."""
LEAD = 64
"""By how much the best score is ahead of the next at least: e^-64 is nothing beside 1."""


@dataclass(frozen=True, kw_only=True)
class HiddenGpt2Recipe(Uncertified, Gpt2Recipe):
    """How hidden weights become a GPT-2.

    Args:
        sharpness: 1/τ.
    """

    sharpness: float

    @property
    def temperature(self) -> float:
        return self.sharpness

    @property
    def statement(self) -> str:
        return f"not certified in {self.dtype}, since these weights are hidden: it is right where it was run"


def fitted_hidden(
    decoder: Decoder,
    *,
    positions: int | None = None,
    max_head: int | None = None,
    dtype: str = "float64",
    stock: bool = False,
) -> HiddenGpt2Recipe:
    """Return the recipe.

    Raises:
        ExportError: for softmax or layer norms of its own, or options that do not apply.
    """
    there = decoder.positions
    if decoder.soft or decoder.normed:
        what = "these hidden weights have softmax or layer norms of their own"
        raise ExportError(f"{what}, and this export makes its own softmax: use --to torch or onnx")
    if stock:
        raise ExportError("--stock is about the bounds for Turing machines, and these weights are hidden: omit it")
    if max_head not in (None, 0) and max_head != ((there or positions or USUAL_HIDDEN) - 1):
        raise ExportError("a bound on |h| is about Turing machines, and these weights are hidden: omit it")
    if there is not None and positions not in (None, there):
        raise ExportError(f"these weights are exported with all their positions, {there:,}: omit the number of positions")
    many = there or positions or USUAL_HIDDEN
    if many > MOST_POSITIONS:
        raise ExportError(f"hidden weights are exported with at most {MOST_POSITIONS:,} positions: use fewer")
    gaps = (h.claim.smallest_gap(many) for layer in decoder.layers for h in layer.heads if h.claim is not None)
    least = min([1.0, *(gap for gap in gaps if gap is not None)])
    return HiddenGpt2Recipe(positions=many, max_head=many - 1, dtype=dtype, sharpness=float(span(int(LEAD / least) + 1)))
