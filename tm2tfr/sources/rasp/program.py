"""A RASP program: its text, and the s-ops and selectors that its statements have built."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from tm2tfr.base.errors import CompileError, did_you_mean
from tm2tfr.base.text.source import Log, Mark
from tm2tfr.base.text.words import header_alphabet, header_lines, read_word
from tm2tfr.sources.rasp.sops import Atom, Selector, SOp

Word = tuple[Atom, ...]
"""An input: one token per position."""


@dataclass(frozen=True, kw_only=True)
class Example:
    """An input with the expected value of an s-op; `error`: whether the program is undefined there."""

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
        name: the name of its file without the extension, or what its header says.
        text: the text it was read from.
        sops: every top-level variable that is an s-op, by name, in the order in which they were last assigned, those of the
            language and its library left out, and those that begin with an underscore where there are others.
        selectors: the same of selectors.
        chosen: the name of the s-op that is compiled: the one last assigned, by default.
        alphabet: the tokens of its inputs, from its header or found in it; empty: not known.
        examples: from its header.
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
    if isinstance(value, Fraction) and value.denominator != 1:
        return f"{digits(value.numerator)}/{digits(value.denominator)}"
    return value if isinstance(value, str) else digits(value.numerator)


_AT_ONCE = 4_000


def digits(number: int) -> str:
    """Return a whole number in decimal, also one of more digits than Python writes out."""
    if number.bit_length() < 3 * _AT_ONCE:
        return str(number)
    above, below = divmod(abs(number), 10**_AT_ONCE)
    return f"{'-' if number < 0 else ''}{digits(above)}{str(below).rjust(_AT_ONCE, '0')}"


# ── The comments at the beginning of a program that say more about it, all optional.
#
# ``# title: one line`` · ``# alphabet: abc`` or ``["a", "bc", 3]`` · ``# length: 40`` · ``# sop: name`` · ``# mask:
# future`` · ``# example: INPUT -> OUTPUT``, ``# example: sop(INPUT) -> OUTPUT``, ``-> error`` where the program is
# undefined.
_KNOWN = ("title", "alphabet", "length", "example", "sop", "mask")
_CALL = re.compile(r"([a-zA-Z_][a-zA-Z_0-9]*)\((.*)\)")
_ERROR = "error"


@dataclass(frozen=True)
class Headers:
    """The headers of a program."""

    title: str = ""
    alphabet: tuple[Atom, ...] = ()
    length: int | None = None
    sop: str = ""
    mask: str = ""
    examples: tuple[Example, ...] = ()
    """With an empty name for the s-op that is compiled."""
    lines: dict[str, int] = field(default_factory=dict)
    """The number of the line, from 0, of each; examples as ``example 0``, ``example 1``, …."""


def headers(log: Log) -> Headers:
    """Return the headers of the log's source; errors go to the log."""
    found = Headers()
    for number, kind, text in header_lines(log.source, _KNOWN):
        span = log.source.span(Mark(number, 0), Mark(number, len(log.source.lines[number])))
        if kind == "example":
            example = _example(text)
            if example is None:
                log.add(span, "an example has no output", "write '# example: INPUT -> OUTPUT', or '-> error'")
                continue
            lines = {**found.lines, f"example {len(found.examples)}": number}
            found = replace(found, examples=(*found.examples, example), lines=lines)
            continue
        if kind in found.lines:
            log.add(span, f"the header {kind!r} is given a second time", "remove one of the two")
            continue
        value: object = text.strip()
        if kind == "alphabet":
            tokens = header_alphabet(text, span, log) if text.strip() else ()
            value = tokens
            if len(set(tokens)) != len(tokens) or not tokens:
                what = "the alphabet has no tokens" if not tokens else "the alphabet has a token twice"
                log.add(span, what, "write '# alphabet: abc', or a JSON list of tokens")
                continue
        elif kind == "length":
            if not re.fullmatch("[1-9][0-9]{0,5}", text.strip()):
                log.add(span, "the length is not a number from 1 to 999,999", "write for example '# length: 40'")
                continue
            value = int(text)
        elif kind == "mask" and value not in ("future", "none"):
            log.add(span, "the mask is neither 'future' nor 'none'", "write '# mask: future' or '# mask: none'")
            continue
        changed: dict[str, Any] = {kind: value}
        found = replace(found, **changed, lines={**found.lines, kind: number})
    return found


def _example(text: str) -> Example | None:
    left, arrow, right = text.rpartition("->")
    if not arrow:
        return None
    left, right = left.strip(), right.strip()
    call = _CALL.fullmatch(left)
    name, given = (call[1], call[2]) if call is not None else ("", left)
    error = right == _ERROR
    return Example(sop=name, input=read_word(given), output=() if error else read_word(right), error=error)
