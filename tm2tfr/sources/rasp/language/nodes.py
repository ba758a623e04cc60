"""Makes the nodes of a program, numbered in the order in which they are made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar, get_args

from tm2tfr.errors import CompileError
from tm2tfr.sources.rasp.sops import (
    Aggregate,
    Atom,
    Combined,
    Constant,
    Conversion,
    Elementwise,
    Indices,
    Node,
    Relation,
    Select,
    Selector,
    SOp,
    Tokens,
)
from tm2tfr.text.parts import TextPart

N = TypeVar("N", bound=Node)
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
        most: the most nodes that it makes.
    """

    part: TextPart | None = None
    made: int = 0
    most: float = MOST_NODES
    everywhere: Selector | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.conversions = {f"tokens_{conversion}": self.tokens(conversion) for conversion in get_args(Conversion)}
        self.positions = self.indices()

    def node(self, kind: type[N], **fields: Any) -> N:
        """Return a new node of a `kind`.

        Raises:
            TooManyNodes: if there are `most` already.
        """
        if self.made >= self.most:
            raise TooManyNodes
        self.made += 1
        return kind(number=self.made - 1, span=self.part.span if self.part else None, **fields)

    def tokens(self, conversion: Any) -> SOp:
        """Return the input, converted."""
        return self.node(Tokens, conversion=conversion, name=f"tokens_{conversion}")

    def indices(self) -> SOp:
        """Return the positions."""
        return self.node(Indices, name="indices")

    def constant(self, value: Atom) -> SOp:
        """Return the s-op that is `value` everywhere."""
        return self.node(Constant, value=value)

    def lifted(self, value: SOp | Atom) -> SOp:
        """Return an s-op as it is, and an atom as a constant."""
        return value if isinstance(value, SOp) else self.constant(value)

    def elementwise(self, operator: Any, *arguments: SOp | Atom, entries: dict[Atom, Atom] | None = None) -> SOp:
        """Return a function of the values at the same position."""
        lifted = tuple([self.lifted(argument) for argument in arguments])
        return self.node(Elementwise, operator=operator, arguments=lifted, entries=tuple((entries or {}).items()))

    def select(self, key: SOp | Atom, query: SOp | Atom, relation: Relation) -> Selector:
        """Return the selector of the keys that stand in a relation to the query."""
        lifted = self.lifted(key), self.lifted(query)
        return self.node(Select, key=lifted[0], query=lifted[1], relation=relation)

    def combined(self, operator: Any, *parts: Selector) -> Selector:
        """Return ``and``, ``or`` or ``not`` of selectors."""
        return self.node(Combined, operator=operator, parts=parts)

    def aggregate(self, selector: Selector, values: SOp | Atom, default: Atom = 0) -> SOp:
        """Return the mean of what is selected."""
        return self.node(Aggregate, selector=selector, values=self.lifted(values), default=default)

    def anywhere(self, atom: Atom, whole: SOp) -> SOp:
        """Return ``atom in whole``: whether any position has that value. All of these share one selector of everything."""
        found = self.elementwise("indicator", self.elementwise("==", whole, atom))
        if self.everywhere is None:
            self.everywhere = self.select(1, 1, "==")
        return self.elementwise(">", self.aggregate(self.everywhere, found), 0)


def call_it(node: Node, name: str) -> None:
    """Name a node after the variable that it has been assigned to, while its program is being made."""
    object.__setattr__(node, "name", name)
