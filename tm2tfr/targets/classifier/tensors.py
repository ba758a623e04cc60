"""From a labeller to the tensors of a token classifier, with the names of GPT-2.

The stream is held twice, as [x, -x], and a layer norm with ε = 2^100 is the identity but for a shift that the two copies
share: see `tm2tfr.targets.gpt2.tensors`. Values are not scaled. The classifier reads the first output.

**Attention.** Scores of weights that were compiled are whole numbers, those of positions that are not selected less by 1 or
more. Queries are multiplied by 1/τ, so large that e^(-1/τ), added to anything, is nothing: softmax then gives positions of
the best score equal weights, as average-hard attention does. 1/τ is no larger than that, since what is left of a shift in a
score would be multiplied by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tm2tfr.errors import ExportError
from tm2tfr.targets.common.reading import Array
from tm2tfr.targets.common.tabled import Uncertified
from tm2tfr.targets.gpt2.recipe import Gpt2Recipe
from tm2tfr.targets.gpt2.sharpen import Form, carried, forms
from tm2tfr.targets.gpt2.tensors import Gpt2
from tm2tfr.transformer.outputs import Output
from tm2tfr.transformer.parts import AHEAD, NO_BOS, OUTPUTS, TABLE
from tm2tfr.transformer.positions import feature

SHARP = {"float64": 2.0**10, "float32": 2.0**7}
"""dtype -> 1/τ: e^-1024 is 0 in float64; e^-128 is 0 in float32."""


@dataclass(frozen=True, kw_only=True)
class ClassifierRecipe(Uncertified, Gpt2Recipe):
    """How a labeller becomes a token classifier; nothing about its heads is bounded by |h|."""

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


class _Components(NamedTuple):
    """The components of a head's scores: pairs of linear forms, of the query and of the key."""

    components: tuple[tuple[Form, Form], ...]
    unit: float = 1.0


class Classifier(Gpt2):
    """A labeller as a token classifier; see `Gpt2`.

    Raises:
        ExportError: see `Gpt2`; also if the first output is a number, or heads have softmax.
    """

    known = (TABLE, NO_BOS, AHEAD, OUTPUTS)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.decoder.soft:
            raise ExportError("these weights have softmax attention: export the weights that they were made from")
        if self.output.labels is None:
            what = f"the output {self.output.name!r} is a number, and a token classifier answers with labels"
            raise ExportError(f"{what}: use --to torch or --to onnx")

    @property
    def output(self) -> Output:
        """What it answers: the first output."""
        return self.decoder.outputs[0]

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, in the order of the logits."""
        return self.output.labels or ()

    @cached_property
    def directions(self) -> tuple[str, ...]:
        """The directions of the stream by coordinate: the decoder's."""
        return self.decoder.layout.directions

    @cached_property
    def scales(self) -> dict[str, float]:
        """Every direction is as it is."""
        return dict.fromkeys(self.directions, 1.0)

    @cached_property
    def carried(self) -> Any:
        """The values that each layer's heads carry."""
        layout = self.decoder.layout
        return tuple(tuple(carried(head, layout) for head in layer.heads) for layer in self.decoder.layers)

    @cached_property
    def scores(self) -> Any:
        """The scores of each layer's heads, as linear forms."""
        layout = self.decoder.layout
        return tuple(
            tuple(
                _Components(tuple(zip(forms(head.query, layout), forms(head.key, layout), strict=True)))
                for head in layer.heads
            )
            for layer in self.decoder.layers
        )

    def tensors(self) -> dict[str, Array]:
        """Return the tensors by the names that `transformers` gives those of a GPT-2."""
        found, many = super().tensors(), len(self.labels)
        head = found.pop("lm_head.weight")
        bias = self.decoder.unembedding_bias.dense(self.recipe.dtype)[:many, 0]
        return {
            **found,
            "classifier.weight": np.ascontiguousarray(head[:many]),
            "classifier.bias": np.ascontiguousarray(bias),
        }

    def _places(self) -> Array:
        """Return the position table: (positions, d)."""
        table, layout, features = self.decoder.position_table, self.decoder.layout, self.decoder.features
        values = np.zeros((self.recipe.positions, layout.width))
        for row, column, weight in self.decoder.position_embedding.entries():
            numbers = [feature(features[column])(i) for i in range(self.recipe.positions)]
            values[:, row] += [weight * above / below for above, below in numbers]
        if table is not None:
            values += table.dense().T[: self.recipe.positions]
        places = np.zeros((self.recipe.positions, self.width))
        places[:, : layout.width] = values
        places[:, self.mirror : self.mirror + layout.width] = -values
        return places
