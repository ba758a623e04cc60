"""Interchanges between runs of a causal model: what trained weights learn from, and what they are measured by.

An interchange takes variables at a position of one run and puts them into another run. Its target is what the causal model
of the source answers if the variables have those values. An interchange of the *rest* puts everything else into the run, so
that every answer has to stay. Inputs are split in two by their digest: training sees one part, measuring the other, in all
runs that an interchange takes part in.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from tm2tfr.base.errors import DisguiseError
from tm2tfr.contract.model import ModelStage, ModelVariable
from tm2tfr.contract.modelled import CausalRun, CausalValue
from tm2tfr.contract.specification import STAGES
from tm2tfr.lab.interventions.intervened import Base
from tm2tfr.lab.labels.patches import square_of
from tm2tfr.transformer.claims import sections
from tm2tfr.transformer.matrix import AnyArray, Floats
from tm2tfr.transformer.weights import Decoder

HELD_OUT = 64
"""An input is held out if the first byte of its digest is less."""
REST = ""
"""The name of what is exchanged where it is everything but the variables."""
SEVERAL, SHIFTED, EVERYWHERE = 0.25, 0.5, 0.5
"""The shares of interchanges of two variables, of those between two positions, and of those of the rest that are at all
positions."""
TRIES = 24
"""How often an interchange of a variable is drawn that changes its value, before another variable is drawn."""


@dataclass(frozen=True)
class Exchange:
    """A part of the stream that is taken from another run.

    Args:
        variable: what is exchanged, or `REST`.
        stage: after which part of which layer.
        to, source: the position in the run, and the one in the other run.
    """

    variable: str
    stage: ModelStage
    to: int
    source: int


@dataclass(frozen=True, eq=False)
class Interchange:
    """A run with parts of another one.

    Args:
        word, source: the inputs of the two.
        tokens: what is fed, by number; other: what is fed in the other run.
        exchanges: what is taken from it.
        wanted: the expected answers, see `SourceRuns.wanted`.
        effective: whether an answer differs from that without the interchange.
        alone: whether one variable is exchanged, and no other.
    """

    word: str
    source: str
    tokens: tuple[int, ...]
    other: tuple[int, ...]
    exchanges: tuple[Exchange, ...]
    wanted: Floats
    effective: bool
    alone: bool = False

    @property
    def rest(self) -> bool:
        """Whether everything but the variables is exchanged."""
        return any(each.variable == REST for each in self.exchanges)


def stages_of(decoder: Decoder) -> tuple[ModelStage, ...]:
    """Return all stages of weights, in the order of the computation."""
    return ((-1, STAGES[0]), *((n, part) for n in range(len(decoder.layers)) for part in STAGES[1:]))


def held_out(word: str) -> bool:
    """Return whether an input is never trained on."""
    return hashlib.sha256(word.encode()).digest()[0] < HELD_OUT


@dataclass(frozen=True)
class SourceRuns:
    """The runs of a source, and how their answers are written as numbers.

    Args:
        decoder: the compiled weights.
        words: the inputs; base: input -> its run.
        most: the most positions of a run.
    """

    decoder: Decoder
    words: tuple[str, ...]
    base: Callable[[str], Base]
    most: int

    @cached_property
    def stages(self) -> tuple[ModelStage, ...]:
        """All stages, in the order of the computation."""
        return stages_of(self.decoder)

    @cached_property
    def variables(self) -> Mapping[str, ModelVariable]:
        """The variables that can be set, by name."""
        return {name: each for name, each in self.base(self.words[0]).model.variables.items() if not each.unset}

    @cached_property
    def squares(self) -> Mapping[str, str]:
        """Variable -> the one that holds its square, and is exchanged with it."""
        return {name: square for name in self.variables if (square := square_of(name, self.variables))}

    def part(self, *, unseen: bool) -> tuple[str, ...]:
        """Return the inputs that are held out, or the others."""
        return tuple(word for word in self.words if held_out(word) == unseen)

    def fed(self, run: CausalRun) -> tuple[int, ...]:
        """Return the numbers of the tokens of a run."""
        return tuple(self.decoder.numbers[token] for token in run.tokens[: self.most])

    def wanted(self, word: str, run: CausalRun) -> Floats:
        """Return what is answered at each position: (outputs, n), the number of a label or a number; tokens are one output.

        NaN where nothing counts: before the end of the prompt, where tokens are generated.

        Raises:
            DisguiseError: for an answer that is a fraction.
        """
        if not self.decoder.labeller:
            found = np.array([[self.decoder.numbers[str(answer)] for answer in run.answers[: self.most]]], dtype=np.float64)
            found[:, : self._first(word)] = np.nan
            return found
        columns = []
        for answers in run.answers[: self.most]:
            given = answers if isinstance(answers, tuple) else (answers,)
            columns.append([self._number(n, answer) for n, answer in enumerate(given)])
        return np.array(columns, dtype=np.float64).T

    def _first(self, word: str) -> int:
        """Return the first position at which a token is generated."""
        own = self.base(word)
        return len(own.prompt) - (self.decoder.bos is None)

    def _number(self, output: int, answer: object) -> float:
        labels = self.decoder.outputs[output].labels
        if labels is not None:
            return labels.index(str(answer))
        if isinstance(answer, int | float | Fraction) and answer == answer // 1:
            return float(answer)
        what = f"the output {self.decoder.outputs[output].name!r} is {answer}, and trained weights answer whole numbers"
        raise DisguiseError(f"{what}: use a source whose outputs are labels or whole numbers")


def logits_of(decoder: Decoder, wanted: Floats) -> tuple[Floats, Floats]:
    """Return the logits that a labeller has to have, and whether they count: (answers, n) each; wanted: (outputs, n)."""
    found, counts = (np.zeros((decoder.answers, wanted.shape[1])) for _ in range(2))
    for (output, cut), row in zip(sections(decoder.outputs), wanted, strict=True):
        known = ~np.isnan(row)
        counts[cut, known] = 1.0
        if output.labels is None:
            found[cut, known] = row[known]
        else:
            found[cut][row[known].astype(int), np.flatnonzero(known)] = 1.0
    return found, counts


def interchanges(
    runs: SourceRuns, words: Sequence[str], written: Mapping[str, ModelStage], *, count: int, rest: int, seed: object
) -> Iterator[Interchange]:
    """Yield random interchanges between runs on these inputs: of variables, each as often as others, then of the rest.

    Those are left out of which the causal model does not know every answer.

    Args:
        written: variable -> the stage after which weights hold it.
        count, rest: the numbers of the two kinds.
    """
    chance = random.Random(f"tm2tfr interchanges {seed}")
    names = [name for name in runs.variables if name not in runs.squares.values() and name in written]
    if not names or not words:
        raise DisguiseError("there is nothing to exchange between runs: use a source with variables, and with more inputs")
    dry: dict[str, int] = dict.fromkeys(names, 0)
    made = 0
    while made < count:
        going = [name for name in names if dry[name] < TRIES]
        if not going:
            raise DisguiseError("no interchange changes anything: use a source with more inputs, or longer ones")
        name = chance.choice(going)
        found = _drawn(runs, words, written, names, name, chance)
        if found is None:
            dry[name] += 1
            continue
        dry[name] = -(10**9)  # it can be exchanged
        made += 1
        yield found
    for _ in range(rest):
        yield _rest(runs, words, chance)


def _drawn(
    runs: SourceRuns,
    words: Sequence[str],
    written: Mapping[str, ModelStage],
    names: Sequence[str],
    name: str,
    chance: random.Random,
) -> Interchange | None:
    """Return an interchange of a variable that changes its value; None if none was found whose answers are known."""
    for _ in range(TRIES):
        here, source = runs.base(chance.choice(words)), runs.base(chance.choice(words))
        settings: dict[tuple[str, int], CausalValue] = {}
        exchanges: list[Exchange] = []
        put = set[str]()
        chosen = [name] + ([chance.choice(names)] if chance.random() < SEVERAL else [])
        for each in chosen:
            at = _place(runs, here, source, each, chance)
            if at is None or (each, at[0]) in settings:
                break
            put.add(each)
            for own in (each, *([runs.squares[each]] if each in runs.squares else [])):
                settings[own, at[0]] = source.run.cells[at[1]][own]
                exchanges.append(Exchange(own, written[own], *at))
        if not exchanges:
            continue
        run = here.model.run(settings, runs.most)
        if run.unanswered:
            continue
        if any(each.to >= len(run.tokens) for each in exchanges):  # one of two lets a run end before the other
            continue
        wanted, before = runs.wanted(here.input, run), runs.wanted(here.input, here.run)
        effective = not np.array_equal(wanted, before, equal_nan=True)
        tokens, other = runs.fed(run), runs.fed(source.run)
        return Interchange(here.input, source.input, tokens, other, tuple(exchanges), wanted, effective, len(put) == 1)
    return None


def _place(runs: SourceRuns, here: Base, source: Base, name: str, chance: random.Random) -> tuple[int, int] | None:
    """Return two positions at which a variable differs, and can be set to the other value; None if none was drawn."""
    variable = runs.variables[name]
    ours, theirs = (each.run.cells[: runs.most] for each in (here, source))
    at = chance.randrange(len(ours))
    there = at if variable.share or chance.random() >= SHIFTED else chance.randrange(len(theirs))
    if there >= len(theirs):
        return None
    value = theirs[there][name]
    if isinstance(value, Mapping) or value == ours[at][name]:
        return None
    return at, there


def _rest(runs: SourceRuns, words: Sequence[str], chance: random.Random) -> Interchange:
    """Return an interchange of the rest, at one position or at all."""
    here, source = runs.base(chance.choice(words)), runs.base(chance.choice(words))
    tokens, other = runs.fed(here.run), runs.fed(source.run)
    both, stage = min(len(tokens), len(other)), chance.choice(runs.stages)
    places = range(both) if chance.random() < EVERYWHERE else [chance.randrange(both)]
    exchanges = tuple(Exchange(REST, stage, i, i) for i in places)
    return Interchange(here.input, source.input, tokens, other, exchanges, runs.wanted(here.input, here.run), False)


def padded(rows: Sequence[AnyArray], fill: float) -> AnyArray:
    """Return arrays (…, n) of several lengths as one, with `fill` behind them: (rows, …, longest)."""
    longest = max(row.shape[-1] for row in rows)
    pads = [[(0, 0)] * (row.ndim - 1) + [(0, longest - row.shape[-1])] for row in rows]
    return np.array([np.pad(row, pad, constant_values=fill) for row, pad in zip(rows, pads, strict=True)])
