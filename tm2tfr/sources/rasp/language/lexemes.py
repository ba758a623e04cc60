"""From a text to the tokens of its statements: one list per statement, found even where it cannot be read.

A statement ends with a semicolon, a definition and a loop with their closing bracket, and a line for the interpreter itself
(``set example "abc"``) with the line. A bracket that is never closed does not swallow the statements behind it, since a
semicolon closes every bracket but that of a block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

from lark import Lark, Transformer

from tm2tfr.base.text.parts import Lexeme, TextPart, parser_of, place_of
from tm2tfr.base.text.source import SourceText
from tm2tfr.sources.rasp.language import syntax as s

# ── Builds the syntax tree while the parser runs: a method for each alternative of ``grammar.lark``.
_Children = list[Any]
"""What stands for the symbols of a rule, in their order: tokens, and the parts that were made of other rules."""
PREFIXES = {"not": "not", "-": "neg", "+": "pos"}


def _name(lexeme: Lexeme) -> s.Variable:
    return s.Variable(name=str(lexeme), **place_of([lexeme]))


def _expressions(children: _Children) -> tuple[s.Expression, ...]:
    """Return the expressions among the children, also those in a list."""
    found: list[s.Expression] = []
    for child in children:
        if isinstance(child, s.Expression):
            found.append(child)
        elif isinstance(child, tuple):
            found.extend(child)
    return tuple(found)


class TreeBuilder(Transformer[Lexeme, Any]):
    """From the children of a rule to the part of the tree."""

    # ── lists ───────────────────────────────────────────────────────────────────────────────────────────
    def names(self, children: _Children) -> tuple[s.Variable, ...]:
        return tuple(_name(child) for child in children[::2])

    def expressions(self, children: _Children) -> tuple[s.Expression, ...]:
        return tuple(children[::2])

    def block(self, children: _Children) -> tuple[s.Statement, ...]:
        return tuple(children)

    def results(self, children: _Children) -> tuple[s.Expression, ...]:
        found: tuple[s.Expression, ...] = children[1]
        return found

    def subject(self, children: _Children) -> str:
        return str(children[0]) if children else ""

    def switch(self, children: _Children) -> Any:
        return children[0]

    def relation(self, children: _Children) -> Any:
        return children[0]

    def pair(self, children: _Children) -> tuple[s.Expression, s.Expression]:
        return children[0], children[2]

    # ── expressions ─────────────────────────────────────────────────────────────────────────────────────
    def between(self, children: _Children) -> s.Expression:
        left, operator, right = children
        return s.Between(operator=str(operator), left=left, right=right, **place_of(children))

    def ternary(self, children: _Children) -> s.Expression:
        then, _, condition, _, otherwise = children
        return s.Ternary(then=then, condition=condition, otherwise=otherwise, **place_of(children))

    def prefixed(self, children: _Children) -> s.Expression:
        operator: Any = PREFIXES[children[0]]
        return s.Prefixed(operator=operator, operand=children[1], **place_of(children))

    def function(self, children: _Children) -> s.Expression:
        operator: Any = str(children[0])
        return s.Prefixed(operator=operator, operand=children[2], **place_of(children))

    def indexed(self, children: _Children) -> s.Expression:
        return s.Indexed(whole=children[0], index=children[2], **place_of(children))

    def applied(self, children: _Children) -> s.Expression:
        return s.Applied(function=children[0], arguments=_expressions(children[1:]), **place_of(children))

    def bracketed(self, children: _Children) -> s.Expression:
        return s.Bracketed(inner=children[1], **place_of(children))

    def selection(self, children: _Children) -> s.Expression:
        relation: Any = str(children[5])
        return s.SelectCall(key=children[1], query=children[3], relation=relation, **place_of(children))

    def primitive(self, children: _Children) -> s.Expression:
        name: Any = str(children[0])[:-1]
        return s.Primitive(name=name, arguments=_expressions(children), **place_of(children))

    def variable(self, children: _Children) -> s.Expression:
        return _name(children[0])

    def broken(self, children: _Children) -> s.Expression:
        return s.Broken(**place_of(children))

    def literally(self, children: _Children) -> s.Expression:
        (token,) = children
        text = str(token)
        value = text[1:-1] if token.type == "STRING" else int(text) if token.type == "INT" else Fraction(text)
        return s.Literally(value=value, **place_of(children))

    def listed(self, children: _Children) -> s.Expression:
        return s.Listed(items=_expressions(children), **place_of(children))

    def list_for(self, children: _Children) -> s.Expression:
        _, value, _, names, _, iterable, _ = children
        return s.Comprehension(key=None, value=value, names=names, iterable=iterable, **place_of(children))

    def dictionary(self, children: _Children) -> s.Expression:
        return s.Dictionary(pairs=tuple(child for child in children if isinstance(child, tuple)), **place_of(children))

    def dictionary_for(self, children: _Children) -> s.Expression:
        _, (key, value), _, names, _, iterable, _ = children
        return s.Comprehension(key=key, value=value, names=names, iterable=iterable, **place_of(children))

    # ── statements ──────────────────────────────────────────────────────────────────────────────────────
    def evaluation(self, children: _Children) -> s.Statement:
        return s.Alone(expression=children[0], **place_of(children))

    def assignment(self, children: _Children) -> s.Statement:
        return s.Assignment(names=children[0], values=children[2], **_place(children[0], children))

    def drawing(self, children: _Children) -> s.Statement:
        expression, *rest = _expressions(children)
        return s.Drawing(expression=expression, input=rest[0] if rest else None, **place_of(children))

    def loading(self, children: _Children) -> s.Statement:
        return s.Loading(file=str(children[1])[1:-1], **place_of(children[1:2]))

    def definition(self, children: _Children) -> s.Statement:
        parameters = children[3] if isinstance(children[3], tuple) else ()
        body, results = children[-3:-1]
        return s.Definition(
            name=_name(children[1]), parameters=parameters, body=body, results=results, **place_of(children)
        )

    def loop(self, children: _Children) -> s.Statement:
        return s.Loop(names=children[1], iterable=children[3], body=children[5], **place_of(children))

    def repetition(self, children: _Children) -> s.Statement:
        condition = [n for n, child in enumerate(children) if isinstance(child, Lexeme) and child.type == "UNTIL"]
        times = children[1] if isinstance(children[1], s.Expression) else None
        until = children[condition[0] + 1] if condition else None
        return s.Repetition(times=times, until=until, body=children[-2], **place_of(children))

    def set_example(self, children: _Children) -> s.Statement:
        return s.Setting(kind="example", subject=children[1], example=children[3], **place_of(children))

    def show_example(self, children: _Children) -> s.Statement:
        return s.Setting(kind="show", subject=children[1], **place_of(children))

    def examples(self, children: _Children) -> s.Statement:
        return s.Setting(kind="examples", subject=children[0], on=children[2] == "on", **place_of(children))

    def display(self, children: _Children) -> s.Statement:
        return s.Setting(kind="display", on=children[1] == "on", **place_of(children))

    def exit(self, children: _Children) -> s.Statement:
        return s.Setting(kind="exit", **place_of(children))


def _place(first: Sequence[TextPart], children: _Children) -> dict[str, Any]:
    return {**place_of(children), "start": first[0].start}


LINES = {"SET", "SHOW", "S_OP", "SELECTOR", "EXAMPLES", "FULL_SEQ_DISPLAY", "EXIT", "EXIT_CALL", "QUIT", "QUIT_CALL"}
"""Tokens that begin a line for the interpreter itself."""
BEGINNINGS = {"DEF", "LOAD", "DRAW", "RETURN", "FOR", "REPEAT", "SET", "SHOW", "FULL_SEQ_DISPLAY"}
"""Tokens that begin a statement where no bracket is open."""
OPERAND_ENDS = {
    "ID", "INT", "FLOAT", "STRING", "CLOSE", "CLOSE_SQUARE", "CLOSE_BRACE", "EXAMPLE", "ON", "OFF",
    "EXIT", "EXIT_CALL", "QUIT", "QUIT_CALL",
}  # fmt: skip
_OPENING = {
    "OPEN": "(", "SELECT": "(", "AGGREGATE": "(", "RANGE": "(", "ZIP": "(", "LEN": "(", "OPEN_SQUARE": "[",
}  # fmt: skip
_CLOSING = {"CLOSE": "(", "CLOSE_SQUARE": "["}
BLOCK = "block"


@cache
def parser() -> Lark:
    """Return the parser of a statement, which builds its syntax tree."""
    return parser_of("rasp", TreeBuilder(), "statement")


@cache
def words() -> frozenset[str]:
    """Return the words of the language, which cannot be names."""
    found = (terminal.pattern.value for terminal in parser().terminals if terminal.pattern.type == "str")
    return frozenset(word for word in found if word.isidentifier())


@dataclass
class Brackets:
    """The brackets that are open."""

    open: list[str] = field(default_factory=list)
    previous: str = ""
    blocks: int = 0
    """The number of them that belong to blocks."""

    def take(self, kind: str) -> None:
        """Take note of the next token."""
        if kind in _OPENING:
            self.open.append(_OPENING[kind])
        elif kind == "OPEN_BRACE":
            self.open.append(BLOCK if self.previous in OPERAND_ENDS else "{")
            self.blocks += self.open[-1] == BLOCK
        elif kind in _CLOSING:
            if self.open and self.open[-1] == _CLOSING[kind]:
                self.open.pop()
        elif kind == "CLOSE_BRACE":
            closed = ""
            while self.open and closed not in ("{", BLOCK):
                closed = self.open.pop()
            self.blocks -= closed == BLOCK
        elif kind in ("SEMICOLON", "END_OF_LINE", "DEF"):
            self.to_block()
        self.previous = kind

    def to_block(self) -> None:
        """Forget every open bracket but those of blocks."""
        while self.open and self.open[-1] != BLOCK:
            self.open.pop()

    @property
    def between_statements(self) -> bool:
        """Whether no bracket is open but those of blocks."""
        return not self.open or self.open[-1] == BLOCK


def lexemes(source: SourceText) -> tuple[list[Lexeme], list[Lexeme]]:
    """Return the tokens of a text, and its comments."""
    found: list[Lexeme] = []
    comments: list[Lexeme] = []
    for token in parser().lex(source.text):
        lexeme = Lexeme.of(token.type, str(token), source, token.start_pos or 0)
        (comments if token.type == "COMMENT" else found).append(lexeme)
    return _with_loops(found), comments


_COUNTS = ("INT", "FLOAT", "ID", "LEN")
"""What the number of passes, or ``until``, begins with: no statement of the authors' has it behind a name."""


def _with_loops(tokens: list[Lexeme]) -> list[Lexeme]:
    """Return the tokens with the names ``repeat`` and ``until`` made words where they begin a loop and its condition."""
    found, heading = list(tokens), False
    for n, token in enumerate(tokens):
        begins = n == 0 or tokens[n - 1].type in ("SEMICOLON", "OPEN_BRACE", "CLOSE_BRACE")
        following = tokens[n + 1].type if n + 1 < len(tokens) else ""
        if begins and token == "repeat" and token.type == "ID" and following in _COUNTS:
            found[n], heading = Lexeme.of("REPEAT", "repeat", token.source, token.start), True
        elif token.type == "OPEN_BRACE":
            heading = False
        elif heading and token == "until" and token.type == "ID" and following != "OPEN_BRACE":
            found[n], heading = Lexeme.of("UNTIL", "until", token.source, token.start), False
    return found


def statements(tokens: list[Lexeme]) -> Iterator[list[Lexeme]]:
    """Yield the tokens of each statement, with an END_OF_LINE behind a line for the interpreter itself."""
    current: list[Lexeme] = []
    brackets = Brackets()
    line = False
    for token in tokens:
        if current and line and _line_ends(current[-1], token, brackets):
            yield [*current, end_of_line(current[-1])]
            current, brackets, line = [], Brackets(), False
        begins = token.type == "DEF" or (token.type in BEGINNINGS and brackets.between_statements)
        begins = begins and not (token.type == "RETURN" and current and current[0].type == "DEF")
        if current and begins and not brackets.blocks:
            yield current  # its semicolon is missing
            current, brackets, line = [], Brackets(), False
        line = line or (not current and token.type in LINES)
        in_block = brackets.open[:1] == [BLOCK]
        brackets.take(token.type)
        current.append(token)
        closed = token.type == "CLOSE_BRACE" and in_block
        if not brackets.open and (
            token.type == "SEMICOLON" or closed or (current == [token] and token.type == "CLOSE_BRACE")
        ):
            yield current
            current, brackets, line = [], Brackets(), False
    if current:
        yield [*current, end_of_line(current[-1])] if line else current


def _line_ends(last: Lexeme, token: Lexeme, brackets: Brackets) -> bool:
    broken = "\n" in last.source.text[last.end : token.start] or "\r" in last.source.text[last.end : token.start]
    return broken and not brackets.open and last.type in OPERAND_ENDS and token.type != "SEMICOLON"


def end_of_line(last: Lexeme) -> Lexeme:
    """Return the token that ends a line for the interpreter itself."""
    return Lexeme.of("END_OF_LINE", "", last.source, last.end)


def pieces(tokens: list[Lexeme]) -> list[tuple[int, int]]:
    """Return where the pieces of a statement begin and end.

    A piece is a statement in a block, a header with its ``{``, or a ``}``.
    """
    found = []
    brackets = Brackets()
    begin = 0
    for number, token in enumerate(tokens):
        if number > begin and brackets.between_statements and (token.type in BEGINNINGS or token.type == "DEF"):
            found.append((begin, number))
            begin = number
        depth, blocks, last = len(brackets.open), brackets.blocks, "".join(brackets.open[-1:])
        brackets.take(token.type)
        opened = len(brackets.open) > depth and brackets.open[-1] == BLOCK
        closed = token.type == "CLOSE_BRACE" and blocks > 0 and len(brackets.open) < depth and brackets.between_statements
        if closed and number > begin and last == BLOCK:
            found.append((begin, number))
            begin = number
        if opened or closed or token.type in ("SEMICOLON", "END_OF_LINE"):
            found.append((begin, number + 1))
            begin = number + 1
    return [*found, (begin, len(tokens))] if begin < len(tokens) else found
