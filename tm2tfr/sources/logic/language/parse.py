"""Reads the text of a formula or of a program: its definitions, and every complaint about their form.

One that cannot be read is reported once, and its name is known to be broken, so that one mistake gives one complaint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lark.exceptions import UnexpectedToken

from tm2tfr.base.errors import did_you_mean
from tm2tfr.base.text.parts import Lexeme
from tm2tfr.base.text.source import MOST_DIAGNOSTICS, Log
from tm2tfr.base.text.syntax import Complaint
from tm2tfr.sources.logic.language.lexemes import (
    BUILT_IN,
    CLOSING,
    DEEPEST,
    ELSEWHERE,
    FUNCTIONS,
    INFIX,
    KEYWORDS,
    OPENING,
    OPERAND_ENDS,
    THETA,
    Phrase,
    TooDeep,
    head,
    lexemes,
    open_brackets,
    parser,
    statements,
)
from tm2tfr.sources.logic.theta import RuleError, stated

# ── Errors in expressions that cannot be read, with remedies.
_CHARACTERS = {
    "'": ("this text is not closed on its line", "add a closing '"),
    '"': ("this text is not closed on its line", 'add a closing "'),
    "^": ("'^' is not an operator", "write '&' for and"),
    "/": ("'/' is not an operator", "multiply the other side: numbers are whole"),
    "%": ("'%' is not an operator", "write mod(t, m, r) for: t modulo m is r"),
    "#": ("a count has square brackets", "write for example #←[Q[a]], or count(Q[a])"),
    "\\": ("a line is not continued with a backslash", "remove it: a definition goes on where an operator stands"),
    "∀": ("there are no quantifiers", "write 'historically' or 'always'"),
    "∃": ("there are no quantifiers", "write 'once' or 'eventually'"),
    "∉": ("'∉' is not an operator", "write !(… in {…})"),
}
_PAIRS = {"=>": "->", "=<": "<=", "===": "==", "<>": "!=", "=!": "!=", "><": "!=", "=>=": ">="}
_WORDS = tuple(word for word, kind in KEYWORDS.items() if kind in ("PREFIX", "TEMPORAL", "ATTEND", "PSUM") and word[1:])
"""The operators that are words, and may be mistyped."""
_BINARY = frozenset({
    "IFF", "IMPLIES", "OR", "AND", "TEMPORAL", "RELATION", "EQUAL", "PLUS", "MINUS", "STAR", "ASK", "COLON",
    "IF", "ELSE", "IN", "COMMA",
})  # fmt: skip


def no_name(token: Lexeme) -> Complaint:
    """Return the complaint about a word of the language in the place of a name."""
    return token.span, f"{str(token)!r} is a word of the language and cannot be defined", "choose another name"


def unexpected(tokens: list[Lexeme], begins: int, at: int, expected: set[str]) -> Complaint:
    """Return the complaint about the token number `at`, which cannot stand there; it may be the end of the tokens.

    Args:
        begins: the number of the first token of the expression.
        expected: the kinds of tokens that could stand there.
    """
    if at == len(tokens):
        return _at_the_end(tokens, begins)
    token = tokens[at]
    if token.type == "UNREADABLE":
        known = (f"{str(token)!r} cannot be read", 'remove it, or write it in quotes: Q["…"]')
        return token.span, *_CHARACTERS.get(str(token), known)
    for rule in (_definition, _bracket, _word, _letter, _chain, _operator, _mistyped, _operand):
        if (found := rule(tokens, begins, at, expected)) is not None:
            return found
    return token.span, f"{str(token)!r} cannot stand here", _wanted(expected)


def _at_the_end(tokens: list[Lexeme], begins: int) -> Complaint:
    last = tokens[-1]
    if len(tokens) == begins:
        return last.span, f"nothing is defined behind {str(last)!r}", "write a formula, or remove the line"
    opened = open_brackets(tokens[begins:])
    if opened and last.type in OPERAND_ENDS:
        return opened[-1].span, f"this {str(opened[-1])!r} is never closed", f"add a {OPENING[opened[-1].type]!r}"
    choice = next((token for token in tokens[begins:] if token.type in ("IF", "ASK")), None)
    if choice is not None and last.type in OPERAND_ENDS:
        if choice.type == "IF":
            return choice.span, "this 'if' has no 'else'", "write: a if condition else b"
        return choice.span, "this '?' has no ':'", "write: condition ? a : b"
    if last.type in CLOSING:
        nothing = last.span, "no value follows these brackets", "write the value to attend to, or to sum: … ] value(j)"
        return _sum_before(tokens, begins, len(tokens)) or nothing
    return last.span, f"an operand is missing behind {str(last)!r}", "write a formula or a number behind it"


def _sum_before(tokens: list[Lexeme], begins: int, at: int) -> Complaint | None:
    """Return the complaint about ``#[…]`` before the token number `at`, if nothing that is summed stands behind it."""
    if tokens[at - 1].type != "CLOSE_SQUARE" or at - 1 <= begins:
        return None
    opened = open_brackets(tokens[begins : at - 1])
    if not opened or opened[-1].type != "HASH":
        return None
    whole = tokens[at - 1].source.stretch(opened[-1].start, tokens[at - 1].end)
    remedy = "write #[j <= i] Q_a(j) in a program, or #←[Q[a]] or count(Q[a]) to count a formula"
    return whole, "these brackets say which positions to sum over, and no value follows", remedy


def _definition(tokens: list[Lexeme], begins: int, at: int, expected: set[str]) -> Complaint | None:
    token = tokens[at]
    if token.type == "ASSIGN":
        return token.span, "':=' stands behind a name, at the beginning of a definition", "write '==' to compare"
    if token.type == "EQUAL" and begins == 0 and at == 1 and tokens[begins].type in KEYWORDS.values():
        return no_name(tokens[begins])
    return None


def _bracket(tokens: list[Lexeme], begins: int, at: int, expected: set[str]) -> Complaint | None:
    token, opened = tokens[at], open_brackets(tokens[begins:at])
    if token.type not in CLOSING:
        return None
    if not opened:
        return token.span, f"nothing is open that {str(token)!r} closes", "remove it, or add the opening bracket"
    closer = OPENING[opened[-1].type]
    if closer != str(token):
        what = f"{str(token)!r} does not close the {str(opened[-1])!r} of line {opened[-1].span.line}"
        return token.span, what, f"write {closer!r}, or fix the brackets"
    if tokens[at - 1] is opened[-1]:
        return token.span, "nothing stands between these brackets", _wanted(expected)
    return None


def _word(tokens: list[Lexeme], begins: int, at: int, expected: set[str]) -> Complaint | None:
    token = tokens[at]
    if token.type == "ATTEND":
        return token.span, "an attention inside an expression needs brackets", f"write ({token} … )"
    before = tokens[at - 1] if at > begins else None
    for word in (token, before):
        if word is not None and word.type == "NAME" and str(word) in ELSEWHERE and "NAME" not in expected:
            return word.span, f"{str(word)!r} is not an operator", f"write {ELSEWHERE[str(word)]!r}"
    if before is not None and before.type == "ATTEND":
        return before.span, "an attention begins with square brackets", f"write {before} [j <= i, score] value : default"
    if before is not None and before.type == "PSUM":
        return before.span, "a sum begins with square brackets", f"write {before} [j <= i] value(j)"
    if before is not None and before.type == "IN" and token.type not in CLOSING:
        return token.span, "'in' takes a list of labels, and in(i) a position", "write in {'a', 'b'}, or in(i)"
    return None


def _letter(tokens: list[Lexeme], begins: int, at: int, expected: set[str]) -> Complaint | None:
    token = tokens[at]
    before = tokens[at - 1] if at > begins else None
    if before is not None and str(before) == "Q" and token.type == "OPEN_SQUARE":
        line = token.source.lines[token.source.mark(token.start).line]
        inside, closed, _ = line[token.source.mark(token.end).column :].partition("]")
        if closed and "Q[" not in inside:
            whole = token.source.stretch(before.start, token.end + len(inside) + 1)
            if not inside.strip():
                return whole, "Q[] names no token", 'write for example Q[a], or Q[" "] for a blank'
            quoted = f'write Q["{inside.strip()}"]' if inside[0] not in "\"'" else 'write for example Q["a b"]'
            return whole, "a token with blanks, brackets or operators in it needs quotes", quoted
        return token.source.stretch(before.start, token.end), "this 'Q[' is never closed", "write for example Q[a]"
    return None


def _chain(tokens: list[Lexeme], begins: int, at: int, expected: set[str]) -> Complaint | None:
    token = tokens[at]
    if token.type == "TEMPORAL" and "AND" in expected:
        what = f"this {str(token)!r} could belong to either side"
        return token.span, what, "add brackets: (a since b) since c, or a since (b since c)"
    if token.type in ("RELATION", "EQUAL") and "AND" in expected:
        return token.span, "a comparison has two sides", "write a <= b & b <= c"
    return None


def _operator(tokens: list[Lexeme], begins: int, at: int, expected: set[str]) -> Complaint | None:
    token = tokens[at]
    before = tokens[at - 1] if at > begins else None
    if token.type not in _BINARY or "NAME" not in expected:
        return None
    if (sum_at := _sum_before(tokens, begins, at)) is not None:
        return sum_at
    pair = f"{before}{token}" if before is not None and before.end == token.start else ""
    if pair in _PAIRS:
        return token.source.stretch(token.start - 1, token.end), f"{pair!r} is not an operator", f"write {_PAIRS[pair]!r}"
    if before is not None and before.type in _BINARY | {"NOT", "PREFIX"}:
        what = f"{str(token)!r} cannot follow {str(before)!r}"
        return token.span, what, "remove one of the two, or write an operand between"
    return token.span, f"the left side of {str(token)!r} is missing", "write a formula or a number before it"


def _mistyped(tokens: list[Lexeme], begins: int, at: int, expected: set[str]) -> Complaint | None:
    """Return the complaint about a name that resembles a word of the language, beside another operand."""
    token = tokens[at]
    before = tokens[at - 1] if at > begins else None
    if before is None or token.type in INFIX or "AND" not in expected:
        return None
    for word in (before, token):
        close = did_you_mean(str(word), _WORDS) if word.type == "NAME" and str(word) not in BUILT_IN else ""
        if close:
            what = f"{str(word)!r} is not an operator{close}"
            if "_j'" in close:
                return word.span, what, "write j, which is the position in attention and sums"
            return word.span, what, "write that, or an operator such as '&' between two operands"
    return None


def _operand(tokens: list[Lexeme], begins: int, at: int, expected: set[str]) -> Complaint | None:
    token = tokens[at]
    before = tokens[at - 1] if at > begins else None
    if before is None or token.type in INFIX or "AND" not in expected:
        return None
    opened = open_brackets(tokens[begins:at])
    if opened and opened[-1].span.line != token.span.line:
        return opened[-1].span, f"this {str(opened[-1])!r} is never closed", f"add a {OPENING[opened[-1].type]!r}"
    if before.type == "INT" and "NAME" not in expected and token.type in ("NAME", "COUNT", "HASH"):
        both = token.source.stretch(before.start, token.end)
        return both, "the sign between a number and its factor is missing", f"write {before} * {token}"
    if before.type == "NAME" and token.type == "OPEN_SQUARE":
        what = f"{str(before)!r} has no items: square brackets stand behind Q, sums and attention"
        return token.span, what, f"write {before}(i) for its value at i, or Q[a] for a token"
    if before.type == "NAME" and str(before) in FUNCTIONS:
        return before.span, f"{str(before)!r} has no brackets", f"write {before}(…)"
    what = f"an operator is missing between {str(before)!r} and {str(token)!r}"
    return token.span, what, "write for example '&' or '|' between them"


def _wanted(expected: set[str]) -> str:
    """Return what could stand there instead, as a remedy."""
    if "LETTER" in expected:
        return "write a formula or a number here"
    known = {
        "OPEN": "(", "CLOSE": ")", "OPEN_SQUARE": "[", "CLOSE_SQUARE": "]", "OPEN_BRACE": "{", "CLOSE_BRACE": "}",
        "COMMA": ",", "ELSE": "else", "COLON": ":", "STRING": "'a'", "NAME": "i", "AND": "&", "OR": "|",
    }  # fmt: skip
    shown = [f"'{known[kind]}'" if kind != "STRING" else known[kind] for kind in known if kind in expected]
    return f"write {' or '.join(shown[:4])} here" if shown else "remove it"


@dataclass(frozen=True)
class Stated:
    """A definition as it is written.

    Args:
        name: its name; None: an expression that has none.
        parameters: the names in brackets behind it.
        body: its right side; None if it cannot be read, which has been reported.
        sign: what stands between them: ``:=`` or ``=``, which may be meant to compare; empty without a name.
        rule: of ``theta(name) = …``, which defines a predicate, its text.
    """

    name: Lexeme | None
    parameters: tuple[Lexeme, ...]
    body: Phrase | None
    sign: str = ""
    rule: str = ""


def parse(log: Log) -> tuple[Stated, ...]:
    """Return the definitions of the log's source; errors go to the log."""
    found = []
    for tokens in statements(lexemes(log.source)):
        if len(log.found) >= MOST_DIAGNOSTICS:
            break
        found.append(_stated(tokens, log))
    return tuple(found)


def _stated(tokens: list[Lexeme], log: Log) -> Stated:
    begins = head(tokens)
    if begins == 5 and str(tokens[0]) == THETA:
        return _ruled(tokens, log)
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


def _ruled(tokens: list[Lexeme], log: Log) -> Stated:
    """Return the definition of a predicate, ``theta(name) = rule``."""
    name, sign, rest = tokens[2], tokens[4], tokens[5:]
    if str(name) in BUILT_IN:
        log.add(*no_name(name))
    elif not rest:
        log.add(sign.span, f"nothing is defined behind {str(sign)!r}", "write a rule such as i % 3 = 0, or i in {1, 2, 5}")
    else:
        text, source, start = rest[0].source.text[rest[0].start : rest[-1].end], rest[0].source, rest[0].start
        try:
            stated(text)
            return Stated(name, (), None, str(sign), text)
        except RuleError as error:
            log.add(source.stretch(start + error.at, min(start + error.at + 1, rest[-1].end)), error.what, error.remedy)
    return Stated(name, (), None, str(sign))


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
