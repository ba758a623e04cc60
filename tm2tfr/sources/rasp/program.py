"""A RASP program: its text, and the s-ops and selectors that its statements have built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from tm2tfr.errors import CompileError, did_you_mean
from tm2tfr.sources.rasp.sops import Atom, Selector, SOp

Word = tuple[Atom, ...]
"""An input: one token per position."""


@dataclass(frozen=True, kw_only=True)
class Example:
    """An input with what an s-op has to be on it; `error`: whether the program is undefined there."""

    sop: str
    input: Word
    output: tuple[Atom, ...] = ()
    error: bool = False

    def agrees(self, values: tuple[Atom, ...]) -> bool:
        """Return whether `values` are the expected ones, as they are shown: the text ``1/3`` stands for a third."""
        return not self.error and [shown_atom(v) for v in values] == [shown_atom(v) for v in self.output]


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program.

    Args:
        name: that of its file without the ending, or what its header says.
        text: the text it was read from.
        sops: every top-level variable that is an s-op, by name, in the order in which they were last assigned, those of the
            language and its library left out, and those that begin with an underscore where there are others.
        selectors: likewise.
        chosen: the name of the s-op that is compiled: the one last assigned, if nothing else is asked for.
        alphabet: the tokens of its inputs, from its header or found in it; empty: not known.
        examples: from its header.
        widths: the number of the s-op that a width function of the library returned -> the selector whose row widths it
            has.
        title: one line about it, from its header.
        library: the s-ops of the library, by name; each can be chosen.
    """

    name: str
    text: str
    sops: Mapping[str, SOp]
    selectors: Mapping[str, Selector] = field(default_factory=dict)
    chosen: str = ""
    alphabet: tuple[Atom, ...] = ()
    examples: tuple[Example, ...] = ()
    widths: Mapping[int, Selector] = field(default_factory=dict)
    title: str = ""
    library: Mapping[str, SOp] = field(default_factory=dict)

    def __repr__(self) -> str:
        tokens = ", ".join(map(shown_atom, self.alphabet[:8])) + (", …" if len(self.alphabet) > 8 else "")
        return f"<Program {self.name}: s-op {self.chosen} of the tokens {tokens or '(not known)'}>"

    @property
    def sop(self) -> SOp:
        """The s-op that is compiled."""
        return self.sops[self.chosen] if self.chosen in self.sops else self.library[self.chosen]

    def choosing(self, name: str) -> Program:
        """Return the program with another s-op chosen.

        Raises:
            CompileError: if no s-op has that name.
        """
        if name not in self.sops and name not in self.library:
            known = ", ".join([*self.sops, *self.library][:8])
            close = did_you_mean(name, [*self.sops, *self.library])
            raise CompileError(f"{self.name}: no s-op is called {name!r}{close}: use one of {known}")
        return replace(self, chosen=name)


def shown_atom(value: Atom) -> str:
    """Return a value as tables show it: text as it is, T and F, whole numbers, and fractions as a/b."""
    if isinstance(value, bool):
        return "T" if value else "F"
    if isinstance(value, Fraction) and value.denominator == 1:
        return str(value.numerator)
    return str(value)
