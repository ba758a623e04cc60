"""What every named subspace must contain at every position, and where each head must look: the construction as
a specification, computed from the simulator's rows in exact arithmetic and without any weights.

`check` compares the seven columns of the table. When they differ, this specification shows which layer was the
first to go wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from tm2tfr.machine.spec import Machine
from tm2tfr.trace.rows import Row
from tm2tfr.transformer.residual import Residual, Subspace

Expected = Mapping[str, str | int | Fraction | None]
"""Subspace -> its number, or the label of its one-hot vector, None for the zero vector."""

WRITTEN: Mapping[str, tuple[int, str]] = {
    **dict.fromkeys(("e_x", "1/(i+1)", "1", "i", "i^2"), (-1, "embedding")),
    **dict.fromkeys(("e_q", "e_b", "m", "m/(i+1)"), (0, "feed_forward")),
    "h/(i+1)": (1, "attention"),
    **dict.fromkeys(("h+/(i+1)", "h-/(i+1)", "h_{i-1}+/(i+1)", "h_{i-1}-/(i+1)"), (1, "feed_forward")),
    **dict.fromkeys(("h", "h^2", "h-", "e_x(h+)", "h_{i-1}", "h_{i-1}^2"), (2, "attention")),
    "[h=0]": (2, "feed_forward"),
    **dict.fromkeys(("h_{j*-1}", "e_b(j*-1)"), (3, "attention")),
    "[h_{j*-1}=h]": (3, "feed_forward"),
    "e_a": (4, "feed_forward"),
    "e_y": (5, "feed_forward"),
}
"""Subspace -> (layer from 0, part) after which it has its value; before that, it is 0. ``e_x(h)``: see `written`."""

PARTS = ("embedding", "attention", "feed_forward")


@dataclass(frozen=True)
class Specification:
    """The specification of a run: `rows` are the simulator's, from position 0 on."""

    machine: Machine
    word: str
    rows: Sequence[Row]

    def written(self, subspace: str) -> tuple[int, str]:
        """Return the stage after which `subspace` has its value."""
        if subspace == "e_x(h)":  # straight from the lookup on a one-way tape; masked left of 0 on a two-way one
            return (2, "feed_forward" if self.machine.tape == "two-way" else "attention")
        return WRITTEN[subspace]

    def holds(self, subspace: str, layer: int, part: str) -> bool:
        """Return whether `subspace` has its value after `part` of `layer`."""
        at, done = self.written(subspace)
        return (at, PARTS.index(done)) <= (layer, PARTS.index(part))

    def values(self, i: int) -> Expected:
        """Return the value of every subspace at position `i`, once it is written."""
        row, per = self.rows[i], Fraction(1, i + 1)
        h, before = int(row.h), self._before[i]
        j = self.latest_write(i)
        up, up_before = max(h, 0), max(before, 0)
        return {
            "e_x": row.x,
            "1/(i+1)": per,
            "1": 1,
            "i": i,
            "i^2": i * i,
            "e_q": row.q,
            "e_b": row.b,
            "m": int(row.m),
            "m/(i+1)": int(row.m) * per,
            "h/(i+1)": h * per,
            "h+/(i+1)": up * per,
            "h-/(i+1)": (up - h) * per,
            "h_{i-1}+/(i+1)": up_before * per,
            "h_{i-1}-/(i+1)": (up_before - before) * per,
            "h": h,
            "h^2": h * h,
            "h-": up - h,
            "e_x(h+)": self._given(up),
            "e_x(h)": self._given(h),
            "[h=0]": int(h == 0),
            "h_{i-1}": before,
            "h_{i-1}^2": before * before,
            "h_{j*-1}": self._before[j],
            "e_b(j*-1)": self.rows[j].b,
            "[h_{j*-1}=h]": int(self._before[j] == h),
            "e_a": row.a,
            "e_y": row.y,
        }

    def stream(self, layout: Residual, i: int, layer: int, part: str) -> list[int | Fraction]:
        """Return the residual stream at position `i` after `part` of `layer`: (width,), exact."""
        values, stream = self.values(i), list[int | Fraction]()
        for subspace in layout.subspaces:
            holds = self.holds(subspace.name, layer, part)
            stream += vector(subspace, values[subspace.name]) if holds else [0] * subspace.width
        return stream

    def attended(self, head: str, i: int) -> Sequence[int]:
        """Return the positions that the head called `head` must attend to from position `i`."""
        if head == "sum of moves":
            return range(i + 1)
        if head == "latest write":
            return (self.latest_write(i),)
        of = {"cell h": int(self.rows[i].h), "cell h_{i-1}": self._before[i]}
        if head in of:
            return (max(of[head], 0),)
        number = of[head[:-1]]
        return (max(number if head.endswith("+") else -number, 0),)

    def latest_write(self, i: int) -> int:
        """Return j*: the position j ≤ i whose cell is nearest to the head's, the latest of several (Eq. 8.16).

        If the head's cell was written to, that is the latest write; otherwise it is what Eq. 8.16 finds instead.
        """
        h = int(self.rows[i].h)
        return max(range(i + 1), key=lambda j: j - 2 * (i + 1) * (h - self._before[j]) ** 2)

    def boundary_bump(self, i: int) -> int | None:
        """Return the first position ≤ `i` whose token says m = -1 though the head stayed at cell 0, if any."""
        return next((k for k in range(i + 1) if self.rows[k].m == -1 and self._before[k] == self.rows[k].h == 0), None)

    @cached_property
    def _before(self) -> list[int]:
        """h_{i-1} for each position i; 0 for the first."""
        return [0, *(int(row.h) for row in self.rows[:-1])]

    def _given(self, cell: int) -> str | None:
        return self.word[cell] if 0 <= cell < len(self.word) else None


def vector(subspace: Subspace, value: str | int | Fraction | None) -> list[int | Fraction]:
    """Return a value of `Expected` as the coordinates of `subspace`."""
    if subspace.labels is None:
        return [value if isinstance(value, int | Fraction) else 0]
    return [int(label == value) for label in subspace.labels]


def known(layout: Residual) -> bool:
    """Return whether `layout` consists of subspaces that this specification covers."""
    return all(s.name in WRITTEN or s.name == "e_x(h)" for s in layout.subspaces)
