"""The syntax tree of a RASP text: expressions and statements, each with the part of the text that it was read from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, get_args

from tm2tfr.base.errors import CompileError
from tm2tfr.base.text.parts import TextPart as TextPart  # noqa: PLC0414  (part of the tree)
from tm2tfr.sources.rasp import sops as rasp


@dataclass(frozen=True, eq=False, kw_only=True)
class Expression(TextPart):
    """An expression."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Broken(Expression):
    """What stands for a part that could not be read, and has been reported."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Literally(Expression):
    """A number or a text."""

    value: rasp.Atom


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
    relation: rasp.Relation


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
class Repetition(Statement):
    """``repeat times until condition { body }``: either or both of them."""

    times: Expression | None
    until: Expression | None
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


# ── makes the nodes of a program, numbered in the order in which they are made ────────────────────────
N = TypeVar("N", bound=rasp.Node)
MOST_NODES = 100_000


class TooManyNodes(CompileError):  # noqa: N818  (it is caught at its statement)
    """A program has more than `MOST_NODES` s-ops and selectors."""

    what, remedy = f"the program has more than {MOST_NODES:,} s-ops and selectors", "use shorter lists, or fewer calls"

    def __init__(self, name: str = "") -> None:
        super().__init__(f"{f'{name}: ' if name else ''}{self.what}: {self.remedy}")


@dataclass
class Maker:
    """Makes nodes.

    Args:
        part: the part of the program's text that is being elaborated.
        statement: the first variable that the statement at the top assigns which is being carried out.
        calls: those that are being carried out.
        most: the most nodes that it makes.
    """

    part: TextPart | None = None
    statement: str = ""
    calls: rasp.Calls = ()
    made: int = 0
    most: float = MOST_NODES
    everywhere: rasp.Selector | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.conversions = {f"tokens_{conversion}": self.tokens(conversion) for conversion in get_args(rasp.Conversion)}
        self.positions = self.indices()

    def node(self, kind: type[N], **fields: Any) -> N:
        """Return a new node of a `kind`.

        Raises:
            TooManyNodes: if there are `most` already.
        """
        if self.made >= self.most:
            raise TooManyNodes
        self.made += 1
        span = self.part.span if self.part else None
        return kind(number=self.made - 1, span=span, statement=self.statement, made_in=self.calls, **fields)

    def tokens(self, conversion: rasp.Conversion) -> rasp.SOp:
        """Return the input, converted."""
        return self.node(rasp.Tokens, conversion=conversion, name=f"tokens_{conversion}")

    def indices(self) -> rasp.SOp:
        """Return the positions."""
        return self.node(rasp.Indices, name="indices")

    def constant(self, value: rasp.Atom) -> rasp.SOp:
        """Return the s-op that is `value` everywhere."""
        return self.node(rasp.Constant, value=value)

    def lifted(self, value: rasp.SOp | rasp.Atom) -> rasp.SOp:
        """Return an s-op as it is, and an atom as a constant."""
        return value if isinstance(value, rasp.SOp) else self.constant(value)

    def elementwise(
        self, operator: str, *arguments: rasp.SOp | rasp.Atom, entries: dict[rasp.Atom, rasp.Atom] | None = None
    ) -> rasp.SOp:
        """Return a function of the values at the same position."""
        lifted = tuple([self.lifted(argument) for argument in arguments])
        return self.node(rasp.Elementwise, operator=operator, arguments=lifted, entries=tuple((entries or {}).items()))

    def select(self, key: rasp.SOp | rasp.Atom, query: rasp.SOp | rasp.Atom, relation: rasp.Relation) -> rasp.Selector:
        """Return the selector of the keys that stand in a relation to the query."""
        lifted = self.lifted(key), self.lifted(query)
        return self.node(rasp.Select, key=lifted[0], query=lifted[1], relation=relation)

    def combined(self, operator: str, *parts: rasp.Selector) -> rasp.Selector:
        """Return ``and``, ``or`` or ``not`` of selectors."""
        return self.node(rasp.Combined, operator=operator, parts=parts)

    def aggregate(self, selector: rasp.Selector, values: rasp.SOp | rasp.Atom, default: rasp.Atom = 0) -> rasp.SOp:
        """Return the mean of what is selected."""
        return self.node(rasp.Aggregate, selector=selector, values=self.lifted(values), default=default)

    def anywhere(self, atom: rasp.Atom, whole: rasp.SOp) -> rasp.SOp:
        """Return ``atom in whole``: whether any position has that value. All of these share one selector of everything."""
        found = self.elementwise("indicator", self.elementwise("==", whole, atom))
        if self.everywhere is None:
            self.everywhere = self.select(1, 1, "==")
        return self.elementwise(">", self.aggregate(self.everywhere, found), 0)


def call_it(node: rasp.Node, name: str, calls: rasp.Calls = (), *, known: bool = True) -> None:
    """Name a node after the variable that it has been assigned to, while its program is being made.

    Arguments keep the names that they have outside of the call.

    Args:
        calls: those around the variable.
        name: of the variable; empty: it is what the last of these calls returned.
        known: whether the variable is one of the program's own.
    """
    if node.made_in[: len(calls)] == calls:
        object.__setattr__(node, "called", (calls, name))
        if known and name:
            object.__setattr__(node, "name", name)
