"""The runs of a spec, divided into jobs: a function of the spec alone, not of who runs them or in which order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from tm2tfr.dataset.circuits.spec import CircuitSpec
from tm2tfr.dataset.labels.spec import LabelSpec
from tm2tfr.dataset.spec import Spec


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
