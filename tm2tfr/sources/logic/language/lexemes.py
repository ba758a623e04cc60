"""From a text to the tokens of its definitions, each found even where another cannot be read.

A definition ends with a semicolon, or with its line: where no bracket is open, an operand stands at the end of the line
and no operator at the beginning of the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from lark import Lark, Transformer

from tm2tfr.base.text.parts import Lexeme, TextPart, parser_of, place_of
from tm2tfr.base.text.source import SourceText

# ── The syntax tree of an expression, built while the parser runs: a method for each alternative of ``grammar.lark``.
MEANT = {
    "and": "&", "&&": "&", "∧": "&", "or": "|", "||": "|", "∨": "|", "not": "!", "¬": "!", "~": "!", "⊖": "prev",
    "⊕": "next", "↔": "<->", "⇔": "<->", "→": "->", "⇒": "->", "≤": "<=", "≥": ">=", "≠": "!=", "=": "==", "−": "-",
    "·": "*", "×": "*",
}  # fmt: skip
"""What several signs stand for -> the one that the tree has."""
_Children = Sequence[Any]
"""What stands for the symbols of a rule, in their order: tokens, and the parts that were made of other rules."""
DEEPEST = 120
"""Levels of brackets and operators within each other."""
_ESCAPED = re.compile(r"\\(.)")
_BREAKS = {"n": "\n", "r": "\r", "t": "\t"}


class TooDeep(Exception):  # noqa: N818  (it is caught at its definition)
    """An expression is nested more than `DEEPEST` levels deep."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Phrase(TextPart):
    """An expression, or a part of one.

    Args:
        operator: ``letter`` Q_σ, ``token`` in(i), ``name``, ``call``, ``true``, ``false``, ``whole`` a number, ``label`` a
            text, ``brackets``; a prefix (``!``, ``prev``, …, ``neg``) or infix operator as the tree has it (see `MEANT`);
            ``one of`` labels; ``?`` with the condition first; ``latest`` and ``earliest``: sight, score (or a ``true``),
            value, maybe default; ``psum`` and ``#``: sight, what is summed.
        parts: its parts.
        text: the name, the number, the label or the letter itself.
        depth: the number of levels in it.
    """

    operator: str
    parts: tuple[Phrase, ...] = ()
    text: str = ""
    depth: int = 0


def unquoted(text: str) -> str:
    r"""Return the content of a text in quotes, with the usual escapes ``\n``, ``\r`` and ``\t``."""
    return _ESCAPED.sub(lambda escape: _BREAKS.get(escape[1], escape[1]), text[1:-1])


def phrase(operator: str, children: _Children, parts: Sequence[Phrase] = (), text: str = "") -> Phrase:
    """Return a part that reaches from the first to the last of `children`.

    Raises:
        TooDeep: if it has too many levels.
    """
    depth = 1 + max((part.depth for part in parts), default=0)
    if depth > DEEPEST:
        raise TooDeep
    return Phrase(operator=operator, parts=tuple(parts), text=text, depth=depth, **place_of(children))


def _phrases(children: _Children) -> list[Phrase]:
    return [child for child in children if isinstance(child, Phrase)]


def _infix(operator: str, children: _Children) -> Phrase:
    """Return an operator between operands: several ``&``, ``|`` or ``+`` without brackets are one, and ``-`` adds."""
    left, right = children[0], children[-1]
    if operator == "-":
        operator, right = "+", phrase("neg", [right], [right])
    more = left.parts if operator in ("&", "|", "+") and left.operator == operator else (left,)
    return phrase(operator, children, (*more, right))


class PhraseBuilder(Transformer[Lexeme, Any]):
    """From the children of a rule to the part of the tree."""

    def attention(self, children: _Children) -> Phrase:
        operator = "earliest" if str(children[0])[0] in "e◀" else "latest"
        within, behind = children[: _closing(children)], children[_closing(children) :]
        sight, *score = _phrases(within)
        if not score:
            score = [phrase("true", [within[-1] if isinstance(within[-1], Lexeme) else sight])]
        return phrase(operator, children, (sight, *score, *_phrases(behind)))

    def asked(self, children: _Children) -> Phrase:
        return phrase("?", children, _phrases(children))

    def ternary(self, children: _Children) -> Phrase:
        then, condition, other = _phrases(children)
        return phrase("?", children, (condition, then, other))

    def infix(self, children: _Children) -> Phrase:
        return _infix(MEANT.get(str(children[1]), str(children[1])), children)

    def prefix(self, children: _Children) -> Phrase:
        operator = MEANT.get(str(children[0]), str(children[0]))
        return phrase("neg" if operator == "-" else operator, children, _phrases(children))

    def among(self, children: _Children) -> Phrase:
        return phrase("one of", children, (children[0], *children[2].parts))

    def labels(self, children: _Children) -> Phrase:
        found = [self.label([child]) for child in children if child.type == "STRING"]
        return phrase("labels", children, found)

    def bracketed(self, children: _Children) -> Phrase:
        return phrase("brackets", children, _phrases(children))

    def letter(self, children: _Children) -> Phrase:
        text = str(children[0])
        inside = text[2:-1].strip() if text.startswith("Q[") else text[2:]
        quoted = len(inside) > 1 and inside[0] in "\"'"
        at = [self.name(children[2:3])] if len(children) > 1 else []
        return phrase("letter", children, at, unquoted(inside) if quoted else inside)

    def token(self, children: _Children) -> Phrase:
        return phrase("token", children, [self.name(children[2:3])])

    def called(self, children: _Children) -> Phrase:
        return phrase("call", children, _phrases(children), str(children[0]))

    def name(self, children: _Children) -> Phrase:
        return phrase("name", children, text=str(children[0]))

    def fixed(self, children: _Children) -> Phrase:
        return phrase("true" if str(children[0]) in ("true", "⊤") else "false", children)

    def whole(self, children: _Children) -> Phrase:
        return phrase("whole", children, text=str(children[0]))

    def label(self, children: _Children) -> Phrase:
        return phrase("label", children, text=unquoted(str(children[0])))

    def counted(self, children: _Children) -> Phrase:
        right = "→" in children[0] or "->" in children[0]
        return phrase("call", children, _phrases(children), "count_right" if right else "count")

    def summed(self, children: _Children) -> Phrase:
        return phrase("#" if children[0].type == "HASH" else "psum", children, _phrases(children))


def _closing(children: _Children) -> int:
    return next(at for at, child in enumerate(children) if isinstance(child, Lexeme) and child.type == "CLOSE_SQUARE")


KEYWORDS = {
    "and": "AND", "or": "OR", "not": "NOT", "prev": "PREFIX", "next": "PREFIX", "once": "PREFIX", "historically": "PREFIX",
    "eventually": "PREFIX", "always": "PREFIX", "since": "TEMPORAL", "until": "TEMPORAL", "S": "TEMPORAL", "U": "TEMPORAL",
    "true": "TRUE", "false": "FALSE", "in": "IN", "if": "IF", "else": "ELSE", "latest": "ATTEND", "latest_j": "ATTEND",
    "earliest": "ATTEND", "earliest_j": "ATTEND", "psum": "PSUM", "psum_j": "PSUM",
}  # fmt: skip
"""The words that cannot be names -> their kinds of tokens."""
BUILT_IN = frozenset({
    "count", "count_left", "count_right", "odd", "even", "prime", "square", "power_of_2", "mod", "position",
    "pos", "first", "last", "i", "j",
})  # fmt: skip
"""The names that mean something already."""
ELSEWHERE = {
    "previous": "prev", "Y": "prev", "yesterday": "prev", "X": "next", "O": "once", "H": "historically", "F": "eventually",
    "G": "always", "sum": "psum_j", "AND": "&", "OR": "|", "NOT": "!", "xor": "!=", "iff": "<->", "implies": "->",
}  # fmt: skip
"""The names of an operator in other languages -> its name here."""
FUNCTIONS = ("count", "count_right", "odd", "even", "prime", "square", "power_of_2", "mod", "min", "max", "abs")
"""Forms that are written with brackets."""
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
THETA = "theta"
"""``theta(name) = rule`` defines a predicate."""


@cache
def parser() -> Lark:
    """Return the parser of an expression, which builds its syntax tree."""
    return parser_of("logic", PhraseBuilder(), "start")


def lexemes(source: SourceText) -> list[Lexeme]:
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
