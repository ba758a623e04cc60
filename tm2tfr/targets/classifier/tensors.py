"""From a labeller to the tensors of a token classifier, with the names of GPT-2: it reads the first output."""

from __future__ import annotations

import numpy as np

from tm2tfr.targets.common.reading import Array
from tm2tfr.targets.gpt2.labelling import LabellingGpt2
from tm2tfr.transformer.outputs import Output


class Classifier(LabellingGpt2):
    """A labeller as a token classifier, whose first output has labels; see `LabellingGpt2`."""

    @property
    def output(self) -> Output:
        """What it answers: the first output."""
        return self.decoder.outputs[0]

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, in the order of the logits."""
        return self.output.labels or ()

    def tensors(self) -> dict[str, Array]:
        """Return the tensors by the names that `transformers` gives those of a GPT-2."""
        found, many = super().tensors(), len(self.labels)
        head, bias = found.pop("lm_head.weight"), found.pop("lm_head.bias")
        return {
            **found,
            "classifier.weight": np.ascontiguousarray(head[:many]),
            "classifier.bias": np.ascontiguousarray(bias[:many]),
        }
