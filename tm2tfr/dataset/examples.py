"""What a training example is: a prompt, the target tokens that follow it, and a mask of those that the loss is computed on.

Tokens are collected as numbers, and written all at once (`tm2tfr.dataset.writing`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tm2tfr.dataset.runs import TokenCodes
from tm2tfr.errors import DatasetError
from tm2tfr.extras import required

COLUMNS = ("machine", "input", "form", "prompt", "target", "loss_mask", "verdict", "T", "tape")
"""The columns: ``verdict`` and ``T`` are null if there is no verdict; ``tape`` is the final tape, trimmed."""
PROMPTED_COLUMNS = (*COLUMNS, "prompt_ids", "target_ids")
"""Those of machines in the prompt of one decoder, whose tokens have the same numbers in the whole data set."""
CIRCUIT_COLUMNS = ("circuit", "input", "form", "prompt", "target", "loss_mask", "result")
"""Those of circuits; ``result`` is the numbers that the outputs say."""


def label_columns(noun: str, labelled: str) -> tuple[str, ...]:
    """Return those of what labels words; a target is the value of an s-op or a node, `labelled`, at each position."""
    return (noun, "input", labelled, "prompt", "target", "loss_mask")


class CircuitTrainingExample(NamedTuple):
    """One line about a run of a circuit, with tokens as their numbers."""

    circuit: str
    input: str
    form: str
    prompt: TokenCodes
    target: TokenCodes
    mask: TokenCodes
    result: str


class LabelTrainingExample(NamedTuple):
    """One line about a word that is labelled, with tokens and values as their numbers; `form` is the s-op or the node."""

    program: str
    input: str
    form: str
    prompt: TokenCodes
    target: TokenCodes
    mask: TokenCodes


AnyExample: TypeAlias = CircuitTrainingExample | LabelTrainingExample


@dataclass
class Tokens:
    """Numbers for the tokens of several vocabularies."""

    number: dict[str, int] = field(default_factory=dict)

    def of(self, vocabulary: Sequence[str]) -> TokenCodes:
        """Return the numbers of the tokens in a vocabulary."""
        number = self.number
        return np.array([number.setdefault(token, len(number)) for token in vocabulary], dtype=np.int32)


def arrow_or_error() -> Any:
    """Return PyArrow.

    Raises:
        DatasetError: if it is missing.
    """
    modules, instead = ("pyarrow", "pyarrow.parquet"), "remove parquet from the formats"
    return required("Parquet needs PyArrow", modules, "dataset", otherwise=instead, error=DatasetError)[0]
