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
from tm2tfr.sources.turing.columns import TURING, Row
from tm2tfr.sources.turing.fast_simulator import Block, CompiledSimulation
from tm2tfr.sources.turing.simulator import Result
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.tokens import BOS
from tm2tfr.sources.turing.truth import VERDICT_TOKENS, TuringTruth, triple_token
from tm2tfr.transformer.residual import Subspace
from tm2tfr.transformer.weights import Decoder

Codes = NDArray[np.int32]
UNKNOWN = -3
"""The code of anything for which the decoder has no label: equal to nothing that it can answer."""
NO_VERDICT = -1


class RowBlock(NamedTuple):
    """Rows i, i + 1, …: arrays of shape (n,)."""

    i: NDArray[np.int64]
    x: Codes
    q: Codes
    b: Codes
    m: NDArray[np.float64]
    h: NDArray[np.float64]
    a: Codes
    y: Codes

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.i)

    def part(self, start: int, stop: int) -> RowBlock:
        """Return the rows from place `start` to before `stop`."""
        columns: tuple[Any, ...] = self
        return RowBlock(*(column[start:stop] for column in columns))


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

    def __init__(
        self,
        decoder: Decoder,
        truth: TuringTruth,
        *,
        max_steps: int | None = None,
        saved: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        machine = truth.machine
        if saved is None:
            self.simulation = CompiledSimulation(machine, truth.input, max_steps=max_steps)
        else:
            self.simulation = CompiledSimulation.restore(machine, saved, max_steps=max_steps)
        labels, tokens = Labels.of(decoder), decoder.numbers
        self._state = _codes(machine.states, labels.q)
        self._written = _codes(machine.tape_alphabet, labels.b)
        self._read = _codes(machine.tape_alphabet, labels.a)
        self._triples = _triples(machine, tokens)
        self._verdicts = _verdicts(truth, tokens)
        self._stops = _stops(truth, tokens)
        ends = [tokens.get(token, UNKNOWN) for token in VERDICT_TOKENS.values()]
        self._ends = np.isin(np.arange(UNKNOWN, len(tokens)), ends)  # by token - UNKNOWN
        self._shown = _codes(
            list(tokens), labels.x
        )  # by token: the code of x, which need not follow the vocabulary's order
        self._tokens, self._limit = tokens, max_steps
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
        self._cut: dict[str, NDArray[Any]] | None = None  # the simulation before it looks at the step at the limit
        self._head = self._opening()

    def take(self, n: int) -> RowBlock:
        """Return the next `n` rows, fewer at the end."""
        blocks, missing = [], n
        if self._position < self._head.size:
            blocks.append(self._head.part(self._position, self._position + n))
            missing -= blocks[-1].size
        while missing > 0 and not self._ended:
            block = self._following(missing)
            blocks.append(block)
            missing -= block.size
        rows = RowBlock(*(np.concatenate(c) for c in zip(*blocks, strict=True))) if blocks else self._head.part(0, 0)
        self._position += rows.size
        return rows

    def result(self) -> Result:
        """Run to the end, or to the limit, and return the result."""
        found = self.simulation.result()
        return self._truth.judged(found, *self.simulation.here)

    # ── to a file and back ──────────────────────────────────────────────────────────────────────────────────
    def save(self) -> dict[str, NDArray[Any]]:
        """Return what the constructor takes as `saved`; call `resumed` after it."""
        last = (-9, 0, 0) if self._last is None else self._last
        ended = self._ended and self._cut is None  # a run that only the limit has ended can continue with a higher one
        simulation = self.simulation.save() if self._cut is None else self._cut
        return {**simulation, "rows": np.array([self._position, *last, ended], dtype=np.int64)}

    def resumed(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Continue where the saved blocks ended."""
        position, token, symbol, move, ended = saved["rows"].tolist()
        self._position, self._ended = position, bool(ended)
        self._next = max(0, position - self._head.size)
        self._last = None if token == -9 else (token, symbol, move)

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
        read = np.full(n, self._read[self._under], dtype=np.int32)
        read[:lead] = self._read[alphabet.index(truth.machine.blank)]
        answers = np.array([*prompt[:-1], self._first_token], dtype=np.int32)
        seen = self._seen(np.array(prompt, dtype=np.int32))
        return RowBlock(np.arange(n), seen, nothing, nothing, np.zeros(n), np.zeros(n), read, answers)

    def _following(self, n: int) -> RowBlock:
        """Return the rows of the next at most `n` configurations; sets `_ended` after the last."""
        none: Any = np.zeros(0, dtype=np.int32)
        block = Block(0, *(none,) * 7)
        if not self._starts_halted:
            n = self._allowed(n)
            block = self.simulation.advance(n)
            self._next += block.size
        keep = block.size
        if keep < n:
            self._ended = True
        if self._cut is not None and keep and block.to[-1] >= 0:
            keep, self._ended = 0, True  # the limit cuts the run off here: this step is not made
        else:
            self._cut = None
        move = block.said if self._truth.nominal else block.move
        y = self._answers(block, move)
        ends = np.flatnonzero(self._ends[y[:keep] - UNKNOWN])
        if len(ends):
            keep, self._ended = int(ends[0]) + 1, True
        token, symbol, moved = (self._first_token, self._under, 0) if self._last is None else self._last
        if keep:
            self._last = (int(y[keep - 1]), int(block.written[keep - 1]), int(move[keep - 1]))
        first = self._head.size + block.start
        return RowBlock(
            np.arange(first, first + keep),
            self._seen(_after(token, y, keep)),
            self._state[block.state[:keep]],
            self._written[_after(symbol, block.written, keep)],
            _after(moved, move, keep).astype(np.float64),
            block.head[:keep].astype(np.float64),
            self._read[block.symbol[:keep]],
            y[:keep],
        )

    def _seen(self, tokens: Codes) -> Codes:
        """Return the codes of x if these tokens are fed."""
        return np.where(tokens < 0, UNKNOWN, self._shown[np.maximum(tokens, 0)]).astype(np.int32)

    def _allowed(self, n: int) -> int:
        """Return the number of configurations that may be looked at now; the one at the limit only by itself."""
        following = self._next
        if self._limit is None or following + n <= self._limit:
            return n
        if following < self._limit:
            return self._limit - following
        self._cut = self.simulation.save()
        return 1

    def _answers(self, block: Block, move: NDArray[np.int32]) -> Codes:
        """Return the right token after each configuration."""
        stops = block.to < 0
        to, written = np.where(stops, 0, block.to), np.where(stops, 0, block.written)
        verdict = self._verdicts[to]
        answers = np.where(verdict == NO_VERDICT, self._triples[to, written, move + 1], verdict)
        return np.where(stops, self._stops[block.state, block.symbol], answers).astype(np.int32)


def _after(first: int, values: NDArray[np.int32], n: int) -> Codes:
    """Return (n,) values, each moved one place later, with `first` in front."""
    return np.concatenate([[first], values[: max(0, n - 1)]])[:n].astype(np.int32)


def _codes(names: Sequence[str], labels: Sequence[str]) -> Codes:
    places = {label: n for n, label in enumerate(labels)}
    return np.array([places.get(name, UNKNOWN) for name in names], dtype=np.int32)


def _triples(machine: Machine, tokens: Mapping[str, int]) -> NDArray[np.int32]:
    """Return the token of each triple: (state, symbol, move + 1)."""
    table = np.full((len(machine.states), len(machine.tape_alphabet), 3), UNKNOWN, dtype=np.int32)
    for q, state in enumerate(machine.states):
        for a, symbol in enumerate(machine.tape_alphabet):
            for move in (-1, 0, 1):
                table[q, a, move + 1] = tokens.get(triple_token(state, symbol, move), UNKNOWN)
    return table


def _verdicts(truth: TuringTruth, tokens: Mapping[str, int]) -> Codes:
    """Return the verdict that a step into each state answers: (states,)."""
    verdicts = map(truth.entered, truth.machine.states)
    return np.array([NO_VERDICT if v is None else tokens.get(v, UNKNOWN) for v in verdicts], dtype=np.int32)


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
