"""What pages and exports show of a formula, or of a B-RASP, S-RASP or C-RASP program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from tm2tfr.base.text.shown import block, escaped
from tm2tfr.base.text.words import words_to_try
from tm2tfr.contract.exported import ExportReference
from tm2tfr.contract.shown import Packer, Page, PlainData, Show, about_tokens
from tm2tfr.sources.logic.graph_data import sequence_data
from tm2tfr.sources.logic.library import own_word, word_of
from tm2tfr.sources.logic.program import LogicProgram, WordExample
from tm2tfr.transformer.weights import Decoder


def page(program: LogicProgram) -> Page:
    """Return the data of the explorer's page about a formula or a program."""
    return Page(
        about=program.title,
        views=partial(_views, program),
        reference=lambda _: {"kind": "sequence"},
        inputs=about_tokens(partial(word_of, program), first=1),
        examples=[own_word(program), *tried(program, program.examples)],
    )


def _views(program: LogicProgram, show: Show, columns: Packer, drawn: bool, decoder: Decoder) -> PlainData:
    """Return its nodes, whose tree the page draws."""
    return {"sequence": sequence_data(program, decoder)}


def tried(program: LogicProgram, examples: Sequence[WordExample]) -> Iterable[str]:
    """Return inputs to try: those of its examples, otherwise short ones."""
    return words_to_try((example.word for example in program.examples), program.alphabet)


@dataclass(frozen=True)
class ExportedFormula(ExportReference):
    """A formula as an export is compared with it."""

    @property
    def about(self) -> str:
        """Its title, if it has one, and its text."""
        title = f"{escaped(self.program.title)}:\n\n" if self.program.title else ""
        return f"\n{title}{block(self.program.text)}"
