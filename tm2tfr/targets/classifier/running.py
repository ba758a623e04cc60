"""A token classifier in the program that it is for: loaded by `transformers`, and run. Imports it only when it is used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.targets.common.labels import Told, read_labels, spaced
from tm2tfr.targets.gpt2.running import LoadedModel
from tm2tfr.transformer.weights import Decoder


class ClassifierRunning(LoadedModel):
    """A token classifier loaded from a directory, see `LoadedModel`."""

    auto = "AutoModelForTokenClassification"
    longest_generated = 0

    def prompt(self, word: str) -> list[int]:
        """Return the token numbers of `word`, as the tokenizer has them."""
        return list(self.tokenizer(spaced(word))["input_ids"])

    def labelled(self, decoder: Decoder, tokens: Sequence[int]) -> list[Told]:
        """Return what the model says at every position: of the first output of `decoder`, a label."""
        return read_labels(decoder, self._run(tokens).logits[0].numpy())

    def answers(self, tokens: Sequence[int]) -> list[int]:
        """Return the label with the largest logit at every position of a given sequence."""
        return [int(n) for n in self._run(tokens).logits[0].argmax(dim=-1)]

    def streams(self, tokens: Sequence[int]) -> NDArray[np.float64]:
        """Return the residual stream before the first layer and after each: (layers + 1, positions, width)."""
        return np.array([state[0].double().numpy() for state in self._run(tokens).hidden_states])

    def generated(self, prompt: Sequence[int], *, most: int) -> list[int]:
        """Return the prompt: nothing is generated."""
        return list(prompt)[:most]

    def _run(self, tokens: Sequence[int]) -> Any:
        with self._torch.inference_mode():
            return self.model(self._torch.tensor([list(tokens)]), output_hidden_states=True)
