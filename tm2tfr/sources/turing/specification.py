"""The specification of a machine's run: the model's value of every variable at every position."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Self

from tm2tfr.contract.model import SourceModel
from tm2tfr.contract.modelled import ModelSpecification
from tm2tfr.sources.turing.columns import CHECKED, Row
from tm2tfr.sources.turing.model import turing_model
from tm2tfr.sources.turing.spec import Machine

EXERCISE = (
    "Exercise 8.3: token {bump}, {token}, moves left at cell 0, where the head stays; the sum of the moves goes on to -1, "
    "and every later head position is one too small. The left-boundary repair (the default) emits m = 0 there"
)
"""Why a head position is wrong without the repair: at `bump` stands `token`, the first that moves left at cell 0."""


class TuringSpecification(ModelSpecification):
    """The specification of a run: `rows` are the simulator's, from position 0 on."""

    def __init__(self, model: SourceModel, rows: Sequence[Row]) -> None:
        table = {name: [getattr(row, name) for row in rows] for name in CHECKED[1:]}
        super().__init__(model, [str(row.x) for row in rows], table)
        self._rows = rows

    @classmethod
    def of(cls, machine: Machine, rows: Sequence[Row], *, repaired: bool = True) -> Self:
        """Return the specification of a run of a machine; `repaired`: see `turing_model`."""
        vocabulary = tuple(dict.fromkeys(str(row.x) for row in rows))
        return cls(turing_model(machine, vocabulary, repaired=repaired), rows)

    def remark(self, what: str, i: int) -> str | None:
        """Return an explanation of a wrong value of `what` at position `i` if every head attended to right positions."""
        bump = self.boundary_bump(i) if what == "h/(i+1)" else None
        if bump is None:
            return None
        return EXERCISE.format(bump=bump, token=self._rows[bump].x)

    def boundary_bump(self, i: int) -> int | None:
        """Return the first position ≤ `i` whose token says m = -1 though the head stayed at cell 0, if any."""
        pairs = enumerate(pairwise(self._rows[: i + 1]), start=1)
        return next((k for k, (before, row) in pairs if row.m == -1 and before.h == row.h == 0), None)
