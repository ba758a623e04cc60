"""The syntax of a formula or a program as a graph: what each node is called, and what it is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tm2tfr.sources.logic import nodes as logic
from tm2tfr.sources.logic.nodes import Node, leaves, looks_right
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.writing.styles import escaped

PartRole = Literal["", "key", "query", "value"]
"""How a node is used: in attention as key, query or value, otherwise at its own position."""
LooksAt = Literal["", "left", "right", "both"]
"""Which other positions an operator looks at."""


@dataclass(frozen=True)
class MadeOf:
    """A node that another one is made of.

    Args:
        node: it.
        role: see `PartRole`.
        label: which part it is, where the order of the parts matters, or by what it is multiplied.
    """

    node: Node
    role: PartRole = ""
    label: str = ""


def shown_nodes(program: LogicProgram) -> tuple[Node, ...]:
    """Return the nodes that are drawn: all but the token at i where only Q_σ reads it."""
    every = program.nodes
    read = {part.node for node in every for part in parts(node)}
    return tuple(node for node in every if node in read or node is program.root)


def operator(node: Node) -> str:
    """Return the sign of an operator, or what a leaf is."""
    return _SIGNS[type(node)](node)


def look(node: Node) -> LooksAt:
    """Return which other positions the operator of a node looks at."""
    if isinstance(node, logic.Retrieve):
        return {"<=": "left", "<": "left", ">=": "right", ">": "right", "any": "both"}[node.sight]  # type: ignore[return-value]
    if looks_right(node):
        return "right"
    return "left" if isinstance(node, logic.Previous | logic.Since | logic.CountLeft) else ""


def parts(node: Node) -> Iterator[MadeOf]:
    """Yield what a node is made of, from left to right, each in its role."""
    if isinstance(node, logic.OneOf) and isinstance(node.of, logic.Input):
        return
    if isinstance(node, logic.Sum):
        yield from (MadeOf(term, label=_times(factor)) for factor, term in node.terms)
    elif isinstance(node, logic.Choose):
        yield from (MadeOf(node.condition, label="if"), MadeOf(node.then, label="then"), MadeOf(node.other, label="else"))
    elif isinstance(node, logic.And | logic.Or):
        yield from map(MadeOf, node.parts)
    elif isinstance(node, logic.Retrieve):
        yield from dict.fromkeys(
            (*_scored(node.score), MadeOf(node.values, "value"), MadeOf(node.default, label="default"))
        )
    elif isinstance(node, logic.Since | logic.Until):
        yield from (MadeOf(node.left, "value", "φ1"), MadeOf(node.right, "key", "φ2"))
    elif isinstance(node, logic.Comparison | logic.Same):
        yield from (MadeOf(node.left, label="left"), MadeOf(node.right, label="right"))
    elif hasattr(node, "of"):
        yield MadeOf(node.of, "value" if look(node) else "")


def _scored(score: logic.Score) -> Iterator[MadeOf]:
    for leaf in leaves(score):
        if isinstance(leaf, logic.Equal):
            yield from (MadeOf(leaf.key, "key"), MadeOf(leaf.query, "query"))
        else:
            yield MadeOf(leaf.bit, "key" if isinstance(leaf, logic.AtKey) else "query")


def _times(factor: int) -> str:
    return "" if factor == 1 else f"{factor}·"


def _one_of(node: logic.OneOf) -> str:
    if not isinstance(node.of, logic.Input):
        return f"∈ {{{', '.join(map(_quoted, node.values))}}}"
    return " ∨ ".join(f'Q["{value}"]' if value in ("[", "]") else f"Q[{value}]" for value in node.values)


def _quoted(label: str) -> str:
    return f"'{escaped(label)}'"


def _predicate(node: logic.Predicate) -> str:
    if node.predicate != "mod":
        return node.predicate
    if node.modulus == 2:
        return "odd" if node.remainder else "even"
    return f"≡ {node.remainder} mod {node.modulus}"


_RELATIONS = {"<=": "≤", "<": "<", ">=": "≥", ">": ">", "==": "=", "!=": "≠"}
_SIGHTS = {"<=": "j ≤ i", "<": "j < i", ">=": "j ≥ i", ">": "j > i", "any": "any j"}
_SIGNS: Mapping[type[Node], Callable[[Any], str]] = {
    logic.Input: lambda node: "token",
    logic.Text: lambda node: _quoted(node.value),
    logic.Choose: lambda node: "if … then … else …",
    logic.Always: lambda node: "⊤" if node.value else "⊥",
    logic.OneOf: _one_of,
    logic.Same: lambda node: "=",
    logic.Not: lambda node: "¬",
    logic.And: lambda node: "∧",
    logic.Or: lambda node: "∨",
    logic.Previous: lambda node: "⊖",
    logic.Next: lambda node: "⊕",
    logic.Since: lambda node: "since",
    logic.Until: lambda node: "until",
    logic.Comparison: lambda node: _RELATIONS[node.relation],
    logic.Predicate: _predicate,
    logic.Place: lambda node: "i",
    logic.CountLeft: lambda node: "#←",
    logic.CountRight: lambda node: "#→",
    logic.Sum: lambda node: (
        f"+ {node.constant}" if node.terms and node.constant else "+" if node.terms else str(node.constant)
    ),
    logic.Retrieve: lambda node: f"{'▶' if node.choice == 'latest' else '◀'} {_SIGHTS[node.sight]}",
}
