"""Parts of a text that a grammar has read, and the tokens that they are made of: both know their places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from lark import Lark, Token, Transformer

from tm2tfr.base.errors import Span
from tm2tfr.base.text.source import SourceText


@dataclass(frozen=True, eq=False, kw_only=True)
class TextPart:
    """A part of a text: the text, and the offsets of its first character and of the one behind its last."""

    source: SourceText = field(repr=False)
    start: int
    end: int

    @property
    def span(self) -> Span:
        """Where it stands, limited to its first line."""
        return self.source.stretch(self.start, self.end)


class Lexeme(Token):
    """A token with the text that it is from."""

    source: SourceText

    @classmethod
    def of(cls, kind: str, text: str, source: SourceText, start: int) -> Lexeme:
        """Return the token `text` of a `kind` that begins at the offset `start`."""
        made = cls(kind, text, start_pos=start, end_pos=start + len(text))
        made.source = source
        return made

    @property
    def start(self) -> int:
        """The offset of its first character."""
        return self.start_pos or 0

    @property
    def end(self) -> int:
        """The offset behind its last character."""
        return self.end_pos or 0

    @property
    def span(self) -> Span:
        """Where it stands, limited to its first line."""
        return self.source.stretch(self.start, self.end)


def parser_of(language: str, builder: Transformer[Lexeme, Any], start: str) -> Lark:
    """Return the parser of a language of sources, which builds its syntax tree; it begins with `start`, or ``apart``."""
    grammar = files("tm2tfr").joinpath("sources", language, "language", "grammar.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        lexer="basic",
        start=[start, "apart"],
        keep_all_tokens=True,
        maybe_placeholders=False,
        transformer=builder,
    )


def place_of(children: Sequence[object]) -> dict[str, Any]:
    """Return the place of a part from those that it consists of, as arguments of `TextPart`."""
    parts = [child for child in children if isinstance(child, Lexeme | TextPart)]
    return {"source": parts[0].source, "start": parts[0].start, "end": parts[-1].end}
