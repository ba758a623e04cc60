"""Which GPT-2 a decoder becomes."""

from __future__ import annotations

from tm2tfr.targets.gpt2.labelling import LabellingGpt2
from tm2tfr.targets.gpt2.normed import NormedGpt2
from tm2tfr.targets.gpt2.recipe import Gpt2Recipe
from tm2tfr.targets.gpt2.tabled import without_bias
from tm2tfr.targets.gpt2.tensors import Gpt2
from tm2tfr.transformer.weights import Decoder


def translated(decoder: Decoder, recipe: Gpt2Recipe) -> Gpt2:
    """Return `decoder` as a GPT-2 by `recipe`.

    Raises:
        ExportError: if it cannot be a GPT-2.
    """
    if decoder.labeller:
        return LabellingGpt2(decoder, recipe)
    if decoder.normed:
        return NormedGpt2(decoder, recipe)
    return Gpt2(without_bias(decoder) if decoder.position_table is not None else decoder, recipe)
