"""The syntax of a formula or a program as a graph: Graphviz DOT, Mermaid, SVG, PNG, PDF, and for networkx.

From top to bottom: what is compiled, then what that is made of, in order; equal subformulas are one node. Operators that
attention computes are filled, those that look at later positions in another colour, and the arrows into them are blue from
what is compared at the key, orange from what is compared at the query, green from the values. Below is what the colours
mean, those that occur.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import graphviz

from tm2tfr.base.errors import OutputError, counted, visible
from tm2tfr.base.text.dot import FONT, RenderFormat, dot_label, mermaid_label, rendered, write_drawing
from tm2tfr.sources.logic import nodes as logic
from tm2tfr.sources.logic.nodes import Node, Retrieve, leaves, looks_right
from tm2tfr.sources.logic.printer import escaped
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.write import output_names, text_of

if TYPE_CHECKING:
    import networkx as nx


# ── The syntax of a formula or a program as a graph: the name of each node, and its parts.
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
    """Return the sign of an operator, or the text of a leaf."""
    return _SIGNS[type(node)](node)


def look(node: Node) -> LooksAt:
    """Return which other positions the operator of a node looks at."""
    if isinstance(node, logic.Retrieve):
        return {"<=": "left", "<": "left", ">=": "right", ">": "right", "any": "both"}[node.sight]  # type: ignore[return-value]
    if looks_right(node):
        return "right"
    return "left" if isinstance(node, logic.Previous | logic.Since | logic.CountLeft) else ""


def parts(node: Node) -> Iterator[MadeOf]:
    """Yield the parts of a node, from left to right, each in its role."""
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
        return node.theta or node.predicate
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


MOST_NODES_DRAWN = 300
_COLOURS: dict[PartRole, str] = {"key": "#4c6ef5", "query": "#d9480f", "value": "#2b8a3e", "": "#7a7f87"}
_FILLS = {"": "white", "left": "#e5ebfd", "right": "#fdebe0", "both": "#f6e3f5"}
_DIRECTIONS: dict[LooksAt, str] = {"left": "left", "right": "right", "both": "both ways"}


def to_dot(program: LogicProgram) -> str:
    """Return the graph in Graphviz's language, without ``dot``.

    Raises:
        OutputError: if there are more than `MOST_NODES_DRAWN` nodes, as for all drawings.
    """
    return str(_digraph(program).source)


def to_mermaid(program: LogicProgram) -> str:
    """Return the graph as a Mermaid flowchart, which GitHub and many editors draw themselves."""
    lines = ["flowchart TB"]
    for node, text in _labelled(program):
        opening, closing = ("[[", "]]") if node is program.root else ("[", "]") if look(node) else ("(", ")")
        lines.append(f'  s{node.number}{opening}"{"<br>".join(map(mermaid_label, text))}"{closing}')
    for start, end, role, label in _arrows(program):
        said = " ".join(filter(None, (role, label)))
        lines.append(f"  s{start.number} -->{f'|{mermaid_label(said)}|' if said else ''} s{end.number}")
    return "\n".join([*lines, ""])


def render(program: LogicProgram, format: RenderFormat) -> bytes:
    """Return the drawing as the bytes of an SVG, PNG or PDF file.

    Raises:
        OutputError: if `format` is unknown, ``dot`` is missing or fails, or there is too much to draw.
    """
    return rendered(_digraph(program), format, program.name)


def save(program: LogicProgram, path: str | Path) -> None:
    """Write the drawing to `path` in the format of its extension; the file appears whole or not at all.

    Raises:
        OutputError: if the extension is that of no drawing, the drawing cannot be made, or the file cannot be written.
    """
    write_drawing(path, program.name, lambda: _digraph(program), lambda: to_mermaid(program))


def to_networkx(program: LogicProgram) -> nx.MultiDiGraph[str]:
    """Return the graph: a node for each subformula or step by its name, and an edge to each that it is made of.

    A node has the attributes ``operator``, ``kind`` (bit, label or number) and ``looks`` (``left``, ``right``, ``both``;
    empty where no attention is needed). The key of an edge is ``key``, ``query``, ``value``, or
    empty, followed by the place of the part, from 0.
    """
    import networkx as nx  # noqa: PLC0415

    names = output_names(program)
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph(name=program.name)
    drawn = shown_nodes(program)
    for node in drawn:
        graph.add_node(names[node], operator=operator(node), kind=node.kind, looks=look(node))
    for node in drawn:
        for place, part in enumerate(parts(node)):
            graph.add_edge(names[node], names[part.node], key=f"{part.role} {place}".strip(), label=part.label)
    return graph


# ── what all the drawings share ─────────────────────────────────────────────────────────────────────────────
def _labelled(program: LogicProgram) -> Iterator[tuple[Node, tuple[str, ...]]]:
    """Yield each node that is drawn, what is compiled first, with the lines of its label."""
    drawn = shown_nodes(program)
    if len(drawn) > MOST_NODES_DRAWN:
        what = f"drawing {visible(program.name)}: it has {counted(len(drawn), 'node')}, and at most {MOST_NODES_DRAWN}"
        raise OutputError(f"{what} can be drawn legibly: draw an earlier definition with --define")
    names = {node: name for name, node in reversed(list(program.definitions.items())) if name}
    for node in reversed(drawn):
        said = _attending(node) if isinstance(node, Retrieve) else operator(node)
        yield node, (names[node], said) if node in names else (said,)


def _attending(node: Retrieve) -> str:
    """Return an attention in the paper's signs, without the subscript j of its operator: it is in the bracket as well."""
    sign, bracket, rest = text_of(node, "paper", language="srasp").partition(" [")
    return f"{sign.removesuffix('_j')}{bracket}{rest}"


def _legend(program: LogicProgram) -> str:
    """Return the legend of the colours that occur, as an HTML label of Graphviz; empty if none does."""
    roles = {role for _, _, role, _ in _arrows(program)}
    looks = {look(node) for node in shown_nodes(program)}
    arrows = [f'<td><font color="{_COLOURS[role]}">→ {role}</font></td>' for role in _COLOURS if role and role in roles]
    fills = [f'<td bgcolor="{_FILLS[at]}">looks {_DIRECTIONS[at]}</td>' for at in _DIRECTIONS if at in looks]
    cells = "".join([*arrows, *fills])
    return f'<<table border="0" cellspacing="6"><tr>{cells}</tr></table>>' if cells else ""


def _arrows(program: LogicProgram) -> Iterator[tuple[Node, Node, PartRole, str]]:
    """Yield each arrow: from a node to one that it is made of, the role of that, and which part it is."""
    for node in reversed(shown_nodes(program)):
        for part in parts(node):
            yield node, part.node, part.role, part.label


def _digraph(program: LogicProgram) -> Any:
    """Return the `graphviz.Digraph`, which is untyped."""
    drawing = graphviz.Digraph(
        dot_label(visible(program.name)),
        graph_attr={
            **FONT,
            **({"label": legend, "fontsize": "9"} if (legend := _legend(program)) else {}),
            "rankdir": "TB",
            "ordering": "out",
            "nodesep": "0.25",
            "ranksep": "0.35",
        },
        node_attr={
            **FONT,
            "style": "filled,rounded",
            "shape": "box",
            "fontsize": "11",
            "height": "0.3",
            "margin": "0.1,0.04",
        },
        edge_attr={**FONT, "fontsize": "9", "arrowsize": "0.6"},
    )
    for node, lines in _labelled(program):
        about = {"fillcolor": _FILLS[look(node)], "peripheries": "2" if node is program.root else "1"}
        drawing.node(f"s{node.number}", dot_label(*lines), **about)
    for start, end, role, label in _arrows(program):
        said = {"label": dot_label(label)} if label else {}
        drawing.edge(f"s{start.number}", f"s{end.number}", color=_COLOURS[role], **said)
    return drawing
