"""What pages and exports show of an automaton."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tm2tfr.base.text.shown import block, escaped
from tm2tfr.base.text.words import words_to_try
from tm2tfr.contract.exported import ExportReference
from tm2tfr.sources.automaton.automaton import Automaton, WordVerdict
from tm2tfr.sources.automaton.drawing import render
from tm2tfr.sources.automaton.formats import native
from tm2tfr.transformer.weights import Decoder


def picture(automaton: Automaton, decoder: Decoder) -> tuple[str, Callable[[], str]]:
    """Return the drawing of its state graph, under its heading."""
    return "The state graph of the automaton", lambda: render(automaton, "svg").decode()


def tried(automaton: Automaton, examples: Sequence[WordVerdict]) -> Iterable[str]:
    """Return inputs to try: those of its examples, otherwise short ones."""
    return words_to_try((example.word for example in automaton.examples if example.word), automaton.alphabet)


@dataclass(frozen=True)
class ExportedAutomaton(ExportReference):
    """An automaton as an export is compared with it."""

    @property
    def about(self) -> str:
        """What it is about, if its author says so, and its transitions."""
        title = f"{escaped(self.program.title)}:\n\n" if self.program.title else ""
        return f"\n{title}{block(native.write(self.program))}"
