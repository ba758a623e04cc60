"""What the next rows must be: numbers of the simulator, which become rows only if somebody wants to see them.

A long run is compared in compiled code, column by column, without making the rows first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.native.function import Caller, KeptFunction
from tm2tfr.sources.turing.columns import CHECKED
from tm2tfr.sources.turing.fast_simulator import Block

if TYPE_CHECKING:
    from tm2tfr.engines.fast.session import Chunk

Codes = NDArray[np.int32]
UNKNOWN = -3
"""The code of anything for which the decoder has no label: equal to nothing that it can answer."""


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

    @property
    def rows(self) -> RowBlock:
        """The rows."""
        return self

    def part(self, start: int, stop: int) -> RowBlock:
        """Return the rows from place `start` to before `stop`."""
        columns: tuple[Any, ...] = self
        return RowBlock(*(column[start:stop] for column in columns))

    def alike(self, chunk: Chunk, start: int) -> tuple[int, float]:
        """Return (the number of rows before the first that differs from `chunk` from `start` on, their largest abs(h))."""
        found = rows_of(chunk).part(start, start + self.size)
        n = found.size
        differs = np.zeros(n, dtype=bool)
        for name in CHECKED:
            differs |= getattr(found, name) != getattr(self, name)[:n]
        agreed = int(differs.argmax()) if differs.any() else n
        return agreed, float(abs(found.h[:agreed]).max(initial=0.0))


class CodesOf(NamedTuple):
    """The decoder's codes, by the machine's numbers of states and symbols, and of x by token."""

    state: Codes
    written: Codes
    read: Codes
    token: Codes

    def of_token(self, tokens: Codes) -> Codes:
        """Return the codes of x if these tokens are fed."""
        return np.where(tokens < 0, UNKNOWN, self.token[np.maximum(tokens, 0)]).astype(np.int32)


@dataclass(frozen=True)
class StepsAhead:
    """Configurations of the simulator with the tokens that are right after them.

    Args:
        first: the position of the first.
        move, y: (n,) the moves as the tokens have them, the tokens; `block` can be longer.
        before: token, written symbol and move of the step before.
        compared: calls `_expected_kernel.alike`.
    """

    first: int
    block: Block
    move: Codes
    y: Codes
    before: tuple[int, int, int]
    codes: CodesOf
    compared: Caller

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.y)

    @property
    def h(self) -> NDArray[np.float64]:
        """The head's cells: (n,)."""
        return self.block.head[: self.size].astype(np.float64)

    @property
    def rows(self) -> RowBlock:
        """The rows."""
        n, block, codes = self.size, self.block, self.codes
        token, symbol, moved = self.before
        return RowBlock(
            np.arange(self.first, self.first + n),
            codes.of_token(_after(token, self.y, n)),
            codes.state[block.state[:n]],
            codes.written[_after(symbol, block.written, n)],
            _after(moved, self.move, n).astype(np.float64),
            self.h,
            codes.read[block.symbol[:n]],
            self.y.copy(),
        )

    def alike(self, chunk: Chunk, start: int) -> tuple[int, float]:
        """Return what `RowBlock.alike` returns."""
        block, found = self.block, (chunk.tokens, chunk.answers, chunk.codes, chunk.numbers)
        columns, largest = (block.state, block.symbol, block.head, block.written), np.zeros(1)
        given = columns, self.move, self.y, self.before, self.codes, found, start, UNKNOWN, largest
        return self.compared(*given), float(largest[0])


@dataclass(frozen=True)
class RowsAhead:
    """The next rows, in parts."""

    parts: tuple[RowBlock | StepsAhead, ...]

    @property
    def size(self) -> int:
        """The number of rows."""
        return sum(part.size for part in self.parts)

    @property
    def rows(self) -> RowBlock:
        """The rows."""
        columns: Any = zip(*(part.rows for part in self.parts), strict=True)
        return RowBlock(*map(np.concatenate, columns)) if len(self.parts) > 1 else self.parts[0].rows

    def alike(self, chunk: Chunk) -> tuple[int, float]:
        """Return (the number of rows before the first that differs from `chunk`, or that only one has; their largest |h|).

        All rows up to there agree in x, q, b, m, h, a and y.
        """
        agreed, reach = 0, 0.0
        for part in self.parts:
            n, largest = part.alike(chunk, agreed)
            agreed, reach = agreed + n, max(reach, largest)
            if n < part.size:
                break
        return agreed, reach


def rows_of(chunk: Chunk) -> RowBlock:
    """Return the positions of a session that reads q, b, a and perhaps x, and m and h, as rows."""
    n = len(chunk.tokens)
    q, b, a = (chunk.codes[:, k] for k in range(3))
    x = chunk.tokens if chunk.codes.shape[1] == 3 else chunk.codes[:, 3]
    m, h = chunk.numbers[:, 0], chunk.numbers[:, 1]
    return RowBlock(np.arange(chunk.start, chunk.start + n), x, q, b, m, h, a, chunk.answers)


@cache
def kernel(name: str) -> KeptFunction:
    """Return a function of `tm2tfr.runs._expected_kernel`."""
    return KeptFunction.of("tm2tfr.runs._expected_kernel", name, "long runs need Numba")


def _after(first: int, values: Sequence[int] | NDArray[np.int32], n: int) -> Codes:
    """Return (n,) values, each moved one place later, with `first` in front."""
    return np.concatenate([[first], values[: max(0, n - 1)]])[:n].astype(np.int32)
