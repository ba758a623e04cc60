"""The syntax tree of a RASP text: expressions and statements, each with the part of the text that it was read from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tm2tfr.sources.rasp.sops import Atom, Relation
from tm2tfr.text.parts import TextPart as TextPart  # noqa: PLC0414  (part of the tree)


@dataclass(frozen=True, eq=False, kw_only=True)
class Expression(TextPart):
    """An expression."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Broken(Expression):
    """What stands for a part that could not be read, and has been reported."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Literally(Expression):
    """A number or a text."""

    value: Atom


@dataclass(frozen=True, eq=False, kw_only=True)
class Variable(Expression):
    """The name of a variable."""

    name: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Bracketed(Expression):
    """``(inner)``: kept, since warnings about precedence are for those who wrote no brackets."""

    inner: Expression


@dataclass(frozen=True, eq=False, kw_only=True)
class Prefixed(Expression):
    """``not``, ``-`` and ``+`` of an operand, ``round(operand)``, ``indicator(operand)``."""

    operator: Literal["not", "neg", "pos", "round", "indicator"]
    operand: Expression


@dataclass(frozen=True, eq=False, kw_only=True)
class Between(Expression):
    """An operator between two operands, also ``in``."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, eq=False, kw_only=True)
class Ternary(Expression):
    """``then if condition else otherwise``."""

    then: Expression
    condition: Expression
    otherwise: Expression


@dataclass(frozen=True, eq=False, kw_only=True)
class Indexed(Expression):
    """``whole[index]``."""

    whole: Expression
    index: Expression


@dataclass(frozen=True, eq=False, kw_only=True)
class Applied(Expression):
    """``function(arguments)``: a call of a function, or an s-op or a selector applied to an input."""

    function: Expression
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Primitive(Expression):
    """``aggregate(…)``, ``range(…)``, ``zip(…)`` or ``len(…)``."""

    name: Literal["aggregate", "range", "zip", "len"]
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class SelectCall(Expression):
    """``select(key, query, relation)``."""

    key: Expression
    query: Expression
    relation: Relation


@dataclass(frozen=True, eq=False, kw_only=True)
class Listed(Expression):
    """``[items]``."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Dictionary(Expression):
    """``{key: value, …}``."""

    pairs: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Comprehension(Expression):
    """``[value for names in iterable]``, and with a key ``{key: value for names in iterable}``."""

    key: Expression | None
    value: Expression
    names: tuple[Variable, ...]
    iterable: Expression


@dataclass(frozen=True, eq=False, kw_only=True)
class Statement(TextPart):
    """A statement."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Alone(Statement):
    """``expression;``."""

    expression: Expression


@dataclass(frozen=True, eq=False, kw_only=True)
class Assignment(Statement):
    """``names = values;``."""

    names: tuple[Variable, ...]
    values: tuple[Expression, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Drawing(Statement):
    """``draw(expression, input);``, on the current example if there is no input."""

    expression: Expression
    input: Expression | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Loading(Statement):
    """``load "file";``, without the ending .rasp."""

    file: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Definition(Statement):
    """``def name(parameters) { body return results; }``."""

    name: Variable
    parameters: tuple[Variable, ...]
    body: tuple[Statement, ...]
    results: tuple[Expression, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Loop(Statement):
    """``for names in iterable { body }``."""

    names: tuple[Variable, ...]
    iterable: Expression
    body: tuple[Statement, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Setting(Statement):
    """A line for the interpreter itself, without a semicolon: ``set example``, ``show example``, ``examples on``, ``exit``,
    …

    Args:
        kind: what is set; ``display`` is ``full seq display on/off``.
        subject: ``s-op``, ``selector`` or, for both, the empty string.
        example: of ``set example``.
        on: of ``examples`` and ``display``.
    """

    kind: Literal["example", "show", "examples", "display", "exit"]
    subject: str = ""
    example: Expression | None = None
    on: bool = False
