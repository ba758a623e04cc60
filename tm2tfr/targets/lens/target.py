"""``--to lens``: the whole export, and a model loaded from it. Imports TransformerLens only when it is used."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base import errors
from tm2tfr.base.errors import ExportError, first_line, visible
from tm2tfr.contract.exported import ExportReference
from tm2tfr.contract.shown import PlainData
from tm2tfr.targets.common.comparison import Model
from tm2tfr.targets.common.directory import Array, mapping
from tm2tfr.targets.common.fitting import Options, Requested
from tm2tfr.targets.common.reference import spaced
from tm2tfr.targets.common.verdict import typed
from tm2tfr.targets.gpt2 import export as by_gpt2
from tm2tfr.targets.gpt2 import export as verify
from tm2tfr.targets.gpt2.export import TENSORS, described
from tm2tfr.targets.gpt2.recipe import Gpt2Recipe
from tm2tfr.targets.gpt2.running import (
    LOCAL,
    LabellingGpt2,
    LabellingRecipe,
    exports_of_labeller,
    fitted_labelling,
    masks_of,
    refuse_no_layers,
)
from tm2tfr.targets.gpt2.target import Gpt2Tabled, chosen
from tm2tfr.targets.gpt2.translated import translated
from tm2tfr.targets.lens.native import CONFIGURATION, FORMAT, Native, documents
from tm2tfr.transformer.parts import NO_BOS, TABLE, refuse_export
from tm2tfr.transformer.provenance import is_hidden
from tm2tfr.transformer.weights import Decoder

MODULES = ["torch", "transformers", "safetensors.torch", "transformer_lens.model_bridge"]


required = partial(errors.required, "running this export needs TransformerLens", MODULES, "lens")
"""Returns the `MODULES`; raises `ExportError` if they are not installed."""


class LensRunning(Model):
    """A model loaded from a directory, as the model card says.

    Raises:
        ExportError: if TransformerLens is missing, or cannot load the directory.
    """

    longest_generated = 256  # it has no KV cache: every token takes a pass over the whole sequence

    def __init__(self, folder: Path) -> None:
        self._torch, transformers, safetensors, bridge = required()
        transformers.utils.logging.set_verbosity_error()
        self._torch.set_num_threads(1)  # models this small are slower with more
        self._tokenizer = partial(transformers.AutoTokenizer.from_pretrained, str(folder), **LOCAL)
        try:
            config = mapping(folder / CONFIGURATION)
            tensors = safetensors.load_file(folder / TENSORS)
            self.tokenizer = self._tokenizer()
            dtype = tensors["embed.weight"].dtype
            self.model = bridge.TransformerBridge.boot_native(config, self.tokenizer, dtype=dtype)
            self.model.load_state_dict(tensors)
            self.model.cfg.eos_token_id = config["eos_token_id"]
            self._labels = "d_vocab_out" in config
        except Exception as error:  # what it was given may be anything, and so is what it raises
            raise ExportError(f"{folder}: TransformerLens cannot load it ({first_line(error)}): export it again") from error

    @property
    def versions(self) -> str:
        """What runs the model."""
        return f"TransformerLens {version('transformer-lens')}, torch {self._torch.__version__}"

    @property
    def settings(self) -> PlainData:
        """The tokenizer as `transformers` loads it: the one that the model has is changed by TransformerLens."""
        return {"tokenizer_config.json": self._tokenizer()}

    def tensors(self) -> dict[str, Array]:
        """Return the tensors that were loaded, by name."""
        return {name: tensor.numpy() for name, tensor in self.model.state_dict().items()}

    def prompt(self, word: str) -> list[int]:
        """Return the tokens of `word` and BOS, if there is one, as the model has them."""
        text = spaced(word) if self._labels else typed(word, self.tokenizer.get_vocab())
        return [int(n) for n in self.model.to_tokens(text)[0]]

    def logits(self, tokens: Sequence[int]) -> Array:
        """Return the logits at every position."""
        with self._torch.inference_mode():
            found: Array = self.model(self._torch.tensor([list(tokens)]), return_type="logits")[0].numpy()
        return found

    def streams(self, tokens: Sequence[int]) -> NDArray[np.float64]:
        """Return the stream, as hooks see it, before the first layer and after each: (layers + 1, positions, width)."""
        layers = range(self.model.cfg.n_layers)
        wanted = ["blocks.0.hook_resid_pre", *(f"blocks.{n}.hook_resid_post" for n in layers)]
        with self._torch.inference_mode():
            _, cache = self.model.run_with_cache(self._torch.tensor([list(tokens)]), names_filter=wanted)
        return np.array([cache[name][0].double().numpy() for name in wanted])

    def generated(self, prompt: Sequence[int], *, most: int) -> list[int]:
        """Return the prompt and the model's greedy continuation, at most `most` tokens in all."""
        given = self._torch.tensor([list(prompt)])
        made = self.model.generate(given, max_new_tokens=most - len(prompt), do_sample=False, verbose=False)
        return [int(n) for n in made[0]]


# ── Circuits and sequence models in TransformerLens, by way of GPT-2: what is proved of them, and which have a GPT-2.
TRANSFORMER_LENS = "TransformerLens"


@dataclass(frozen=True, kw_only=True)
class LensTabled(Gpt2Tabled):
    """How the decoder of a circuit becomes a model of TransformerLens."""

    @property
    def statement(self) -> str:
        what = f"no bounds on the rounding of {TRANSFORMER_LENS} are proved for circuits"
        return f"{what}: in {self.dtype} only the compared runs are known to be right"


def lens_recipe(decoder: Decoder, right: ExportReference, **options: Unpack[Options]) -> Gpt2Recipe:
    """Return the recipe for a machine, a circuit, or weights that label a sequence.

    Args:
        options: see `tm2tfr.targets.gpt2.target.chosen`.

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
    """Return the recipe for a sequence model; in such a model all heads have the same mask."""
    name = visible(right.named("these weights"))
    if asked.stock:
        raise ExportError(
            f"{name}: --stock is about the bounds for Turing machines, and these weights label a sequence: omit it"
        )
    refuse_no_layers(decoder, name, f"a model of {TRANSFORMER_LENS}")
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
    """Return the effect of an entry of a tensor, as text."""
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
