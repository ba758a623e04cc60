"""A batch: rows of many runs of one decoder as columns of numbers, their ends, and the result of the comparison."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import InputError, OutputError, UsageError, counted
from tm2tfr.contract.blocks import BatchResults
from tm2tfr.contract.shown import PlainData
from tm2tfr.contract.source import RunResult
from tm2tfr.runs.choose import NamedProgram
from tm2tfr.runs.comparison import Divergence, Trace
from tm2tfr.runs.plan import RunOptions
from tm2tfr.runs.run import carried_out
from tm2tfr.sources.registry import of_program
from tm2tfr.transformer.matrix import Ints
from tm2tfr.transformer.weights import Decoder

LIMIT, REFUSED, END = "limit", "refused", "end"
"""The outcome of a run that the limit cuts off; of one that ends before a position that is refused, since a number in it
is too large; of one that ends where the position table does."""


AnyScalar = TypeVar("AnyScalar", bound=np.generic)


def as_one(arrays: Sequence[NDArray[AnyScalar]], dtype: type[AnyScalar]) -> NDArray[AnyScalar]:
    """Return arrays end to end, a single one as it is; where there are none, an empty one of this type."""
    if len(arrays) == 1 and arrays[0].flags.c_contiguous:
        return arrays[0]
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=dtype)


@dataclass(frozen=True, eq=False, kw_only=True)
class Batch:
    """Many runs of one decoder.

    Args:
        name, noun: those of the program, or of the weights.
        inputs: (runs,) as they were given.
        offsets: (runs + 1,) the rows of run r are ``offsets[r] : offsets[r + 1]``.
        tokens, answers: (rows,) the tokens fed and answered, by their numbers in the vocabulary; of what labels words,
            whose answers are columns, there are no answers.
        columns: the name of each other column of the table -> (rows,): the code of a label, see `labels`, or the number;
            of a gate (rows, bits).
        labels: column -> the labels that its codes are the places of; -1 is ⊥, -2 is a vector that is not a label.
        vocabulary: the tokens.
        outcomes: (runs,) as ``answer`` of a `Trace`, or ``refused``.
        T: (runs,) the number of intermediate steps, -1 where nothing ended the run.
        differs: (runs,) the position of the first row that differs from the reference's, -1 if none does.
        reach: (runs,) the largest |h| of a machine on the way, as far as the decoder is right.
        compared: (runs,) the number of cells compared.
        results: what came out of the reference; None without a check.
        engine, dtype: those that ran the weights.
    """

    name: str
    noun: str
    inputs: Sequence[str]
    offsets: Ints
    tokens: NDArray[np.int32]
    answers: NDArray[np.int32]
    columns: Mapping[str, NDArray[np.generic]]
    labels: Mapping[str, tuple[str, ...]]
    vocabulary: tuple[str, ...]
    outcomes: NDArray[np.str_]
    T: Ints
    differs: Ints
    reach: Ints
    compared: Ints
    results: BatchResults | None
    max_steps: int | None
    engine: str = "fast"
    dtype: str = "float64"
    decoder: Decoder = field(repr=False)
    program: NamedProgram | None = field(repr=False)

    def __len__(self) -> int:
        return len(self.inputs)

    def __repr__(self) -> str:
        """Return ``<Batch of palindromes: 3 runs, 41 rows, all agree>``."""
        said = (
            ""
            if self.results is None or not len(self)
            else ", all agree"
            if self.agrees
            else f", {len(self.failures)} differ"
        )
        return f"<Batch of {self.name}: {counted(len(self), 'run')}, {counted(self.rows, 'row')}{said}>"

    @property
    def rows(self) -> int:
        """The number of rows of all runs."""
        return int(self.offsets[-1])

    @property
    def failures(self) -> Ints:
        """The numbers of the runs that differ from the reference's.

        Raises:
            UsageError: after `tm2tfr.run_batch`, which compares nothing.
        """
        self._compared_or_error()
        return np.flatnonzero(self.differs >= 0)

    @property
    def refused(self) -> Ints:
        """The numbers of the runs that end before a position that is refused."""
        return np.flatnonzero(self.outcomes == REFUSED)

    @property
    def agrees(self) -> bool:
        """Whether there was a check of at least one run, cells were compared in every run, and all of them agree."""
        whole = self.results is not None and not len(self.failures) and not len(self.refused)
        return whole and len(self) > 0 and bool((self.compared > 0).all())

    @property
    def shown(self) -> tuple[str, ...]:
        """What came out of each checked run, in words: of a circuit numbers or a digest, otherwise the outcome."""
        if self.results is None or self.results.made is None:
            return tuple(map(str, self.outcomes if self.results is None else self.results.outcomes))
        return tuple(self.result(run).shown for run in range(len(self)))

    def result(self, run: int) -> RunResult:
        """Return what came out of the reference in run number `run`.

        Raises:
            UsageError: without a reference that makes runs.
        """
        self._compared_or_error()
        if self.results is None or self.results.made is None:
            raise UsageError(f"the results of {self.name} are their outcomes: use batch.results.outcomes")
        found: RunResult = self.results.made(self.results, run)
        return found

    def trace(self, run: int, *, keep_rows: bool = False) -> Trace:
        """Return run number `run` by itself, as `tm2tfr.check` or `tm2tfr.run` returns it: of one that differs, the cause.

        Raises:
            InputError: if there is no such run.
            EngineError: in the words of the engine, where a position is refused.
        """
        if not 0 <= run < len(self):
            raise InputError(f"there is no run number {run}: use 0 to {len(self) - 1}")
        options = RunOptions(engine=self.engine, max_steps=self.max_steps, keep_rows=keep_rows)
        program, word = self.program, self.inputs[run]
        fed: Sequence[str] | None = None
        construction = None if program is None else of_program(program)
        if construction is not None:
            word = construction.given(program, word)
        if self.results is None:
            program = None
            if construction is not None:
                fed = construction.prompt(self.program, word, self.decoder)
        return carried_out(self.decoder, word, program, options, fed=fed)

    def divergence(self, run: int) -> Divergence | None:
        """Return the first difference of run number `run`, with its cause; None if it agrees; see `trace`, `failures`."""
        self._compared_or_error()
        return self.trace(run).divergence if self.differs[run] >= 0 else None

    def _compared_or_error(self) -> None:
        if self.results is None:
            raise UsageError("these runs were compared with nothing: use tm2tfr.check_batch to know which of them differ")


# ── many runs, compared up to the first that differs ──────────────────────────────────────────────────────────
class SinkRun(NamedTuple):
    """A compared run: its input, the reference's result, and whether the decoder agrees."""

    input: str
    result: RunResult
    agrees: bool


RUN_FILES = (".csv", ".jsonl")
"""The endings of files of many runs."""


def run_lines(path: Path) -> tuple[str, Callable[[Iterable[SinkRun]], Iterator[str]]]:
    """Return the heading of a file of many runs, in the format of its ending, and what yields the lines of some runs.

    A line has the input and the outcome, of a circuit bits, the result in words, and whether every cell of the run agrees.

    Raises:
        OutputError: for another ending.
    """
    if path.suffix.lower() not in RUN_FILES:
        raise OutputError(f"{path}: many runs are written as {' or '.join(RUN_FILES)}: name the file {path.stem}.csv")
    names, as_json = ("input", "outputs", "result", "agrees"), path.suffix.lower() == ".jsonl"

    def lines(runs: Iterable[SinkRun]) -> Iterator[str]:
        for word, result, agrees in runs:
            if as_json:
                values = word, result.outcome, result.shown, agrees
                yield json.dumps(dict(zip(names, values, strict=True)), ensure_ascii=False) + "\n"
            else:
                yield f'{word},{result.outcome},"{result.shown.replace(chr(34), chr(34) * 2)}",{str(agrees).lower()}\n'

    return "" if as_json else f"{','.join(names)}\n", lines


@dataclass(frozen=True, kw_only=True)
class ComparedRuns:
    """Many runs of one program, compared with its reference up to the first that differs.

    Args:
        name: that of the program.
        noun, reference: the words for the program and for its reference: machine, simulator.
        engine, dtype: those that ran the weights.
        runs: the number of inputs that were compared.
        cells: the number of cells compared; of circuits these are bits.
        counted: what cells are called in plain data.
        failure: the first run that differs, None if all agree.
        undefined: the number of inputs on which the program is undefined, which were not compared; None: of a program that
            is defined everywhere.
        outcomes: the number of runs by what comes out; None: it was not counted.
        longest: the longest run before the one that differs, where that was kept.
    """

    name: str
    noun: str
    reference: str
    engine: str
    dtype: str
    runs: int
    cells: int
    counted: str = "cells"
    failure: Trace | None
    undefined: int | None = None
    outcomes: Mapping[str, int] | None = None
    longest: Trace | None = None

    @property
    def circuit(self) -> str:
        """The name, of a circuit."""
        return self.name

    @property
    def bits(self) -> int:
        """The number of bits compared, of a circuit."""
        return self.cells

    @property
    def scanned(self) -> tuple[str, ...]:
        """What `Trace.scanned` says of the run that differs and of the longest one before it, each line once."""
        return tuple(dict.fromkeys(line for run in (self.failure, self.longest) if run is not None for line in run.scanned))

    @property
    def agrees(self) -> bool:
        """Whether every cell of every run agrees, and there was one."""
        return self.failure is None and self.cells > 0

    def as_dict(self) -> PlainData:
        """Return it as plain data."""
        plain: PlainData = {self.noun: self.name, "runs": self.runs, self.counted: self.cells}
        plain |= {} if self.undefined is None else {"undefined": self.undefined}
        plain |= {} if self.outcomes is None else {"outcomes": dict(self.outcomes)}
        plain |= {"agrees": self.agrees, "engine": self.engine, "dtype": self.dtype}
        plain |= {"scanned": list(self.scanned)} if self.scanned else {}
        return plain if self.failure is None else plain | {"failure": self.failure.as_dict()}
