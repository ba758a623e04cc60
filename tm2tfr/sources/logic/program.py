"""A formula or a program: its text, and the nodes that it defines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from tm2tfr.errors import CompileError, did_you_mean
from tm2tfr.sources.logic.nodes import Node, needed

Language = Literal["tl", "srasp"]
"""``tl``: formulas of temporal logic; ``srasp``: programs in B-RASP, S-RASP and C-RASP."""
_MOST_NAMED = 8
"""The most definitions that a complaint names."""


@dataclass(frozen=True, kw_only=True)
class WordExample:
    """A word and what a definition has to be on it.

    Args:
        of: the name of the definition; empty: the one that is compiled.
        word: its tokens.
        values: as text, one for each position, or only the last one's: T and F, labels, numbers.
    """

    of: str
    word: tuple[str, ...]
    values: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class LogicProgram:
    """A formula, with names for some of its subformulas, or a program.

    Args:
        name: that of its file without the ending; of a formula given as text, that text.
        text: the text it was read from.
        language: see `Language`.
        definitions: name -> node, in the order of the text. What a formula is in the end has the name ``""`` if the text
            gives it none.
        chosen: the name of the definition that is compiled: the last one if nothing else is asked for.
        alphabet: the tokens of its words; empty: not known.
        examples: from its headers.
        title: one line about it, from its headers.
    """

    name: str
    text: str
    language: Language
    definitions: Mapping[str, Node]
    chosen: str
    alphabet: tuple[str, ...] = ()
    examples: tuple[WordExample, ...] = field(default=())
    title: str = ""

    def __repr__(self) -> str:
        tokens = ", ".join(self.alphabet[:8]) + (", …" if len(self.alphabet) > 8 else "")
        return f"<{'Formula' if self.language == 'tl' else 'Program'} {self.name} over {tokens or '(not known)'}>"

    @property
    def noun(self) -> str:
        """``formula`` or ``program``."""
        return "formula" if self.language == "tl" else "program"

    @property
    def file(self) -> str:
        """What complaints call its text."""
        if self.name == self.text:
            return "<formula>"
        ending = f".{self.language}"
        return self.name if self.name.endswith(ending) else f"{self.name}{ending}"

    @property
    def root(self) -> Node:
        """The node that is compiled."""
        return self.definitions[self.chosen]

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes that the one compiled is made of, and itself, by their numbers."""
        return needed([self.root])

    def choosing(self, name: str) -> LogicProgram:
        """Return the program with another definition chosen.

        Raises:
            CompileError: if no definition has that name.
        """
        if name not in self.definitions:
            known = [each for each in self.definitions if each]
            if not known:
                raise CompileError(f"{self.name}: nothing is defined as {name!r}: it has no definitions: omit --define")
            shown = known if len(known) <= _MOST_NAMED else [*known[: _MOST_NAMED - 1], "…", known[-1]]
            close = did_you_mean(name, known)
            raise CompileError(
                f"{self.name}: nothing is defined as {name!r}{close}: the definitions are {', '.join(shown)}"
            )
        return replace(self, chosen=name)
