"""Parts of a text that a grammar has read, and the tokens that they are made of: both know their places."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from lark import Lark, Token, Transformer

from tm2tfr.errors import Span
from tm2tfr.text.source import Log, SourceText
from tm2tfr.text.words import broken_list, read_alphabet


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


def place_of(children: Sequence[Any]) -> dict[str, Any]:
    """Return the place of a part from those that it consists of, as arguments of `TextPart`."""
    parts = [child for child in children if isinstance(child, Lexeme | TextPart)]
    return {"source": parts[0].source, "start": parts[0].start, "end": parts[-1].end}


# ── the comments at the beginning of a program that say more about it: ``# title: one line`` ──────────
_LINE = re.compile(r"[ \t]*#[ \t]*([A-Za-z][A-Za-z-]*)[ \t]*:[ \t]?(.*)")


def header_lines(source: SourceText, known: Collection[str] = ()) -> Iterator[tuple[int, str, str]]:
    """Yield the number of the line, from 0, the word and the text of each header: before the first line that is no comment.

    Args:
        known: the words of headers; empty: any word.
    """
    for number, line in enumerate(source.lines):
        if line.strip() and not line.strip().startswith("#"):
            return
        match = _LINE.fullmatch(line)
        if match is not None and (not known or match[1] in known):
            yield number, match[1], match[2]


def title_in(text: str) -> str:
    """Return the title of a program, by its header alone: nothing below the headers is read."""
    return next((found.strip() for _, kind, found in header_lines(SourceText(text, ""), ("title",)) if kind == "title"), "")


def header_alphabet(text: str, span: Span, log: Log) -> tuple[Any, ...]:
    """Return the tokens of the header ``alphabet``; a blank among them, which is hard to see, is warned of."""
    tokens, what = read_alphabet(text), "the alphabet has a blank, which is a token"
    if tokens == tuple(text) and any(map(str.isspace, text)) and not broken_list(text.strip()):
        log.add(span, what, 'remove it, or write a JSON list such as ["a", " "]', "warning")
    return tokens
