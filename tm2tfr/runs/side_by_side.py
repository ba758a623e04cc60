"""Two streams of rows side by side: a decoder's and a reference's, to where they differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tm2tfr.base.errors import EngineError
from tm2tfr.contract.source import ANY, AnyRow


class Pairs:
    """Two streams of rows side by side, the decoder's and the reference's; `heads`: whether they are the chapter's."""

    def __init__(self, found: Iterator[AnyRow], expected: Iterator[AnyRow] | None, *, keep_rows: bool, heads: bool) -> None:
        self._found, self._expected, self._keep, self._heads = found, expected, keep_rows, heads
        self.kept: list[Any] = []
        self.wanted: list[AnyRow] = []
        self.tokens = self.compared = 0
        self.last: Any = None
        self.reach = 0
        self.differs: tuple[AnyRow | None, AnyRow | None] | None = None

    def __iter__(self) -> Iterator[AnyRow]:
        """Yield the decoder's rows: to the end of the reference's if they agree, otherwise see `check`."""
        going = self._expected is not None
        while True:
            want = next(self._expected, None) if self._expected else None
            if going and want is None and self.differs is None:
                return  # the reference is at its end, and so is a decoder that agrees with it
            row = self._next()
            if want is not None and self._keep:
                self.wanted.append(want)
            if want is not None and self.differs is None:
                self.compared += specified(want)
                if row != want:
                    self.differs = (want, row)
            if row is None:
                return
            self.last, self.tokens = row, row[0] + 1
            if self._heads and self.differs is None and isinstance(row.h, int):
                self.reach = max(self.reach, abs(row.h))
            if self._keep:
                self.kept.append(row)
            yield row
            if self.differs is not None and not self._keep:
                return

    def _next(self) -> Any:
        """Return the decoder's next row; after a difference, a position that the engine refuses ends the run."""
        try:
            return next(self._found, None)
        except EngineError:
            if self.differs is None:
                raise
            return None


def specified(row: AnyRow) -> int:
    """Return the number of cells of a row of the reference that it says something of, but for the position."""
    said = len(row) - 1
    for cell in row:  # once per position: a plain loop is several times as fast as a sum
        if cell is ANY:
            said -= 1
    return said
