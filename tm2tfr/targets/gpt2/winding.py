"""Cells as points of the plane: a path of whole numbers (u, v) that winds, so that scores of far cells stay small.

The path starts at (0, 0) and goes through the plane in rows: up row 0 to v = V, down row 1 to v = -V, up row 2, and so on;
cells left of 0 are at the opposite points. Different cells are at different points, and neighbours at a distance of 1::

    v =  V   3  4  15 …        V = 3: cells 0, 1, 2, 3 are row 0, cells 4 to 10 row 1, cells 11 to 17 row 2
             2  5  14
             1  6  13          u(-h) = -u(h), v(-h) = -v(h), and u² + v² is the same for h and -h
             0  7  …

The squared distance of two cells takes the place of (h - k)². It is 0 where h = k, else at least 1, and at most some 4H
where (h - k)² is 4H²: that is what makes room for the tie-break within the digits of a float. The nearest of several
*other* cells may be another one by this distance, except that the neighbour of a cell is never farther than any.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isqrt


@dataclass(frozen=True)
class Winding:
    """The path whose points with |h| ≤ `head` have the least u² + v², or nearly.

    Raises:
        ValueError: for a negative bound.
    """

    head: int

    def __post_init__(self) -> None:
        if self.head < 0:
            raise ValueError(f"a bound on |h| cannot be negative, as {self.head} is")

    @cached_property
    def turn(self) -> int:
        """V: rows go from -V to V."""
        return isqrt(self.head // 2)

    def point(self, cell: int) -> tuple[int, int]:
        """Return (u, v) of a cell; (0, 0) beyond `head`, where nobody asks."""
        sign, far = (-1, -cell) if cell < 0 else (1, cell)
        if far > self.head:
            return 0, 0
        if far <= self.turn:
            return 0, cell
        row, place = divmod(far - self.turn - 1, 2 * self.turn + 1)
        along = place - self.turn if row % 2 else self.turn - place
        return sign * (row + 1), sign * along

    @property
    def reach(self) -> tuple[int, int]:
        """U and V: the largest |u| and |v|."""
        return -(-(self.head - self.turn) // (2 * self.turn + 1)), self.turn

    @property
    def square(self) -> int:
        """U² + V², which no u² + v² exceeds."""
        return sum(most * most for most in self.reach)
