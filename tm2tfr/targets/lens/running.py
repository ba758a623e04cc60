"""An export in the program that it is for: loaded by TransformerLens, run, and read with its hooks.

The only module that imports TransformerLens, and only when it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base import errors
from tm2tfr.base.errors import ExportError, first_line
from tm2tfr.targets.common.card import typed
from tm2tfr.targets.common.comparison import ByLogits
from tm2tfr.targets.common.labels import spaced
from tm2tfr.targets.common.settings import mapping
from tm2tfr.targets.gpt2.export import TENSORS
from tm2tfr.targets.gpt2.running import LOCAL
from tm2tfr.targets.lens.documents import CONFIGURATION

MODULES = ["torch", "transformers", "safetensors.torch", "transformer_lens.model_bridge"]


def required(otherwise: str = "") -> tuple[Any, Any, Any, Any]:
    """Return the modules torch, transformers and safetensors.torch, and TransformerLens's `TransformerBridge`.

    Args:
        otherwise: how the command does without them, if it does.

    Raises:
        ExportError: if they are not installed.
    """
    torch, transformers, safetensors, bridge = errors.required(
        "running this export needs TransformerLens", MODULES, "lens", otherwise=otherwise
    )
    return torch, transformers, safetensors, bridge.TransformerBridge


class LensRunning(ByLogits):
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
            self.model = bridge.boot_native(config, self.tokenizer, dtype=dtype)
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
    def settings(self) -> dict[str, Any]:
        """The tokenizer as `transformers` loads it: the one that the model has is changed by TransformerLens."""
        return {"tokenizer_config.json": self._tokenizer()}

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the tensors that were loaded, by name."""
        return {name: tensor.numpy() for name, tensor in self.model.state_dict().items()}

    def prompt(self, word: str) -> list[int]:
        """Return the tokens of `word` and BOS, if there is one, as the model has them."""
        text = spaced(word) if self._labels else typed(word, self.tokenizer.get_vocab())
        return [int(n) for n in self.model.to_tokens(text)[0]]

    def logits(self, tokens: Sequence[int]) -> NDArray[Any]:
        """Return the logits at every position."""
        with self._torch.inference_mode():
            found: NDArray[Any] = self.model(self._torch.tensor([list(tokens)]), return_type="logits")[0].numpy()
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
