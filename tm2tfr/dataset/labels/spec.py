"""The specification of a data set of what labels words: the program, and its words."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tm2tfr.dataset.labels.labeller import LabelSource
from tm2tfr.dataset.labels.of_logic import OF_LOGIC
from tm2tfr.dataset.labels.of_rasp import OF_RASP
from tm2tfr.dataset.spec import CommonSpec, Inputs
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.text.words import written

LABEL_SPLIT_BY = ("run", "input", "length")
ALL_NODES = "all"
"""In place of the names of what has labels: everything."""


def labeller_of(program: Any) -> LabelSource:
    """Return what a data set has to know of the kind of a program."""
    return OF_LOGIC if isinstance(program, LogicProgram) else OF_RASP


@dataclass(frozen=True, kw_only=True)
class LabelSpec(CommonSpec):
    """A data set of a program that labels words; `forms` are the names of the s-ops or nodes whose values are labels.

    Raises:
        InputError: by `words`, if a listed word is not one of the program.
    """

    program: Any
    inputs: Inputs = field(default_factory=Inputs)

    @property
    def noun(self) -> str:  # type: ignore[override]
        """What its program is called."""
        return "formula" if isinstance(self.program, LogicProgram) else "program"

    @property
    def labeller(self) -> LabelSource:
        """What is to be known of the kind of its program."""
        return labeller_of(self.program)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The different words, as people write them, in the order listed, all, random; a word has a token."""
        stands = {chr(_FIRST + i): token for i, token in enumerate(self.program.alphabet)}
        listed = [written(self.labeller.word_of(self.program, word)) for word in self.inputs.words]
        others = Inputs((), self.inputs.up_to, self.inputs.random).over(tuple(stands))
        return tuple(dict.fromkeys([*listed, *(written([stands[c] for c in word]) for word in others if word)]))


_FIRST = 0xF0000
"""Tokens may have several characters: characters from here on, of no script, stand for them while words are drawn."""
