"""One machine on many words: the decoder's run, compared with the simulator at every position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tm2tfr.contract.blocks import BatchResults
from tm2tfr.engines.decode import prompted
from tm2tfr.engines.fast import Fast
from tm2tfr.lab.datasets.jobs import TokenCodes
from tm2tfr.lab.datasets.machines.prompting import MachineHow
from tm2tfr.lab.datasets.runs import Failure
from tm2tfr.lab.datasets.tally import Tally
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


class CheckedRun(NamedTuple):
    """A run that agrees: its trace, and as numbers of the vocabulary what was fed and answered.

    Args:
        prompt: (n + 1,) the tokens up to BOS.
        answers: (T + 1,) the decoder's answers from BOS on.
    """

    word: str
    trace: Trace
    prompt: TokenCodes
    answers: TokenCodes

    def counted_in(self, tally: Tally) -> None:
        """Count it."""
        trace = self.trace
        tally.count(1, trace.tokens, trace.compared, (trace.answer,))
        if trace.answer == "halt" and not trace.input and trace.result is not None:
            tally.halted(trace.machine, trace.result.steps, trace.result.ones)

    def columns(self) -> RunColumns:
        """Return it as columns."""
        trace, size = self.trace, np.array([len(self.prompt), len(self.answers)])
        steps, here = np.array([-1 if trace.T is None else trace.T]), np.zeros(1, dtype=np.int64)
        tape, cuts = trace.result.tape if trace.result else "", (here, size[:1], here, size[1:])
        return RunColumns((self.word,), (tape,), (trace.answer,), steps, self.prompt, self.answers, *cuts)


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

    def counted_in(self, tally: Tally) -> None:
        """Count them."""
        batch, outcomes = self.batch, self.batch.outcomes.tolist()
        tally.count(len(batch), batch.rows, int(batch.compared.sum()), outcomes)
        if "halt" in outcomes and "" in batch.inputs:
            run = batch.inputs.index("")
            if outcomes[run] == "halt":
                tally.halted(batch.name, int(self.results.steps[run]), int(self.results.ones[run]))

    def columns(self) -> RunColumns:
        """Return them as columns."""
        batch, start = self.batch, self.batch.offsets[:-1]
        said, outcomes = start + self.prompt - 1, batch.outcomes.tolist()
        cuts = start, self.prompt, said, batch.offsets[1:] - said
        return RunColumns(self.words, self.results.tapes, outcomes, batch.T, batch.tokens, batch.answers, *cuts)


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

    def on(self, word: str) -> CheckedRun | Failure:
        """Run on a word and compare every cell of every row, and the end of the run, with the simulator's."""
        program = self.program if self._how.same_for_all_words else self._how.program(self.machine, word)
        trace, answers = self._fast(program, word) if self._how.engine == "fast" else self._plain(program, word)
        if trace.divergence is not None:
            return Failure(program, word, str(trace.divergence))
        truth = result(self.machine, word, max_steps=self._how.max_steps)
        if not trace.agrees or trace.result != truth or len(answers) != trace.tokens:
            return Failure(program, word, f"{trace.tokens} tokens, {trace.result}; the simulator: {truth}")
        fed = self._fed(program, word)
        return CheckedRun(word, trace, np.array(fed, dtype=np.int32), answers[len(fed) - 1 :])

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
