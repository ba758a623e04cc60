"""From a labeller to the tensors of a GPT-2, whatever becomes of its logits: a token classifier, or a model with a hook.

The stream is held twice, as [x, -x], and a layer norm with ε = 2^100 is the identity but for a shift that the two copies
share: see `tm2tfr.targets.gpt2.tensors`. Values of weights with a position table are not scaled. Weights for words of any
length have i and i² in the stream, which are held as i/S and i²/S², and so is what heads carry of them.

**Attention.** Scores of weights with a table are whole numbers, those of positions that are not selected less by 1 or more.
Queries are multiplied by 1/τ, so large that e^(-1/τ), added to anything, is nothing: softmax then gives positions of
the best score equal weights, as average-hard attention does. 1/τ is no larger than that, since what is left of a shift in a
score would be multiplied by it. Of weights for words of any length each head has one best score, by the gap that it claims:
the queries of each are divided by its own gap at the last position, and by the temperature of `TIELESS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tm2tfr.base.errors import ExportError, visible
from tm2tfr.targets.common.directory import Array
from tm2tfr.targets.common.fitting import Requested, Uncertified, fitted_to_labels
from tm2tfr.targets.common.labels import frame_of
from tm2tfr.targets.gpt2.recipe import Gpt2Recipe
from tm2tfr.targets.gpt2.sharpen import Form, carried, forms
from tm2tfr.targets.gpt2.tensors import Gpt2
from tm2tfr.transformer.parts import AHEAD, NO_BOS, OUTPUTS, TABLE
from tm2tfr.transformer.positions import feature
from tm2tfr.transformer.soft import power_of_two
from tm2tfr.transformer.weights import Decoder, Head, Layer, Mask

SHARP = {"float64": 2.0**10, "float32": 2.0**7}
"""dtype -> 1/τ: e^-1024 is 0 in float64; e^-128 is 0 in float32."""
TIELESS = 2.0**10
"""1/τ for heads without ties, in units of their gap: even if a tenth of the gap is left, e^-102.4 is nothing beside 1."""


@dataclass(frozen=True, kw_only=True)
class LabellingRecipe(Uncertified, Gpt2Recipe):
    """How a labeller becomes a model with softmax; nothing about its heads is bounded by |h|."""

    @property
    def temperature(self) -> float:
        """1/τ, by which queries are multiplied."""
        return SHARP[self.dtype]

    @property
    def statement(self) -> str:
        many = f"sequences of 1 to {self.positions:,} tokens"
        return (
            f"made for {many} in {self.dtype}; no bounds on rounding are proved: it is right where its labels were compared"
        )


def fitted_labelling(decoder: Decoder, name: str, title: str, asked: Requested) -> LabellingRecipe:
    """Return the recipe for a labeller as a model with softmax.

    Args:
        title: what it becomes, such as ``a BERT``.

    Raises:
        ExportError: for softmax or norms of its own, heads whose scores may lie too close, or options that do not fit.
    """
    if decoder.soft:
        raise ExportError("these weights have softmax attention: export the weights that they were made from")
    if decoder.positions is None:
        _refuse_close(decoder, visible(name), title)
    fitted = fitted_to_labels(decoder, name, asked)
    return LabellingRecipe(positions=fitted.positions, dtype=fitted.dtype)


def _refuse_close(decoder: Decoder, name: str, title: str) -> None:
    """Raise ExportError unless every head of weights for any length claims by how much its one best score is ahead."""
    if not frame_of(decoder):
        what = f"{name}: weights for sequences of any length have scores that lie too close for the softmax of {title}"
        raise ExportError(f"{what}: compile them for a longest sequence, or {exports_of_labeller(decoder)}")
    if (unclaimed := _without_gap(decoder)) is not None:
        layer, head = unclaimed
        what = f"{name}: nothing is claimed about the gap of head {head.name!r} in layer {layer.name!r}"
        raise ExportError(f"{what}, so that no softmax is known to be sharp enough: {exports_of_labeller(decoder)}")


def _without_gap(decoder: Decoder) -> tuple[Layer, Head] | None:
    """Return the first head that scores positions and claims no gap between the best score and the next, with its layer."""
    for layer in decoder.layers:
        for head in layer.heads:
            if not head.uniform and (head.claim is None or head.claim.gap is None):
                return layer, head
    return None


def exports_of_labeller(decoder: Decoder) -> str:
    """Return advice with every export that takes these weights, such as ``use --to lens, torch or onnx``.

    An export with a softmax of its own needs scores far enough apart, and has one mask for all heads; a token classifier
    (GPT-2, BERT) answers with labels, not with numbers.
    """
    sharp = not decoder.soft and (decoder.positions is not None or (frame_of(decoder) and _without_gap(decoder) is None))
    masks, labels = masks_of(decoder), decoder.outputs[0].labels is not None
    fits = {
        "gpt2": sharp and labels and masks <= {"future"},
        "bert": sharp and labels and masks <= {"none"},
        "lens": sharp and len(masks) <= 1 and "past" not in masks,
        "torch": True,
    }
    return f"use --to {', '.join(name for name, fit in fits.items() if fit)} or onnx"


def masks_of(decoder: Decoder) -> frozenset[Mask]:
    """Return the masks of the heads of `decoder`."""
    return frozenset(head.mask for layer in decoder.layers for head in layer.heads)


class _Components(NamedTuple):
    """The components of a head's scores: pairs of linear forms, of the query and of the key; unit: see `Scores`."""

    components: tuple[tuple[Form, Form], ...]
    unit: float


class LabellingGpt2(Gpt2):
    """A labeller as a GPT-2 with the logits of all its outputs; see `Gpt2`."""

    known = (TABLE, NO_BOS, AHEAD, OUTPUTS)
    biased = True

    @property
    def answered(self) -> tuple[str, ...]:
        """What each logit is of: a label of an output, or a number."""
        return self.decoder.answered

    @cached_property
    def directions(self) -> tuple[str, ...]:
        """The directions of the stream by coordinate: the decoder's."""
        return self.decoder.layout.directions

    @cached_property
    def scales(self) -> dict[str, float]:
        """Direction -> s: the stream holds value / s. With a position table every direction is as it is."""
        names, found = self.directions, dict.fromkeys(self.directions, 1.0)
        if self.decoder.positions is not None:
            return found
        size = {"i": float(self.recipe.span), "i^2": float(self.recipe.span) ** 2}
        for row, column, _ in self.decoder.position_embedding.entries():
            found[names[row]] = max(found[names[row]], size.get(self.decoder.features[column], 1.0))
        for layer in self.carried:
            for read, written in (each for head in layer for each in head):
                for name in written:
                    found[name] = max([found[name], *(found[source] for source in read)])
        return found

    @cached_property
    def carried(self) -> Any:
        """The values that each layer's heads carry."""
        layout = self.decoder.layout
        return tuple(tuple(carried(head, layout) for head in layer.heads) for layer in self.decoder.layers)

    @cached_property
    def scores(self) -> Any:
        """The scores of each layer's heads, as linear forms."""
        return tuple(tuple(map(self._scored, layer.heads)) for layer in self.decoder.layers)

    def _scored(self, head: Head) -> _Components:
        layout, unit = self.decoder.layout, 1.0
        gap = None if head.claim is None else head.claim.smallest_gap(self.recipe.positions)
        if self.decoder.positions is None and gap is not None:
            unit = power_of_two(gap) * self.recipe.temperature / TIELESS
        return _Components(tuple(zip(forms(head.query, layout), forms(head.key, layout), strict=True)), unit)

    def tensors(self) -> dict[str, Array]:
        """Return the tensors by the names that `transformers` gives those of a GPT-2, and the bias of its logits."""
        found, many = super().tensors(), self.decoder.answers
        bias = self.decoder.unembedding_bias.dense(self.recipe.dtype)[:, 0]
        head = np.ascontiguousarray(found["lm_head.weight"][:many])
        return {**found, "lm_head.weight": head, "lm_head.bias": np.ascontiguousarray(bias)}

    def _places(self) -> Array:
        """Return the position table: (positions, d)."""
        table, layout, features = self.decoder.position_table, self.decoder.layout, self.decoder.features
        values = np.zeros((self.recipe.positions, layout.width))
        for row, column, weight in self.decoder.position_embedding.entries():
            numbers = [feature(features[column])(i) for i in range(self.recipe.positions)]
            values[:, row] += [weight * above / below for above, below in numbers]
        if table is not None:
            values += table.dense().T[: self.recipe.positions]
        values /= np.array([self.scales[name] for name in layout.directions])
        places = np.zeros((self.recipe.positions, self.width))
        places[:, : layout.width] = values
        places[:, self.mirror : self.mirror + layout.width] = -values
        return places
