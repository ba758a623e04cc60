"""Rows of the chapter's table by column, many positions at a time: the simulator's rows, as numbers.

The same rows as those of `TuringTruth`, for runs of millions of steps. Cells are codes: the index of a label among those
of its subspace (of a token in the vocabulary), or -1 for ⊥.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.engines.reading import plain_number
from tm2tfr.errors import EngineError
from tm2tfr.native.function import Caller
from tm2tfr.runs.expected import UNKNOWN, Codes, CodesOf, RowBlock, RowsAhead, StepsAhead, kernel
from tm2tfr.sources.turing.columns import TURING, Row
from tm2tfr.sources.turing.fast_simulator import Block, CompiledSimulation, columns_for
from tm2tfr.sources.turing.simulator import Result
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.tokens import BOS
from tm2tfr.sources.turing.truth import VERDICT_TOKENS, TuringTruth, triple_token
from tm2tfr.transformer.residual import Subspace
from tm2tfr.transformer.weights import Decoder

NO_VERDICT = -1


class Labels(NamedTuple):
    """The labels that the codes of each column stand for."""

    x: tuple[str, ...]
    q: tuple[str, ...]
    b: tuple[str, ...]
    a: tuple[str, ...]

    @classmethod
    def of(cls, decoder: Decoder) -> Labels:
        """Return the labels of a decoder's subspaces."""
        return cls(*(read_from(decoder, name).labels or () for name in cls._fields))


def read_from(decoder: Decoder, column: str) -> Subspace:
    """Return the subspace from which a column of the chapter's table is read.

    Raises:
        EngineError: if the decoder's stream does not have it.
    """
    found = next(c for c in TURING if c.name == column).read_from(decoder.layout)
    if found is None:
        raise EngineError(f"no subspace of these weights holds the table's column {column}: run them row by row")
    return found


class ReferenceBlocks:
    """The simulator's rows in blocks of any size.

    Args:
        truth: the run, which says what is answered where; its own simulation is not used.

    Raises:
        EngineError: if Numba is not installed.
    """

    def __init__(self, decoder: Decoder, truth: TuringTruth, *, max_steps: int | None = None) -> None:
        machine = truth.machine
        self.simulation = CompiledSimulation(machine, truth.input, max_steps=max_steps)
        labels, tokens = Labels.of(decoder), decoder.numbers
        self._codes = CodesOf(
            state=_codes(machine.states, labels.q),
            written=_codes(machine.tape_alphabet, labels.b),
            read=_codes(machine.tape_alphabet, labels.a),
            token=_codes(list(tokens), labels.x),  # which need not follow the vocabulary's order
        )
        self._answers = _answers(machine, truth, tokens)
        self._stops = _stops(truth, tokens)
        ends = [tokens.get(token, UNKNOWN) for token in VERDICT_TOKENS.values()]
        self._ends = np.isin(np.arange(UNKNOWN, len(tokens)), ends)  # by token - UNKNOWN
        self._tokens, self._limit = tokens, max_steps
        self._answered, self._compared = Caller(kernel("answered")), Caller(kernel("alike"))
        self._rooms: list[tuple[NDArray[Any], ...]] = []
        self._begin(truth)

    def restart(self, truth: TuringTruth) -> None:
        """Go back to the first row, of a run of the same machine."""
        self.simulation.restart(truth.input)
        self._begin(truth)

    def _begin(self, truth: TuringTruth) -> None:
        self._truth = truth
        self._last: tuple[int, int, int] | None = None  # token, symbol, move of the step before
        self._position = 0
        self._next = 0  # the configuration to come
        self._ended = False
        self._head = self._opening()

    def take(self, n: int) -> RowBlock:
        """Return the next `n` rows, fewer at the end."""
        return self.ahead(n).rows

    def ahead(self, n: int, *, again: bool = False) -> RowsAhead:
        """Return the next `n` rows, fewer at the end, as far as the simulator knows them: see `expected`.

        Args:
            again: whether arrays may be used that the third to last call has returned.
        """
        parts, missing = list[RowBlock | StepsAhead](), n
        if self._position < self._head.size:
            parts.append(self._head.part(self._position, self._position + n))
            missing -= parts[-1].size
        while missing > 0 and not self._ended:
            parts.append(self._following(missing, self._room(n) if again and not parts else None))
            missing -= parts[-1].size
        found = RowsAhead(tuple(parts) or (self._head.part(0, 0),))
        self._position += found.size
        return found

    def result(self) -> Result:
        """Run to the end, or to the limit, and return the result."""
        found = self.simulation.result()
        return self._truth.judged(found, *self.simulation.here)

    # ── parts of a run ──────────────────────────────────────────────────────────────────────────────────────
    def _opening(self) -> RowBlock:
        """Return the rows of the prompt and of BOS."""
        truth, alphabet = self._truth, self._truth.machine.tape_alphabet
        prompt = [self._tokens.get(token, UNKNOWN) for token in (*truth.prompt, BOS)]
        n, lead = len(prompt), len(truth.lead)
        self._under = alphabet.index(truth.under)
        self._starts_halted = truth.first in VERDICT_TOKENS.values()
        self._first_token = self._tokens.get(truth.first, UNKNOWN)
        nothing = np.full(n, -1, dtype=np.int32)
        read = np.full(n, self._codes.read[self._under], dtype=np.int32)
        read[:lead] = self._codes.read[alphabet.index(truth.machine.blank)]
        answers = np.array([*prompt[:-1], self._first_token], dtype=np.int32)
        seen = self._codes.of_token(np.array(prompt, dtype=np.int32))
        return RowBlock(np.arange(n), seen, nothing, nothing, np.zeros(n), np.zeros(n), read, answers)

    def _room(self, n: int) -> tuple[NDArray[Any], ...]:
        """Return arrays for `n` configurations and their tokens, other ones than the last two times."""
        rooms = [room for room in self._rooms if len(room[0]) >= n]
        old = rooms[:1] if len(rooms) > 2 else []
        room = old[0] if old else (*columns_for(n), np.empty(n, dtype=np.int32))
        self._rooms = [*rooms[len(old) :], room]
        return room

    def _following(self, n: int, room: tuple[NDArray[Any], ...] | None) -> StepsAhead:
        """Return the next at most `n` configurations; sets `_ended` after the last."""
        none: Any = np.zeros(0, dtype=np.int32)
        block = Block(0, *(none,) * 7)
        at_limit = self._next == self._limit
        if not self._starts_halted:
            n = self._allowed(n)
            block = self.simulation.advance(n, None if room is None else room[:-1])
            self._next += block.size
        keep = block.size
        if keep < n:
            self._ended = True
        if at_limit and keep and block.to[-1] >= 0:
            keep, self._ended = 0, True  # the limit cuts the run off here: this step is not made
        move = block.said if self._truth.nominal else block.move
        y = np.empty(keep, dtype=np.int32) if room is None else room[-1][:keep]
        if keep:
            columns = block.state, block.symbol, block.to, block.written
            keep = self._answered(columns, move, self._answers, self._stops, self._ends, UNKNOWN, y)
            self._ended = self._ended or bool(self._ends[y[keep - 1] - UNKNOWN])
        before = (self._first_token, self._under, 0) if self._last is None else self._last
        if keep:
            self._last = (int(y[keep - 1]), int(block.written[keep - 1]), int(move[keep - 1]))
        return StepsAhead(self._head.size + block.start, block, move, y[:keep], before, self._codes, self._compared)

    def _allowed(self, n: int) -> int:
        """Return the number of configurations that may be looked at now; the one at the limit only by itself."""
        return n if self._limit is None else min(n, max(1, self._limit - self._next))


def _codes(names: Sequence[str], labels: Sequence[str]) -> Codes:
    places = {label: n for n, label in enumerate(labels)}
    return np.array([places.get(name, UNKNOWN) for name in names], dtype=np.int32)


def _answers(machine: Machine, truth: TuringTruth, tokens: Mapping[str, int]) -> NDArray[np.int32]:
    """Return the token after a step: (state that it enters, symbol, move + 1): a verdict or a triple."""
    table = np.full((len(machine.states), len(machine.tape_alphabet), 3), UNKNOWN, dtype=np.int32)
    for q, state in enumerate(machine.states):
        verdict = truth.entered(state)
        for a, symbol in enumerate(machine.tape_alphabet):
            for move in (-1, 0, 1):
                token = triple_token(state, symbol, move) if verdict is None else verdict
                table[q, a, move + 1] = tokens.get(token, UNKNOWN)
    return table


def _stops(truth: TuringTruth, tokens: Mapping[str, int]) -> Codes:
    """Return the verdict where no step is made: (state, symbol); `NO_VERDICT` where one is."""
    machine = truth.machine
    table = np.full((len(machine.states), len(machine.tape_alphabet)), NO_VERDICT, dtype=np.int32)
    for q, state in enumerate(machine.states):
        halted = state in machine.halting_states
        for a, symbol in enumerate(machine.tape_alphabet):
            if halted or (state, symbol) not in machine.transitions:
                table[q, a] = tokens.get(truth.stopped(state, symbol), UNKNOWN)
    return table


def as_rows(block: RowBlock, labels: Labels, vocabulary: Sequence[str]) -> list[Row]:
    """Return a block as rows; codes below -1 become ⟨…⟩."""

    def named(codes: Codes, names: Sequence[str]) -> list[str | None]:
        return [names[c] if c >= 0 else None if c == -1 else "⟨…⟩" for c in codes.tolist()]

    columns = (
        block.i.tolist(),
        named(block.x, labels.x),
        named(block.q, labels.q),
        named(block.b, labels.b),
        [plain_number(v) for v in block.m.tolist()],
        [plain_number(v) for v in block.h.tolist()],
        named(block.a, labels.a),
        [vocabulary[c] if c >= 0 else "⟨…⟩" for c in block.y.tolist()],
    )
    return [Row(*cells) for cells in zip(*columns, strict=True)]
