"""An export in the program that it is for: loaded by `transformers`, and run.

The only module that imports torch and transformers, and only when it is used.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr import extras
from tm2tfr.errors import ExportError, first_line
from tm2tfr.targets.common.card import typed

LOCAL = {"local_files_only": True, "trust_remote_code": False}
"""How everything is loaded: nothing is downloaded, no code that came with an export is run, and nobody is asked."""


def required(otherwise: str = "") -> tuple[Any, Any]:
    """Return the modules torch and transformers; `otherwise`: how the command does without them, if it does.

    Raises:
        ExportError: if they are not installed.
    """
    torch, transformers = extras.required(
        "running a GPT-2 needs torch and transformers", ["torch", "transformers"], "hf", otherwise=otherwise
    )
    return torch, transformers


class LoadedModel:
    """A model and a tokenizer loaded from a directory, by one of the classes that find out what it is.

    Raises:
        ExportError: if torch or transformers is missing, or cannot load the directory.
    """

    auto = "AutoModelForCausalLM"

    def __init__(self, folder: Path) -> None:
        self._torch, transformers = required()
        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        self._torch.set_num_threads(1)  # models this small are slower with more
        try:
            self.model = getattr(transformers, self.auto).from_pretrained(str(folder), use_safetensors=True, **LOCAL)
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), **LOCAL)
        except Exception as error:  # what it was given may be anything, and so is what it raises
            raise ExportError(f"{folder}: transformers cannot load it ({first_line(error)}): export it again") from error
        self.model.eval()

    @property
    def versions(self) -> str:
        """What runs the model."""
        return f"transformers {importlib.import_module('transformers').__version__}, torch {self._torch.__version__}"

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the tensors that were loaded, by name."""
        return {name: tensor.numpy() for name, tensor in self.model.state_dict().items()}


class Gpt2Running(LoadedModel):
    """A GPT-2 loaded from a directory, see `LoadedModel`."""

    longest_generated = 2048

    def prompt(self, word: str) -> list[int]:
        """Return the token numbers of `word` and BOS, as the tokenizer has them."""
        return list(self.tokenizer(typed(word, self.tokenizer.get_vocab()))["input_ids"])

    def answers(self, tokens: Sequence[int]) -> list[int]:
        """Return the token with the largest logit at every position of a given sequence."""
        with self._torch.inference_mode():
            logits = self.model(self._torch.tensor([list(tokens)])).logits[0]
        return [int(n) for n in logits.argmax(dim=-1)]

    def streams(self, tokens: Sequence[int]) -> NDArray[np.float64]:
        """Return the residual stream before the first layer and after each: (layers + 1, positions, width)."""
        with self._torch.inference_mode():
            states = self.model(self._torch.tensor([list(tokens)]), output_hidden_states=True).hidden_states
        return np.array([state[0].double().numpy() for state in states])

    def generated(self, prompt: Sequence[int], *, most: int) -> list[int]:
        """Return the prompt and the model's greedy continuation, at most `most` tokens in all."""
        given = self._torch.tensor([list(prompt)])
        made = self.model.generate(given, attention_mask=self._torch.ones_like(given), max_length=most)
        return [int(n) for n in made[0]]
