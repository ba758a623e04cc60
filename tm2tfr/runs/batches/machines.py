"""The right rows of a machine on many words, as codes of a decoder's labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.engines.fast.many import RowsInTurn
from tm2tfr.runs.batches.kept import kernel
from tm2tfr.runs.batches.right import RightCodes, RightRows, RuleTable, WordsGiven
from tm2tfr.runs.blocks import Labels
from tm2tfr.runs.expected import UNKNOWN
from tm2tfr.sources.turing.fast_simulator import rules_of
from tm2tfr.sources.turing.simulator import Result
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.tokens import BOS
from tm2tfr.sources.turing.truth import VERDICT_TOKENS, TuringTruth, triple_token
from tm2tfr.transformer.matrix import Ints
from tm2tfr.transformer.weights import Decoder

TAPE = 2**12
"""The cells that there are at first."""


MORE_ROWS, MORE_TAPE = 1, 2
"""Why the compiled simulator returns before all runs are done."""
OUTCOMES = ("accept", "reject", "halt", "limit")
"""How a run of the reference ends; the last one is that of a run without an end."""


def room_for(first: int, runs: int, rows: int) -> RightRows:
    """Return room for so many runs and rows."""

    def column() -> NDArray[np.int32]:
        return np.empty(rows, dtype=np.int32)

    def count(size: int = runs) -> Ints:
        return np.zeros(size, dtype=np.int64)

    return RightRows(
        first=first,
        offsets=count(runs + 1),
        x=column(),
        q=column(),
        b=column(),
        m=column(),
        h=column(),
        a=column(),
        y=column(),
        outcome=np.full(runs, -1, dtype=np.int32),
        steps=count(),
        visited=count(),
        ones=count(),
        tape_offsets=count(runs + 1),
        tape=np.empty(rows + 64, dtype=np.int32),
    )


class MachineRuns:
    """The reference of a machine, alone or in the prompt of a universal decoder.

    Args:
        truth: a run of it, which says what is right where.
        max_steps: the most steps of a run.
    """

    def __init__(self, decoder: Decoder, truth: TuringTruth, max_steps: int) -> None:
        self.rules = _rules(truth.machine, max_steps)
        self.codes = _codes(decoder, truth)
        self._simulated = kernel("simulated")
        self._tape, self._now = np.full(TAPE, self.rules.blank, dtype=np.int32), np.zeros(3, dtype=np.int64)

    def rows(self, given: WordsGiven, first: int, last: int, room: int) -> RightRows:
        """Return the right rows of runs from `first` on, as many as there is room for, but at least one."""
        out, done = room_for(first, last - first, room), first
        while True:
            why = self._simulated(given, done, last, self.rules, self.codes, self._tape, out, self._now)
            done = int(self._now[2])
            if why == MORE_TAPE:
                self._tape = np.full(2 * len(self._tape), self.rules.blank, dtype=np.int32)
            elif why == MORE_ROWS and done == first:
                room *= 2
                out = room_for(first, last - first, room)
            else:
                return _cut(out, done - first)

    def differs(self, found: RowsInTurn, tokens: NDArray[np.int32], probed: bool, right: RightRows) -> Ints:
        """Return the place of the first row of each run that differs, see `tm2tfr.runs.batches.running.RightRuns`."""
        differs = np.full(len(found.ends), -1, dtype=np.int64)
        columns = found.answers, found.codes, found.numbers
        kernel("compared")(found.offsets, tokens, *columns, probed, right, differs)
        return differs


def _cut(out: RightRows, runs: int) -> RightRows:
    """Return what is filled."""
    rows, cells = int(out.offsets[runs]), int(out.tape_offsets[runs])
    return RightRows(
        first=out.first,
        offsets=out.offsets[: runs + 1],
        x=out.x[:rows],
        q=out.q[:rows],
        b=out.b[:rows],
        m=out.m[:rows],
        h=out.h[:rows],
        a=out.a[:rows],
        y=out.y[:rows],
        outcome=out.outcome[:runs],
        steps=out.steps[:runs],
        visited=out.visited[:runs],
        ones=out.ones[:runs],
        tape_offsets=out.tape_offsets[: runs + 1],
        tape=out.tape[:cells],
    )


def _rules(machine: Machine, max_steps: int) -> RuleTable:
    keys, *table = rules_of(machine)
    to, written, move = (np.array(column, dtype=np.int32) for column in table)
    alphabet, walled = machine.tape_alphabet, machine.tape == "one-way"
    blank, start = alphabet.index(machine.blank), machine.states.index(machine.start)
    return RuleTable(keys, to, written, move, len(alphabet), blank, start, walled, max_steps)


class _Said(NamedTuple):
    """What is right for a machine in words: the tokens of `RightCodes.answers`, `stops` and `first`, and the outcomes."""

    answers: tuple[str, ...]
    stops: tuple[str, ...]
    outcomes: tuple[int, ...]
    first: tuple[str, ...]


NOTHING = ""
"""The token where there is a rule."""


def _said(truth: TuringTruth) -> _Said:
    machine = truth.machine
    answers, stops, outcomes = list[str](), list[str](), list[int]()
    for state in machine.states:
        verdict, ended = truth.entered(state), machine.outcome_of(state) or machine.missing_outcome
        for symbol in machine.tape_alphabet:
            answers += [verdict or triple_token(state, symbol, move) for move in (-1, 0, 1)]
            if state in machine.halting_states or (state, symbol) not in machine.transitions:
                found = truth.judged(Result(outcome=ended, steps=0, tape="", cells_visited=1, ones=0), state, symbol)
                stops.append(truth.stopped(state, symbol))
                outcomes.append(OUTCOMES.index(found.outcome))
            else:
                stops.append(NOTHING)
                outcomes.append(-1)
    begins = (truth.on(a if a in (machine.input_alphabet or ()) else "") for a in machine.tape_alphabet)
    return _Said(tuple(answers), tuple(stops), tuple(outcomes), tuple(begin.first for begin in begins))


def _codes(decoder: Decoder, truth: TuringTruth) -> RightCodes:
    machine, said, labels = truth.machine, _said(truth), Labels.of(decoder)
    states, symbols, numbers = machine.states, machine.tape_alphabet, decoder.numbers

    def tokens(names: Sequence[str], *shape: int) -> NDArray[np.int32]:
        return np.array([numbers.get(name, UNKNOWN) for name in names], dtype=np.int32).reshape(shape)

    ends = np.zeros(len(decoder.vocabulary) - UNKNOWN, dtype=np.bool_)
    ends[[numbers.get(token, UNKNOWN) - UNKNOWN for token in VERDICT_TOKENS.values()]] = True
    shape = len(states), len(symbols)
    return RightCodes(
        state=_places(states, labels.q),
        written=_places(symbols, labels.b),
        read=_places(symbols, labels.a),
        fed=_places(symbols, decoder.vocabulary),
        shown=_places(decoder.vocabulary, labels.x),
        first=tokens(said.first, len(symbols)),
        answers=tokens(said.answers, *shape, 3),
        stops=tokens(said.stops, *shape),
        ends=ends,
        outcomes=np.array(said.outcomes, dtype=np.int32).reshape(shape),
        bos=numbers.get(BOS, UNKNOWN),
        unknown=UNKNOWN,
        starts_halted=truth.first in VERDICT_TOKENS.values(),
        nominal=truth.nominal,
    )


def _places(names: Sequence[str], labels: Sequence[str]) -> NDArray[np.int32]:
    """Return the place of each name among labels, `UNKNOWN` for one that is not there: (names,)."""
    places = {label: n for n, label in enumerate(labels)}
    return np.array([places.get(name, UNKNOWN) for name in names], dtype=np.int32)
