"""What pages and exports show of a formula, or of a B-RASP, S-RASP or C-RASP program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tm2tfr.base.text.shown import block, escaped
from tm2tfr.base.text.words import words_to_try
from tm2tfr.contract.exported import ExportReference
from tm2tfr.sources.logic.drawing import render
from tm2tfr.sources.logic.program import LogicProgram, WordExample
from tm2tfr.transformer.weights import Decoder


def picture(program: LogicProgram, decoder: Decoder) -> tuple[str, Callable[[], str]]:
    """Return the drawing of its syntax, under its heading."""
    return f"The syntax of the {program.noun}", lambda: render(program, "svg").decode()


def tried(program: LogicProgram, examples: Sequence[WordExample]) -> Iterable[str]:
    """Return inputs to try: those of its examples, otherwise short ones."""
    return words_to_try((example.word for example in program.examples), program.alphabet)


@dataclass(frozen=True)
class ExportedFormula(ExportReference):
    """A formula as an export is compared with it."""

    @property
    def about(self) -> str:
        """What it is about, if its author says so, and its text."""
        title = f"{escaped(self.program.title)}:\n\n" if self.program.title else ""
        return f"\n{title}{block(self.program.text)}"
