"""The simulator's rows in blocks: of many inputs of a machine at once, or of one run of any length, as codes of labels.

Compiled with Numba, tens of millions of rows per second. Tests hold it against the plain simulator. Numba is optional:
this module loads without it. It shares nothing with the compiler.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import EngineError, required
from tm2tfr.base.native.function import KeptFunction, address, flat
from tm2tfr.contract.blocks import BatchResults, CodedTexts, FoundRows, WordsGiven
from tm2tfr.sources.turing.columns import CHECKED, TURING, RightCodes, RightRows, RuleTable
from tm2tfr.sources.turing.formats import native
from tm2tfr.sources.turing.simulator import Result, stuck_at
from tm2tfr.sources.turing.spec import Machine, Outcome
from tm2tfr.sources.turing.tokens import BOS, VERDICTS, Triple
from tm2tfr.sources.turing.truth import TuringTruth
from tm2tfr.transformer.matrix import AnyArray, Ints
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.weights import Decoder

MOST_CELLS = 2**22
"""δ is a table up to this many (state, symbol) pairs, and a sorted list of rules beyond: slower, but smaller."""
TAPE = 2**12
"""The cells that there are at first."""
FOR_EVER, WITH_A_TABLE = 2**62, 10_000
"""The most steps without a limit: of any run, and beside a decoder whose position table ends at some place."""
UNKNOWN = -3
"""The code of anything for which the decoder has no label: equal to nothing that it can answer."""
MORE_ROWS, MORE_TAPE = 1, 2
"""Why the compiled simulator returns before all runs are done."""
RUN, AT, ORIGIN, STATE, HEAD, LOWEST, HIGHEST, STEP = range(8)
"""Indices into the state of a run between two calls, see `_blocks_kernel`."""
OUTCOMES: tuple[Outcome, ...] = ("accept", "reject", "halt", "limit")
"""The outcomes of reference runs; the last is for a run without an end."""
NOTHING = ""
"""The token where there is a rule."""
SCRATCH = 2**15
"""The rows at a time where only the result is asked for: they fit the processor's cache."""


class TuringBlocks:
    """The reference of a machine, alone or in the prompt of a universal decoder, see `BlockReference`.

    Args:
        truth: a reference run, which determines the columns that are compared at each position.
        max_steps: the most steps of a run; None: to its end.

    Raises:
        EngineError: if Numba is not installed, or the decoder's table is not the chapter's.
    """

    size: int | None = None
    answers: int | None = None

    def __init__(self, decoder: Decoder, truth: TuringTruth, max_steps: int | None) -> None:
        truth.refuse(decoder.layout)
        machine = truth.machine
        most = FOR_EVER if decoder.positions is None else WITH_A_TABLE
        self.rules = _rules(machine, most if max_steps is None else min(max(0, max_steps), FOR_EVER))
        self.codes = _codes(decoder, truth)
        self._simulated, self._compared = kernel("simulated"), kernel("compared")
        self.truth, self._numbers, self._cells = truth, decoder.numbers, TAPE
        places = {symbol: number for number, symbol in enumerate(machine.tape_alphabet)}
        self.letters: Mapping[str, int] = {symbol: places[symbol] for symbol in machine.input_alphabet or ()}

    @property
    def lead(self) -> Sequence[str]:
        """The tokens of the prompt before the input."""
        return self.truth.lead

    @property
    def identity(self) -> Sequence[str]:
        """The machine's text, and the tokens before the input."""
        return (native.write(self.truth.machine), *self.lead)

    def read(self, text: str) -> Sequence[int]:
        """Return an input by the numbers of its symbols."""
        return [self.letters[symbol] for symbol in self.truth.machine.check_input(text)]

    def rows(self, given: WordsGiven, first: int, last: int, room: int) -> RightRows:
        """Return the right rows of runs from `first` on, as many as there is room for, but at least one."""
        out, done, now = RightRows.room(first, last - first, room), first, np.zeros(12, dtype=np.int64)
        tape = self._blank(self._cells)
        while True:
            why = self._simulated(given, done, last, self.rules, self.codes, tape, out, now)
            done = int(now[RUN])
            if why == MORE_TAPE:
                tape = self._blank(2 * len(tape))
                self._cells = max(self._cells, len(tape))
            elif why == MORE_ROWS and done == first:
                room *= 2
                out = RightRows.room(first, last - first, room)
            else:
                return out.part(done - first, int(out.offsets[done - first]))

    def _blank(self, cells: int) -> NDArray[np.int32]:
        return np.full(cells, self.rules.blank, dtype=np.int32)

    def differs(self, found: FoundRows, right: RightRows) -> tuple[Ints, Ints]:
        """Return the place of the first row of each run that differs, and the largest |h| before it."""
        differs, reach = (np.zeros(len(found.offsets) - 1, dtype=np.int64) for _ in range(2))
        codes, numbers = (array.reshape(-1) for array in (found.codes, found.numbers))
        columns = found.fed(), found.answers, codes, numbers, found.codes.shape[1]
        self._compared(found.offsets, *columns, right, differs, reach)
        return differs, reach

    def cells(self, rows: Ints) -> Ints:
        """Return the number of cells in `rows` rows: all but the position."""
        return len(CHECKED) * rows

    def results(self, parts: Sequence[RightRows]) -> BatchResults:
        """Return the results of the runs."""
        parts = parts or [RightRows.room(0, 0, 0).part(0, 0)]
        joined: dict[str, AnyArray] = {
            name: np.concatenate([getattr(part, name) for part in parts]) if len(parts) > 1 else getattr(parts[0], name)
            for name in ("outcome", "steps", "visited", "ones", "tape")
        }
        ends = parts[0].tape_offsets
        if len(parts) > 1:
            ends = np.cumsum(np.concatenate([[0], *(np.diff(part.tape_offsets) for part in parts)]), dtype=np.int64)
        return BatchResults(
            outcomes=np.array(OUTCOMES)[joined["outcome"]],
            steps=joined["steps"],
            visited=joined["visited"],
            ones=joined["ones"],
            tapes=CodedTexts(self.truth.machine.tape_alphabet, ends, joined["tape"]),
            made=_result,
        )

    def run(self, word: str) -> TuringRun:
        """Return the run on one input of any length."""
        return TuringRun(self, self.truth.machine, self._given(word))

    def _given(self, word: str) -> WordsGiven:
        words = np.array(self.read(word), dtype=np.int32)
        leads = np.array([self._numbers.get(token, UNKNOWN) for token in self.lead], dtype=np.int32)
        return WordsGiven(words, np.array([0, len(words)]), leads, np.array([0, len(leads)]))


class TuringRun:
    """The rows of one run, some at a time, see `tm2tfr.contract.blocks.LongReference`."""

    def __init__(self, blocks: TuringBlocks, machine: Machine, given: WordsGiven) -> None:
        self._blocks, self._machine, self._given = blocks, machine, given
        self._now, self._tape = np.zeros(12, dtype=np.int64), np.full(TAPE, blocks.rules.blank, dtype=np.int32)
        while kernel("begun")(given, blocks.rules, blocks.codes, self._tape, self._now) == MORE_TAPE:
            self._tape = np.full(2 * len(self._tape), blocks.rules.blank, dtype=np.int32)
        self._continued, self._rooms = kernel("continued"), list[RightRows]()
        self._outcome: int | None = None  # a place in `OUTCOMES`, once the run has ended

    def take(self, n: int, *, again: bool = False) -> RightRows:
        """Return the next `n` right rows, fewer at the end."""
        out = self._room(n) if again else RightRows.room(0, 1, n)
        out.offsets[:], out.outcome[:], blocks, why = 0, -1, self._blocks, MORE_TAPE
        while self._outcome is None and why == MORE_TAPE:
            why = self._continued(self._given, blocks.rules, blocks.codes, self._tape, out, self._now)
            if why == MORE_TAPE:
                self._grow()
            elif why != MORE_ROWS:
                self._outcome = int(out.outcome[0])
        return out.part(1, int(out.offsets[1]))

    def _room(self, n: int) -> RightRows:
        """Return room for `n` rows, other than the last two times."""
        rooms = [room for room in self._rooms if len(room.y) >= n]
        old = rooms[:1] if len(rooms) > 2 else []
        room = old[0] if old else RightRows.room(0, 1, n)
        self._rooms = [*rooms[len(old) :], room]
        return room.part(1, n)

    def _grow(self) -> None:
        """Double the tape at the end that the head has reached."""
        head, more = int(self._now[HEAD]), len(self._tape)
        left, right = more * (head == 0), more * (head == more - 1)
        longer = np.full(left + more + right, self._blocks.rules.blank, dtype=np.int32)
        longer[left : left + more] = self._tape
        self._tape = longer
        self._now[[ORIGIN, HEAD, LOWEST, HIGHEST]] += left

    def result(self) -> Result:
        """Run to the end, or to the limit, and return the result."""
        while self._outcome is None:
            self.take(SCRATCH)
        used, origin = np.flatnonzero(self._tape != self._blocks.rules.blank), int(self._now[ORIGIN])
        first, end = (int(used[0]), int(used[-1]) + 1) if len(used) else (origin, origin)
        machine = self._machine
        cells = self._tape[origin if machine.tape == "one-way" else first : end]
        state, symbol = machine.states[self._now[STATE]], machine.tape_alphabet[self._tape[self._now[HEAD]]]
        outcome = OUTCOMES[self._outcome]
        return Result(
            outcome=outcome,
            steps=int(self._now[STEP]),
            tape="".join(CodedTexts(machine.tape_alphabet, np.array([0, len(cells)]), cells)),
            cells_visited=int(self._now[HIGHEST] - self._now[LOWEST]) + 1,
            ones=len(used),
            stuck=None if outcome == "limit" else stuck_at(machine, state, symbol),
        )


# ── The reference as numbers.
def _rules(machine: Machine, limit: int) -> RuleTable:
    states = {q: k for k, q in enumerate(machine.states)}
    symbols = {a: k for k, a in enumerate(machine.tape_alphabet)}
    halting, pairs = machine.halting_states, len(states) * len(symbols)
    rules = sorted(
        (states[q] * len(symbols) + symbols[a], states[rule.state], symbols[rule.write], rule.move)
        for (q, a), rule in machine.transitions.items()
        if q not in halting
    )
    found = np.array([*rules, (pairs, -1, -1, 0)], dtype=np.int64)  # the last one is a sentinel, never found
    keys, columns = np.ascontiguousarray(found[:, 0]), np.ascontiguousarray(found.T[1:], dtype=np.int32)
    if pairs <= MOST_CELLS:
        table = np.full((3, pairs + 1), -1, dtype=np.int32)
        table[:, keys] = columns
        keys, columns = keys[:0], table
    start, walled = states[machine.start], machine.tape == "one-way"
    to, written, move = columns
    return RuleTable(keys, to, written, move, len(symbols), symbols[machine.blank], start, walled, limit)


def _codes(decoder: Decoder, truth: TuringTruth) -> RightCodes:
    machine, numbers = truth.machine, decoder.numbers
    states, symbols = machine.states, machine.tape_alphabet
    labels = _labels(decoder.layout)
    answers, stops, outcomes = list[str](), list[str](), list[int]()
    for state in states:
        verdict, ended = truth.entered(state), machine.outcome_of(state) or machine.missing_outcome
        for symbol in symbols:
            answers += [verdict] * 3 if verdict else _triples(state, symbol)
            if state in machine.halting_states or (state, symbol) not in machine.transitions:
                found = truth.judged(Result(outcome=ended, steps=0, tape="", cells_visited=1, ones=0), state, symbol)
                stops.append(truth.stopped(state, symbol))
                outcomes.append(OUTCOMES.index(found.outcome))
            else:
                stops.append(NOTHING)
                outcomes.append(-1)
    begins = [truth.on(a if a in (machine.input_alphabet or ()) else "").first for a in symbols]

    def tokens(names: Sequence[str], *shape: int) -> NDArray[np.int32]:
        return np.array([numbers.get(name, UNKNOWN) for name in names], dtype=np.int32).reshape(shape)

    ends = np.zeros(len(decoder.vocabulary) - UNKNOWN, dtype=np.bool_)
    ends[[numbers.get(token, UNKNOWN) - UNKNOWN for token in VERDICTS.values()]] = True
    return RightCodes(
        state=_places(states, labels["q"]),
        written=_places(symbols, labels["b"]),
        read=_places(symbols, labels["a"]),
        fed=_places(symbols, decoder.vocabulary),
        shown=_places(decoder.vocabulary, labels["x"]),
        first=tokens(begins, len(symbols)),
        answers=tokens(answers, len(states), len(symbols), 3),
        stops=tokens(stops, len(states), len(symbols)),
        ends=ends,
        outcomes=np.array(outcomes, dtype=np.int32).reshape(len(states), len(symbols)),
        bos=numbers.get(BOS, UNKNOWN),
        unknown=UNKNOWN,
        starts_halted=truth.first in VERDICTS.values(),
        nominal=truth.nominal,
    )


@lru_cache(maxsize=1_024)
def _triples(state: str, symbol: str) -> tuple[str, ...]:
    """Return the tokens of the moves -1, 0 and 1."""
    return tuple(Triple(state, symbol, move).token for move in (-1, 0, 1))


def _labels(layout: Residual) -> Mapping[str, tuple[str, ...]]:
    """Return the labels of each column of the chapter's table that has some."""
    found = {column.name: column.read_from(layout) for column in TURING if column.kind == "label"}
    lacking = next((name for name, subspace in found.items() if subspace is None), None)
    if lacking is not None:
        raise EngineError(f"no subspace of these weights holds the table's column {lacking}: run them row by row")
    return {name: subspace.labels or () for name, subspace in found.items() if subspace is not None}


def _places(names: Sequence[str], labels: Sequence[str]) -> NDArray[np.int32]:
    """Return the place of each name among labels, `UNKNOWN` for one that is not there: (names,)."""
    places = {label: n for n, label in enumerate(labels)}
    return np.array([places.get(name, UNKNOWN) for name in names], dtype=np.int32)


def _result(found: BatchResults, run: int) -> Result:
    return Result(
        outcome=next(outcome for outcome in OUTCOMES if outcome == found.outcomes[run]),
        steps=int(found.steps[run]),
        tape=found.tapes[run],
        cells_visited=int(found.visited[run]),
        ones=int(found.ones[run]),
    )


# ── Compiled code.
class AnyCall:
    """Calls of a function by any number of threads, each time with other arguments."""

    def __init__(self, function: KeptFunction) -> None:
        self._function = function

    def __call__(self, *arguments: Any) -> int:
        """Call the function and return its result.

        Raises:
            TypeError: for arguments other than arrays that are C-contiguous, tuples of such, and integers.
        """
        kinds, words = flat(arguments)
        code = self._function.code(kinds, arguments)
        if code is None:
            return self._function.by_numba(arguments)
        held = np.array(words, dtype=np.int64)  # until the call is over
        return code(address(held))


@cache
def kernel(name: str) -> AnyCall:
    """Return a function of `_blocks_kernel`.

    Raises:
        EngineError: if Numba is not installed.
    """
    module, need = "tm2tfr.sources.turing._blocks_kernel", "the compiled simulator needs Numba"
    if find_spec("numba") is None:
        required(need, ["numba"], "fast", error=EngineError)
    return AnyCall(KeptFunction.of(module, name, need))
