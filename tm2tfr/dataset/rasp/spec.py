"""The specification of a data set of a RASP program: the program, and its inputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from tm2tfr.dataset.spec import CommonSpec
from tm2tfr.dataset.words import Inputs
from tm2tfr.sources.rasp.given.inputs import word_of
from tm2tfr.sources.rasp.program import Program
from tm2tfr.text.words import written

RASP_SPLIT_BY = ("run", "input")


@dataclass(frozen=True, kw_only=True)
class RaspSpec(CommonSpec):
    """A data set of a RASP program; `forms` are the names of the s-ops whose values are labels.

    Raises:
        InputError: by `words`, if a listed word is no input of the program.
    """

    noun: ClassVar[str] = "program"

    program: Program
    inputs: Inputs = field(default_factory=Inputs)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The different inputs, as `word_of` reads them, in the order listed, all, random; an input has a token."""
        alphabet = self.program.alphabet
        stands = {chr(_FIRST + i): token for i, token in enumerate(alphabet)}
        listed = [written(word_of(self.program, word)) for word in self.inputs.words]
        others = Inputs((), self.inputs.up_to, self.inputs.random).over(tuple(stands))
        return tuple(dict.fromkeys([*listed, *(written([stands[c] for c in word]) for word in others if word)]))


_FIRST = 0xF0000
"""Tokens may have several characters: characters from here on, of no script, stand for them while words are drawn."""
