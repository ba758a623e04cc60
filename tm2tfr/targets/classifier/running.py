"""A token classifier in the program that it is for: loaded by `transformers`, and run. Imports it only when it is used."""

from __future__ import annotations

from collections.abc import Sequence

from tm2tfr.targets.common.labels import spaced
from tm2tfr.targets.gpt2.running import LoadedModel


class ClassifierRunning(LoadedModel):
    """A token classifier loaded from a directory, see `LoadedModel`."""

    auto = "AutoModelForTokenClassification"
    longest_generated = 0

    def prompt(self, word: str) -> list[int]:
        """Return the token numbers of `word`, as the tokenizer has them."""
        return list(self.tokenizer(spaced(word))["input_ids"])

    def generated(self, prompt: Sequence[int], *, most: int) -> list[int]:
        """Return the prompt: nothing is generated."""
        return list(prompt)[:most]
