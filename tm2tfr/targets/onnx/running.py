"""An export in ONNX Runtime: loaded from its file and run. Imports onnxruntime only when it is used."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base import errors
from tm2tfr.base.errors import ExportError, first_line
from tm2tfr.targets.common.comparison import ByLogits
from tm2tfr.targets.common.directory import KEY
from tm2tfr.targets.common.labels import tokens_of
from tm2tfr.targets.common.reference import source_of
from tm2tfr.targets.common.settings import MOST_TENSORS, content
from tm2tfr.targets.onnx.graph import IDS, LOGITS, stream

FILE = "model.onnx"


def required(otherwise: str = "") -> Any:
    """Return the module onnxruntime; `otherwise`: how the command does without it, if it does.

    Raises:
        ExportError: if it is not installed.
    """
    return errors.required("running an ONNX graph needs onnxruntime", ["onnxruntime"], "onnx", otherwise=otherwise)[0]


class OnnxRunning(ByLogits):
    """A graph loaded from a directory, with the vocabulary that is in its metadata.

    Raises:
        ExportError: if onnxruntime is missing, or cannot load the file.
    """

    longest_generated = 512
    """The graph keeps nothing from one token to the next, so generating takes a whole pass per token."""

    def __init__(self, folder: Path) -> None:
        self._runtime = required()
        options = self._runtime.SessionOptions()
        options.intra_op_num_threads = 1  # models this small are slower with more
        options.log_severity_level = 3
        try:
            model = content(folder / FILE, MOST_TENSORS)  # by its bytes, so that no other file is read with it
            self.session = self._runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            names = json.loads(self.session.get_modelmeta().custom_metadata_map[KEY])
            self._vocabulary, self._bos, self._stop = names["vocabulary"], names["bos"], names["stop"]
            self._layers, self._labels = len(names["layers"]), "outputs" in names
            source = source_of(names["provenance"])
            self._split = None if source is None else source.split
        except Exception as error:
            raise ExportError(f"{folder}: ONNX Runtime cannot load it ({first_line(error)}): export it again") from error

    @property
    def versions(self) -> str:
        """What runs the model."""
        return f"ONNX Runtime {self._runtime.__version__}"

    def prompt(self, word: str) -> list[int]:
        """Return the token numbers of `word`, and BOS if there is one."""
        symbols = word if self._split is None else self._split(word, self._vocabulary)
        tokens = tokens_of(word) if self._labels else (*symbols, *([] if self._bos is None else [self._bos]))
        return [self._vocabulary.index(token) for token in tokens]

    def logits(self, tokens: Sequence[int]) -> NDArray[Any]:
        """Return the logits at every position."""
        (logits,) = self._run([LOGITS], tokens)
        found: NDArray[Any] = logits[0]
        return found

    def streams(self, tokens: Sequence[int]) -> NDArray[np.float64]:
        """Return the residual stream before the first layer and after each: (layers + 1, positions, width)."""
        found = self._run([stream(n) for n in range(self._layers + 1)], tokens)
        return np.array([x[0] for x in found], dtype=np.float64)

    def generated(self, prompt: Sequence[int], *, most: int) -> list[int]:
        """Return the prompt and the model's greedy continuation, at most `most` tokens in all."""
        tokens, stop = list(prompt), {self._vocabulary.index(token) for token in self._stop}
        while len(tokens) < most and tokens[-1] not in stop:
            tokens.append(self.answers(tokens)[-1])
        return tokens

    def _run(self, outputs: list[str], tokens: Sequence[int]) -> Any:
        try:
            return self.session.run(outputs, {IDS: np.array([list(tokens)], dtype=np.int64)})
        except Exception as error:
            raise ExportError(f"ONNX Runtime cannot run this graph ({first_line(error)}): export it again") from error
