"""Reads the text of a formula or of a program: its definitions, and every complaint about their form.

One that cannot be read is reported once, and its name is known to be broken, so that one mistake gives one complaint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lark.exceptions import UnexpectedToken

from tm2tfr.sources.logic.language.lexemes import BUILT_IN, head, lexemes, parser, statements
from tm2tfr.sources.logic.language.mistakes import no_name, unexpected
from tm2tfr.sources.logic.language.tree import DEEPEST, Phrase, TooDeep
from tm2tfr.text.parts import Lexeme
from tm2tfr.text.source import MOST_DIAGNOSTICS, Log


@dataclass(frozen=True)
class Stated:
    """A definition as it is written.

    Args:
        name: its name; None: an expression that has none.
        parameters: the names in brackets behind it.
        body: its right side; None if it cannot be read, which has been reported.
        sign: what stands between them: ``:=`` or ``=``, which may be meant to compare; empty without a name.
    """

    name: Lexeme | None
    parameters: tuple[Lexeme, ...]
    body: Phrase | None
    sign: str = ""


def parse(log: Log) -> tuple[Stated, ...]:
    """Return the definitions of the log's source; what is wrong with the text goes to the log."""
    found = []
    for tokens in statements(lexemes(log.source)):
        if len(log.found) >= MOST_DIAGNOSTICS:
            break
        found.append(_stated(tokens, log))
    return tuple(found)


def _stated(tokens: list[Lexeme], log: Log) -> Stated:
    begins = head(tokens)
    name = tokens[0] if begins else None
    parameters = tuple(token for token in tokens[1:begins] if token.type == "NAME")
    sound = True
    for token in (*([name] if name else []), *(p for p in parameters if str(p) not in ("i", "j"))):
        if token.type != "NAME" or str(token) in BUILT_IN:
            log.add(*no_name(token))
            sound = False
    if name is not None and name.type != "NAME":
        name = None
    body = _expression(tokens, begins, log)
    return Stated(name, parameters, body if sound else None, str(tokens[begins - 1]) if begins else "")


def _expression(tokens: list[Lexeme], begins: int, log: Log) -> Phrase | None:
    session = parser().parse_interactive("", start="start")
    at = begins
    try:
        for at in range(begins, len(tokens)):
            session.feed_token(tokens[at])
        at = len(tokens)
        found: Any = session.feed_eof()  # type: ignore[no-untyped-call]
    except UnexpectedToken as error:
        log.add(*unexpected(tokens, begins, at, set(error.accepts or ()) | set(error.expected)))
        return None
    except TooDeep:
        what = f"this is nested more than {DEEPEST} levels deep"
        log.add(tokens[min(at, len(tokens) - 1)].span, what, "name a part of it, and use the name")
        return None
    phrase: Phrase = found
    return phrase
