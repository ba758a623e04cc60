"""The object level of a RASP program: s-ops and selectors as its statements have built them, a frozen graph.

An s-op is a function from an input sequence to a sequence of the same length; a selector is one to a matrix of truth values
with a row for each query position and a column for each key position. Nodes are compared by identity, as in the authors'
interpreter: two equal `select` texts are two selectors. Every node is newer than those it is made of, so that the order of
creation is an order of evaluation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from tm2tfr.base.errors import Span

Atom = str | bool | int | Fraction
"""A value at one position. RASP's floats are rationals here; a `Fraction` is a float even where it is a whole number."""
Conversion = Literal["str", "int", "float", "bool", "asis"]
"""What ``tokens_str``, ``tokens_int``, … make of each token of the input."""
Relation = Literal["==", "!=", "<", "<=", ">", ">="]
Operator = Literal[
    "+", "-", "*", "/", "^", "%", "==", "<=", ">=", "<", ">", "and", "or",
    "not", "neg", "pos", "round", "indicator",  # of one argument
    "if",  # (then, condition, else): both branches are evaluated
    "in", "table",  # of one argument, with `Elementwise.entries`
]  # fmt: skip
"""What an elementwise s-op computes at each position."""


@dataclass(frozen=True, eq=False)
class Call:
    """A call of a function: its name, and the values that it was given."""

    function: str
    arguments: tuple[object, ...]


Calls = tuple[Call, ...]
"""Calls within each other, the outermost first."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Node:
    """A node of the graph.

    Args:
        number: its place in the order of creation, shared by s-ops and selectors.
        name: the variable that it was last assigned to, empty if there is none.
        span: the expression that made it, None if no text did.
        statement: the first variable that the statement assigns which made it, empty if there is none.
        made_in: the calls in which it was made.
        called: the calls around the variable that it was last assigned to, with the name of that one; an empty name: it is
            what the last of the calls returned. None: neither. See `tm2tfr.sources.rasp.naming`.
    """

    number: int
    name: str = ""
    span: Span | None = None
    statement: str = ""
    made_in: Calls = ()
    called: tuple[Calls, str] | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.number}{f' {self.name}' if self.name else ''}>"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SOp(Node):
    """An s-op."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Tokens(SOp):
    """The input, each token converted."""

    conversion: Conversion = "str"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Indices(SOp):
    """The positions 0, 1, …, n - 1."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Constant(SOp):
    """The same value at every position: an atom where an s-op is wanted."""

    value: Atom


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Elementwise(SOp):
    """A function of the values at the same position.

    Args:
        operator: see `Operator`.
        arguments: its arguments, in the order in which they are written.
        entries: of ``in``, the values that count as contained, each paired with True; of ``table``, pairs of key and
            value: an index into a dictionary, a list (its keys are 0, 1, …) or a string.
    """

    operator: Operator
    arguments: tuple[SOp, ...]
    entries: tuple[tuple[Atom, Atom], ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Selector(Node):
    """A selector."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Select(Selector):
    """``select(key, query, relation)``: at (query position q, key position k) it is ``key[k] relation query[q]``."""

    key: SOp
    query: SOp
    relation: Relation


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Combined(Selector):
    """``and`` and ``or`` of two selectors, ``not`` of one, entry by entry."""

    operator: Literal["and", "or", "not"]
    parts: tuple[Selector, ...]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Aggregate(SOp):
    """``aggregate(selector, values, default)``.

    At each query position: the default where nothing is selected, the very value where one position is, and otherwise the
    mean, which wants numbers in the whole sequence.
    """

    selector: Selector
    values: SOp
    default: Atom = 0


# ── The graph of s-ops and selectors: what a node is made of, and all that it stands on.
def made_of(node: Node) -> tuple[Node, ...]:
    """Return the nodes that `node` is made of, in the order in which they are written."""
    if isinstance(node, Elementwise):
        return node.arguments
    if isinstance(node, Aggregate):
        return node.selector, node.values
    if isinstance(node, Select):
        return node.key, node.query
    return node.parts if isinstance(node, Combined) else ()


def made_alike(nodes: Iterable[Node], *, texts: bool = False) -> dict[Node, Node]:
    """Return for each node the first one that is made in the same way; two selectors never are.

    Args:
        nodes: with all that they are made of.
        texts: whether all tokens are texts, so that ``tokens_str`` is ``tokens_asis``.
    """
    made: dict[tuple[object, ...], Node] = {}
    found: dict[Node, Node] = {}
    for node in sorted(nodes, key=lambda each: each.number):
        key: tuple[object, ...] = (node,)
        if isinstance(node, Tokens):
            key = ("token", "asis" if node.conversion == "str" and texts else node.conversion)
        elif isinstance(node, Indices):
            key = ("position",)
        elif isinstance(node, Constant):
            key = ("constant", type(node.value), node.value)
        elif isinstance(node, Aggregate):
            key = ("attend", node.selector, found[node.values], type(node.default), node.default)
        elif isinstance(node, Elementwise):
            entries = tuple((type(key), key, type(value), value) for key, value in node.entries)
            key = ("apply", node.operator, entries, *(found[argument] for argument in node.arguments))
        found[node] = made.setdefault(key, node)
    return found


def needed(nodes: Iterable[Node]) -> tuple[Node, ...]:
    """Return `nodes` and all that they are made of, in the order of creation, which is an order of evaluation."""
    found: dict[int, Node] = {}
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node.number not in found:
            found[node.number] = node
            waiting.extend(made_of(node))
    return tuple(found[number] for number in sorted(found))
