"""One machine on many words: the decoder's run, compared with the simulator at every position."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr._version import __version__
from tm2tfr.engines import engine as engine_named
from tm2tfr.engines.fast import Fast
from tm2tfr.runs.blocks import RowBlock
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.simulator import result
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.truth import truth_for
from tm2tfr.trace.check import Trace, check

if TYPE_CHECKING:
    from tm2tfr.runs.long_run import LongRun

TokenCodes = NDArray[np.int32]


@dataclass(frozen=True)
class How:
    """How runs are made.

    Args:
        engine: ``fast``, ``dense`` or ``exact``; of circuits also ``auto``, since some need another one.
        max_steps: at most this many steps of the machine; the run of a circuit has an end.
        left_boundary: as for `tm2tfr.compile`.
    """

    engine: str
    max_steps: int
    left_boundary: str | None = None


@dataclass(frozen=True)
class Failure:
    """A run that differs from the reference's, and how; `program` is the machine or the circuit."""

    program: Machine | Circuit
    word: str
    why: str


class CheckedRun(NamedTuple):
    """A run that agrees: its trace, and the decoder's answers from BOS on, (T + 1,) numbers of the vocabulary."""

    trace: Trace
    answers: TokenCodes


class Runs:
    """The runs of one machine; whatever follows from its weights is computed once."""

    def __init__(self, machine: Machine, how: How) -> None:
        self.machine, self._how = machine, how
        self.decoder = compile_machine(machine, left_boundary=how.left_boundary)
        self._long: LongRun | None = None
        self._blocks: list[RowBlock] = []

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The decoder's vocabulary."""
        return self.decoder.vocabulary

    def on(self, word: str) -> CheckedRun | Failure:
        """Run on a word and compare every cell of every row, and the end of the run, with the simulator's."""
        trace, answers = self._fast(word) if self._how.engine == "fast" else self._plain(word)
        if trace.divergence is not None:
            return Failure(self.machine, word, str(trace.divergence))
        truth = result(self.machine, word, max_steps=self._how.max_steps)
        if not trace.agrees or trace.result != truth or len(answers) != trace.tokens:
            return Failure(self.machine, word, f"{trace.tokens} tokens, {trace.result}; the simulator: {truth}")
        return CheckedRun(trace, answers[len(word) :])

    def _fast(self, word: str) -> tuple[Trace, TokenCodes]:
        from tm2tfr.runs.long_run import LongRun  # noqa: PLC0415  (it needs Numba, which is optional)

        if self._long is None:
            self._long = LongRun(self.decoder, word, machine=self.machine, max_steps=self._how.max_steps)
        else:
            self._long.restart(word)
        self._blocks.clear()
        while not self._long.done:
            self._long.advance(self._blocks.append)
        answers = np.concatenate([block.y for block in self._blocks]) if self._blocks else np.zeros(0, dtype=np.int32)
        return self._long.trace(Fast()), answers

    def _plain(self, word: str) -> tuple[Trace, TokenCodes]:
        named = engine_named(self._how.engine)
        truth = truth_for(self.machine, word, decoder=self.decoder, max_steps=self._how.max_steps)
        found = check(self.decoder, truth, engine=named, max_steps=self._how.max_steps, keep_rows=True)
        return found, np.array([self.decoder.numbers[row.y] for row in found.rows], dtype=np.int32)


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    found = {"tm2tfr": __version__, "python": ".".join(map(str, sys.version_info[:2]))}
    for name in ("numpy", "numba", "pyarrow"):
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return tuple(found.items())


def versions() -> dict[str, str]:
    """Return the versions of everything that the bytes of a data set depend on."""
    return dict(_versions())
