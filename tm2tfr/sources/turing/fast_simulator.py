"""The simulator for long runs: the same machine, the same steps as `tm2tfr.sources.turing.simulator`, compiled with Numba.

It proceeds in blocks of configurations, as columns of numbers: tens of millions of steps per second in the memory
of one block and the tape. Numba is optional; this module loads without it. It shares nothing with the compiler.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.errors import EngineError
from tm2tfr.extras import required
from tm2tfr.native.function import Caller, KeptFunction
from tm2tfr.sources.turing.simulator import Result
from tm2tfr.sources.turing.spec import Machine

MOST_CELLS = 2**22
"""δ is a table up to this many (state, symbol) pairs, and a sorted list of rules beyond: slower, but smaller."""

_BLOCK = 2**15  # configurations at a time when the caller wants only the result: they fit the processor's cache
_FOR_EVER = 2**62
_MARGIN = 8  # blank cells on either side of the input, so that a short run rarely needs more


class Block(NamedTuple):
    """The configurations `start`, `start` + 1, …: arrays of shape (n,)."""

    start: int
    state: NDArray[np.int32]
    """The state, as its index in ``machine.states``."""
    symbol: NDArray[np.int32]
    """The symbol under the head, as its index in ``machine.tape_alphabet``."""
    head: NDArray[np.int64]
    """The cell under the head, 0 where the input begins."""
    to: NDArray[np.int32]
    """The state after the step from here; -1 where there is no rule: the machine stops here."""
    written: NDArray[np.int32]
    """The symbol that this step writes; -1 without a rule."""
    move: NDArray[np.int32]
    """The head's actual move in this step: 0 without a rule, and at cell 0 of a one-way tape when the rule says left."""
    said: NDArray[np.int32]
    """The rule's own move; 0 without a rule."""

    @property
    def size(self) -> int:
        """The number of configurations; `len` counts the columns, as for any tuple."""
        return len(self.state)


class CompiledSimulation:
    """A run that proceeds in blocks: ask for the next configurations, or for the result.

    Args:
        max_steps: make at most this many steps; None: run until the machine stops.

    Raises:
        InputError: if `word` has symbols outside the input alphabet.
        EngineError: if Numba is not installed.
    """

    def __init__(self, machine: Machine, word: str = "", *, max_steps: int | None = None) -> None:
        self._machine, self._advance = machine, _kernel(machine.name)
        self._limit = _FOR_EVER if max_steps is None else min(max(0, max_steps), _FOR_EVER)
        self._blank = machine.tape_alphabet.index(machine.blank)
        self._rules = rules_of(machine)
        self.restart(word)

    def restart(self, word: str) -> None:
        """Go back to the start, with `word` on the tape.

        Raises:
            InputError: if `word` has symbols outside the input alphabet.
        """
        machine = self._machine
        machine.check_input(word)
        number = {a: k for k, a in enumerate(machine.tape_alphabet)}
        around = [self._blank] * _MARGIN
        self._tape = self._cells(np.array([*around, *(number[a] for a in word or machine.blank), *around]))
        self._origin = _MARGIN
        self._place = np.array([-1, machine.states.index(machine.start), *[self._origin] * 3], dtype=np.int64)

    # ── the run ─────────────────────────────────────────────────────────────────────────────────────────
    @property
    def steps(self) -> int:
        """The number of steps made so far: that of the last configuration returned."""
        return max(0, int(self._place[0]))

    @property
    def stopped(self) -> bool:
        """Whether the machine has stopped, rather than being in mid-run or cut off by the limit."""
        return self._no_rule(*self.here)

    @property
    def here(self) -> tuple[str, str]:
        """The state and the symbol under the head in the last configuration returned."""
        symbols, (_, state, head, _, _) = self._machine.tape_alphabet, self._place.tolist()
        return self._machine.states[state], symbols[self._tape[head]]

    def advance(self, n: int, room: tuple[NDArray[Any], ...] | None = None) -> Block:
        """Return the next `n` configurations, fewer at the end, none after it.

        The configuration in which the limit cuts the run off is the last one; its rule is not carried out. A
        block takes 32 bytes per configuration.

        Args:
            room: what `columns_for` returned for at least `n`, to be filled again; None: new arrays.
        """
        start = int(self._place[0]) + 1
        n = max(0, min(n, self._limit + 1 - start))
        columns = columns_for(n) if room is None else tuple(column[:n] for column in room)
        size = self._fill(columns)
        return Block(start, *(column[:size] for column in columns))

    def result(self) -> Result:
        """Continue to the end, or to the limit, and return the result of the run."""
        scratch = columns_for(_BLOCK)
        while self._fill(scratch):
            pass
        machine, (steps, state, _, lowest, highest) = self._machine, self._place.tolist()
        used = np.flatnonzero(self._tape != self._blank)
        first, end = (int(used[0]), int(used[-1]) + 1) if len(used) else (self._origin, self._origin)
        text = self._text(self._origin if machine.tape == "one-way" else first, end)
        outcome = machine.outcome_of(machine.states[state]) or machine.missing_outcome
        return Result(
            outcome=outcome if self.stopped else "limit",
            steps=steps,
            tape=text,
            cells_visited=highest - lowest + 1,
            ones=len(used),
        )

    def _fill(self, columns: tuple[NDArray[Any], ...]) -> int:
        """Continue and fill `columns`, (n,) each; return the number of entries filled."""
        done, new = 0, 1
        symbols = len(self._machine.tape_alphabet)
        while new and done < len(columns[0]):
            self._make_room()
            wall = self._origin if self._machine.tape == "one-way" else -1
            given = (self._tape, self._place, self._rules, symbols, self._origin, wall, self._limit, columns, done)
            new = self._advance(*given)
            done += new
        return done

    def _make_room(self) -> None:
        """Double the tape at the end that the head has reached."""
        head, more = int(self._place[2]), len(self._tape) + 8
        left, right = more * (head == 0), more * (head == len(self._tape) - 1)
        if left or right:
            longer = np.full(left + len(self._tape) + right, self._blank, dtype=self._tape.dtype)
            longer[left : left + len(self._tape)] = self._tape
            self._tape = longer
            self._place[2:] += left
            self._origin += left

    def _no_rule(self, state: str, symbol: str) -> bool:
        return state in self._machine.halting_states or (state, symbol) not in self._machine.transitions

    def _text(self, first: int, end: int) -> str:
        """Return the cells from index `first` to before `end` as text."""
        points = np.array([ord(a) for a in self._machine.tape_alphabet], dtype="<u4")
        data: bytes = points[self._tape[first:end]].tobytes()
        return data.decode("utf-32-le", "surrogatepass")

    def _cells(self, symbols: NDArray[Any]) -> NDArray[Any]:
        """Return a tape in the smallest integer type that can represent every symbol."""
        return symbols.astype(np.min_scalar_type(-len(self._machine.tape_alphabet)))


def rules_of(machine: Machine) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return δ as keys, to, written, said, as `tm2tfr.sources.turing._fast_simulator_kernel.advance` takes it."""
    states = {q: k for k, q in enumerate(machine.states)}
    symbols = {a: k for k, a in enumerate(machine.tape_alphabet)}
    halting, n_pairs = machine.halting_states, len(states) * len(symbols)
    rules = sorted(
        (states[q] * len(symbols) + symbols[a], states[rule.state], symbols[rule.write], rule.move)
        for (q, a), rule in machine.transitions.items()
        if q not in halting
    )
    found = np.array([*rules, (n_pairs, -1, -1, 0)], dtype=np.int64)  # the last one is a sentinel, never found
    to, written, said = (np.ascontiguousarray(column, dtype=np.int32) for column in found.T[1:])
    keys = np.ascontiguousarray(found[:, 0])
    if n_pairs > MOST_CELLS:
        return keys, to, written, said
    table = np.full((3, n_pairs + 1), -1, dtype=np.int32)
    table[:, keys] = to, written, said
    return keys[:0], table[0], table[1], table[2]


def columns_for(n: int) -> tuple[NDArray[Any], ...]:
    """Return room for the columns of a `Block` of `n` configurations."""
    return tuple(np.empty(n, dtype=np.int64 if name == "head" else np.int32) for name in Block._fields[1:])


def _kernel(name: str) -> Caller:
    """Return the compiled loop.

    Raises:
        EngineError: if Numba is not installed.
    """
    need = f"{name}: the compiled simulator needs Numba"
    if find_spec("numba") is None:
        required(need, ["numba"], "fast", error=EngineError)
    return Caller(_advance())


@cache
def _advance() -> KeptFunction:
    module = "tm2tfr.sources.turing._fast_simulator_kernel"
    return KeptFunction.of(module, "advance", "the compiled simulator needs Numba")
