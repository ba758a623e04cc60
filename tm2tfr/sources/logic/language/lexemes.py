"""From a text to the tokens of its definitions, each found even where another cannot be read.

A definition ends with a semicolon, or with its line: where no bracket is open, an operand stands at the end of the line
and no operator at the beginning of the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

from lark import Lark

from tm2tfr.sources.logic.language.tree import PhraseBuilder
from tm2tfr.text.parts import Lexeme
from tm2tfr.text.source import Source

KEYWORDS = {
    "and": "AND", "or": "OR", "not": "NOT", "prev": "PREFIX", "next": "PREFIX", "once": "PREFIX", "historically": "PREFIX",
    "eventually": "PREFIX", "always": "PREFIX", "since": "TEMPORAL", "until": "TEMPORAL", "S": "TEMPORAL", "U": "TEMPORAL",
    "true": "TRUE", "false": "FALSE", "in": "IN", "if": "IF", "else": "ELSE", "latest": "ATTEND", "latest_j": "ATTEND",
    "earliest": "ATTEND", "earliest_j": "ATTEND", "psum": "PSUM", "psum_j": "PSUM",
}  # fmt: skip
"""The words that are no names -> the kinds of tokens that they are."""
BUILT_IN = frozenset({
    "count", "count_left", "count_right", "odd", "even", "prime", "square", "power_of_2", "mod", "position",
    "pos", "first", "last", "i", "j",
})  # fmt: skip
"""The names that mean something already."""
ELSEWHERE = {
    "previous": "prev", "Y": "prev", "yesterday": "prev", "X": "next", "O": "once", "H": "historically", "F": "eventually",
    "G": "always", "sum": "psum_j", "AND": "&", "OR": "|", "NOT": "!", "xor": "!=", "iff": "<->", "implies": "->",
}  # fmt: skip
"""What other languages call an operator -> what it is here."""
FUNCTIONS = ("count", "count_right", "odd", "even", "prime", "square", "power_of_2", "mod", "min", "max")
"""What is written with brackets."""
OPERAND_ENDS = frozenset({
    "NAME", "LETTER", "STRING", "INT", "TRUE", "FALSE", "CLOSE", "CLOSE_SQUARE", "CLOSE_BRACE",
})  # fmt: skip
INFIX = frozenset({
    "ASK", "COLON", "IF", "ELSE", "IFF", "IMPLIES", "OR", "AND", "TEMPORAL", "RELATION", "EQUAL", "PLUS",
    "MINUS", "STAR", "COMMA", "CLOSE", "CLOSE_SQUARE", "CLOSE_BRACE",
})  # fmt: skip
"""Tokens that no definition begins with."""
OPENING = {"OPEN": ")", "OPEN_SQUARE": "]", "OPEN_BRACE": "}", "COUNT": "]", "HASH": "]"}
CLOSING = {"CLOSE": "(", "CLOSE_SQUARE": "[", "CLOSE_BRACE": "{"}
DEFINING = ("EQUAL", "ASSIGN")


@cache
def parser() -> Lark:
    """Return the parser of an expression, which builds its syntax tree."""
    grammar = files("tm2tfr").joinpath("sources", "logic", "language", "grammar.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        lexer="basic",
        start=["start", "apart"],
        keep_all_tokens=True,
        maybe_placeholders=False,
        transformer=PhraseBuilder(),
    )


def lexemes(source: Source) -> list[Lexeme]:
    """Return the tokens of a text, without its comments."""
    found = []
    for token in parser().lex(source.text):
        kind = KEYWORDS.get(str(token), token.type) if token.type == "NAME" else token.type
        if kind != "COMMENT":
            found.append(Lexeme.of(kind, str(token), source, token.start_pos or 0))
    return found


def open_brackets(tokens: Sequence[Lexeme]) -> list[Lexeme]:
    """Return the brackets that are open behind `tokens`, the innermost one last."""
    found: list[Lexeme] = []
    for token in tokens:
        if token.type in OPENING:
            found.append(token)
        elif token.type in CLOSING and found and OPENING[found[-1].type] == str(token):
            found.pop()
    return found


def head(tokens: Sequence[Lexeme]) -> int:
    """Return how many tokens stand before and at the sign that makes `tokens` a definition, 0 if they are none.

    ``name =``, ``name :=``, ``name(i) =``, ``name(s, t) =``; ``position =`` and ``count(x) =`` begin comparisons.
    """
    kinds = [token.type for token in tokens[:40]]
    if kinds[:1] != ["NAME"] and kinds[1:2] != ["ASSIGN"]:
        return 0
    end = 1
    if kinds[1:2] == ["OPEN"]:
        while end < len(kinds) and kinds[end] in ("OPEN", "NAME", "COMMA"):
            end += 1
        if kinds[end : end + 1] != ["CLOSE"]:
            return 0
        end += 1
    if kinds[end : end + 1] == ["ASSIGN"]:
        return end + 1
    return end + 1 if kinds[end : end + 1] == ["EQUAL"] and str(tokens[0]) not in BUILT_IN else 0


def statements(tokens: Sequence[Lexeme]) -> Iterator[list[Lexeme]]:
    """Yield the tokens of each definition, without the semicolon behind it."""
    current: list[Lexeme] = []
    depth = 0
    for at, token in enumerate(tokens):
        if current and _ends(current[-1], tokens, at, depth):
            yield current
            current, depth = [], 0
        if token.type == "SEMICOLON":
            if current:
                yield current
            current, depth = [], 0
            continue
        depth += (token.type in OPENING) - (token.type in CLOSING)
        current.append(token)
    if current:
        yield current


def _ends(last: Lexeme, tokens: Sequence[Lexeme], at: int, depth: int) -> bool:
    """Return whether a definition whose last token is `last` ends before the token number `at`, on a new line."""
    token = tokens[at]
    gap = last.source.text[last.end : token.start]
    if "\n" not in gap and "\r" not in gap:
        return False
    following = tokens[at : at + 40]
    if last.type not in OPERAND_ENDS:
        return depth <= 0 and last.type not in DEFINING and head(following) > 0
    if depth > 0:
        return head(following) > 0
    if token.type == "IN":
        return [each.type for each in following[1:2]] == ["OPEN"]
    return token.type not in INFIX
