"""What every subspace must contain at every position, and where each head must look: the construction as a
specification, computed from the simulator's rows in exact arithmetic and without any weights.

Weights say which subspace is claimed to hold what (`Subspace.holds`), and where a head is claimed to look
(`Claim.attends`). These are the keys here; the names of subspaces, heads and layers decide nothing.

`check` compares the seven columns of the table. When they differ, this specification shows which layer was the
first to go wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from tm2tfr.contract import reached, vector
from tm2tfr.sources.turing.columns import Row
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.transformer.residual import Residual

Expected = Mapping[str, str | int | Fraction | None]
"""What a subspace holds -> its number, or the label of its one-hot vector, None for the zero vector."""

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
"""What is held -> (layer from 0, part) after which it has its value; before that, it is 0. ``e_x(h)``: see `written`."""


@dataclass(frozen=True)
class TuringSpecification:
    """The specification of a run: `rows` are the simulator's, from position 0 on."""

    machine: Machine
    word: str
    rows: Sequence[Row]

    @property
    def tokens(self) -> Sequence[str]:
        """The tokens fed, from position 0 on."""
        return [str(row.x) for row in self.rows]

    def covers(self, layout: Residual) -> bool:
        """Return whether every subspace of `layout` is claimed to hold something that this specification covers."""
        return all(s.holds in WRITTEN or s.holds == "e_x(h)" for s in layout.subspaces)

    def written(self, what: str) -> tuple[int, str]:
        """Return the stage after which the subspace that holds `what` has its value."""
        if what == "e_x(h)":  # straight from the lookup on a one-way tape; masked left of 0 on a two-way one
            return (2, "feed_forward" if self.machine.tape == "two-way" else "attention")
        return WRITTEN[what]

    def holds(self, what: str, layer: int, part: str) -> bool:
        """Return whether the subspace that holds `what` has its value after `part` of `layer`."""
        return reached(self.written(what), layer, part)

    def values(self, i: int) -> Expected:
        """Return what every subspace holds at position `i`, once it is written."""
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
            holds = self.holds(subspace.holds, layer, part)
            stream += vector(subspace, values[subspace.holds]) if holds else [0] * subspace.width
        return stream

    def attended(self, where: str, i: int) -> Sequence[int]:
        """Return the positions that a head with the claim `where` must attend to from position `i`; none: no such claim."""
        if where == "all":
            return range(i + 1)
        if where == "j*":
            return (self.latest_write(i),)
        h, before = int(self.rows[i].h), self._before[i]
        of = {"h": h, "h+": h, "h-": -h, "h_{i-1}": before, "h_{i-1}+": before, "h_{i-1}-": -before}
        return (max(of[where], 0),) if where in of else ()

    def latest_write(self, i: int) -> int:
        """Return j*: the position j ≤ i whose cell is nearest to the head's, the latest of several (Eq. 8.16).

        If the head's cell was written to, that is the latest write; otherwise it is what Eq. 8.16 finds instead.
        """
        h = int(self.rows[i].h)
        return max(range(i + 1), key=lambda j: j - 2 * (i + 1) * (h - self._before[j]) ** 2)

    def remark(self, what: str, i: int) -> str | None:
        """Return what is known about a wrong value of `what` at position `i` if every head looked where it must."""
        bump = self.boundary_bump(i) if what == "h/(i+1)" else None
        if bump is None:
            return None
        return (
            f"Exercise 8.3: token {bump}, {self.rows[bump].x}, moves left at cell 0, where the "
            "head stays; the sum of the moves goes on to -1, and every later head position is one too small. "
            "The left-boundary repair (the default) emits m = 0 there"
        )

    def about(self, i: int) -> str | None:
        """Every position answers with the machine as a whole."""
        return None

    def boundary_bump(self, i: int) -> int | None:
        """Return the first position ≤ `i` whose token says m = -1 though the head stayed at cell 0, if any."""
        return next((k for k in range(i + 1) if self.rows[k].m == -1 and self._before[k] == self.rows[k].h == 0), None)

    @cached_property
    def _before(self) -> list[int]:
        """h_{i-1} for each position i; 0 for the first."""
        return [0, *(int(row.h) for row in self.rows[:-1])]

    def _given(self, cell: int) -> str | None:
        return self.word[cell] if 0 <= cell < len(self.word) else None
