"""What was found of many runs of one program: how many were compared, what came out, and the first that differs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tm2tfr.base.errors import OutputError
from tm2tfr.contract.source import RunResult
from tm2tfr.runs.comparison import Trace


class SinkRun(NamedTuple):
    """A run that was compared: its input, what came out of the reference, and whether the decoder agrees."""

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
        noun, reference: what it is called, and what says what is right.
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

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        plain: dict[str, Any] = {self.noun: self.name, "runs": self.runs, self.counted: self.cells}
        plain |= {} if self.undefined is None else {"undefined": self.undefined}
        plain |= {} if self.outcomes is None else {"outcomes": dict(self.outcomes)}
        plain |= {"agrees": self.agrees, "engine": self.engine, "dtype": self.dtype}
        plain |= {"scanned": list(self.scanned)} if self.scanned else {}
        return plain if self.failure is None else plain | {"failure": self.failure.as_dict()}
