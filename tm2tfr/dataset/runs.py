"""One machine on many words: the decoder's run, compared with the simulator at every position."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr._version import __version__
from tm2tfr.blocks import BatchResults
from tm2tfr.dataset.prompting import Prompting, rule_fingerprint
from tm2tfr.dataset.spec import fingerprint
from tm2tfr.engines.decode import prompted
from tm2tfr.engines.fast import Fast
from tm2tfr.runs.batches.batch import Batch
from tm2tfr.runs.blocks import RowBlock
from tm2tfr.runs.options import RunOptions
from tm2tfr.runs.run import carried_out
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.simulator import result
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.universal.program import AnyMachine, Universal
from tm2tfr.sources.turing.universal.prompt import prompt
from tm2tfr.trace.check import Trace
from tm2tfr.transformer.matrix import Ints

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
        prompting: the decoder in whose prompt the machines stand; None: each machine has its own.
    """

    engine: str
    max_steps: int
    left_boundary: str | None = None
    prompting: Prompting | None = None


@dataclass(frozen=True)
class Failure:
    """A run that differs from the reference's, and how; `program` is the machine, alone or in a prompt, or the circuit."""

    program: AnyMachine | Circuit
    word: str
    why: str


class CheckedRun(NamedTuple):
    """A run that agrees: its trace, and as numbers of the vocabulary what was fed and answered.

    Args:
        prompt: (n + 1,) the tokens up to BOS.
        answers: (T + 1,) the decoder's answers from BOS on.
    """

    trace: Trace
    prompt: TokenCodes
    answers: TokenCodes


@dataclass(frozen=True, eq=False)
class ManyChecked:
    """Runs of one machine that agree.

    Args:
        batch: as they were run and compared.
        results: what came out of the reference.
        prompt: (runs,) the number of tokens up to BOS.
    """

    words: Sequence[str]
    batch: Batch
    results: BatchResults
    prompt: Ints

    def __len__(self) -> int:
        return len(self.words)


class Runs:
    """The runs of one machine; whatever follows from its weights is computed once.

    Args:
        before: the runs of another machine by the same worker; in the prompt of one decoder, they share its session.
    """

    def __init__(self, machine: Machine, how: How, before: Runs | None = None) -> None:
        self.machine, self._how = machine, how
        self._long: LongRun | None = None
        self._at: AnyMachine | None = None  # the one of `_long`
        self._blocks: list[RowBlock] = []
        if how.prompting is None:
            self._program: AnyMachine = machine
            self.decoder = compile_machine(machine, left_boundary=how.left_boundary)
            return
        self._program = program = how.prompting.program(machine, "")
        if before is not None and isinstance(before._program, Universal) and before._program.names == program.names:
            self.decoder, self._long, self._at = before.decoder, before._long, before._at
        else:
            self.decoder = how.prompting.named(program)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The tokens of data sets: the decoder's; of a universal decoder with its canonical names."""
        return self.decoder.vocabulary if self._how.prompting is None else self._how.prompting.universal.vocabulary

    @property
    def split_key(self) -> str:
        """A digest of the machine, by which its runs are put into splits."""
        return rule_fingerprint(self._program) if isinstance(self._program, Universal) else fingerprint(self.machine)

    @property
    def program(self) -> AnyMachine:
        """The machine, alone or in the prompt, of a run on the empty word."""
        return self._program

    @property
    def same_for_all_words(self) -> bool:
        """Whether what stands before the input is the same in all runs."""
        return self._how.prompting is None or self._how.prompting.seed is None

    def fed(self, word: str) -> tuple[int, ...]:
        """Return what is fed up to BOS, as numbers of the vocabulary, if it is the `same_for_all_words`."""
        return self._fed(self._program, word)

    def on(self, word: str) -> CheckedRun | Failure:
        """Run on a word and compare every cell of every row, and the end of the run, with the simulator's."""
        program, prompting = self._program, self._how.prompting
        if prompting is not None and prompting.seed is not None:
            program = prompting.program(self.machine, word)
        trace, answers = self._fast(program, word) if self._how.engine == "fast" else self._plain(program, word)
        if trace.divergence is not None:
            return Failure(program, word, str(trace.divergence))
        truth = result(self.machine, word, max_steps=self._how.max_steps)
        if not trace.agrees or trace.result != truth or len(answers) != trace.tokens:
            return Failure(program, word, f"{trace.tokens} tokens, {trace.result}; the simulator: {truth}")
        fed = self._fed(program, word)
        return CheckedRun(trace, np.array(fed, dtype=np.int32), answers[len(fed) - 1 :])

    def _fed(self, program: AnyMachine, word: str) -> tuple[int, ...]:
        return tuple(prompted(self.decoder, prompt(program, word) if isinstance(program, Universal) else word))

    def _fast(self, program: AnyMachine, word: str) -> tuple[Trace, TokenCodes]:
        from tm2tfr.runs.long_run import LongRun  # noqa: PLC0415  (it needs Numba, which is optional)

        if self._long is None:
            self._long = LongRun(self.decoder, word, machine=program, max_steps=self._how.max_steps)
        else:
            self._long.restart(word, None if program is self._at else program)
        self._at = program
        self._blocks.clear()
        while not self._long.done:
            self._long.advance(self._blocks.append)
        answers = np.concatenate([block.y for block in self._blocks]) if self._blocks else np.zeros(0, dtype=np.int32)
        return self._long.trace(Fast()), answers

    def _plain(self, program: AnyMachine, word: str) -> tuple[Trace, TokenCodes]:
        found = carried_out(self.decoder, word, program, RunOptions(engine=self._how.engine, max_steps=self._how.max_steps))
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
