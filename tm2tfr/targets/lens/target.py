"""To TransformerLens, and back: the whole export, and whether an export is still a machine, a circuit, or a labeller."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from safetensors import numpy as safetensors

from tm2tfr.errors import ExportError, counted, visible
from tm2tfr.exported import ExportReference
from tm2tfr.targets.common.comparison import WITHOUT
from tm2tfr.targets.common.exported import Exported, Rehearsal
from tm2tfr.targets.common.reference import reference_of
from tm2tfr.targets.common.settings import METADATA
from tm2tfr.targets.common.verdict import Trial, Verdict, judged, refused
from tm2tfr.targets.gpt2.export import TENSORS, chosen, load
from tm2tfr.targets.gpt2.labelling import LabellingGpt2, LabellingRecipe, exports_of_labeller, fitted_labelling, masks_of
from tm2tfr.targets.gpt2.recipe import Gpt2Recipe
from tm2tfr.targets.gpt2.running import LOCAL, Reference
from tm2tfr.targets.gpt2.tabled import Gpt2Tabled
from tm2tfr.targets.gpt2.translated import translated
from tm2tfr.targets.gpt2.verify import beside_tensors, described, trial, written_by
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


def lens_recipe(decoder: Decoder, right: ExportReference, **options: Any) -> Gpt2Recipe:
    """Return the recipe for a machine, a circuit, or weights that label a sequence.

    Args:
        options: see `tm2tfr.targets.gpt2.export.chosen`.

    Raises:
        ExportError: if `decoder` has a part that the export does not have, or the request does not fit.
    """
    if decoder.labeller:
        return _labelling(decoder, right, **options)
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


def _labelling(
    decoder: Decoder,
    right: ExportReference,
    *,
    positions: int | None = None,
    max_head: int | None = None,
    dtype: str = "float64",
    stock: bool = False,
) -> LabellingRecipe:
    """Return the recipe for a labeller; in such a model all heads have the same mask."""
    name = visible(right.named("these weights"))
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


MASKS = 2**31
"""The largest size in bytes of the causal masks that TransformerLens makes: one byte per pair of positions and layer."""


@dataclass(frozen=True, kw_only=True)
class LensExported(Exported):
    """A finished export to TransformerLens."""

    native: Native

    @property
    def facts(self) -> tuple[str, ...]:
        """The size of the model, and what is guaranteed, in words."""
        native, recipe = self.native, self.native.gpt2.recipe
        layers, heads = counted(len(native.gpt2.decoder.layers), "layer"), counted(native.heads, "head")
        size = f"{layers}, {heads}, width {native.width}, {recipe.dtype}"
        parameters = f"TransformerLens: {size}, {native.parameters / 1e6:,.2f} million parameters"
        return parameters, f"{'by bounds on rounding: ' if recipe.certified else ''}{recipe.statement}"


def export(
    decoder: Decoder,
    machine: Any,
    folder: str | Path,
    *,
    positions: int | None = None,
    max_head: int | None = None,
    dtype: str = "float64",
    verify: bool = True,
) -> LensExported:
    """Write `decoder` as a native model of TransformerLens; see `tm2tfr.export_to`.

    It is made from the GPT-2 and has the same limits. Before it gets its name, its runs are compared with the
    simulator's, and the values that hooks read in the named directions with the dense engine's.

    Raises:
        ExportError, OutputError: see there.
    """
    if verify:
        required(WITHOUT)
    right = reference_of(machine, decoder)
    native = native_of(decoder, right, positions=positions, max_head=max_head, dtype=dtype)
    files: dict[str, str | bytes] = {**documents(native, right), TENSORS: safetensors.save(native.tensors(), METADATA)}
    look = Rehearsal(LensRunning, native.gpt2.vocabulary, right, native.gpt2.recipe.positions, native.read)
    return LensExported(**look.written(folder, files, verify=verify), native=native)


def native_of(decoder: Decoder, right: ExportReference, **options: Any) -> Native:
    """Return `decoder` as a native model of TransformerLens; for options and errors see `lens_recipe`.

    Raises:
        ExportError: see there; also if its causal masks are too large.
    """
    recipe = lens_recipe(decoder, right, **options)
    _refuse_masks(decoder, right.named(), recipe.positions)
    return Native(translated(decoder, recipe))


def verified(folder: str | Path, decoder: Decoder, machine: Any, word: str) -> Verdict:
    """Compare the export in `folder` with `machine`, compiled to `decoder`; run it on `word`.

    Raises:
        ExportError: if `folder` is not an export, has too few positions for the word, or cannot be run.
        InputError: if `word` is not over the input alphabet.
    """
    right = reference_of(machine, decoder)
    if not decoder.labeller:
        right.truth(word)
    stored = load(folder, format=FORMAT, configuration=CONFIGURATION)
    options = stored.options
    if decoder.labeller:  # a recipe has a number there even where nothing is bounded by it
        options["max_head"] = options["max_head"] or None
    try:
        made = native_of(decoder, right, **options)
    except ExportError as error:
        return refused(right.named(), CONFIGURATION, error)
    native = Native(translated(replace(decoder, provenance=stored.provenance), made.gpt2.recipe))
    gpt2, files = native.gpt2, written_by(stored, documents(native, right), CONFIGURATION)
    beside = beside_tensors(stored, decoder, files, CONFIGURATION)
    reference = Reference({file: json.dumps(files[file]) for file in ("tokenizer.json", "tokenizer_config.json")})

    def in_words(tensor: str, at: Sequence[int]) -> str:
        if tensor == "unembed.bias":  # which the GPT-2 does not have
            return f"logit of {gpt2.answered[at[0]]}, bias"
        return described(gpt2, *native.origin(tensor, at))

    def tried() -> Trial:
        tokenizer = required()[1].AutoTokenizer.from_pretrained(str(folder), **LOCAL)  # Running's is changed by its program
        unlike = reference.unlike({"tokenizer_config.json": tokenizer})
        running = LensRunning(stored.folder)
        return trial(running, stored, unlike, gpt2, right, word, native.read)

    return judged(right.named(), beside, stored.tensors, native.tensors(), in_words, tried)


def _refuse_masks(decoder: Decoder, name: str, positions: int) -> None:
    """Check that the causal masks for that many positions are small enough.

    Raises:
        ExportError: if they are too large.
    """
    most = math.isqrt(MASKS // len(decoder.layers))
    if positions > most:
        what = f"{visible(name)}: for {positions:,} positions TransformerLens makes {len(decoder.layers)} causal masks"
        raise ExportError(f"{what} of more than {MASKS / 2**30:.0f} GiB in all: use --positions {most}, or --to gpt2")
