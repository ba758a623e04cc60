"""What the model card of an export says of a formula or a program."""

from __future__ import annotations

from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.text.markdown import block, escaped


def card(program: LogicProgram) -> str:
    """Return what it is about, if its author says so, and its text."""
    title = f"{escaped(program.title)}:\n\n" if program.title else ""
    return f"\n{title}{block(program.text)}"
