"""Counts over runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tm2tfr.trace.check import Trace


@dataclass
class Tally:
    """The numbers of machines, runs, rows of the table, cells compared, and runs by outcome."""

    machines: int = 0
    runs: int = 0
    rows: int = 0
    cells: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)

    def count(self, trace: Trace) -> None:
        """Count a run."""
        self.runs += 1
        self.rows += trace.tokens
        self.cells += trace.compared
        self.outcomes[trace.answer] += 1

    def add(self, other: Tally) -> None:
        """Add the counts of another tally."""
        self.machines += other.machines
        self.runs += other.runs
        self.rows += other.rows
        self.cells += other.cells
        self.outcomes += other.outcomes

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"runs": self.runs, "rows": self.rows, "cells": self.cells, "outcomes": dict(sorted(self.outcomes.items()))}

    @classmethod
    def of(cls, found: dict[str, Any]) -> Tally:
        """Return the tally that `as_dict` turned into `found`."""
        return cls(0, found["runs"], found["rows"], found["cells"], Counter(found["outcomes"]))
