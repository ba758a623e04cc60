"""Reads RASP text: the statements, and every complaint about its form.

The language is read exactly as the authors' interpreter reads it (tech-srl/RASP), precedence included, but for these:
several statements may share a line, a comment may stand anywhere, the body of a loop may be empty, and a line for the
interpreter itself (``set example "abc"``) ends where its line does.

A statement that cannot be read is reported and left out, and its variables are known to be broken, so that one mistake
gives one complaint.
"""

from __future__ import annotations

from typing import Any

from lark.exceptions import UnexpectedToken

from tm2tfr.sources.rasp.lexemes import BEGINNINGS, Brackets, lexemes, parser, pieces, statements
from tm2tfr.sources.rasp.mistakes import character, misplaced_comment, unexpected
from tm2tfr.sources.rasp.syntax import Statement
from tm2tfr.sources.rasp.tree import Lexeme
from tm2tfr.text.source import MOST_DIAGNOSTICS, Log


def parse(log: Log) -> tuple[Statement, ...]:
    """Return the statements of the log's source; what is wrong with the text goes to the log."""
    tokens, comments = lexemes(log.source)
    readable = []
    for token in tokens:
        if token.type != "UNREADABLE":
            readable.append(token)
        elif not (readable and _touches(log, token)):
            log.add(*character(token))
    found = []
    for one in statements(readable):
        if (statement := _statement(one, log)) is not None:
            found.append(statement)
    for comment in comments:
        if (complaint := misplaced_comment(comment, readable)) is not None:
            log.add(*complaint, severity="warning")
    return tuple(found)


def _touches(log: Log, token: Lexeme) -> bool:
    """Return whether the character before `token` could not be read either, and has been reported."""
    before = log.source.text[token.start - 1 : token.start]
    return before == str(token) and not before.isspace() and before not in '"'


def _statement(tokens: list[Lexeme], log: Log) -> Statement | None:
    """Return the statement that `tokens` are; after a complaint, without its unreadable parts."""
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
                return statement
        mended = _mended(tokens, at, expected, log)
        if mended is None or len(mended) > 2 * len(tokens) + 10:
            return None
        tokens = mended
    return None


def _mended(tokens: list[Lexeme], at: int, expected: set[str], log: Log) -> list[Lexeme] | None:
    """Report that the token number `at` cannot stand there, and return what is left to read without the broken part."""
    log.add(*unexpected(tokens, at, expected))
    if "SEMICOLON" in expected and _ends_there(tokens, at):
        last = tokens[at - 1]
        return [*tokens[:at], Lexeme.of("SEMICOLON", "", last.source, last.end), *tokens[at:]]
    for begin, end in pieces(tokens):
        if begin <= min(at, len(tokens) - 1) < end:
            whole = (begin, end) == (0, len(tokens))
            if any(token.type == "BROKEN" for token in tokens[begin:end]):
                return None  # it is the statement around it that cannot be read
            if tokens[end - 1].type in ("SEMICOLON", "END_OF_LINE") or (whole and tokens[0].type != "DEF"):
                replaced = _broken(tokens[begin:end])
                return [*tokens[:begin], *replaced, *tokens[end:]] or None
    return None if any(token.type == "BROKEN" for token in tokens) else _broken(tokens) or None


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
