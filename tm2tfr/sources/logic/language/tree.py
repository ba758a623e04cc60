"""The syntax tree of an expression, built while the parser runs: a method for each alternative of ``grammar.lark``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lark import Transformer

from tm2tfr.text.parts import Lexeme, TextPart, place_of

MEANT = {
    "and": "&", "&&": "&", "∧": "&", "or": "|", "||": "|", "∨": "|", "not": "!", "¬": "!", "~": "!", "⊖": "prev",
    "⊕": "next", "↔": "<->", "⇔": "<->", "→": "->", "⇒": "->", "≤": "<=", "≥": ">=", "≠": "!=", "=": "==", "−": "-",
    "·": "*", "×": "*",
}  # fmt: skip
"""What several signs stand for -> the one that the tree has."""
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
        parts: what it is made of.
        text: the name, the number, the label or the letter itself.
        depth: the number of levels in it.
    """

    operator: str
    parts: tuple[Phrase, ...] = ()
    text: str = ""
    depth: int = 0


def unquoted(text: str) -> str:
    r"""Return what a text in quotes says, where ``\n``, ``\r`` and ``\t`` are what they are elsewhere."""
    return _ESCAPED.sub(lambda escape: _BREAKS.get(escape[1], escape[1]), text[1:-1])


def phrase(operator: str, children: Sequence[Any], parts: Sequence[Phrase] = (), text: str = "") -> Phrase:
    """Return a part that reaches from the first to the last of `children`.

    Raises:
        TooDeep: if it has too many levels.
    """
    depth = 1 + max((part.depth for part in parts), default=0)
    if depth > DEEPEST:
        raise TooDeep
    return Phrase(operator=operator, parts=tuple(parts), text=text, depth=depth, **place_of(children))


def _phrases(children: Sequence[Any]) -> list[Phrase]:
    return [child for child in children if isinstance(child, Phrase)]


def _infix(operator: str, children: list[Any]) -> Phrase:
    """Return an operator between operands: several ``&``, ``|`` or ``+`` without brackets are one, and ``-`` adds."""
    left, right = children[0], children[-1]
    if operator == "-":
        operator, right = "+", phrase("neg", [right], [right])
    more = left.parts if operator in ("&", "|", "+") and left.operator == operator else (left,)
    return phrase(operator, children, (*more, right))


class PhraseBuilder(Transformer[Lexeme, Any]):
    """From the children of a rule to the part of the tree."""

    def attention(self, children: list[Any]) -> Phrase:
        operator = "earliest" if str(children[0])[0] in "e◀" else "latest"
        within, behind = children[: _closing(children)], children[_closing(children) :]
        sight, *score = _phrases(within)
        if not score:
            score = [phrase("true", [within[-1] if isinstance(within[-1], Lexeme) else sight])]
        return phrase(operator, children, (sight, *score, *_phrases(behind)))

    def asked(self, children: list[Any]) -> Phrase:
        return phrase("?", children, _phrases(children))

    def ternary(self, children: list[Any]) -> Phrase:
        then, condition, other = _phrases(children)
        return phrase("?", children, (condition, then, other))

    def infix(self, children: list[Any]) -> Phrase:
        return _infix(MEANT.get(str(children[1]), str(children[1])), children)

    def prefix(self, children: list[Any]) -> Phrase:
        operator = MEANT.get(str(children[0]), str(children[0]))
        return phrase("neg" if operator == "-" else operator, children, _phrases(children))

    def among(self, children: list[Any]) -> Phrase:
        return phrase("one of", children, (children[0], *children[2].parts))

    def labels(self, children: list[Any]) -> Phrase:
        found = [self.label([child]) for child in children if child.type == "STRING"]
        return phrase("labels", children, found)

    def bracketed(self, children: list[Any]) -> Phrase:
        return phrase("brackets", children, _phrases(children))

    def letter(self, children: list[Any]) -> Phrase:
        text = str(children[0])
        inside = text[2:-1].strip() if text.startswith("Q[") else text[2:]
        quoted = len(inside) > 1 and inside[0] in "\"'"
        at = [self.name(children[2:3])] if len(children) > 1 else []
        return phrase("letter", children, at, unquoted(inside) if quoted else inside)

    def token(self, children: list[Any]) -> Phrase:
        return phrase("token", children, [self.name(children[2:3])])

    def called(self, children: list[Any]) -> Phrase:
        return phrase("call", children, _phrases(children), str(children[0]))

    def name(self, children: list[Any]) -> Phrase:
        return phrase("name", children, text=str(children[0]))

    def fixed(self, children: list[Any]) -> Phrase:
        return phrase("true" if str(children[0]) in ("true", "⊤") else "false", children)

    def whole(self, children: list[Any]) -> Phrase:
        return phrase("whole", children, text=str(children[0]))

    def label(self, children: list[Any]) -> Phrase:
        return phrase("label", children, text=unquoted(str(children[0])))

    def counted(self, children: list[Any]) -> Phrase:
        right = "→" in children[0] or "->" in children[0]
        return phrase("call", children, _phrases(children), "count_right" if right else "count")

    def summed(self, children: list[Any]) -> Phrase:
        return phrase("#" if children[0].type == "HASH" else "psum", children, _phrases(children))


def _closing(children: list[Any]) -> int:
    return next(at for at, child in enumerate(children) if isinstance(child, Lexeme) and child.type == "CLOSE_SQUARE")
