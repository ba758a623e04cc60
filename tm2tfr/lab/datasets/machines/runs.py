"""One machine on many words: the decoder's run, compared with the simulator at every position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tm2tfr.base.errors import Tm2tfrError
from tm2tfr.contract.blocks import BatchResults
from tm2tfr.engines.decode import prompted
from tm2tfr.engines.fast import Fast
from tm2tfr.lab.datasets.files import TokenCodes
from tm2tfr.lab.datasets.machines.prompting import MachineHow
from tm2tfr.lab.datasets.shard import Failure, Tally
from tm2tfr.runs.batches.batch import Batch
from tm2tfr.runs.blocks import RowBlock
from tm2tfr.runs.comparison import Trace
from tm2tfr.runs.options import RunOptions
from tm2tfr.runs.run import carried_out
from tm2tfr.sources.turing.simulator import result
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.universal.program import AnyMachine
from tm2tfr.transformer.matrix import Ints
from tm2tfr.transformer.weights import Decoder

if TYPE_CHECKING:
    from tm2tfr.runs.long_run import LongRun


class RunColumns(NamedTuple):
    """Runs of one machine that agree with the simulator's, as columns: (runs,) unless another shape is said.

    Args:
        words, tapes, outcomes: the inputs, the tapes at the end, and what came out.
        steps: the numbers of intermediate steps, -1 where the limit cuts a run off.
        tokens, answers: (positions,) what was fed and answered, as numbers of the vocabulary.
        prompt, prompt_size: where among `tokens` the prompts, up to BOS, are.
        said, said_size: where among `answers` the answers from BOS on are.
    """

    words: Sequence[str]
    tapes: Sequence[str]
    outcomes: Sequence[str]
    steps: Ints
    tokens: TokenCodes
    answers: TokenCodes
    prompt: Ints
    prompt_size: Ints
    said: Ints
    said_size: Ints


@dataclass(frozen=True, eq=False)
class CheckedRuns:
    """Runs of one machine that agree with the simulator's: one, or those of a batch.

    Args:
        machine: its name.
        rows, compared: the numbers of rows and of compared cells.
        from_blank: of the run from the blank tape, if it halts, the steps, and the cells that are not blank at the end.
    """

    machine: str
    columns: RunColumns
    rows: int
    compared: int
    from_blank: tuple[int, int] | None

    @classmethod
    def of_trace(cls, word: str, trace: Trace, prompt: TokenCodes, answers: TokenCodes) -> CheckedRuns:
        """Return one run.

        Args:
            prompt: (n + 1,) the tokens up to BOS.
            answers: (T + 1,) the decoder's answers from BOS on.
        """
        size, result = np.array([len(prompt), len(answers)]), trace.result
        steps, here = np.array([-1 if trace.T is None else trace.T]), np.zeros(1, dtype=np.int64)
        cuts = here, size[:1], here, size[1:]
        columns = RunColumns((word,), (result.tape if result else "",), (trace.answer,), steps, prompt, answers, *cuts)
        halts = trace.answer == "halt" and not trace.input and result is not None
        from_blank = (result.steps, result.ones) if halts and result is not None else None
        return cls(trace.machine, columns, trace.tokens, trace.compared, from_blank)

    @classmethod
    def of_batch(cls, words: Sequence[str], batch: Batch, results: BatchResults, prompt: Ints) -> CheckedRuns:
        """Return the runs of a batch; results: those of the reference; prompt: (runs,) the number of tokens up to BOS."""
        start, outcomes, from_blank = batch.offsets[:-1], batch.outcomes.tolist(), None
        said = start + prompt - 1
        cuts = start, prompt, said, batch.offsets[1:] - said
        columns = RunColumns(words, results.tapes, outcomes, batch.T, batch.tokens, batch.answers, *cuts)
        if "halt" in outcomes and "" in batch.inputs:
            run = batch.inputs.index("")
            from_blank = (int(results.steps[run]), int(results.ones[run])) if outcomes[run] == "halt" else None
        return cls(batch.name, columns, batch.rows, int(batch.compared.sum()), from_blank)

    def counted_in(self, tally: Tally) -> None:
        """Count them."""
        tally.count(len(self.columns.words), self.rows, self.compared, self.columns.outcomes)
        if self.from_blank is not None:
            tally.halted(self.machine, *self.from_blank)


class Runs:
    """The runs of one machine; whatever follows from its weights is computed once.

    Args:
        before: the runs of another machine by the same worker; in the prompt of one decoder, they share its session.
    """

    def __init__(self, machine: Machine, how: MachineHow, before: Runs | None = None) -> None:
        self.machine, self._how = machine, how
        self.program: AnyMachine = how.program(machine, "")
        """The machine as it stands for its run on the empty word."""
        self.decoder: Decoder
        self._blocks: list[RowBlock] = []
        self._long: LongRun | None = None
        self._at: AnyMachine | None = None  # the one of `_long`
        if before is not None and how.shared(before.program, self.program):
            self.decoder, self._long, self._at = before.decoder, before._long, before._at
        else:
            self.decoder = how.decoder(self.program)

    def fed(self, word: str) -> tuple[int, ...]:
        """Return what is fed up to BOS, as numbers of the vocabulary; see `MachineHow.same_for_all_words`."""
        return self._fed(self.program, word)

    def on(self, word: str) -> CheckedRuns | Failure:
        """Run on a word and compare every cell of every row, and the end of the run, with the simulator's."""
        program = self.program if self._how.same_for_all_words else self._how.program(self.machine, word)
        trace, answers = self._fast(program, word) if self._how.engine == "fast" else self._plain(program, word)
        if trace.divergence is not None:
            return Failure(program, word, str(trace.divergence))
        truth = result(self.machine, word, max_steps=self._how.max_steps)
        if not trace.agrees or trace.result != truth or len(answers) != trace.tokens:
            return Failure(program, word, f"{trace.tokens} tokens, {trace.result}; the simulator: {truth}")
        fed = self._fed(program, word)
        return CheckedRuns.of_trace(word, trace, np.array(fed, dtype=np.int32), answers[len(fed) - 1 :])

    def _fed(self, program: AnyMachine, word: str) -> tuple[int, ...]:
        return tuple(prompted(self.decoder, self._how.fed(program, word)))

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


# ── The words of a machine as a batch: the same checked runs as one after the other.
#
# Every cell is compared, with a compiled simulator's rows. Where any differs, the runs are made again, one after the
# other, which says what and why.
PLAIN = 32
"""So many runs of each job are made one after the other, and the plain simulator confirms how they end."""
MOST_ROWS, MOST_RUNS, LEAST_RUNS = 2**21, 2**11, 4
"""The most rows and runs of a batch; fewer runs than the least are made one after the other."""


def checked_runs(runs: Runs, words: Sequence[str], how: MachineHow, *, plain: int) -> Iterator[CheckedRuns | Failure]:
    """Yield the runs on the words, in order, one by one or in batches.

    Args:
        plain: the number of words of which the runs are made one after the other.
    """
    yield from map(runs.on, words[:plain])
    longest = max(map(len, words), default=0) + how.max_steps + 2
    size = min(MOST_RUNS, MOST_ROWS // longest)
    if how.engine != "fast" or not how.same_for_all_words:
        size = 0
    for start in range(plain, len(words), size or len(words)):
        some = words[start : start + (size or len(words))]
        found = _batch(runs, some, how) if LEAST_RUNS <= len(some) <= size else None
        if found is None:
            yield from map(runs.on, some)
        else:
            yield found


def _batch(runs: Runs, words: Sequence[str], how: MachineHow) -> CheckedRuns | None:
    """Run a machine on a batch of words; None if a run differs, or cannot be made: ask `Runs`."""
    from tm2tfr.runs.batches.carried import batch_of  # noqa: PLC0415  (it needs Numba, which is optional)

    try:
        batch = batch_of(runs.decoder, runs.program, words, checked=True, max_steps=how.max_steps, workers=1)
        before = len(runs.fed(words[0])) - len(words[0])
    except Tm2tfrError:  # which `Runs` raises as well
        return None
    right = batch.results
    if not batch.agrees or right is None or (right.outcomes != batch.outcomes).any():
        return None
    sizes = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
    return CheckedRuns.of_batch(words, batch, right, before + sizes)
