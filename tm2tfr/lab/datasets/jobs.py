"""The runs of a spec, divided into jobs: a function of the spec alone, not of who runs them or in which order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import DatasetError, required

TokenCodes = NDArray[np.int32]


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


def divided(pieces: Sequence[Piece], size: int) -> Iterator[Job]:
    """Yield jobs of `size` runs each, fewer where another program would exceed it."""
    number, waiting, room = 0, list[Piece](), size
    for piece in _small(pieces, size):
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


SEEDED = 2**64


@dataclass(frozen=True)
class Splitting:
    """Which split a run belongs to: a function of the seed, the program and the input alone.

    The program counts, not its name: copies of a machine share a split, and so do repeated runs.
    """

    seed: int
    by: str
    splits: tuple[tuple[str, float], ...]
    lengths: tuple[tuple[str, int, int], ...] = ()

    def of(self, program: str, word: str, *, length: int = 0) -> str:
        """Return the split; program: its fingerprint, such as `fingerprint`; length: that of the word, in tokens."""
        if self.lengths:
            return next(name for name, shortest, longest in self.lengths if shortest <= length <= longest)
        parts = {"run": (program, word), "input": ("", word)}.get(self.by, (program, ""))
        digest = hashlib.sha256("\n".join([str(self.seed), *parts]).encode("utf-8", "surrogatepass")).digest()
        place, total = int.from_bytes(digest[:8]) / SEEDED, 0.0
        for name, share in self.splits:
            total += share
            if place < total:
                return name
        return next(name for name, share in reversed(self.splits) if share > 0)


# ── The tokens of training examples are collected as numbers, and written all at once (`tm2tfr.lab.datasets.files`).
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
