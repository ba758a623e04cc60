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

from tm2tfr.base.errors import Span
from tm2tfr.base.text.parts import Lexeme
from tm2tfr.base.text.source import MOST_DIAGNOSTICS, Log
from tm2tfr.sources.rasp.language.lexemes import BEGINNINGS, LINES, Brackets, lexemes, parser, pieces, statements
from tm2tfr.sources.rasp.language.syntax import Statement

# ── What is wrong with a text that is not RASP, and what to do: for readers who know Python better.
Mistake = tuple[Span | None, str, str]

WORDS = {
    "SELECTOR", "EXAMPLE", "EXAMPLES", "SET", "SHOW", "EXIT", "QUIT", "ON", "OFF", "LOAD", "DRAW", "DEF", "RETURN", "FOR",
    "IN", "IF", "ELSE", "AND", "OR", "NOT", "ROUND", "INDICATOR",
}  # fmt: skip
_INNER = ("IF", "ELSE", "IN", "AND", "OR", "FOR")
_CHARACTERS = {
    "'": ("text is written in double quotes", "write \"…\" instead of '…'"),
    '"': ("this text is not closed on its line", 'add a closing "'),
    "&": ("'&' is not an operator", "write 'and'"),
    "|": ("'|' is not an operator", "write 'or'"),
    "~": ("'~' is not an operator", "write 'not'"),
    "!": ("'!' is not an operator", "write 'not'"),
    ".": ("a decimal point needs a digit before and after it", "write for example 0.5 or 1.0"),
    "\\": ("a line is not continued with a backslash", "remove it: a statement goes on until its semicolon"),
    "@": ("'@' is not an operator", "use aggregate(selector, s-op)"),
}
_CLOSERS = {"CLOSE": "(", "CLOSE_SQUARE": "[", "CLOSE_BRACE": "{"}


def character(token: Lexeme) -> Mistake:
    """Return the complaint about a character that begins nothing."""
    what, remedy = _CHARACTERS.get(str(token), (f"{str(token)!r} cannot be read", "remove it, or write it inside a text"))
    return _span(token), what, remedy


def misplaced_comment(comment: Lexeme, tokens: list[Lexeme]) -> Mistake | None:
    """Return the complaint about a comment behind a part of a statement: the authors' interpreter does not read it."""
    source = comment.source
    line = source.text[source.beginnings[source.mark(comment.start).line] : comment.start]
    if not line.strip():
        return None
    before = [token for token in tokens if token.end <= comment.start][-1:]
    if not before or before[0].type in ("SEMICOLON", "CLOSE_BRACE", "OPEN_BRACE", "ON", "OFF", "EXAMPLE", "UNREADABLE"):
        return None
    where = "inside a statement"
    return _span(comment), f"the authors' interpreter reads no comment {where}", "put it on a line of its own"


def unexpected(tokens: list[Lexeme], at: int, expected: set[str]) -> Mistake:
    """Return the complaint about the token number `at`, which cannot stand there; it may be the end of the tokens.

    Args:
        expected: the kinds of tokens that could.
    """
    before = tokens[at - 1] if at else None
    if before is not None and at == len(tokens):
        return _at_the_end(tokens, before, expected)
    token = tokens[at]
    if token.type == "UNREADABLE":
        return character(token)
    for rule in (_loop, _bracket, _operator, _missing_semicolon, _word, _number, _mistaken_statement):
        if (found := rule(tokens, at, expected)) is not None:
            return found
    shown = f"{str(token)!r} cannot stand here"
    wanted = _wanted(expected)
    return _span(token), shown, wanted


def _at_the_end(tokens: list[Lexeme], last: Lexeme, expected: set[str]) -> Mistake:
    opened = _open_bracket(tokens)
    if opened is not None:
        return _span(opened), f"this {str(opened)[-1]!r} is never closed", f"add a {_closer(opened)!r}"
    if "SEMICOLON" in expected:
        return _behind(last), "a semicolon is missing behind this statement", "add ';'"
    return _span(last), "the statement is not complete", _wanted(expected)


def _loop(tokens: list[Lexeme], at: int, expected: set[str]) -> Mistake | None:
    first, token = str(tokens[0]), tokens[at]
    if first == "while" and (at == 1 or token.type == "OPEN_BRACE"):
        return _span(tokens[0]), "there is no 'while'", "write repeat until done { … }, a block that assigns done"
    if first == "repeat" and (
        (at == 1 and token.type == "OPEN_BRACE") or (at == 2 and token.type == "ID" and tokens[1].type == "INT")
    ):
        what = "'repeat' takes a number of passes, a condition, or both"
        return _span(tokens[0], token), what, "write repeat 3 { … }, repeat until done { … } or repeat 3 until done { … }"
    return None


def _bracket(tokens: list[Lexeme], at: int, expected: set[str]) -> Mistake | None:
    token = tokens[at]
    opened = _open_bracket(tokens[:at])
    if token.type in _CLOSERS and (opened is None or str(opened)[-1] != _CLOSERS[token.type]):
        if opened is not None and _is_block(tokens[:at]):
            return None
        if opened is None:
            return _span(token), f"nothing is open that {str(token)!r} closes", "remove it, or add the opening bracket"
        what = f"{str(token)!r} does not close the {str(opened)[-1]!r} of line {_span(opened).line}"
        return _span(token), what, f"write {_closer(opened)!r}, or fix the brackets"
    if token.type == "SEMICOLON" and opened is not None and not _is_block(tokens[:at]) and _closer_kind(opened) in expected:
        return _span(opened), f"this {str(opened)[-1]!r} is never closed", f"add a {_closer(opened)!r}"
    return None


def _operator(tokens: list[Lexeme], at: int, expected: set[str]) -> Mistake | None:  # noqa: PLR0911
    token, before = tokens[at], tokens[at - 1] if at else token_none()
    span = _span(token)
    if token.type == "NE" and before.type != "COMMA":
        return span, "'!=' can only be the third argument of 'select'", "write not (a == b)"
    opened = _open_bracket(tokens[:at])
    named = token.type == "ASSIGN" and [t.type for t in tokens[at - 2 : at]] == ["COMMA", "ID"]
    if named and opened is not None and "COMMA" in expected:
        return _span(before, token), "arguments have no names", "write only the value"
    if token.type == "ASSIGN" and "EQ" in expected:
        return span, "'=' assigns and cannot stand in an expression", "write '==' to compare"
    pair = before.type + " " + token.type if before.end == token.start else ""
    if pair in ("STAR STAR", "SLASH SLASH"):
        known = {"STAR STAR": ("'**' is not an operator", "write '^' for a power")}
        return span, *known[pair]
    if (before.type == "PLUS" and token.type == "ASSIGN") or (
        token.type == "ASSIGN" and before.type in ("MINUS", "STAR", "SLASH", "SLASHES")
    ):
        return span, f"'{before}=' is not an assignment", f"write x = x {before} …"
    if token.type in ("EQ", "LT", "GT", "LE", "GE", "NE") and before.type == "COMMA" and "ID" in expected:
        number = next((n for n, t in enumerate(tokens[:at]) if t is opened), 0)
        if number and str(tokens[number - 1]) == "select":
            return _span(tokens[number - 1]), "'select' and its bracket belong together", "write select( without a blank"
        return span, f"{str(token)!r} can only be the third argument of 'select'", "write select(keys, queries, relation)"
    if token.type in ("STAR", "SLASH", "SLASHES", "PERCENT", "CARET", "EQ", "LE", "GE", "LT", "GT") and "ID" in expected:
        return span, f"the left side of {str(token)!r} is missing", "write a value before it"
    return None


def token_none() -> Lexeme:
    """Return a token that is nothing, in the place of one before the first."""
    return Lexeme("NONE", "", start_pos=-1, end_pos=-1)


def _word(tokens: list[Lexeme], at: int, expected: set[str]) -> Mistake | None:  # noqa: PLR0911
    token = tokens[at]
    before = tokens[at - 1].type if at else ""
    following = tokens[at + 1].type if at + 1 < len(tokens) else ""
    if token.type == "S_OP":
        return _span(token), "'s-op' is a word of the language", "write 's - op' to subtract, or rename the variable"
    if token.type == "ASSIGN" and before in WORDS:
        return _reserved(tokens[at - 1])
    meant = before in ("COMMA", "DEF", "FOR", "OPEN") and "ID" in expected
    meant = meant and not ("INT" in expected and token.type in _INNER)
    if token.type in WORDS and (following == "ASSIGN" or meant):
        return _reserved(token)
    if token.type == "FOR" and "CLOSE" in expected:
        return _span(token), "a comprehension stands in square or curly brackets", "write [… for x in list]"
    if token.type == "RETURN":
        return _span(token), "'return' can only be the last statement of a function", "move it to the end of a 'def'"
    if before == "LOAD":
        return _span(token), "'load' takes the name of a file in quotes", 'write load "name";'
    opened = _open_bracket(tokens[:at])
    if token.type == "CLOSE_SQUARE" and "ELSE" in expected and any(t.type == "FOR" for t in tokens[:at]):
        return _span(token), "a comprehension has no condition", "choose with 'a if condition else b' for each item"
    if token.type == "CLOSE" and opened is not None and opened.type == "SELECT":
        return _span(token), "'select' takes three arguments", "write select(keys, queries, relation), for example with =="
    if token.type in ("SEMICOLON", "CLOSE", "CLOSE_SQUARE") and "ELSE" in expected:
        return _span(token), "'if' without 'else' is not an expression", "add 'else …'"
    if token.type == "OPEN_BRACE" and before == "ELSE":
        return _span(token), "'if' and 'else' choose between values, not between statements", "write a if condition else b"
    if token.type == "IF" and at == 0:
        return _span(token), "a statement cannot begin with 'if'", "write x = a if condition else b;"
    if token.type in ("ID", "ELSE", "IN", "AND", "OR", "IF") and at == 0 and token.type != "ID":
        return _span(token), f"a statement cannot begin with {str(token)!r}", "write a value before it"
    return None


def _reserved(token: Lexeme) -> Mistake:
    return _span(token), f"{str(token)!r} is a word of the language and cannot be a variable", "choose another name"


def _number(tokens: list[Lexeme], at: int, expected: set[str]) -> Mistake | None:
    token, before = tokens[at], tokens[at - 1] if at else token_none()
    if before.type in ("INT", "FLOAT") and before.end == token.start and token.type in ("ID", "INT", "FLOAT"):
        both = str(before) + str(token)
        return _span(before, token), f"{both!r} is neither a number nor a name", "write numbers as 12 or 1.5"
    return None


def _mistaken_statement(tokens: list[Lexeme], at: int, expected: set[str]) -> Mistake | None:  # noqa: PLR0911
    token = tokens[at]
    first = tokens[0].type
    if first in LINES and token.type == "SEMICOLON":
        return _span(token), "a line for the interpreter has no semicolon", "remove it"
    if first in ("SET", "SHOW") and at == 1:
        what = f"after {str(tokens[0])!r} comes 'example', 's-op example' or 'selector example'"
        return _span(token), what, 'write for example set example "hello"'
    if token.type == "SEMICOLON" and (at == 0 or tokens[at - 1].type in ("SEMICOLON", "CLOSE_BRACE")):
        return _span(token), "there is no statement before this semicolon", "remove it"
    if token.type == "CLOSE_BRACE" and "RETURN" in expected:
        return _span(token), "a function must end with 'return'", "add 'return …;' before the bracket"
    if token.type == "CLOSE_BRACE" and tokens[0].type in ("DEF", "FOR", "REPEAT") and "SEMICOLON" in expected:
        return _behind(tokens[at - 1]), "a semicolon is missing behind this statement", "add ';'"
    if token.type == "COLON" and ("OPEN_BRACE" in expected or first in ("DEF", "FOR", "REPEAT")):
        return _span(token), "a block stands in curly brackets", "write { … } instead of ':'"
    if first == "DEF" and "RETURN" in expected and tokens[at - 1].type == "SEMICOLON" and token.type != "SEMICOLON":
        return None
    if tokens[at - 1 : at] and tokens[at - 1].type == "SEMICOLON" and _after_return(tokens, at):
        opened = _open_bracket(tokens)
        if opened is not None and tokens[-1].type != "CLOSE_BRACE":
            return _span(opened), "this '{' is never closed", "add a '}'"
        return _span(token), "nothing can stand behind 'return'", "move it before, or remove it"
    return None


def _missing_semicolon(tokens: list[Lexeme], at: int, expected: set[str]) -> Mistake | None:
    token, before = tokens[at], tokens[at - 1] if at else None
    if before is None or "SEMICOLON" not in expected:
        return None
    gap = token.source.text[before.end : token.start]
    brackets = Brackets()
    for one in tokens[:at]:
        brackets.take(one.type)
    if "\n" in gap and brackets.between_statements:
        return _behind(before), "a semicolon is missing behind this statement", "add ';'"
    if "\n" in gap and (opened := _open_bracket(tokens[:at])) is not None and token.type != "COMMA":
        return _span(opened), f"this {str(opened)[-1]!r} is never closed", f"add a {_closer(opened)!r}"
    return None


def _after_return(tokens: list[Lexeme], at: int) -> bool:
    number = at - 2
    while number >= 0 and tokens[number].type not in ("SEMICOLON", "RETURN", "OPEN_BRACE"):
        number -= 1
    return number >= 0 and tokens[number].type == "RETURN"


def _wanted(expected: set[str]) -> str:
    """Return what could stand there instead, as a remedy."""
    if "ID" in expected and "INT" in expected:
        return "write a value here"
    if "ID" in expected:
        return "write the name of a variable here"
    if "SEMICOLON" in expected and "PLUS" in expected:
        return "end the statement with ';', or add an operator"
    known = {
        "SEMICOLON": ";", "COMMA": ",", "CLOSE": ")", "CLOSE_SQUARE": "]", "CLOSE_BRACE": "}", "OPEN": "(",
        "OPEN_BRACE": "{", "ASSIGN": "=", "IN": "in", "ELSE": "else", "EXAMPLE": "example", "ON": "on", "OFF": "off",
        "EQ": "==", "COLON": ":",
        "STRING": '"name"', "RETURN": "return", "END_OF_LINE": "a new line", "FOR": "for", "NE": "!=", "LT": "<",
    }  # fmt: skip
    shown = [f"'{known[kind]}'" for kind in known if kind in expected]
    return f"write {' or '.join(shown[:4])} here" if shown else "remove it"


def _open_bracket(tokens: list[Lexeme]) -> Lexeme | None:
    """Return the innermost bracket that is open at the end."""
    found: list[Lexeme] = []
    brackets = Brackets()
    for token in tokens:
        depth = len(brackets.open)
        brackets.take(token.type)
        if len(brackets.open) > depth:
            found.append(token)
        del found[len(brackets.open) :]
    return found[-1] if found else None


def _is_block(tokens: list[Lexeme]) -> bool:
    brackets = Brackets()
    for token in tokens:
        brackets.take(token.type)
    return brackets.between_statements


def _closer(opened: Lexeme) -> str:
    return {"(": ")", "[": "]", "{": "}"}[str(opened)[-1]]


def _closer_kind(opened: Lexeme) -> str:
    return {"(": "CLOSE", "[": "CLOSE_SQUARE", "{": "CLOSE_BRACE"}[str(opened)[-1]]


def _span(token: Lexeme, last: Lexeme | None = None) -> Span:
    return token.source.stretch(token.start, (last or token).end)


def _behind(token: Lexeme) -> Span:
    return token.source.stretch(token.end, token.end + 1)


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
