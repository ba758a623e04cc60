"""A batch: the rows of many runs of one decoder as columns of numbers, their outcomes, and the comparison."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import InputError, OutputError, UsageError, counted
from tm2tfr.base.files import encoded, write_whole
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
"""The outcomes of runs that the limit cuts off; that end before a refused position, with a number that is too large; that
end with the position table."""


AnyScalar = TypeVar("AnyScalar", bound=np.generic)
AnyResult = TypeVar("AnyResult")


def as_one(arrays: Sequence[NDArray[AnyScalar]], dtype: type[AnyScalar]) -> NDArray[AnyScalar]:
    """Return the concatenation of arrays, a single array uncopied; without arrays an empty one of this type."""
    if len(arrays) == 1 and arrays[0].flags.c_contiguous:
        return arrays[0]
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=dtype)


@dataclass(frozen=True, eq=False, kw_only=True)
class Batch:
    """A batch of runs of one decoder.

    Args:
        name, noun: the name and kind of the program, or of the weights.
        inputs: (runs,) the inputs.
        offsets: (runs + 1,) the rows of run r are ``offsets[r] : offsets[r + 1]``.
        tokens, answers: (rows,) the tokens fed and answered, as indices into the vocabulary; the answers of sequence models
                are columns instead.
        columns: the name of each other column of the table -> (rows,): the code of a label, see `labels`, or the number;
                for a gate (rows, bits).
        labels: column -> the labels that its codes are indices of; -1 is ⊥, -2 is a vector that is not one-hot.
        vocabulary: the tokens.
        outcomes: (runs,) the ``answer`` of a `Trace`, or ``refused``.
        T: (runs,) the number of intermediate steps, see `Trace`; -1 if the run did not end.
        differs: (runs,) the position of the first row that differs from the reference, -1 if none does.
        reach: (runs,) the largest |h| of a machine before the first difference.
        compared: (runs,) the number of cells compared.
        results: the results of the reference; None without a check.
        engine, dtype: the engine and the number type of the runs.
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
        """The numbers of the runs that differ from the reference.

        Raises:
            UsageError: after `tm2tfr.run_batch`, which compares nothing.
        """
        self._compared_or_error()
        return np.flatnonzero(self.differs >= 0)

    @property
    def refused(self) -> Ints:
        """The numbers of the runs that end before a refused position."""
        return np.flatnonzero(self.outcomes == REFUSED)

    @property
    def agrees(self) -> bool:
        """Whether at least one run was checked, cells were compared in every run, and all agree."""
        whole = self.results is not None and not len(self.failures) and not len(self.refused)
        return whole and len(self) > 0 and bool((self.compared > 0).all())

    @property
    def shown(self) -> tuple[str, ...]:
        """The result of each checked run, in words: for a circuit numbers or a digest, otherwise the outcome."""
        if self.results is None or self.results.made is None:
            return tuple(map(str, self.outcomes if self.results is None else self.results.outcomes))
        return tuple(self.result(run).shown for run in range(len(self)))

    def result(self, run: int) -> RunResult:
        """Return the reference's result for run number `run`.

        Raises:
            UsageError: without a check, or for a sequence model, whose results are its outcomes.
        """
        self._compared_or_error()
        if self.results is None or self.results.made is None:
            raise UsageError(f"the results of {self.name} are their outcomes: use batch.results.outcomes")
        found: RunResult = self.results.made(self.results, run)
        return found

    def trace(self, run: int, *, keep_rows: bool = False) -> Trace:
        """Return the trace of run number `run`, as from `tm2tfr.check` or `tm2tfr.run`, with the cause of a difference.

        Raises:
            InputError: if there is no such run.
            EngineError: if the engine refuses a position.
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
    """A compared run: its input, the reference's outcome and its result in words, and whether the decoder agrees."""

    input: str
    outcome: str
    shown: str
    agrees: bool


RunSink = Callable[[Iterable[SinkRun]], None]
RUN_FILES = (".csv", ".jsonl")
"""The extensions of files of many runs."""


def written_runs(path: Path | None, run: Callable[[RunSink | None], AnyResult], *, bits: bool = False) -> AnyResult:
    """Return the result of `run`, and write the runs that its sink gets to a file, whole or not at all.

    A line has the input, the outcome (with `bits`, for circuits: the bits, and the result in words), and whether every
    cell agrees.

    Args:
        path: the file; None: `run` gets no sink.

    Raises:
        OutputError: for another extension, or if the file cannot be written.
    """
    if path is None:
        return run(None)
    if path.suffix.lower() not in RUN_FILES:
        raise OutputError(f"{path}: many runs are written as {' or '.join(RUN_FILES)}: name the file {path.stem}.csv")
    names = ("input", "outputs", "result", "agrees") if bits else ("input", "outcome", "agrees")
    as_json, done = path.suffix.lower() == ".jsonl", list[AnyResult]()

    def line(values: Sequence[object]) -> bytes:
        if as_json:
            return encoded(json.dumps(dict(zip(names, values, strict=True)), ensure_ascii=False) + "\n", path)
        text = StringIO()
        csv.writer(text, lineterminator="\n").writerow([str(v).lower() if isinstance(v, bool) else v for v in values])
        return encoded(text.getvalue(), path)

    def write(file: IO[bytes]) -> None:
        file.write(b"" if as_json else line(names))
        done.append(run(lambda runs: file.writelines(line(r if bits else (r.input, r.outcome, r.agrees)) for r in runs)))

    write_whole(path, write)
    return done[0]


LISTED = 20
"""The accepted inputs that a report lists."""
VERDICTS = frozenset(("accept", "reject"))


class Verdicts:
    """The number of runs by outcome, and the first accepted inputs, as runs arrive."""

    def __init__(self) -> None:
        self.outcomes, self.first = Counter[str](), list[str]()

    def add(self, outcomes: Sequence[str]) -> list[int]:
        """Count runs with these outcomes, and return the places of those whose inputs are to be added to `first`."""
        self.outcomes.update(outcomes)
        return [*islice((n for n, outcome in enumerate(outcomes) if outcome == "accept"), LISTED - len(self.first))]

    @property
    def accepted(self) -> tuple[str, ...] | None:
        """The first accepted inputs; None if no run has a verdict."""
        return tuple(self.first) if VERDICTS & self.outcomes.keys() else None


@dataclass(frozen=True, kw_only=True)
class ComparedRuns:
    """A batch of runs, compared with the reference up to the first difference.

    Args:
        name: the name of the program.
        noun, reference: what the program and its reference are called.
        engine, dtype: the engine and the number type of the runs.
        runs: the number of inputs that were compared.
        cells: the number of cells compared; for circuits, bits.
        counted: the name of cells in plain data.
        failure: the first run that differs, None if all agree.
        undefined: the number of inputs on which the program is undefined, which were not compared; None for a program
                that is defined everywhere.
        outcomes: the number of runs by outcome; None: not counted.
        accepted: the first `LISTED` accepted inputs; None: not listed, or without verdicts.
        longest: the longest run before the first difference, if it was kept.
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
    accepted: tuple[str, ...] | None = None
    longest: Trace | None = None

    @property
    def circuit(self) -> str:
        """The name of the circuit."""
        return self.name

    @property
    def bits(self) -> int:
        """The number of compared bits of a circuit."""
        return self.cells

    @property
    def scanned(self) -> tuple[str, ...]:
        """The lines of `Trace.scanned` for the run that differs and the longest run before it, each line once."""
        return tuple(dict.fromkeys(line for run in (self.failure, self.longest) if run is not None for line in run.scanned))

    @property
    def agrees(self) -> bool:
        """Whether every cell of every run agrees, and cells were compared."""
        return self.failure is None and self.cells > 0

    def as_dict(self) -> PlainData:
        """Return it as plain data."""
        plain: PlainData = {self.noun: self.name, "runs": self.runs, self.counted: self.cells}
        plain |= {} if self.undefined is None else {"undefined": self.undefined}
        plain |= {} if self.outcomes is None else {"outcomes": dict(self.outcomes)}
        plain |= {} if self.accepted is None else {"accepted": list(self.accepted)}
        plain |= {"agrees": self.agrees, "engine": self.engine, "dtype": self.dtype}
        plain |= {"scanned": list(self.scanned)} if self.scanned else {}
        return plain if self.failure is None else plain | {"failure": self.failure.as_dict()}
