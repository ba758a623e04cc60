"""What a run's output layer predicts: the probability of each answer by Eq. 8.3, and of a whole sequence of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import exp, inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import EngineError, listing
from tm2tfr.contract.source import AnyRow, Column
from tm2tfr.engines.decode import Engine, Step, prompted
from tm2tfr.engines.sampling import Draw, log_probabilities, sampler
from tm2tfr.runs.sampling import Sampling
from tm2tfr.transformer.claims import sections
from tm2tfr.transformer.weights import Decoder

MOST_FORCED = 1_024
"""The reference's tokens are fed to the weights to get their probability if they are at most this many."""
OTHER = "other"
"""The heading of the most probable token that is not the one answered."""


class Likelihood(NamedTuple):
    """The probability of some generated tokens together.

    Args:
        tokens: how many they are.
        log: the natural logarithm of the product of their probabilities.
        least: the smallest of these; position: where it is.
    """

    tokens: int
    log: float
    least: float
    position: int

    @property
    def probability(self) -> float:
        """The product, 0 if it is too small for a float."""
        return exp(self.log)

    @classmethod
    def of(cls, logs: Iterable[float], first: int) -> Likelihood:
        """Return that of tokens with these logarithms, the first of them answered at position `first`."""
        known = list(logs)
        worst = min(range(len(known)), key=known.__getitem__, default=0)
        return cls(len(known), sum(known), exp(known[worst]) if known else 1.0, first + worst)


class Predictions:
    """Collects the predictions at each position of one run, and draws the tokens if the run is sampled.

    Args:
        first: the position that answers the first generated token.

    Raises:
        EngineError: for a labeller whose outputs are all numbers, or whose tokens are to be drawn.
    """

    def __init__(self, decoder: Decoder, prompt: Sequence[str], sampling: Sampling) -> None:
        self._decoder, self._temperature = decoder, sampling.temperature
        if decoder.labeller and sampling.seed is not None:
            what = "these weights label a whole sequence, and generate no tokens to sample"
            raise EngineError(f"{what}: omit --sample, or use --probabilities")
        self._parts = list(_parts(decoder))
        if not self._parts:
            names = listing([output.name for output in decoder.outputs], most=3)
            what = f"these weights answer with numbers ({names}), which have no probabilities"
            raise EngineError(f"{what}: omit --probabilities, or compile a part that answers with labels")
        self.draw: Draw | None = None if sampling.seed is None else sampler(sampling.seed, sampling.temperature)
        self.first = 0 if decoder.labeller else len(prompted(decoder, prompt)) - 1
        self.columns = tuple(_columns([name for name, _, _ in self._parts]))
        self._cells: list[tuple[object, ...]] = []
        self._logs: list[float] = []
        self._best: list[str] = []

    def see(self, steps: Iterable[Step]) -> None:
        """Take the next positions of the run."""
        for step in steps:
            cells: list[object] = []
            for _, labels, cut in self._parts:
                logs = log_probabilities(step.logits[cut], self._temperature)
                best = int(logs.argmax())
                number = best if self._decoder.labeller else self._decoder.numbers[step.output]
                cells += [exp(logs[number]), *(_other(labels, logs, number) if len(self._parts) == 1 else ())]
                if not self._decoder.labeller:
                    self._logs.append(float(logs[number]))
                    self._best.append(labels[best])
            self._cells.append(tuple(cells))

    def cells(self, rows: int) -> Sequence[tuple[object, ...]]:
        """Return the cells of the first `rows` rows in `columns`."""
        return self._cells[:rows]

    def departs(self, want: AnyRow | None, row: AnyRow | None) -> bool:
        """Return whether the weights prefer the reference's answer, and another token was drawn by chance."""
        if self.draw is None or want is None or row is None or want[:-1] != row[:-1]:
            return False
        return bool(want[-1] == self._best[row[0]] and want[-1] != row[-1])

    def likelihood(self, tokens: int) -> Likelihood | None:
        """Return that of the tokens generated at the first `tokens` positions; None of a labeller."""
        return None if self._decoder.labeller else Likelihood.of(self._logs[self.first : tokens], self.first)

    def of_reference(self, rows: Iterator[AnyRow], engine: Engine) -> Likelihood | None:
        """Return that of the reference's tokens, which are fed to the weights; None if they are too many, or labels."""
        if self._decoder.labeller:
            return None
        session, logs, numbers = engine.start(self._decoder), list[float](), self._decoder.numbers
        for n, row in enumerate(rows):
            if n == MOST_FORCED:
                return None
            session.feed(numbers[row[1]])
            if n < self.first:
                continue
            if (answer := row[-1]) not in numbers:
                logs.append(-inf)  # weights without this token never answer it, nor can they be fed it
                break
            logs.append(float(log_probabilities(session.logits, self._temperature)[numbers[answer]]))
        return Likelihood.of(logs, self.first)


def _parts(decoder: Decoder) -> Iterator[tuple[str, Sequence[str], slice]]:
    """Yield the outputs with a distribution: name, tokens or labels, and the place of the logits."""
    if not decoder.labeller:
        yield "y", decoder.vocabulary, slice(None)
    for output, cut in sections(decoder.outputs):
        if output.labels is not None:
            yield output.name, output.labels, cut


def _columns(names: Sequence[str]) -> Iterator[Column]:
    """Yield the columns: the probability of each answer and, where there is one answer, the most probable other one."""
    for name in names:
        yield Column(name=f"p({name})", kind="probability", meaning=f"the probability of {name}", tex=f"$p({name})$")
    if len(names) == 1:
        yield Column(name=OTHER, kind="answered", meaning="the most probable other answer")
        yield Column(name=f"p({OTHER})", kind="probability", meaning="its probability")


def _other(labels: Sequence[str], logs: NDArray[np.float64], number: int) -> tuple[object, object]:
    """Return the most probable label but one, and its probability; None if there is no other."""
    rest = [n for n in range(len(labels)) if n != number]
    if not rest:
        return None, None
    best = max(rest, key=logs.__getitem__)
    return labels[best], exp(logs[best])
