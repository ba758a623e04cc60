"""Many runs of one decoder, one after the other, without returning to Python in between.

A run in which a head has to be scanned, or in which a number gets too large, is made by a session of its own, which says
what becomes of it: there are few of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import EngineError
from tm2tfr.engines.fast import arrays as k
from tm2tfr.engines.fast import fresh, straight
from tm2tfr.engines.fast.arrays import InTurn
from tm2tfr.engines.fast.fresh import longer
from tm2tfr.engines.fast.session import LOOK_AFTER, MOST_PATIENCE, SPECIALISE_AFTER, FastSession, Short
from tm2tfr.transformer.matrix import Ints

CUT, ENDED, REFUSED = k.DONE, k.STOPPED, k.OVERFLOW
"""How a run ends: at its most positions, or at the end of the position table; with a stop token; before a position that is
refused, since a number in it is too large."""
ROOM = 1_024
"""The positions of a run for which there is room at first."""
COMING = 4 * SPECIALISE_AFTER
"""If at least this many positions are still to come, straight-line code is compiled at once."""
KEYS = 1_024
"""There is room for the keys from -`KEYS` to `KEYS` at first; fewer than `winners` has places."""

LARGEST_SPARE = 2**20
"""Arrays of more bytes are not kept for other sessions."""


@dataclass(frozen=True)
class RowsInTurn:
    """The rows of some runs; those of run r are ``offsets[r] : offsets[r + 1]``.

    Args:
        offsets: (runs + 1,)
        ends: (runs,) see `CUT`.
        answers: (rows,) the tokens answered.
        codes, numbers: (rows, labels), (rows, numbers): see `tm2tfr.engines.fast.session.Chunk`.
    """

    offsets: Ints
    ends: Ints
    answers: NDArray[np.int32]
    codes: NDArray[np.int32]
    numbers: NDArray[np.float64]


_SPARE = fresh.Spare()


class ManyRuns(FastSession):
    """A session for many runs; its arguments are those of `FastSession`."""

    _odd = False
    """Whether the run at hand needs a session of its own."""
    _spare: FastSession | None = None
    _turns: Short | Literal[False] | None = None
    """The straight-line code for many runs; False if there can be none, None before it is written."""
    _turning = _sought = False
    """Whether it is used from now on; whether the cache was searched for it."""

    def run(self, given: NDArray[np.int32], start: Ints, most: Ints, rows: int, coming: int = 0) -> RowsInTurn:
        """Run on each prompt; nothing of one run is left in the next.

        Args:
            given: the tokens of all prompts; run r is fed ``given[start[r] : start[r + 1]]``, then its own answers.
            start: (runs + 1,)
            most: (runs,) the most positions of each run.
            rows: the number of rows for which there is room at first.
            coming: the approximate number of rows in this call and later ones.

        Raises:
            EngineError: for a number that is not a token.
        """
        if len(given):
            self._check((int(given.min()), int(given.max())))
        if self._decoder.positions is not None:
            most = np.minimum(most, self._decoder.positions)
        number = len(most)
        runs = InTurn(
            start, most, np.zeros(number + 1, dtype=np.int64), np.zeros(number, dtype=np.int64), np.zeros(1, dtype=np.int64)
        )
        self._begin(0)
        self._filled(max(rows, 1))
        control, patience = self._control, 1
        while int(runs.at[0]) < number:
            r = int(runs.at[0])
            self._room(min(int(most[r]), max(ROOM, len(self._state.tokens))))
            room, before, status = len(self._rows[0]), int(control[k.COUNT]), k.LEFT
            hurried = self._specialised(given, runs, coming)
            if hurried and self._turns and control[k.RESUME] == 0:
                status = self._turns[0](*self._given_to_turns(given, runs))
                ran = int(control[k.COUNT]) - before
                self.hurried += ran
                if status == k.LEFT:
                    patience = 1 if ran > 32 * patience else min(2 * patience, MOST_PATIENCE)
            if status == k.LEFT:
                limit = min(room, int(control[k.COUNT]) + patience) if hurried else room
                status = self._call(self._plan, self._state, self._pools, control, given, runs, *self._rows, limit)
            if status == k.GROW:
                self._widen(int(control[k.WANTED]))
            elif status in (k.GUARD, k.OVERFLOW):
                self._odd = True
            elif int(runs.at[0]) < number:
                r = int(runs.at[0])
                if int(control[k.COUNT]) == len(self._rows[0]):
                    self._filled(2 * len(self._rows[0]))
                elif int(control[k.POSITION]) == len(self._state.tokens):
                    self._room(min(int(most[r]), 2 * len(self._state.tokens)))
            if self._odd:
                self._alone(given, runs, broken=status == k.OVERFLOW)
                control = self._control  # there may be new arrays
        self._remember_more()  # for the next call: within one, the memo has as many places as at its beginning
        n = int(control[k.COUNT])
        self._ran += n
        answers, codes, numbers = (array[:n] for array in self._rows)
        del self._rows
        return RowsInTurn(runs.row, runs.how, answers, codes, numbers)

    def _specialised(self, given: NDArray[np.int32], runs: InTurn, coming: int) -> bool:
        """Return whether there is straight-line code; it is written where many positions have run or are to come."""
        past = self._ran + int(self._control[k.COUNT])
        if self._turning or not self._plain or past + coming < LOOK_AFTER:
            return self._turning
        if self._turns is None:
            written = straight.written(self._plan, turns=True)
            self._turns = (fresh.straight_turns(written[0]), *written[1:]) if written else False
        if self._turns:
            self._turning = past >= SPECIALISE_AFTER or coming >= COMING
            if not self._turning and not self._sought:
                self._sought, self._turning = True, self._turns[0].kept(*self._given_to_turns(given, runs))
        return self._turning

    def _given_to_turns(self, given: NDArray[np.int32], runs: InTurn) -> tuple[object, ...]:
        """Return the arguments of the straight-line code for many runs."""
        _, table, places = self._turns or (None, None, None)
        flat = (array.reshape(-1) for array in self._rows)
        arrays = (self._state, self._pools, self._control, given, runs, *flat, len(self._rows[0]))
        return (*arrays, table, self._plan.heads, places)

    def _build(self) -> None:
        """Make the plan and the arrays anew. The straight-line code knows places in the old arrays."""
        super()._build()
        self._turns, self._turning, self._sought = None, False, False

    def _fill(self, stop: NDArray[np.bool_]) -> None:
        """Use the arrays of a session that is over, or make new ones.

        New ones have room for the keys near 0, which most runs need: it spares a call.
        """
        self._sizes = fresh.sizes_of(self._plan, self._decoder.layout.width, len(stop))
        if (spare := _SPARE.take(self._sizes)) is not None:
            self._state, self._pools, self._control, self._call = spare
            self.restart()
            self._control[:], self._state.memo_slot[:], self._state.stop[:] = 0, -1, stop
            return
        super()._fill(stop)
        state = self._state
        slots, _, values = state.group_value.shape
        size = 2 * KEYS + 1
        state.span[:, 2] = KEYS
        self._state = state._replace(
            group_position=np.full((slots, size), -1, dtype=np.int64),
            group_token=np.zeros((slots, size), dtype=np.int32),
            group_value=np.zeros((slots, size, values)),
        )
        self._control, self._call = self._control.copy(), fresh.advance_many()

    def close(self) -> None:
        """End the session: other sessions may use its arrays."""
        if not self.refused and sum(array.nbytes for array in (*self._state, *self._pools)) <= LARGEST_SPARE:
            _SPARE.give(self._sizes, fresh.SessionArrays(self._state, self._pools, self._control, self._call))

    def _begin(self, count: int) -> None:
        """Go back to position 0, in front of a run."""
        self.restart()
        self._control[k.COUNT] = count

    def _filled(self, size: int) -> None:
        """Make room for `size` rows."""
        had = getattr(self, "_rows", None)
        if had is not None:
            self._rows: tuple[Any, Any, Any] = tuple(longer(array, size) for array in had)  # type: ignore[assignment]
            return
        labels, numbers = len(self._labels), len(self._numbers)
        answers, codes = np.empty(size, dtype=np.int32), np.empty((size, labels), dtype=np.int32)
        self._rows = answers, codes, np.empty((size, numbers))

    def _scan_instead(self, head: int, why: str) -> None:
        """Leave this run to another session, which may scan."""
        self._odd = True

    def _alone(self, given: NDArray[np.int32], runs: InTurn, *, broken: bool) -> None:
        """Make this run by itself, and go on with the next one; broken: whether the arrays cannot be used any more."""
        self._odd, r = False, int(runs.at[0])
        first = int(runs.row[r])
        session = self._spare or FastSession(self._decoder, labels=self._labels, numbers=self._numbers)
        session.restart()
        session.prompt(given[runs.start[r] : runs.start[r + 1]].tolist())
        try:
            chunk = session.extend(int(runs.most[r]))
        except EngineError:  # the first position is refused
            chunk = session.extend(0)
        self._spare = None if session.refused else session
        n = len(chunk.tokens)
        while first + n > len(self._rows[0]):
            self._filled(2 * len(self._rows[0]))
        for array, new in zip(self._rows, (chunk.answers, chunk.codes, chunk.numbers), strict=True):
            array[first : first + n] = new
        runs.row[r + 1] = first + n
        runs.how[r] = REFUSED if session.refused else ENDED if chunk.stopped else CUT
        if broken:
            self._build()
        runs.at[0] = r + 1
        self._begin(first + n)
