"""What an export says of a formula or a program."""

from __future__ import annotations

from dataclasses import dataclass

from tm2tfr.base.text.shown import block, escaped
from tm2tfr.contract.exported import ExportReference


@dataclass(frozen=True)
class ExportedFormula(ExportReference):
    """A formula as an export is compared with it."""

    @property
    def about(self) -> str:
        """What it is about, if its author says so, and its text."""
        title = f"{escaped(self.program.title)}:\n\n" if self.program.title else ""
        return f"\n{title}{block(self.program.text)}"
