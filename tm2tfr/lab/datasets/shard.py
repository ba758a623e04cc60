"""The runs of a job, checked and counted, and the files that they become: pure functions, for any worker anywhere."""

from __future__ import annotations

import gc
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from tm2tfr.base.errors import counted, visible
from tm2tfr.lab.datasets.files import ExampleColumns, Tokens, columns_of, encoded
from tm2tfr.lab.line.pool import Job, Made, stem


# ── how runs are made, and what is counted of them
@dataclass(frozen=True)
class How:
    """How the runs of a spec are made.

    Args:
        engine: ``fast``, ``dense`` or ``exact``; of circuits also ``auto``, since some need another one; the reference,
            where no weights are run.
    """

    engine: str

    @property
    def weights_digest(self) -> str | None:
        """The digest of the weights that are given for all programs; None: each program is compiled."""
        return None

    def title(self, name: str) -> str:
        """Return what reports call the runs of the spec `name`."""
        return name


@dataclass(frozen=True)
class Failure:
    """A run that differs from the reference's, and how; `program` is the machine, alone or in a prompt, or the circuit."""

    program: Any
    word: str
    why: str

    def __str__(self) -> str:
        """Return two lines or more: what differs, on which input, and how."""
        why = self.why.replace("\n", "\n  ")
        return f"counterexample: {visible(self.program.name)} on {self.word!r}\n  {why}"


class Beaver(NamedTuple):
    """The largest number of something, and the name of the first machine that reaches it."""

    number: int
    machine: str

    def beaten_by(self, other: Beaver | None) -> Beaver:
        """Return `other` if it is larger, otherwise this one."""
        return other if other is not None and other.number > self.number else self


@dataclass
class Tally:
    """The numbers of machines, runs, rows of the table, cells compared, and runs by outcome.

    Args:
        steps, ones: the busy beavers: of the runs that halt from the blank tape, the most steps and the most cells that
            are not blank at the end; None if there is none.
    """

    machines: int = 0
    runs: int = 0
    rows: int = 0
    cells: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    steps: Beaver | None = None
    ones: Beaver | None = None

    def count(self, runs: int, rows: int, cells: int, outcomes: Iterable[str]) -> None:
        """Count runs."""
        self.runs += runs
        self.rows += rows
        self.cells += cells
        self.outcomes.update(outcomes)

    def halted(self, machine: str, steps: int, ones: int) -> None:
        """Record a run from the blank tape that halts after `steps` with `ones` cells that are not blank."""
        self._beavers(Beaver(steps, machine), Beaver(ones, machine))

    def _beavers(self, steps: Beaver | None, ones: Beaver | None) -> None:
        self.steps = steps if self.steps is None else self.steps.beaten_by(steps)
        self.ones = ones if self.ones is None else self.ones.beaten_by(ones)

    def summed(self) -> str:
        """Return ``12 runs (10 accept, 2 halt), 345 rows, 2,415 cells compared``."""
        ends = ", ".join(f"{number:,} {outcome}" for outcome, number in sorted(self.outcomes.items()))
        return f"{counted(self.runs, 'run')}{ends and f' ({ends})'}, {self.rows:,} rows, {self.cells:,} cells compared"

    def add(self, other: Tally) -> None:
        """Add the counts of another tally."""
        self.machines += other.machines
        self.count(other.runs, other.rows, other.cells, ())
        self.outcomes += other.outcomes
        self._beavers(other.steps, other.ones)

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data, without machines and busy beavers, which follow from others."""
        return {"runs": self.runs, "rows": self.rows, "cells": self.cells, "outcomes": dict(sorted(self.outcomes.items()))}

    @classmethod
    def of(cls, counts: Mapping[str, Any]) -> Tally:
        """Return the tally that `as_dict` turned into `counts`."""
        return cls(0, counts["runs"], counts["rows"], counts["cells"], Counter(counts["outcomes"]))


@dataclass
class Done(Made):
    """Runs of a job, checked and counted, and their files.

    Args:
        failure: the first run that differs from the reference's; then there are no files.
        examples: (split, form) -> their number.
        left_out: the number of runs that are not examples because they did not end, or are undefined.
    """

    tally: Tally = field(default_factory=Tally)
    failure: Failure | None = None
    examples: Counter[tuple[str, str]] = field(default_factory=Counter)
    left_out: int = 0

    @property
    def counts(self) -> dict[str, object]:
        examples: dict[str, dict[str, int]] = {}
        for (split, form), number in sorted(self.examples.items()):
            examples.setdefault(split, {})[form] = number
        return {**self.tally.as_dict(), "left_out": self.left_out, "examples": examples}

    @property
    def rows(self) -> int:
        return self.tally.rows

    @property
    def failed(self) -> bool:
        return self.failure is not None

    def agreeing(self, runs: Iterable[_Run | Failure]) -> Iterator[_Run]:
        """Yield the runs before the first that fails, and keep that one."""
        for run in runs:
            if isinstance(run, Failure):
                self.failure = run
                return
            yield run


# ── runs as files
@dataclass(frozen=True)
class Piece:
    """Each of these programs, machines, chosen circuits or a RASP program, on each of these words."""

    programs: Sequence[Any]
    words: tuple[str, ...]

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self.programs) * len(self.words)


PieceJob = Job[Sequence[Piece]]
"""A job of a data set or a sweep: its runs, in order."""


def divided(pieces: Sequence[Piece], size: int) -> Iterator[PieceJob]:
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


_SEEDED = 2**64
BY_TOKENS = "tokens"
"""Examples are split by their tokens, so that no split has an example with the tokens of another split's."""


@dataclass(frozen=True)
class Splitting:
    """Which split a run belongs to: a function of the seed, the program and the input alone.

    The program counts, not its name: copies of a machine share a split, and so do repeated runs. Where splits are
    `BY_TOKENS`, examples belong to splits, as a function of the seed and of their tokens.
    """

    seed: int
    by: str
    splits: tuple[tuple[str, float], ...]
    lengths: tuple[tuple[str, int, int], ...] = ()

    def of(self, program: str, word: str, *, length: int = 0) -> str:
        """Return the split; program: its fingerprint, such as `fingerprint`; length: that of the word, in tokens."""
        if self.lengths:
            return next(name for name, shortest, longest in self.lengths if shortest <= length <= longest)
        return self._named(*{"run": (program, word), "input": ("", word)}.get(self.by, (program, "")))

    def of_tokens(self, prompt: Iterable[str], target: Iterable[str]) -> str:
        """Return the split of an example with these tokens."""
        return self._named("\0".join(prompt), "\0".join(target))

    def _named(self, *parts: str) -> str:
        digest = hashlib.sha256("\n".join([str(self.seed), *parts]).encode("utf-8", "surrogatepass")).digest()
        place, total = int.from_bytes(digest[:8]) / _SEEDED, 0.0
        for name, share in self.splits:
            total += share
            if place < total:
                return name
        return next(name for name, share in reversed(self.splits) if share > 0)


SplitExamples = tuple[str, ExampleColumns, Mapping[str, int]]
"""A split that has examples: its name, its examples, and the number of each form."""
_Run = TypeVar("_Run")
_How = TypeVar("_How", bound=How)


@dataclass(frozen=True)
class Making(Generic[_How]):
    """How runs become files; see `tm2tfr.lab.datasets.spec.DatasetSpec`; shards: the number of all."""

    how: _How
    columns: tuple[str, ...]
    forms: tuple[str, ...]
    keep_unfinished: bool
    splitting: Splitting
    formats: tuple[str, ...]
    shards: int

    def by_split(self, rows: Mapping[str, Sequence[tuple[object, ...]]]) -> Iterator[SplitExamples]:
        """Yield the splits that have examples; rows: of each split, its examples, whose third entry is their form."""
        for split, some in rows.items():
            if some:
                yield (
                    split,
                    columns_of(some, self.columns),
                    {form: sum(row[2] == form for row in some) for form in self.forms},
                )

    def write(self, done: Done, splits: Iterable[SplitExamples], tokens: Tokens) -> None:
        """Add the files of all splits to the result of a job, unless a run has failed."""
        for split, columns, numbers in splits if done.failure is None else ():
            done.examples.update({(split, form): number for form, number in numbers.items()})
            for format in self.formats:
                done.files[f"{split}/{stem(done.number, self.shards)}.{format}"] = encoded(columns, tokens, format)


ShardMaker = Callable[[PieceJob, Making[Any]], Done]
"""Makes the files of a job."""
ShardSweeper = Callable[[PieceJob, Any], Done]
"""Checks the runs of a job, which are made as its second argument says."""


# ── runs of a sweep
def swept(checked: Callable[[PieceJob, _How, Tally], Iterator[object]], job: PieceJob, how: _How) -> Done:
    """Check the runs of a job up to the first failure; checked: yields its runs and counts those that agree."""
    done = Done(job.number)
    with _no_search_for_cycles():
        for _ in done.agreeing(checked(job, how, done.tally)):
            pass
    return done


@contextmanager
def _no_search_for_cycles() -> Iterator[None]:
    """Leave Python's search for cyclic garbage for later: it looks at everything again and again, and there is little."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
