"""The runs of a spec, divided into jobs: a function of the spec alone, not of who runs them or in which order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tm2tfr.dataset.circuits.spec import CircuitSpec
from tm2tfr.dataset.labels.spec import LabelSpec
from tm2tfr.dataset.runs import TokenCodes
from tm2tfr.dataset.spec import Spec
from tm2tfr.errors import DatasetError
from tm2tfr.extras import required


@dataclass(frozen=True)
class Piece:
    """Each of these programs, machines, chosen circuits or a RASP program, on each of these words."""

    programs: Sequence[Any]
    words: tuple[str, ...]

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self.programs) * len(self.words)


@dataclass(frozen=True)
class Job:
    """Some runs, in order."""

    number: int
    pieces: tuple[Piece, ...]

    @property
    def runs(self) -> int:
        """The number of runs."""
        return sum(piece.runs for piece in self.pieces)


def groups(spec: Spec | CircuitSpec | LabelSpec) -> list[Piece]:
    """Return all runs of a spec: machines with one input alphabet at a time, circuits one by one."""
    if isinstance(spec, LabelSpec):
        return [piece for piece in (Piece((spec.program,), spec.words),) if piece.runs]
    if isinstance(spec, CircuitSpec):
        return [Piece((chosen,), spec.inputs.of(chosen.circuit)) for chosen in spec.circuits]
    words = cache(spec.inputs.over)
    found: list[Piece] = []
    for machines in spec.machines:
        if isinstance(machines, tuple):
            found += [Piece((machine,), words(machine.input_alphabet or ())) for machine in machines]
        elif machines:
            found.append(Piece(machines, words(machines[0].input_alphabet or ())))
    return [piece for piece in found if piece.runs]


def jobs(spec: Spec | CircuitSpec | LabelSpec, size: int | None = None) -> Iterator[Job]:
    """Yield the jobs of a spec: `size` runs each (`shard_size`), fewer where another program would exceed it."""
    size = size or spec.shard_size
    number, waiting, room = 0, list[Piece](), size
    for piece in _small(groups(spec), size):
        if piece.runs > room:
            yield Job(number, tuple(waiting))
            number, waiting, room = number + 1, [], size
        waiting.append(piece)
        room -= piece.runs
    if waiting:
        yield Job(number, tuple(waiting))


def _small(pieces: Sequence[Piece], size: int) -> Iterator[Piece]:
    """Yield parts of at most `size` runs: some words of one program, or all words of some programs."""
    for piece in pieces:
        if len(piece.words) > size:
            for program in piece.programs:
                for start in range(0, len(piece.words), size):
                    yield Piece((program,), piece.words[start : start + size])
            continue
        many = size // len(piece.words)
        for start in range(0, len(piece.programs), many):
            yield Piece(piece.programs[start : start + many], piece.words)


# ── What a training example is: a prompt, the target tokens that follow it, and a mask of those that the loss is computed
# on.
#
# Tokens are collected as numbers, and written all at once (`tm2tfr.dataset.writing`).
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
