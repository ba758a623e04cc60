"""The object level of a RASP program: s-ops and selectors as its statements have built them, a frozen graph.

An s-op is a function from an input sequence to a sequence of the same length; a selector is one to a matrix of truth values
with a row for each query position and a column for each key position. Nodes are compared by identity, as in the authors'
interpreter: two equal `select` texts are two selectors, which weights compute by one head (`made_alike`). Every node is
newer than those it is made of, so that the order of creation is an order of evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
    "+", "-", "*", "/", "//", "^", "%", "==", "<=", ">=", "<", ">", "and", "or",
    "not", "neg", "pos", "round", "indicator",  # of one argument
    "if",  # (then, condition, else): both branches are evaluated
    "in", "table",  # of one argument, with `Elementwise.entries`
]  # fmt: skip
"""The operation of an elementwise s-op at each position."""


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
        returned: the call of a function of the library that made and returned it.
    """

    number: int
    name: str = ""
    span: Span | None = None
    statement: str = ""
    made_in: Calls = ()
    called: tuple[Calls, str] | None = None
    returned: Call | None = None

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


# ── Loops: what depends on the states of a `Repeat` is computed in every pass of it. The authors' interpreter has none.
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class State(SOp):
    """A variable that a pass of a loop hands to the next; in the first pass it is `initial`."""

    initial: SOp


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Repeat(Node):
    """A loop of at least one pass.

    Args:
        states: the variables that a pass hands to the next.
        nexts: their values in the next pass.
        times: the most passes; None: as many as `until` wants.
        until: after a pass in which it is true at every position the loop ends; None: it ends after `times` passes.
    """

    states: tuple[State, ...]
    nexts: tuple[SOp, ...]
    times: int | None = None
    until: SOp | None = None


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Looped(SOp):
    """The value of an s-op in the last pass of a loop."""

    loop: Repeat
    value: SOp


# ── The graph of s-ops and selectors: what a node is made of, and all that it stands on.
def made_of(node: Node) -> tuple[Node, ...]:
    """Return the nodes that `node` is made of, in the order in which they are written."""
    if isinstance(node, Elementwise):
        return node.arguments
    if isinstance(node, Aggregate):
        return node.selector, node.values
    if isinstance(node, Select):
        return node.key, node.query
    if isinstance(node, Combined):
        return node.parts
    return _of_loop(node)


def _of_loop(node: Node) -> tuple[Node, ...]:
    if isinstance(node, State):
        return (node.initial,)
    if isinstance(node, Repeat):
        return (*node.states, *node.nexts, *(() if node.until is None else (node.until,)))
    return (node.loop, node.value) if isinstance(node, Looped) else ()


def made_alike(nodes: Iterable[Node], *, texts: bool = False) -> dict[Node, Node]:
    """Return for each node the first one that is made in the same way; two loops never are.

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
        elif isinstance(node, Select):
            key = ("select", found[node.key], found[node.query], node.relation)
        elif isinstance(node, Combined):
            key = ("combine", node.operator, *(found[part] for part in node.parts))
        elif isinstance(node, Aggregate):
            key = ("attend", found[node.selector], found[node.values], type(node.default), node.default)
        elif isinstance(node, Elementwise):
            entries = tuple((type(key), key, type(value), value) for key, value in node.entries)
            key = ("apply", node.operator, entries, *(found[argument] for argument in node.arguments))
        elif isinstance(node, Looped):
            key = ("looped", node.loop, found[node.value])
        found[node] = made.setdefault(key, node)
    return found


def needed(nodes: Iterable[Node], parts: Callable[[Node], Iterable[Node]] = made_of) -> tuple[Node, ...]:
    """Return `nodes` and all that they are made of, in the order of creation, which is an order of evaluation.

    Args:
        parts: returns the nodes that a node is made of.
    """
    found: dict[int, Node] = {}
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node.number not in found:
            found[node.number] = node
            waiting.extend(parts(node))
    return tuple(found[number] for number in sorted(found))


def sections(nodes: Iterable[Node]) -> dict[int, int]:
    """Return the section of each node, by its number; `nodes` are in the order of creation, with all that they need.

    Section 0 is what depends on no loop, 2k - 1 what loop k computes in every pass, and 2k what depends on its end.
    """
    found: dict[int, int] = {}
    every = tuple(nodes)
    loops = [node for node in every if isinstance(node, Repeat)]
    own = {state.number: 2 * k - 1 for k, loop in enumerate(loops, start=1) for state in loop.states}
    own |= {loop.number: 2 * k for k, loop in enumerate(loops, start=1)}
    for node in every:
        parts = (node.loop,) if isinstance(node, Looped) else made_of(node)
        found[node.number] = own.get(node.number, max((found[part.number] for part in parts), default=0))
    return found


def repeated(loop: Repeat, nodes: Iterable[Node]) -> tuple[Node, ...]:
    """Return which of `nodes`, in the order of creation, a loop computes in every pass: what depends on its states."""
    states = {state.number for state in loop.states}
    found: dict[int, Node] = {}
    for node in nodes:
        own = any(part.number in found or part.number in states for part in made_of(node))
        if own and node.number < loop.number and node.number not in states:
            found[node.number] = node
    return tuple(found.values())
