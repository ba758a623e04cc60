"""The choices for an export, and the constants that follow from them. All of them but gamma are powers of two."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from typing import ClassVar

from tm2tfr.targets.common.fitting import Recipe


@dataclass(frozen=True, kw_only=True)
class Gpt2Recipe(Recipe):
    """How a decoder becomes a GPT-2; `positions` are the rows of the position table.

    Args:
        stock: use GPT-2's own epsilon and GELU; otherwise a layer norm that is the identity, and ReLU.
    """

    stock: bool = False
    proved_in: ClassVar[str] = "limits"
    """The module with the bounds on rounding."""

    def assured(self, beyond: str) -> str:
        """Return the paragraph of a model card that says how far the model is right, and what lies `beyond`."""
        where = f"`tm2tfr/targets/gpt2/{self.proved_in}.py`"
        return f"""**How far it is right.** {self.stated}
That follows from a proof of the weights in exact arithmetic and bounds on the rounding of floating point, in
{where}. The bounds hold for any order in which a kernel adds, with and without fused multiply-add;
each operation is assumed to be rounded with all digits of {self.dtype}. There is no position beyond: {beyond}.
Load it in {self.dtype}, as its configuration says: nothing is proved for fewer digits."""

    @property
    def span(self) -> int:
        """S, a power of two, at least N: the stream holds i/S, (i/S)², h/S and (h/S)²."""
        return span(self.positions)

    @property
    def centre(self) -> int:
        """c: lookups compare h - c with j - c, whose squares are a quarter of the size."""
        return centre(self.max_head)

    @cached_property
    def winding(self) -> Winding:
        """The path on which the latest write compares cells."""
        return Winding(self.max_head)

    @property
    def digit(self) -> int:
        """A power of two, at least U and V: the stream holds u and v divided by it."""
        return span(max(self.winding.reach))

    @property
    def digit_square(self) -> int:
        """A power of two, at least U² + V²: the stream holds u² + v² divided by it."""
        return span(self.winding.square)

    @property
    def temperature(self) -> float:
        """1/τ, by which queries are multiplied: even the weight of the strongest rival is then exactly 0."""
        return float(self.span * SHARPNESS)

    @property
    def gain(self) -> float:
        """K: a feed-forward layer's input is multiplied by it and its output divided, which turns GELU into ReLU."""
        return float(gain(self.positions)) if self.stock else 1.0

    @property
    def sink(self) -> float:
        """C: a constant direction in every token's embedding, the layer norm's variance; 0: none is needed."""
        return SINK[self.dtype] if self.stock else 0.0

    @property
    def epsilon(self) -> float:
        """The layer norm's epsilon: so large that nothing else counts, or GPT-2's."""
        return 1e-5 if self.stock else 2.0**100

    def gamma(self, width: int) -> float:
        """Return the layer norm's weight, all alike, for `width` dimensions: what undoes the division."""
        return math.sqrt(2 * self.sink**2 / width + self.epsilon) if self.stock else 2.0**50

    @property
    def activation(self) -> str:
        """The activation by the name that GPT-2's configuration gives it."""
        return "gelu_new" if self.stock else "relu"


SHARPNESS = 2**14
"""The gaps of all scores, at their smallest, times the temperature, where nothing is rounded."""
SINK = {"float64": 2.0**30, "float32": 2.0**13}
"""dtype -> C."""


def span(positions: int) -> int:
    """Return the least power of two that is at least `positions`, or whatever number is given."""
    return 1 << max(0, positions - 1).bit_length()


def centre(head: int) -> int:
    """Return c for |h| ≤ `head`."""
    return head // 2


def gain(positions: int) -> int:
    """Return K: 64 times the span, so that 1/(i+1) is past the bend of GELU; at least 2^16."""
    return max(2**16, 64 * span(positions))


@dataclass(frozen=True)
class Winding:
    """Cells as points of the plane: a path of whole numbers (u, v) that winds, so that scores of far cells stay small.

    The path starts at (0, 0) and goes through the plane in rows: up row 0 to v = V, down row 1 to v = -V, up row 2, and so
    on; cells left of 0 are at the opposite points. Different cells are at different points, neighbours at a distance of 1::

        v =  V   3  4  15 …        V = 3: cells 0, 1, 2, 3 are row 0, cells 4 to 10 row 1, cells 11 to 17 row 2
                 2  5  14
                 1  6  13          u(-h) = -u(h), v(-h) = -v(h), and u² + v² is the same for h and -h
                 0  7  …

    The squared distance of two cells takes the place of (h - k)². It is 0 where h = k, else at least 1, at most about 4H
    where (h - k)² is 4H²: that is what makes room for the tie-break within the digits of a float. The nearest of several
    *other* cells may be another one by this distance, except that the neighbour of a cell is never farther than any.
    The points with |h| ≤ `head` have the least u² + v², or nearly.

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
