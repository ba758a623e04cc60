"""A program as a typed graph of sequence operations: what is lowered to weights, whatever language it was written in.

A node is a function from an input sequence to a value at every position: the token, the position, a constant, a function
of values at the same position, or an attention: what a selector picks, aggregated or at the nearest position, or a count. A
selector tells for every pair of a query position and a key position whether the query selects the key.

Nodes are compared by identity; `Build` gives equal nodes the same identity. A node is made after those it is made of, so
that an order of creation is an order of evaluation.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log2
from typing import Literal, TypedDict

from tm2tfr.base.errors import CompileError, Diagnostic, Span

Item = str | bool | int | Fraction | tuple["Item", ...]
"""A possible value of a node at a position. A whole number is an int, never a Fraction; tuples belong to several nodes."""


class NodeFields(TypedDict):
    """The fields of every node, see `Operation`."""

    key: str
    name: str
    span: Span | None


NO_KIND = ""
"""What an `Apply` called ``group`` is for values that belong to none of its groups: no direction says so."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Operation:
    """A node.

    Args:
        key: what specifications call it; no two nodes of a graph have the same.
        name: what people call it, empty if it has no name.
        span: the text that it comes from, None if there is none.
    """

    key: str
    name: str = ""
    span: Span | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Token(Operation):
    """The token at the position, as the input has it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Position(Operation):
    """The position, from 0 on."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Fixed(Operation):
    """The same value everywhere."""

    value: Item


@dataclass(frozen=True, eq=False, kw_only=True)
class Apply(Operation):
    """A function of values at the same position, see `tm2tfr.sources.sequence.functions`."""

    operator: str
    arguments: tuple[Operation, ...]
    entries: tuple[tuple[Item, Item], ...] = ()


Comparison = Literal["==", "!=", "<", "<=", ">", ">="]


@dataclass(frozen=True, eq=False, kw_only=True)
class Compare:
    """Selects the keys for which ``key relation query``."""

    key: str
    keys: Operation
    queries: Operation
    relation: Comparison
    name: str = ""
    span: Span | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Combine:
    """``and``, ``or`` of selectors, ``not`` of one."""

    key: str
    operator: Literal["and", "or", "not"]
    parts: tuple[Selection, ...]
    name: str = ""
    span: Span | None = None


Selection = Compare | Combine


@dataclass(frozen=True, eq=False, kw_only=True)
class Attend(Operation):
    """The mean of `values` over the positions that are selected: the value itself of a single one, of any type.

    Where nothing is selected it is `default`; the mean of several values that are not all numbers is undefined.
    """

    selector: Selection
    values: Operation
    default: Item


InSight = Literal["<=", "<", ">=", ">", "any"]
"""Which key positions j are in sight of a query position i: j <= i, j < i, j >= i, j > i, or all of them."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Nearest(Operation):
    """The value at the latest, or the earliest, position in sight that is selected; where none is, that of `default`."""

    choice: Literal["latest", "earliest"]
    sight: InSight
    selector: Selection
    values: Operation
    default: Operation


@dataclass(frozen=True, eq=False, kw_only=True)
class Reckoned(Operation):
    """The number of positions up to this one (``<=``), or from it on (``>=``), at which `values` is true."""

    values: Operation
    sight: Literal["<=", ">="]


@dataclass(frozen=True, eq=False, kw_only=True)
class Weighted(Operation):
    """``constant + c1·x1 + … + ck·xk`` of whole numbers, or truth values that count as 1 or 0."""

    terms: tuple[tuple[int, Operation], ...]
    constant: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Property(Operation):
    """Whether a number that is 0 or more is prime, a square, a power of 2, `remainder` mod `modulus`, or fits a `rule`.

    A rule is an expression in that number, as i, and the number n of positions.
    """

    of: Operation
    predicate: Literal["mod", "prime", "square", "power of 2", "rule"]
    modulus: int = 0
    remainder: int = 0
    rule: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class PassState(Operation):
    """A value that a pass of a loop hands to the next; in the first pass it is `initial`."""

    initial: Operation


@dataclass(frozen=True, eq=False, kw_only=True)
class PassLoop:
    """A loop of at least one pass, in each of which what depends on its states is computed anew.

    Args:
        key: what specifications call it; loops are in the order of `order`.
        states: the values that a pass hands to the next.
        nexts: their values in the next pass.
        times: the most passes; None: as many as `until` wants.
        until: after a pass in which it is true at every position the loop ends; None: it ends after `times` passes.
    """

    key: str
    order: int
    states: tuple[PassState, ...]
    nexts: tuple[Operation, ...]
    times: int | None = None
    until: Operation | None = None
    name: str = ""
    span: Span | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class AfterLoop(Operation):
    """What `value` is in the last pass of a loop."""

    loop: PassLoop
    value: Operation


def parents(node: Operation) -> Iterator[Operation]:
    """Yield the nodes that `node` is made of."""
    if isinstance(node, Apply):
        yield from node.arguments
    elif isinstance(node, Attend | Nearest):
        for leaf in leaves(node.selector):
            yield leaf.keys
            yield leaf.queries
        yield node.values
        if isinstance(node, Nearest):
            yield node.default
    elif isinstance(node, Weighted):
        yield from (term for _, term in node.terms)
    elif isinstance(node, Reckoned):
        yield node.values
    elif isinstance(node, Property):
        yield node.of
    elif isinstance(node, PassState):
        yield node.initial
    elif isinstance(node, AfterLoop):
        yield node.value
        yield from (*node.loop.states, *node.loop.nexts)
        if node.loop.until is not None:
            yield node.loop.until


def leaves(selector: Selection) -> list[Compare]:
    """Return the comparisons of a selector, from left to right."""
    found: list[Compare] = []
    waiting: list[Selection] = [selector]
    while waiting:
        here = waiting.pop()
        if isinstance(here, Compare):
            found.append(here)
        else:
            waiting.extend(reversed(here.parts))
    return found


def ordered(wanted: Iterable[Operation], known: Container[Operation] = ()) -> list[Operation]:
    """Return the nodes that `wanted` are made of, and these, each after those it is made of, without those of `known`."""
    order: dict[Operation, None] = {}
    for root in wanted:
        waiting: list[tuple[Operation, bool]] = [(root, False)]
        while waiting:
            node, done = waiting.pop()
            if node in order:
                continue
            if done:
                order[node] = None
            else:
                waiting.append((node, True))
                waiting.extend(
                    (parent, False)
                    for parent in reversed(list(parents(node)))
                    if parent not in order and parent not in known
                )
    return list(order)


def loops_of(nodes: Iterable[Operation]) -> tuple[PassLoop, ...]:
    """Return the loops of some nodes with all that they are made of, in their order."""
    found = {node.loop.order: node.loop for node in nodes if isinstance(node, AfterLoop)}
    return tuple(found[order] for order in sorted(found))


def sections(nodes: Sequence[Operation]) -> dict[Operation, int]:
    """Return the section of each node, each of which stands behind those it is made of.

    Section 0 is what depends on no loop, 2k - 1 what loop k computes in every pass, and 2k what depends on its end.
    """
    loops = loops_of(nodes)
    own: dict[Operation, int] = {state: 2 * k - 1 for k, loop in enumerate(loops, start=1) for state in loop.states}
    ends = {loop: 2 * k for k, loop in enumerate(loops, start=1)}
    found: dict[Operation, int] = {}
    for node in nodes:
        if isinstance(node, AfterLoop):
            found[node] = ends[node.loop]
        else:
            found[node] = own.get(node, max((found[part] for part in parents(node)), default=0))
    return found


@dataclass(frozen=True, kw_only=True)
class SequenceGraph:
    """A program.

    Args:
        name, file: those of the program and its text, for messages.
        alphabet: the tokens of its inputs.
        outputs: what is read off at every position: name and node; the first is the answer.
    """

    name: str
    file: str
    alphabet: tuple[Item, ...]
    outputs: tuple[tuple[str, Operation], ...]

    def refusal(self, at: Operation | Selection | PassLoop | None, what: str, remedy: str) -> CompileError:
        """Return the error that says of a node or a selector why it cannot be compiled, with its place in the text."""
        span = None if at is None else at.span
        return CompileError(str(Diagnostic(what=what, remedy=remedy, file=self.file, span=span)))

    def labels(self, node: Operation, values: Sequence[Item]) -> tuple[str, ...]:
        """Return the labels of the values of a node.

        Raises:
            CompileError: if two of them have the same.
        """
        found = tuple(map(text_of, values))
        if len(set(found)) < len(found):
            what = f"{called(node)} has different values that look the same, such as a number and its text"
            raise self.refusal(node, what, "give it values of one type")
        return found


def plainly(node: Operation | Selection) -> str:
    """Return the name of a node or a selector, or its key."""
    return node.name or node.key


def called(node: Operation) -> str:
    """Return a node as people know it: by name in quotes, otherwise as its key."""
    return repr(node.name) if node.name else node.key


def described(node: Operation) -> str:
    """Return a node as people know it: by name in quotes, otherwise as the text that it comes from, or its key."""
    span = node.span
    text = "" if span is None else span.text[span.column - 1 : span.column - 1 + span.length]
    return repr(node.name or text) if node.name or 0 < len(text) <= 60 else node.key


MOST_DIGITS = 4_000
"""The most decimal digits of a number that labels have; Python writes out no more than 4,300."""


def is_long(value: Item) -> bool:
    """Return whether a value is, or has in it, a number of more than `MOST_DIGITS` digits."""
    if isinstance(value, str):
        return False
    if isinstance(value, tuple):
        return any(map(is_long, value))
    return max(value.numerator.bit_length(), value.denominator.bit_length()) > MOST_DIGITS * log2(10)


def text_of(value: Item) -> str:
    """Return a value as labels have it: text as it is, T and F, numbers, fractions as a/b, several joined by commas."""
    if isinstance(value, bool):
        return "T" if value else "F"
    if isinstance(value, tuple):
        return ",".join(map(text_of, value))
    return str(value)
