"""Circuits and labellers in TransformerLens, by way of GPT-2: what is proved of them, and which have a GPT-2."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tm2tfr.errors import ExportError, visible
from tm2tfr.targets.common.card import name_of
from tm2tfr.targets.common.comparison import Evaluated, Right
from tm2tfr.targets.gpt2.chosen import chosen
from tm2tfr.targets.gpt2.labelling import (
    LabellingGpt2,
    LabellingRecipe,
    exports_of_labeller,
    fitted_labelling,
    masks_of,
)
from tm2tfr.targets.gpt2.recipe import Gpt2Recipe
from tm2tfr.targets.gpt2.tabled import Gpt2Tabled
from tm2tfr.transformer.parts import NO_BOS, TABLE, refuse_export
from tm2tfr.transformer.provenance import is_hidden
from tm2tfr.transformer.weights import Decoder

TRANSFORMER_LENS = "TransformerLens"


@dataclass(frozen=True, kw_only=True)
class LensTabled(Gpt2Tabled):
    """How the decoder of a circuit becomes a model of TransformerLens."""

    @property
    def statement(self) -> str:
        what = f"no bounds on the rounding of {TRANSFORMER_LENS} are proved for circuits"
        return f"{what}: in {self.dtype} it is right where it was run"


def lens_recipe(decoder: Decoder, truth: Right, **options: Any) -> Gpt2Recipe:
    """Return the recipe for a machine, a circuit, or weights that label a sequence.

    Args:
        options: see `tm2tfr.targets.gpt2.chosen.chosen`.

    Raises:
        ExportError: if `decoder` has a part that the export does not have, or the request does not fit.
    """
    if decoder.labeller:
        return _labelling(decoder, truth, **options)
    if not isinstance(truth, Evaluated):
        known = (TABLE, NO_BOS) if is_hidden(decoder.provenance) else ()
        refuse_export(decoder, TRANSFORMER_LENS, known=known)
        return chosen(decoder, truth, **options)
    if decoder.soft or decoder.normed:
        what = f"{visible(truth.program.name)}: these weights have softmax or layer norms of their own"
        remedy = "use the variant lookup or paper-hard with average-hard attention, or --to torch or onnx"
        raise ExportError(f"{what}, and an export to {TRANSFORMER_LENS} makes its own softmax: {remedy}")
    refuse_export(decoder, TRANSFORMER_LENS, known=(TABLE, NO_BOS))
    return LensTabled(**asdict(chosen(decoder, truth, **options)))


def _labelling(
    decoder: Decoder,
    truth: Right,
    *,
    positions: int | None = None,
    max_head: int | None = None,
    dtype: str = "float64",
    stock: bool = False,
) -> LabellingRecipe:
    """Return the recipe for a labeller; in such a model all heads have the same mask."""
    name = visible(name_of(truth, "these weights"))
    if stock:
        raise ExportError(
            f"{name}: --stock is about the bounds for Turing machines, and these weights label a sequence: omit it"
        )
    masks = masks_of(decoder)
    if len(masks) > 1 or "past" in masks:
        what = (
            f"{name}: in {TRANSFORMER_LENS} all heads see every position, or none sees a later one, and these weights have"
        )
        raise ExportError(f"{what} heads with the mask {' and '.join(sorted(masks))}: {exports_of_labeller(decoder)}")
    refuse_export(decoder, TRANSFORMER_LENS, known=LabellingGpt2.known)
    return fitted_labelling(decoder, name, TRANSFORMER_LENS, positions=positions, max_head=max_head, dtype=dtype)
