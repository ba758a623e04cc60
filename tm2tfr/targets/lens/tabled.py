"""Circuits in TransformerLens, by way of GPT-2: what is proved of them, and which variants have a GPT-2."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tm2tfr.errors import ExportError, visible
from tm2tfr.targets.common.comparison import Evaluated, Right
from tm2tfr.targets.gpt2.limits import chosen
from tm2tfr.targets.gpt2.recipe import Gpt2Recipe
from tm2tfr.targets.gpt2.tabled import Gpt2Tabled
from tm2tfr.transformer.parts import NO_BOS, TABLE, refuse_export
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
    """Return the recipe for a machine or a circuit; `options`: see `tm2tfr.targets.gpt2.limits.chosen`.

    Raises:
        ExportError: if `decoder` has a part that the export does not have, or the request does not fit.
    """
    if not isinstance(truth, Evaluated):
        refuse_export(decoder, TRANSFORMER_LENS)
        return chosen(decoder, truth, **options)
    if decoder.soft or decoder.normed:
        what = f"{visible(truth.program.name)}: these weights have softmax or layer norms of their own"
        remedy = "use the variant lookup or paper-hard with average-hard attention, or --to torch or onnx"
        raise ExportError(f"{what}, and an export to {TRANSFORMER_LENS} makes its own softmax: {remedy}")
    refuse_export(decoder, TRANSFORMER_LENS, known=(TABLE, NO_BOS))
    return LensTabled(**asdict(chosen(decoder, truth, **options)))
