"""An export in plain PyTorch, loaded from its files and run. Imports torch only when it is used."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base import errors
from tm2tfr.base.errors import ExportError, first_line
from tm2tfr.targets.common.comparison import ByLogits
from tm2tfr.targets.common.directory import NAMES
from tm2tfr.targets.common.reference import in_prompt
from tm2tfr.targets.common.settings import mapping


def required(otherwise: str = "") -> Any:
    """Return the module torch; `otherwise`: how the command does without it, if it does.

    Raises:
        ExportError: if it is not installed.
    """
    return errors.required("running this model needs torch", ["torch"], "torch", otherwise=otherwise)[0]


class TorchRunning(ByLogits):
    """A model loaded from a directory, by this package's own `model.py`, `circuit.py`, `labeller.py` or `universal.py`.

    Code that came with weights is never run.

    Raises:
        ExportError: if torch is missing, or the directory cannot be loaded.
    """

    longest_generated = 20_000

    def __init__(self, folder: Path, *, device: str = "cpu", attention: str = "average-hard") -> None:
        self._torch = required()
        self._torch.set_num_threads(1)  # models this small are slower with more
        try:
            names = mapping(folder / NAMES)
            circuit = "program" in names or names["bos"] is None
            code = "labeller" if "outputs" in names else "circuit" if circuit else "model"
            self._between = ""
            if in_prompt(names["provenance"]):
                code, self._between = "universal", " "
            self._code = importlib.import_module(f"tm2tfr.targets.torch.{code}")
            self.model = self._code.load(folder, attention).to(device)
        except Exception as error:  # what it was given may be anything, and so is what it raises
            raise ExportError(f"{folder}: model.py cannot load it ({first_line(error)}): export it again") from error

    @property
    def versions(self) -> str:
        """What runs the model."""
        return f"torch {self._torch.__version__}"

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the matrices that were loaded, by name."""
        return {name: tensor.cpu().numpy() for name, tensor in self.model.state_dict().items()}

    def prompt(self, word: str) -> list[int]:
        """Return the token numbers of `word`, and BOS if there is one."""
        return [int(n) for n in self.model.encode(word)]

    def logits(self, tokens: Sequence[int]) -> NDArray[Any]:
        """Return the logits at every position."""
        given = self._torch.tensor(list(tokens), device=self.model.token_embedding.device)
        try:
            with self._torch.inference_mode():
                found: NDArray[Any] = self.model(given).cpu().numpy()
        except Exception as error:
            raise ExportError(f"model.py cannot run these weights ({first_line(error)}): export it again") from error
        return found

    def streams(self, tokens: Sequence[int]) -> NDArray[np.float64]:
        """Return the residual stream before the first layer and after each: (layers + 1, positions, width)."""
        stages = [self.model.embedding, *self.model.layers.values()]
        kept: list[list[Any]] = [[] for _ in stages]
        hooks = [
            stage.register_forward_hook(lambda _module, _given, x, seen=seen: seen.append(x.double().cpu()))
            for stage, seen in zip(stages, kept, strict=True)
        ]
        try:
            self.logits(tokens)
        finally:
            for hook in hooks:
                hook.remove()
        return np.array([self._torch.cat(seen).numpy() for seen in kept])

    def generated(self, prompt: Sequence[int], *, most: int) -> list[int]:
        """Return the prompt and the model's greedy continuation, at most `most` tokens in all."""
        given = prompt if self.model.bos is None else prompt[:-1]
        word = self._between.join(self.model.vocabulary[n] for n in given)
        made = islice(self.model.generate(word), most - len(prompt))
        return [*prompt, *map(self.model.vocabulary.index, made)]
