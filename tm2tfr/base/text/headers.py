"""The comments at the beginning of a program that say more about it, ``# title: one line``, read without a grammar."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from tm2tfr.base.errors import Span
from tm2tfr.base.text.source import Log, SourceText
from tm2tfr.base.text.words import broken_list, read_alphabet

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
