"""What the nodes of a program are at every position of the weights: those of the word, and the ends around it.

Position 0 is BOS, positions 1 to n are those of the word, and position n+1 is EOS, if there is one. At the ends a bit is
false and a label is nothing. A number has its natural value there: the position is 0 or n+1, a count is that of the
positions of the word in sight, so that #← is 0 at BOS and the total at EOS, and a bit counts as 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tm2tfr.sources.logic.evaluate import LogicValue
from tm2tfr.sources.logic.nodes import CountLeft, CountRight, Node, Place, Sum


@dataclass(frozen=True)
class WordValues:
    """The values of nodes at every position.

    Args:
        word: its tokens.
        nodes: the values at positions 1 to n, as the printed definitions have them.
        eos: whether there is an EOS.
    """

    word: tuple[str, ...]
    nodes: Mapping[Node, tuple[LogicValue, ...]] = field(repr=False)
    eos: bool

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens fed."""
        return ("BOS", *self.word, *(["EOS"] if self.eos else []))

    @cached_property
    def by_number(self) -> Mapping[int, Node]:
        """The nodes by their numbers."""
        return {node.number: node for node in self.nodes}

    @property
    def positions(self) -> int:
        """The number of positions, with the ends."""
        return len(self.word) + 1 + self.eos

    def inside(self, p: int) -> bool:
        """Return whether position `p` is one of the word."""
        return 1 <= p <= len(self.word)

    def bit(self, node: Node, p: int) -> bool:
        """Return whether a bit is true at position `p`."""
        return self.inside(p) and bool(self.nodes[node][p - 1])

    def label(self, node: Node, p: int) -> str | None:
        """Return the label at position `p`; None outside the word."""
        return str(self.nodes[node][p - 1]) if self.inside(p) else None

    def number(self, node: Node, p: int) -> int:
        """Return the number at position `p`, inside the word or not; a bit counts as 1 or 0."""
        if self.inside(p):
            return int(self.nodes[node][p - 1])
        if isinstance(node, Sum):
            return node.constant + sum(factor * self.number(term, p) for factor, term in node.terms)
        if isinstance(node, Place):
            return p
        seen = self.word if isinstance(node, CountLeft) and p > 0 else ()
        seen = self.word if isinstance(node, CountRight) and p == 0 else seen
        return (
            sum(self.bit(node.of, at) for at in range(1, len(seen) + 1)) if isinstance(node, CountLeft | CountRight) else 0
        )
