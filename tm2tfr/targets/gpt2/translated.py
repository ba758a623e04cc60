"""Which GPT-2 a decoder becomes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import frexp
from typing import Any, NamedTuple

import numpy as np

from tm2tfr.base.errors import ExportError
from tm2tfr.targets.common.directory import Array
from tm2tfr.targets.gpt2.labelling import LabellingGpt2
from tm2tfr.targets.gpt2.recipe import Gpt2Recipe
from tm2tfr.targets.gpt2.sharpen import Form, forms
from tm2tfr.targets.gpt2.tensors import Gpt2
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.parts import NO_BOS, NORMS, TABLE
from tm2tfr.transformer.weights import Decoder, FeedForward, Head, Norm, norms, replaced


# ── Weights with softmax and layer norms of their own as a GPT-2, whose parts are then just these: nothing is made up for.
#
# The stream is the decoder's, once and unscaled. GPT-2 has one epsilon for all norms, and divides scores by √d_head, by
# which the queries are multiplied here.
class _Forms(NamedTuple):
    """The components of a head's scores: pairs of linear forms, of the query and of the key."""

    components: tuple[tuple[Form, Form], ...]


class NormedGpt2(Gpt2):
    """A decoder with layer norms as a GPT-2; see `Gpt2`.

    Raises:
        ExportError: see `Gpt2`; also if a layer has other than one head, or a norm is missing.
    """

    known = (TABLE, NO_BOS, NORMS)

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_unlike(self.decoder)

    @property
    def directions(self) -> tuple[str, ...]:
        """The directions of the stream, by coordinate: the decoder's."""
        return self.decoder.layout.directions

    @property
    def head_size(self) -> int:
        """The dimensions of the one head: the whole width."""
        return self.width

    @property
    def heads(self) -> int:
        """The attention heads of each layer."""
        return 1

    @property
    def width(self) -> int:
        """The dimension of the stream, over which a layer norm takes its mean and variance: no padding."""
        return self.decoder.layout.width

    @property
    def mirror(self) -> int:
        """There is no second copy: the coordinate after the last one."""
        return self.width

    @cached_property
    def scales(self) -> dict[str, float]:
        """Every direction is as it is."""
        return dict.fromkeys(self.directions, 1.0)

    @cached_property
    def scores(self) -> Any:
        """The scores of each layer's heads, as linear forms."""
        return tuple(tuple(_components(head, self.decoder) for head in layer.heads) for layer in self.decoder.layers)

    @property
    def scaled(self) -> bool:
        """Scores are divided by √d_head."""
        return True

    @property
    def reading(self) -> str:
        """How the value of a direction is read."""
        return "value = x[index], x the residual stream before a layer norm"

    def place(self, number: int) -> dict[str, Any]:
        """Return where a direction is."""
        return {"name": self.directions[number], "index": number}

    @property
    def about_the_stream(self) -> str:
        """Return a sentence for the model card."""
        return "The\nstream holds every value once, as it is: softmax and layer norms are those of the construction."

    def reads(self) -> Callable[[Any], Any]:
        """Return the function that reads the decoder's values off a stream."""
        return lambda x: x[: self.width]

    def tensors(self) -> dict[str, Array]:
        """Return the tensors by the names that `transformers` gives them."""
        decoder, d = self.decoder, self.width
        found: dict[str, Array] = {
            "transformer.wte.weight": np.vstack([decoder.token_embedding.dense().T, np.zeros((2, d))]),
            "transformer.wpe.weight": self._places(),
        }
        for n, layer in enumerate(decoder.layers):
            prefix = f"transformer.h.{n}."
            found |= _norm(prefix + "ln_1", layer.attention_norm) | _norm(prefix + "ln_2", layer.feed_forward_norm)
            found |= {prefix + name: tensor for name, tensor in self._of_head(layer.heads[0]).items()}
            found |= {prefix + name: tensor for name, tensor in self._of_units(layer.feed_forward).items()}
        found |= _norm("transformer.ln_f", decoder.norm)
        found["lm_head.weight"] = np.vstack([decoder.unembedding.dense(), np.zeros((2, d))])
        return {name: np.ascontiguousarray(tensor, dtype=self.recipe.dtype) for name, tensor in found.items()}

    def _places(self) -> Array:
        places = np.zeros((self.recipe.positions, self.width))
        for row, column, value in self._table:
            places[column, row] += value
        return places

    def _of_head(self, head: Head) -> dict[str, Array]:
        d = self.width
        inward, outward = np.zeros((d, 3 * d)), np.zeros((d, d))
        for place, matrix, factor in ((0, head.query, d**0.5), (d, head.key, 1.0), (2 * d, head.value, 1.0)):
            inward[:, place : place + matrix.shape[0]] = factor * matrix.dense().T
        outward[: head.output.shape[1]] = head.output.dense().T
        return {
            "attn.c_attn.weight": inward,
            "attn.c_attn.bias": np.zeros(3 * d),
            "attn.c_proj.weight": outward,
            "attn.c_proj.bias": np.zeros(d),
        }

    def _of_units(self, layer: FeedForward | None) -> dict[str, Array]:
        d, inner = self.width, self.inner
        inward, bias, outward, added = np.zeros((d, inner)), np.zeros(inner), np.zeros((inner, d)), np.zeros(d)
        if layer is not None:
            units = len(layer.units)
            inward[:, :units], outward[:units] = layer.input.dense().T, layer.output.dense().T
            bias[:units], added = layer.input_bias.dense()[:, 0], layer.output_bias.dense()[:, 0]
        return {
            "mlp.c_fc.weight": inward,
            "mlp.c_fc.bias": bias,
            "mlp.c_proj.weight": outward,
            "mlp.c_proj.bias": added,
        }


def refuse_unlike(decoder: Decoder) -> float:
    """Return the epsilon of all norms of weights that a GPT-2 can have as they are.

    Raises:
        ExportError: if a layer has other than one head, all with softmax, if a norm is missing, or epsilons differ.
    """
    heads = [head for layer in decoder.layers for head in layer.heads]
    epsilons = {norm.epsilon for _, norm in norms(decoder)}
    one_head = all(len(layer.heads) == 1 for layer in decoder.layers)
    complete = sum(1 for _ in norms(decoder)) == 2 * len(decoder.layers) + 1
    soft = all(head.weighting == "softmax" for head in heads)
    if not (one_head and soft and complete and len(epsilons) == 1) or decoder.position_embedding.nonzero:
        what = "GPT-2 has these weights as they are if every layer has one head with softmax, every norm is there, and all"
        raise ExportError(f"{what} have one epsilon: use the variant paper, or --to torch")
    return epsilons.pop()


def _components(head: Head, decoder: Decoder) -> _Forms:
    queries, keys = forms(head.query, decoder.layout), forms(head.key, decoder.layout)
    return _Forms(tuple((query, key) for query, key in zip(queries, keys, strict=True) if query and key))


def _norm(name: str, norm: Norm | None) -> dict[str, Array]:
    gain, bias = (None, None) if norm is None else (norm.gain, norm.bias)
    return {f"{name}.weight": _column(gain), f"{name}.bias": _column(bias)}


def _column(matrix: Matrix | None) -> Array:
    return np.zeros(0) if matrix is None else matrix.dense()[:, 0]


def without_bias(decoder: Decoder) -> Decoder:
    """Return the same function without a bias of the logits, if a direction of the stream is a power of two there."""
    bias = decoder.unembedding_bias
    rows = enumerate(decoder.position_embedding.by_row())
    one, size = next(((row, size) for row, entries in rows if (size := _one(decoder, entries))), (None, 1.0))
    if not bias.nonzero or one is None:
        return decoder
    entries = {(row, column): value for row, column, value in decoder.unembedding.entries()}
    for row, _, value in bias.entries():
        entries[row, one] = entries.get((row, one), 0.0) + value / size
    changed = {
        "unembedding": Matrix.from_entries(decoder.unembedding.shape, entries),
        "unembedding_bias": Matrix.from_entries(bias.shape, {}),
    }
    return replaced(decoder, changed)


def _one(decoder: Decoder, entries: dict[int, float]) -> float:
    """Return the power of two that a direction is at every position; 0 if it is none."""
    found = {decoder.features[column]: value for column, value in entries.items()}
    return found["1"] if set(found) == {"1"} and abs(frexp(found["1"])[0]) == 0.5 else 0.0


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
