"""One machine on many words: the decoder's run, compared with the simulator at every position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import Tm2tfrError
from tm2tfr.contract.blocks import BatchResults
from tm2tfr.engines.decode import prompted
from tm2tfr.engines.fast import Fast
from tm2tfr.lab.datasets.files import ExampleColumn, ExampleColumns, Lists, Texts, TokenCodes, Tokens
from tm2tfr.lab.datasets.machines.prompting import MachineHow
from tm2tfr.lab.datasets.shard import BY_TOKENS, Done, Failure, Making, PieceJob, SplitExamples, Tally
from tm2tfr.lab.datasets.spec import FORMS
from tm2tfr.runs.batches.batch import Batch
from tm2tfr.runs.blocks import RowBlock
from tm2tfr.runs.comparison import Trace
from tm2tfr.runs.plan import RunOptions
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
    """Runs of one machine that agree with the simulator's: a single run, or a batch.

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
"""The number of runs of each job that are made one after the other; the plain simulator confirms how they end."""
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
    from tm2tfr.runs.batches.generated import batch_of  # noqa: PLC0415  (it needs Numba, which is optional)

    try:
        batch = batch_of(runs.decoder, runs.program, words, checked=True, max_steps=how.max_steps, workers=1)
        before = len(how.fed(runs.program, words[0])) + 1 - len(words[0])  # with BOS
    except Tm2tfrError:  # which `Runs` raises as well
        return None
    right = batch.results
    if not batch.agrees or right is None or (right.outcomes != batch.outcomes).any():
        return None
    sizes = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
    return CheckedRuns.of_batch(words, batch, right, before + sizes)


# ── The checked runs of machines in a job, one by one or many at a time, and their examples as columns.
ANSWER, SHOWN, SCORED = FORMS


class _Part(NamedTuple):
    """Runs of one machine that are examples; see `RunColumns`, but tokens have the numbers of the job.

    Args:
        machine, outcome: (runs,) places among the names of machines, and of what comes out.
        split: (runs, forms) places among the splits.
    """

    machine: Ints
    split: Ints
    steps: Ints
    outcome: Ints
    tokens: TokenCodes
    answers: TokenCodes
    prompt: Ints
    prompt_size: Ints
    said: Ints
    said_size: Ints


@dataclass
class MachineExamples:
    """The runs of a job of machines as examples.

    Args:
        left_out: the number of runs that are not examples.
    """

    making: Making[MachineHow]
    tokens: Tokens = field(default_factory=Tokens)
    left_out: int = 0
    _parts: list[_Part] = field(default_factory=list)
    _machines: list[str] = field(default_factory=list)
    _words: list[str] = field(default_factory=list)
    _tapes: list[str] = field(default_factory=list)
    _outcomes: dict[str, int] = field(default_factory=dict)
    _key: str = ""
    _vocabulary: Sequence[str] = ()
    _numbers: TokenCodes = field(default_factory=lambda: np.zeros(0, dtype=np.int32))

    def begin(self, machine: str, key: str, vocabulary: Sequence[str]) -> None:
        """Go on with the runs of another machine.

        Args:
            key: a digest of it, by which its runs are put into splits.
            vocabulary: the tokens.
        """
        self._machines.append(machine)
        self._key, self._numbers, self._vocabulary = key, self.tokens.of(vocabulary), vocabulary

    def add(self, runs: RunColumns) -> None:
        """Take runs of this machine."""
        words, tapes, outcomes, steps, tokens, answers, *cuts = runs
        if not self.making.keep_unfinished and (steps < 0).any():
            kept = steps >= 0
            self.left_out += int(np.count_nonzero(~kept))
            words, tapes, outcomes = (list(compress(each, kept)) for each in (words, tapes, outcomes))
            steps, cuts = steps[kept], [each[kept] for each in cuts]
        self._words += words
        self._tapes += tapes
        known = self._outcomes
        self._parts.append(
            _Part(
                np.full(len(words), len(self._machines) - 1),
                self._split(words, tokens, answers, cuts),
                steps,
                np.array([known.setdefault(outcome, len(known)) for outcome in outcomes], dtype=np.int64),
                self._numbers[tokens],
                self._numbers[answers],
                *cuts,
            )
        )

    def _split(self, words: Sequence[str], tokens: TokenCodes, answers: TokenCodes, cuts: Sequence[Ints]) -> Ints:
        """Return the split of each form of each run, see `_Part`; cuts: see `RunColumns`."""
        splitting, places, forms = self.making.splitting, self._places, self.making.forms
        if splitting.by != BY_TOKENS:
            own = np.array([places[splitting.of(self._key, word)] for word in words], dtype=np.int64)
            return np.broadcast_to(own[:, None], (len(words), len(forms)))
        fed, said = ([self._vocabulary[n] for n in codes.tolist()] for codes in (tokens, answers))
        found = np.zeros((len(words), len(forms)), dtype=np.int64)
        for run, (prompt, size, start, many) in enumerate(zip(*(cut.tolist() for cut in cuts), strict=True)):
            given, whole = fed[prompt : prompt + size], said[start : start + many]
            splits = [splitting.of_tokens(given, answer) for answer in (whole[-1:], whole)]
            found[run] = [places[splits[form != ANSWER]] for form in forms]
        return found

    @property
    def _places(self) -> dict[str, int]:
        return {name: n for n, (name, _) in enumerate(self.making.splitting.splits)}

    def of_splits(self) -> Iterator[SplitExamples]:
        """Yield each split that has examples: its name, its examples, and how many of each form there are."""
        if not self._parts:
            return
        whole = _joined(self._parts)
        for name, place in self._places.items():
            run, form = np.nonzero(self._scored(whole) & (whole.split == place))
            if len(run):
                many = np.bincount(form, minlength=len(self.making.forms)).tolist()
                yield name, self._columns(whole, run, form), dict(zip(self.making.forms, many, strict=True))

    def _scored(self, whole: _Part) -> NDArray[np.bool_]:
        """Return in which forms something of a run is scored: (runs, forms); without an end there is no answer."""
        said, ended = whole.said_size > 0, whole.steps >= 0
        return np.stack([said if form == SCORED else said & ended for form in self.making.forms], axis=1)

    def _columns(self, whole: _Part, run: Ints, form: Ints) -> ExampleColumns:
        """Return examples as columns; run, form: (examples,)."""
        alone, scored = (np.array([name == one for name in self.making.forms])[form] for one in (ANSWER, SCORED))
        size, ended = whole.said_size[run], whole.steps[run] >= 0
        prompt = Lists.cut(whole.tokens, whole.prompt[run], whole.prompt_size[run])
        target = Lists.cut(whole.answers, whole.said[run] + np.where(alone, size - 1, 0), np.where(alone, 1, size))
        mask = np.repeat(scored, np.diff(target.offsets)).astype(np.int32)
        mask[target.offsets[1:] - 1] = 1
        columns: dict[str, ExampleColumn] = {
            "machine": Texts(whole.machine[run], self._machines),
            "input": Texts(run, self._words),
            "form": Texts(form, self.making.forms),
            "prompt": prompt,
            "target": target,
            "loss_mask": Lists(target.offsets, mask),
            "verdict": Texts(np.where(ended, whole.outcome[run], -1), list(self._outcomes)),
            "T": whole.steps[run],
            "tape": Texts(run, self._tapes),
            "prompt_ids": prompt,
            "target_ids": target,
        }
        return {name: columns[name] for name in self.making.columns}


def _joined(parts: Sequence[_Part]) -> _Part:
    """Return all runs; what says where their tokens are counts from the first token on."""
    columns = [np.concatenate(each) for each in zip(*parts, strict=True)]
    whole, runs = _Part(*columns), [len(part.steps) for part in parts]
    fed, said = (np.cumsum([0, *map(len, each)])[:-1] for each in zip(*((p.tokens, p.answers) for p in parts), strict=True))
    return whole._replace(prompt=whole.prompt + np.repeat(fed, runs), said=whole.said + np.repeat(said, runs))


# ── the jobs
def made(job: PieceJob, making: Making[MachineHow]) -> Done:
    """Check the runs of a job of machines and make its files."""
    done, found, how = Done(job.number), MachineExamples(making), making.how
    at: Runs | None = None
    for runs, run in done.agreeing(checked_machines(job, how, done.tally)):
        if runs is not at:
            at = runs
            found.begin(runs.machine.name, how.split_key(runs.program), how.vocabulary(runs.decoder))
        found.add(run.columns)
    done.left_out = found.left_out
    making.write(done, found.of_splits(), found.tokens)
    return done


def checked_machines(job: PieceJob, how: MachineHow, tally: Tally) -> Iterator[tuple[Runs, CheckedRuns] | Failure]:
    """Yield the runs of a job, one run or many runs of one machine at a time, and count those that agree."""
    runs: Runs | None = None
    for piece in job.work:
        for machine in piece.programs:
            runs = Runs(machine, how, runs)
            tally.machines += 1
            for run in checked_runs(runs, piece.words, how, plain=max(0, PLAIN - tally.runs)):
                if isinstance(run, Failure):
                    yield run
                else:
                    run.counted_in(tally)
                    yield runs, run
