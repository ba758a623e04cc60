"""What pages and exports show of an automaton."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from tm2tfr.base.text.shown import block, escaped
from tm2tfr.base.text.words import words_to_try
from tm2tfr.contract.exported import ExportReference
from tm2tfr.contract.shown import Packer, Page, PlainData, Show, about_tokens, drawing
from tm2tfr.sources.automaton.automaton import Automaton, WordVerdict
from tm2tfr.sources.automaton.drawing import marks, render, to_dot
from tm2tfr.sources.automaton.formats import native
from tm2tfr.sources.automaton.graph_data import sequence_data
from tm2tfr.sources.automaton.words import own_word, word_of
from tm2tfr.transformer.weights import Decoder


def page(automaton: Automaton) -> Page:
    """Return the data of the explorer's page about an automaton."""
    return Page(
        about=automaton.title,
        views=partial(_views, automaton),
        reference=lambda _: {"kind": "sequence"},
        inputs=about_tokens(partial(word_of, automaton), first=1),
        examples=[own_word(automaton), *tried(automaton, automaton.examples)],
    )


def _views(automaton: Automaton, show: Show, columns: Packer, drawn: bool, decoder: Decoder) -> PlainData:
    """Return the nodes of the program in between, and the drawing of its state graph."""
    svg = partial(render, automaton, "svg") if drawn else None
    dot, sequence = partial(to_dot, automaton), sequence_data(automaton, decoder)
    picture = drawing("state graph of the automaton", columns, dot=dot, svg=svg, marks=marks(automaton))
    return {"sequence": sequence, **picture}


def tried(automaton: Automaton, examples: Sequence[WordVerdict]) -> Iterable[str]:
    """Return inputs to try: those of its examples, otherwise short ones."""
    return words_to_try((example.word for example in automaton.examples if example.word), automaton.alphabet)


@dataclass(frozen=True)
class ExportedAutomaton(ExportReference):
    """An automaton as an export is compared with it."""

    @property
    def about(self) -> str:
        """Its title, if it has one, and its transitions."""
        title = f"{escaped(self.program.title)}:\n\n" if self.program.title else ""
        return f"\n{title}{block(native.write(self.program))}"
