"""To TransformerLens, and back: the whole export, and whether an export is still a machine, a circuit, or a labeller."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Unpack

from tm2tfr.base.errors import ExportError, visible
from tm2tfr.contract.exported import ExportReference
from tm2tfr.targets.common.fitting import Options, Requested
from tm2tfr.targets.gpt2 import export as by_gpt2
from tm2tfr.targets.gpt2 import verify
from tm2tfr.targets.gpt2.chosen import chosen
from tm2tfr.targets.gpt2.labelling import LabellingGpt2, LabellingRecipe, exports_of_labeller, fitted_labelling, masks_of
from tm2tfr.targets.gpt2.recipe import Gpt2Recipe
from tm2tfr.targets.gpt2.tabled import Gpt2Tabled
from tm2tfr.targets.gpt2.translated import translated
from tm2tfr.targets.gpt2.verify import described
from tm2tfr.targets.lens.documents import CONFIGURATION, FORMAT, documents
from tm2tfr.targets.lens.native import Native
from tm2tfr.targets.lens.running import LensRunning, required
from tm2tfr.transformer.parts import NO_BOS, TABLE, refuse_export
from tm2tfr.transformer.provenance import is_hidden
from tm2tfr.transformer.weights import Decoder

# ── Circuits and labellers in TransformerLens, by way of GPT-2: what is proved of them, and which have a GPT-2.
TRANSFORMER_LENS = "TransformerLens"


@dataclass(frozen=True, kw_only=True)
class LensTabled(Gpt2Tabled):
    """How the decoder of a circuit becomes a model of TransformerLens."""

    @property
    def statement(self) -> str:
        what = f"no bounds on the rounding of {TRANSFORMER_LENS} are proved for circuits"
        return f"{what}: in {self.dtype} it is right where it was run"


def lens_recipe(decoder: Decoder, right: ExportReference, **options: Unpack[Options]) -> Gpt2Recipe:
    """Return the recipe for a machine, a circuit, or weights that label a sequence.

    Args:
        options: see `tm2tfr.targets.gpt2.export.chosen`.

    Raises:
        ExportError: if `decoder` has a part that the export does not have, or the request does not fit.
    """
    if decoder.labeller:
        return _labelling(decoder, right, Requested(**options))
    if right.bounded or right.program is None:
        known = (TABLE, NO_BOS) if is_hidden(decoder.provenance) else ()
        refuse_export(decoder, TRANSFORMER_LENS, known=known)
        return chosen(decoder, right, **options)
    if decoder.soft or decoder.normed:
        what = f"{visible(right.named())}: these weights have softmax or layer norms of their own"
        remedy = "use the variant lookup or paper-hard with average-hard attention, or --to torch or onnx"
        raise ExportError(f"{what}, and an export to {TRANSFORMER_LENS} makes its own softmax: {remedy}")
    refuse_export(decoder, TRANSFORMER_LENS, known=(TABLE, NO_BOS))
    return LensTabled(**asdict(chosen(decoder, right, **options)))


def _labelling(decoder: Decoder, right: ExportReference, asked: Requested) -> LabellingRecipe:
    """Return the recipe for a labeller; in such a model all heads have the same mask."""
    name = visible(right.named("these weights"))
    if asked.stock:
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
    return fitted_labelling(decoder, name, TRANSFORMER_LENS, asked)


MASKS = 2**31
"""The largest size in bytes of the causal masks that TransformerLens makes: one byte per pair of positions and layer."""


def native_of(decoder: Decoder, right: ExportReference, **options: Unpack[Options]) -> Native:
    """Return `decoder` as a native model of TransformerLens; for options and errors see `lens_recipe`.

    Raises:
        ExportError: see there; also if its causal masks are too large.
    """
    recipe = lens_recipe(right.decoder, right, **options)
    _refuse_masks(decoder, right.named(), recipe.positions)
    return Native(translated(decoder, recipe))


def _refuse_masks(decoder: Decoder, name: str, positions: int) -> None:
    """Check that the causal masks for that many positions are small enough.

    Raises:
        ExportError: if they are too large.
    """
    most = math.isqrt(MASKS // len(decoder.layers))
    if positions > most:
        what = f"{visible(name)}: for {positions:,} positions TransformerLens makes {len(decoder.layers)} causal masks"
        raise ExportError(f"{what} of more than {MASKS / 2**30:.0f} GiB in all: use --positions {most}, or --to gpt2")


def described_in(native: Native, name: str, at: Sequence[int]) -> str:
    """Return in words what the entry of a tensor does."""
    if name == "unembed.bias":  # which the GPT-2 does not have
        return f"logit of {native.gpt2.answered[at[0]]}, bias"
    return described(native.gpt2, *native.origin(name, at))


PROGRAM = by_gpt2.ByGpt2(
    title=TRANSFORMER_LENS,
    format=FORMAT,
    required=required,
    made=native_of,
    documents=documents,
    described=described_in,
    load=LensRunning,
    configuration=CONFIGURATION,
    loaded=("tokenizer.json", "tokenizer_config.json"),
)
export, verified = partial(by_gpt2.export, PROGRAM), partial(verify.verified, PROGRAM)
