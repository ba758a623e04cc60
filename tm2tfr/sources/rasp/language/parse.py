"""Reads RASP text: the statements, and every complaint about its form.

The language is read exactly as the authors' interpreter reads it (tech-srl/RASP), precedence included, but for these:
several statements may share a line, a comment may stand anywhere, the body of a loop may be empty, and a line for the
interpreter itself (``set example "abc"``) ends where its line does.

A statement that cannot be read is reported and left out, and its variables are known to be broken, so that one mistake
gives one complaint.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lark.exceptions import UnexpectedToken

from tm2tfr.sources.rasp.language.lexemes import BEGINNINGS, Brackets, lexemes, parser, pieces, statements
from tm2tfr.sources.rasp.language.mistakes import misplaced_comment, unexpected
from tm2tfr.sources.rasp.language.syntax import Statement
from tm2tfr.text.parts import Lexeme
from tm2tfr.text.source import MOST_DIAGNOSTICS, Log


def parse(log: Log) -> tuple[Statement, ...]:
    """Return the statements of the log's source; what is wrong with the text goes to the log."""
    tokens, comments = lexemes(log.source)
    found = [statement for one in statements(tokens) for statement in _read(one, log)]
    for comment in comments:
        if (mistake := misplaced_comment(comment, tokens)) is not None:
            log.add(*mistake, severity="warning")
    return tuple(found)


def _read(tokens: list[Lexeme], log: Log) -> Iterator[Statement]:
    """Yield the statement that `tokens` are, or two if a semicolon is missing between them."""
    rest: list[Lexeme] | None = tokens
    while rest:
        statement, rest = _statement(rest, log)
        if statement is not None:
            yield statement


def _statement(tokens: list[Lexeme], log: Log) -> tuple[Statement | None, list[Lexeme] | None]:
    """Return the statement that `tokens` begin with, without what cannot be read, and the tokens of one behind it."""
    while len(log.found) < MOST_DIAGNOSTICS:
        session = parser().parse_interactive("", start="statement")
        for number, token in enumerate(tokens):
            try:
                session.feed_token(token)
            except UnexpectedToken as error:
                expected, at = set(error.accepts or ()) | set(error.expected), number
                break
        else:
            try:
                result: Any = session.feed_eof()  # type: ignore[no-untyped-call]
            except UnexpectedToken as error:
                expected, at = set(error.accepts or ()) | set(error.expected), len(tokens)
            else:
                statement: Statement = result
                return statement, None
        log.add(*unexpected(tokens, at, expected))
        if "SEMICOLON" in expected and _ends_there(tokens, at):
            last = tokens[at - 1]
            ended = [*tokens[:at], Lexeme.of("SEMICOLON", "", last.source, last.end)]
            if not _in_block(tokens[:at]):
                return _statement(ended, log)[0], tokens[at:]
            tokens = [*ended, *tokens[at:]]
            continue
        mended = _mended(tokens, at)
        if mended is None:
            break
        tokens = mended
    return None, None


def _in_block(tokens: list[Lexeme]) -> bool:
    brackets = Brackets()
    for token in tokens:
        brackets.take(token.type)
    return bool(brackets.open)


def _mended(tokens: list[Lexeme], at: int) -> list[Lexeme] | None:
    """Return what is left to read without the piece in which the token number `at` cannot stand."""
    for begin, end in pieces(tokens):
        if begin <= min(at, len(tokens) - 1) < end:
            whole = (begin, end) == (0, len(tokens))
            if any(token.type == "BROKEN" for token in tokens[begin:end]):
                break  # it is the statement around it that cannot be read
            if tokens[end - 1].type in ("SEMICOLON", "END_OF_LINE") or (whole and tokens[0].type != "DEF"):
                replaced = _broken(tokens[begin:end])
                return [*tokens[:begin], *replaced, *tokens[end:]] or None
    made = _broken(tokens)
    return made if made and [token.type for token in made] != [token.type for token in tokens] else None


def _ends_there(tokens: list[Lexeme], at: int) -> bool:
    """Return whether a statement can be thought to end before the token number `at`: only its semicolon is missing."""
    brackets = Brackets()
    for token in tokens[:at]:
        brackets.take(token.type)
    if at == 0 or not brackets.between_statements:
        return False
    if at == len(tokens) or tokens[at].type in {"CLOSE_BRACE"} | BEGINNINGS:
        return True
    gap = tokens[at].source.text[tokens[at - 1].end : tokens[at].start]
    return "\n" in gap and tokens[at].type == "ID"


def _broken(tokens: list[Lexeme]) -> list[Lexeme]:
    """Return tokens that define the same variables as a piece of text that cannot be read."""
    first = tokens[0]
    kinds = [token.type for token in tokens]

    def made(kind: str) -> Lexeme:
        return Lexeme.of(kind, "", first.source, first.start)

    if kinds[:2] == ["DEF", "ID"]:
        words = "OPEN CLOSE OPEN_BRACE RETURN BROKEN SEMICOLON CLOSE_BRACE"
        return [*tokens[:2], *map(made, words.split())]
    if kinds[0] == "RETURN":
        return [first, made("BROKEN"), made("SEMICOLON")]
    if kinds[0] == "LOAD":
        return []
    count = 0
    while kinds[count : count + 1] == ["ID"] and kinds[count + 1 : count + 2] == ["COMMA"]:
        count += 2
    if kinds[count : count + 2] == ["ID", "ASSIGN"]:
        return [*tokens[: count + 2], made("BROKEN"), made("SEMICOLON")]
    return []
