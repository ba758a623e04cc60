"""Counts over runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tm2tfr.base.errors import counted


class Beaver(NamedTuple):
    """The largest number of something, and the name of the first machine that reaches it."""

    number: int
    machine: str

    def beaten_by(self, other: Beaver | None) -> Beaver:
        """Return `other` if it is larger, otherwise this one."""
        return other if other is not None and other.number > self.number else self


@dataclass
class Tally:
    """The numbers of machines, runs, rows of the table, cells compared, and runs by outcome.

    Args:
        steps, ones: the busy beavers: of the runs that halt from the blank tape, the most steps and the most cells that
            are not blank at the end; None if there is none.
    """

    machines: int = 0
    runs: int = 0
    rows: int = 0
    cells: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    steps: Beaver | None = None
    ones: Beaver | None = None

    def count(self, runs: int, rows: int, cells: int, outcomes: Iterable[str]) -> None:
        """Count runs."""
        self.runs += runs
        self.rows += rows
        self.cells += cells
        self.outcomes.update(outcomes)

    def halted(self, machine: str, steps: int, ones: int) -> None:
        """Take a run from the blank tape into account that halts after `steps`, with so many cells that are not blank."""
        self._beavers(Beaver(steps, machine), Beaver(ones, machine))

    def _beavers(self, steps: Beaver | None, ones: Beaver | None) -> None:
        self.steps = steps if self.steps is None else self.steps.beaten_by(steps)
        self.ones = ones if self.ones is None else self.ones.beaten_by(ones)

    def summed(self) -> str:
        """Return ``12 runs (10 accept, 2 halt), 345 rows, 2,415 cells compared``."""
        ends = ", ".join(f"{number:,} {outcome}" for outcome, number in sorted(self.outcomes.items()))
        return f"{counted(self.runs, 'run')}{ends and f' ({ends})'}, {self.rows:,} rows, {self.cells:,} cells compared"

    def add(self, other: Tally) -> None:
        """Add the counts of another tally."""
        self.machines += other.machines
        self.count(other.runs, other.rows, other.cells, ())
        self.outcomes += other.outcomes
        self._beavers(other.steps, other.ones)

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data, without machines and busy beavers, which follow from others."""
        return {"runs": self.runs, "rows": self.rows, "cells": self.cells, "outcomes": dict(sorted(self.outcomes.items()))}

    @classmethod
    def of(cls, found: dict[str, Any]) -> Tally:
        """Return the tally that `as_dict` turned into `found`."""
        return cls(0, found["runs"], found["rows"], found["cells"], Counter(found["outcomes"]))
