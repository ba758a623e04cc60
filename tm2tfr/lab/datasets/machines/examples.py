"""The checked runs of machines in a job, one by one or many at a time, and their examples as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.lab.datasets.files import ExampleColumn, ExampleColumns, Lists, Texts, TokenCodes, Tokens
from tm2tfr.lab.datasets.machines.prompting import MachineHow
from tm2tfr.lab.datasets.machines.runs import PLAIN, CheckedRuns, RunColumns, Runs, checked_runs
from tm2tfr.lab.datasets.shard import Done, Failure, Making, PieceJob, SplitExamples, Tally
from tm2tfr.lab.datasets.spec import FORMS
from tm2tfr.transformer.matrix import Ints

ANSWER, SHOWN, SCORED = FORMS


class _Part(NamedTuple):
    """Runs of one machine that are examples; see `RunColumns`, but tokens have the numbers of the job.

    Args:
        machine, outcome: (runs,) places among the names of machines, and of what comes out.
        split: (runs,) places among the splits.
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
    _numbers: TokenCodes = field(default_factory=lambda: np.zeros(0, dtype=np.int32))

    def begin(self, machine: str, key: str, vocabulary: Sequence[str]) -> None:
        """Go on with the runs of another machine.

        Args:
            key: a digest of it, by which its runs are put into splits.
            vocabulary: the tokens.
        """
        self._machines.append(machine)
        self._key, self._numbers = key, self.tokens.of(vocabulary)

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
        known, of, key, places = self._outcomes, self.making.splitting.of, self._key, self._places
        self._parts.append(
            _Part(
                np.full(len(words), len(self._machines) - 1),
                np.array([places[of(key, word)] for word in words], dtype=np.int64),
                steps,
                np.array([known.setdefault(outcome, len(known)) for outcome in outcomes], dtype=np.int64),
                self._numbers[tokens],
                self._numbers[answers],
                *cuts,
            )
        )

    @property
    def _places(self) -> dict[str, int]:
        return {name: n for n, (name, _) in enumerate(self.making.splitting.splits)}

    def of_splits(self) -> Iterator[SplitExamples]:
        """Yield each split that has examples: its name, its examples, and how many of each form there are."""
        if not self._parts:
            return
        whole = _joined(self._parts)
        for name, place in self._places.items():
            run, form = np.nonzero(self._scored(whole) & (whole.split == place)[:, None])
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
    """Yield each run of a job, or many of one machine, counting those that agree."""
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
