"""Builds the syntax tree while the parser runs: a method for each alternative of ``grammar.lark``."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from lark import Transformer

from tm2tfr.sources.rasp.language import syntax as s
from tm2tfr.text.parts import Lexeme, TextPart, place_of

PREFIXES = {"not": "not", "-": "neg", "+": "pos"}


def _name(lexeme: Lexeme) -> s.Variable:
    return s.Variable(name=str(lexeme), **place_of([lexeme]))


def _expressions(children: Sequence[Any]) -> tuple[s.Expression, ...]:
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
    def names(self, children: list[Any]) -> tuple[s.Variable, ...]:
        return tuple(_name(child) for child in children[::2])

    def expressions(self, children: list[Any]) -> tuple[s.Expression, ...]:
        return tuple(children[::2])

    def block(self, children: list[Any]) -> tuple[s.Statement, ...]:
        return tuple(children)

    def results(self, children: list[Any]) -> tuple[s.Expression, ...]:
        found: tuple[s.Expression, ...] = children[1]
        return found

    def subject(self, children: list[Any]) -> str:
        return str(children[0]) if children else ""

    def switch(self, children: list[Any]) -> Any:
        return children[0]

    def relation(self, children: list[Any]) -> Any:
        return children[0]

    def pair(self, children: list[Any]) -> tuple[s.Expression, s.Expression]:
        return children[0], children[2]

    # ── expressions ─────────────────────────────────────────────────────────────────────────────────────
    def between(self, children: list[Any]) -> s.Expression:
        left, operator, right = children
        return s.Between(operator=str(operator), left=left, right=right, **place_of(children))

    def ternary(self, children: list[Any]) -> s.Expression:
        then, _, condition, _, otherwise = children
        return s.Ternary(then=then, condition=condition, otherwise=otherwise, **place_of(children))

    def prefixed(self, children: list[Any]) -> s.Expression:
        operator: Any = PREFIXES[children[0]]
        return s.Prefixed(operator=operator, operand=children[1], **place_of(children))

    def function(self, children: list[Any]) -> s.Expression:
        operator: Any = str(children[0])
        return s.Prefixed(operator=operator, operand=children[2], **place_of(children))

    def indexed(self, children: list[Any]) -> s.Expression:
        return s.Indexed(whole=children[0], index=children[2], **place_of(children))

    def applied(self, children: list[Any]) -> s.Expression:
        return s.Applied(function=children[0], arguments=_expressions(children[1:]), **place_of(children))

    def bracketed(self, children: list[Any]) -> s.Expression:
        return s.Bracketed(inner=children[1], **place_of(children))

    def selection(self, children: list[Any]) -> s.Expression:
        relation: Any = str(children[5])
        return s.SelectCall(key=children[1], query=children[3], relation=relation, **place_of(children))

    def primitive(self, children: list[Any]) -> s.Expression:
        name: Any = str(children[0])[:-1]
        return s.Primitive(name=name, arguments=_expressions(children), **place_of(children))

    def variable(self, children: list[Any]) -> s.Expression:
        return _name(children[0])

    def broken(self, children: list[Any]) -> s.Expression:
        return s.Broken(**place_of(children))

    def literally(self, children: list[Any]) -> s.Expression:
        (token,) = children
        text = str(token)
        value = text[1:-1] if token.type == "STRING" else int(text) if token.type == "INT" else Fraction(text)
        return s.Literally(value=value, **place_of(children))

    def listed(self, children: list[Any]) -> s.Expression:
        return s.Listed(items=_expressions(children), **place_of(children))

    def list_for(self, children: list[Any]) -> s.Expression:
        _, value, _, names, _, iterable, _ = children
        return s.Comprehension(key=None, value=value, names=names, iterable=iterable, **place_of(children))

    def dictionary(self, children: list[Any]) -> s.Expression:
        return s.Dictionary(pairs=tuple(child for child in children if isinstance(child, tuple)), **place_of(children))

    def dictionary_for(self, children: list[Any]) -> s.Expression:
        _, (key, value), _, names, _, iterable, _ = children
        return s.Comprehension(key=key, value=value, names=names, iterable=iterable, **place_of(children))

    # ── statements ──────────────────────────────────────────────────────────────────────────────────────
    def evaluation(self, children: list[Any]) -> s.Statement:
        return s.Alone(expression=children[0], **place_of(children))

    def assignment(self, children: list[Any]) -> s.Statement:
        return s.Assignment(names=children[0], values=children[2], **_place(children[0], children))

    def drawing(self, children: list[Any]) -> s.Statement:
        expression, *rest = _expressions(children)
        return s.Drawing(expression=expression, input=rest[0] if rest else None, **place_of(children))

    def loading(self, children: list[Any]) -> s.Statement:
        return s.Loading(file=str(children[1])[1:-1], **place_of(children[1:2]))

    def definition(self, children: list[Any]) -> s.Statement:
        parameters = children[3] if isinstance(children[3], tuple) else ()
        body, results = children[-3:-1]
        return s.Definition(
            name=_name(children[1]), parameters=parameters, body=body, results=results, **place_of(children)
        )

    def loop(self, children: list[Any]) -> s.Statement:
        return s.Loop(names=children[1], iterable=children[3], body=children[5], **place_of(children))

    def set_example(self, children: list[Any]) -> s.Statement:
        return s.Setting(kind="example", subject=children[1], example=children[3], **place_of(children))

    def show_example(self, children: list[Any]) -> s.Statement:
        return s.Setting(kind="show", subject=children[1], **place_of(children))

    def examples(self, children: list[Any]) -> s.Statement:
        return s.Setting(kind="examples", subject=children[0], on=children[2] == "on", **place_of(children))

    def display(self, children: list[Any]) -> s.Statement:
        return s.Setting(kind="display", on=children[1] == "on", **place_of(children))

    def exit(self, children: list[Any]) -> s.Statement:
        return s.Setting(kind="exit", **place_of(children))


def _place(first: Sequence[TextPart], children: Sequence[Any]) -> dict[str, Any]:
    return {**place_of(children), "start": first[0].start}
