"""Formulas and programs as values: a frozen graph of bits, labels and numbers, one of each at every position of a word.

Positions of a word of n tokens are 1, …, n, as in Yang et al. (2025); the definitions here at position i are the printed
ones, which `tm2tfr.sources.logic.evaluate` follows word by word. Nodes are compared by identity; `Build` gives equal
nodes the same identity. A node is newer than those it is made of, so that the order of numbers is an order of evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

from tm2tfr.base.errors import Span
from tm2tfr.sources.logic.theta import rule

NodeKind = Literal["bit", "label", "number"]
"""The value of a node at a position: true or false, one of finitely many texts, or a whole number."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Node:
    """A node.

    Args:
        number: its place in the order of creation, from 0.
        name: its author's name for it; empty: none.
        span: the text that made it, None if none did.
    """

    kind: ClassVar[NodeKind] = "bit"
    number: int
    name: str = ""
    span: Span | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.number}{f' {self.name}' if self.name else ''}>"


# ── labels ──────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Input(Node):
    """``in(i)``: the token at i."""

    kind = "label"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Text(Node):
    """The same label everywhere."""

    kind = "label"
    value: str


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Choose(Node):
    """``then if condition else other``, where both are labels."""

    kind = "label"
    condition: Node
    then: Node
    other: Node


# ── bits ────────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Always(Node):
    """True everywhere, or false everywhere."""

    value: bool


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class OneOf(Node):
    """Whether a label is one of `values`: Q_σ is this of the token at i (Definition 10)."""

    of: Node
    values: tuple[str, ...]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Same(Node):
    """Whether two labels are equal."""

    left: Node
    right: Node


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Not(Node):
    """¬φ."""

    of: Node


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class And(Node):
    """φ1 ∧ … ∧ φk, k ≥ 2."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Or(Node):
    """φ1 ∨ … ∨ φk, k ≥ 2."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Previous(Node):
    """⊖φ: φ at i - 1 (Definition 10); false at 1, which is left open there."""

    of: Node


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Next(Node):
    """⊕φ: φ at i + 1 (Definition 10); false at n."""

    of: Node


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Since(Node):
    """φ1 since φ2 (Definition 14): φ2 at some j ≤ i, and φ1 at all k with j ≤ k ≤ i, j among them.

    Args:
        typed: the operator that its author wrote: ``since``, or ``S``, ``once``, ``historically``, which are made of it;
            empty if none did.
    """

    left: Node
    right: Node
    typed: str = ""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Until(Node):
    """φ1 until φ2 (Definition 14): φ2 at some j ≥ i, and φ1 at all k with i ≤ k ≤ j, j among them.

    Args:
        typed: ``until``, ``U``, ``eventually``, ``always``, see `Since`.
    """

    left: Node
    right: Node
    typed: str = ""


Relation = Literal["<=", "<", ">=", ">", "==", "!="]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Comparison(Node):
    """``left relation right`` of two numbers (Definition 19)."""

    left: Node
    relation: Relation
    right: Node


PredicateName = Literal["mod", "prime", "square", "power of 2", "rule"]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Predicate(Node):
    """θ(t): a unary numerical predicate of a number t ≥ 0, which here is a count or the position (Definition 19).

    θ is defined on 0 as well, where the paper has it on 1..n. ``mod``: t mod `modulus` = `remainder`, so that odd(t) is
    1 mod 2; ``prime``, ``square`` (0, 1, 4, …) and ``power of 2`` (1, 2, 4, …) are as always. ``rule``: θ_n(t) is a rule in
    i, which is t, and the number n of tokens of the word, see `tm2tfr.sources.logic.theta`; `theta` is its name.
    """

    predicate: PredicateName
    of: Node
    modulus: int = 0
    remainder: int = 0
    rule: str = ""
    theta: str = ""


# ── numbers ─────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Place(Node):
    """The position i, from 1."""

    kind = "number"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CountLeft(Node):
    """#←[φ]: the number of positions j ≤ i at which φ is true (Definition 19)."""

    kind = "number"
    of: Node


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CountRight(Node):
    """#→[φ]: the number of positions j ≥ i at which φ is true (Definition 19)."""

    kind = "number"
    of: Node


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Sum(Node):
    """``constant + c1·x1 + … + ck·xk``, k ≥ 0: each x is a number, or a bit that counts as 1 or 0.

    ``psum`` of such a sum over bits is this of their counts.
    """

    kind = "number"
    terms: tuple[tuple[int, Node], ...] = ()
    constant: int = 0


# ── attention of B-RASP and S-RASP ──────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class AtKey:
    """A bit at the key position j."""

    bit: Node


@dataclass(frozen=True)
class AtQuery:
    """A bit at the query position i."""

    bit: Node


@dataclass(frozen=True)
class Equal:
    """Whether `key` at j is equal to `query` at i: two numbers, or two labels."""

    key: Node
    query: Node


@dataclass(frozen=True)
class AllOf:
    """A conjunction; of no parts: every pair of positions."""

    parts: tuple[Score, ...]


@dataclass(frozen=True)
class AnyOf:
    """A disjunction."""

    parts: tuple[Score, ...]


@dataclass(frozen=True)
class NotOf:
    """A negation."""

    part: Score


Score = AtKey | AtQuery | Equal | AllOf | AnyOf | NotOf
"""S(i, j): which key positions j a query position i may select."""

Sight = Literal["<=", "<", ">=", ">", "any"]
"""Which positions j are in sight of i: j ≤ i, j < i, j ≥ i, j > i, or all."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Retrieve(Node):
    """``▶_j [M(i,j), S(i,j)] V(j) : D(i)``, or with ◀: a value at the latest, or the earliest, position selected.

    Args:
        choice: ``latest`` (▶, the rightmost) or ``earliest`` (◀, the leftmost).
        sight: M(i, j).
        score: S(i, j).
        values: V(j), a bit or a label.
        default: D(i), of the same kind: where nothing in sight is selected.
    """

    choice: Literal["latest", "earliest"]
    sight: Sight
    score: Score
    values: Node
    default: Node

    @property
    def kind(self) -> NodeKind:  # type: ignore[override]
        """The kind of its values."""
        return self.values.kind


def leaves(score: Score) -> Iterator[AtKey | AtQuery | Equal]:
    """Yield the parts of a score, from left to right."""
    if isinstance(score, AllOf | AnyOf):
        for part in score.parts:
            yield from leaves(part)
    elif isinstance(score, NotOf):
        yield from leaves(score.part)
    else:
        yield score


def parents(node: Node) -> tuple[Node, ...]:
    """Return the nodes that `node` is made of, from left to right."""
    if isinstance(node, Retrieve):
        return (*_compared(node.score), node.values, node.default)
    if isinstance(node, Sum):
        return tuple(term for _, term in node.terms)
    found: list[Node] = []
    for name in ("condition", "then", "other", "of", "left", "right"):
        found += [getattr(node, name)] if hasattr(node, name) else []
    return (*found, *getattr(node, "parts", ()))


def _compared(score: Score) -> Iterator[Node]:
    for leaf in leaves(score):
        yield from (leaf.key, leaf.query) if isinstance(leaf, Equal) else (leaf.bit,)


def needed(roots: Sequence[Node]) -> tuple[Node, ...]:
    """Return `roots` and all nodes that they depend on, each after its parts."""
    found: dict[Node, None] = {}
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found[node] = None
            waiting += parents(node)
    return tuple(sorted(found, key=lambda node: node.number))


RIGHT_LOOKING = (Next, Until, CountRight)
"""The operators that look at later positions."""


def looks_right(node: Node) -> bool:
    """Return whether the operator of `node` itself looks at positions after i, or depends on their number."""
    if isinstance(node, Predicate):
        return bool(node.rule) and rule(node.rule).of_length
    return isinstance(node, RIGHT_LOOKING) or (isinstance(node, Retrieve) and node.sight in (">=", ">", "any"))


# ── Makes nodes, so that equal ones are the same: by structure, whatever their names and places in a text are.
_Made = TypeVar("_Made", bound=Node)
_OF_THE_TEXT = ("name", "span", "typed")


class Build:
    """Makes the nodes of one program.

    Attributes:
        nodes: all of them, in the order of their numbers.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._known: dict[tuple[object, ...], Node] = {}

    def __call__(self, kind: type[_Made], **fields: Any) -> _Made:
        """Return the node of this class with these fields; a new one if there is none yet.

        ``name``, ``span`` and ``typed`` are not part of what makes nodes equal: those of the first one stay.
        """
        structure = (kind, *sorted((name, value) for name, value in fields.items() if name not in _OF_THE_TEXT))
        found = self._known.get(structure)
        if found is None:
            found = self._known[structure] = kind(number=len(self.nodes), **fields)
            self.nodes.append(found)
        return found  # type: ignore[return-value]
