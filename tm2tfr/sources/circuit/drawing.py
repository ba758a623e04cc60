"""A circuit as a picture: Graphviz DOT, Mermaid, SVG, PNG, PDF.

Inputs are boxes at the left, gates are rounded and have their kind above the name of their net, outputs are framed twice.
Where the order of a gate's operands matters, its arrows are numbered. Large circuits are refused: nobody could read them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import graphviz
import networkx as nx

from tm2tfr.base.errors import OutputError, UsageError, counted, did_you_mean, listing, visible
from tm2tfr.base.text.dot import FONT, RenderFormat, dot_label, mermaid_label, rendered, shown, write_drawing
from tm2tfr.sources.circuit.building import needed, symmetric
from tm2tfr.sources.circuit.netlist import Circuit, Gate


# ── The graph of a circuit for networkx, and the part of a circuit that one output depends on.
def to_graph(circuit: Circuit) -> nx.MultiDiGraph[str]:
    """Return the graph: a node for each net, inputs first, and an edge from each operand to the net of its gate.

    A node has the attributes ``kind`` (``INPUT`` or the kind of its gate), ``table`` (empty for an input) and ``outputs``
    (the names of the outputs that it drives). The key of an edge is the operand's place in the gate, from 0.
    """
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph(name=circuit.name)
    outputs: dict[str, tuple[str, ...]] = {}
    for name, net in circuit.outputs:
        outputs[net] = (*outputs.get(net, ()), name)
    graph.add_nodes_from((net, {"kind": "INPUT", "table": ""}) for net in circuit.inputs)
    graph.add_nodes_from((gate.net, {"kind": gate.kind, "table": gate.table}) for gate in circuit.gates)
    nx.set_node_attributes(graph, {net: outputs.get(net, ()) for net in graph}, "outputs")
    for gate in circuit.gates:
        for place, net in enumerate(gate.operands):
            graph.add_edge(net, gate.net, key=place)
    return graph


def cone(circuit: Circuit, output: str) -> Circuit:
    """Return the part of `circuit` that `output` depends on, in the same order, with this output alone.

    Raises:
        UsageError: if there is no such output, or no gate drives it.
    """
    driver = dict(circuit.outputs).get(output)
    if driver is None:
        known = [name for name, _ in circuit.outputs]
        raise UsageError(
            f"{circuit.name} has no output {output!r}{did_you_mean(output, known)}: use one of {listing(known)}"
        )
    if driver in circuit.inputs:
        raise UsageError(f"the output {output!r} of {circuit.name} is an input: name an output that a gate drives")
    gates = tuple(needed(circuit.gates, [driver]))
    read = {net for gate in gates for net in gate.operands}
    inputs = tuple(net for net in circuit.inputs if net in read) or circuit.inputs[:1]
    name = f"{circuit.name}, {output}"
    return replace(circuit, name=name, inputs=inputs, gates=gates, outputs=((output, driver),), encoding="")


MOST_GATES_DRAWN = 400
_MOST_CONES = 64

_DOT_NODES = {
    "input": {"shape": "box", "fillcolor": "#e3edf9"},
    "gate": {"shape": "box", "style": "filled,rounded", "fillcolor": "white"},
    "output": {"shape": "box", "peripheries": "2", "fillcolor": "#e2f3e2"},
}
_MERMAID_NODES = {"input": ("[", "]"), "gate": ("(", ")"), "output": ("[[", "]]")}


def to_dot(circuit: Circuit) -> str:
    """Return the graph in Graphviz's language, without ``dot``.

    Raises:
        OutputError: if there are more than `MOST_GATES_DRAWN` gates, as for all drawings.
    """
    return str(_digraph(circuit).source)


def to_mermaid(circuit: Circuit) -> str:
    """Return the graph as a Mermaid flowchart, which GitHub and many editors draw themselves."""
    lines = ["flowchart LR"]
    for node, shape, label in _nodes(circuit):
        opening, closing = _MERMAID_NODES[shape]
        lines.append(f'  {node}{opening}"{"<br>".join(map(mermaid_label, label))}"{closing}')
    for start, end, place in _arrows(circuit):
        lines.append(f"  {start} -->|{place}| {end}" if place else f"  {start} --> {end}")
    return "\n".join([*lines, ""])


def render(circuit: Circuit, format: RenderFormat) -> bytes:
    """Return the drawing as the bytes of an SVG, PNG or PDF file.

    Raises:
        OutputError: if `format` is unknown, ``dot`` is missing or fails, or there are too many gates.
    """
    return rendered(_digraph(circuit), format, circuit.name)


def to_svg(circuit: Circuit) -> str:
    """Return the drawing as SVG, or raise OutputError as `render` does."""
    return render(circuit, "svg").decode()


def svg_or_none(circuit: Circuit) -> str | None:
    """Return the drawing as SVG, or None if ``dot`` cannot draw it or there are too many gates."""
    try:
        return to_svg(circuit)
    except OutputError:
        return None


def html(circuit: Circuit) -> str:
    """Return a one-line description of the circuit, and its drawing, if there is one, as HTML for a page."""
    svg = svg_or_none(circuit) or ""
    about = ": ".join(filter(None, (repr(circuit)[1:-1], visible(circuit.description))))
    return f"<p>{escape(about)}</p>{svg[max(0, svg.find('<svg')) :]}"  # without the lines that only a separate file needs


def save(circuit: Circuit, path: str | Path) -> None:
    """Write the drawing to `path` in the format of its extension; the file appears whole or not at all.

    Raises:
        OutputError: if the extension is that of no drawing, the drawing cannot be made, or the file cannot be written.
    """
    write_drawing(path, circuit.name, lambda: _digraph(circuit), lambda: to_mermaid(circuit))


def refuse_large(circuit: Circuit) -> None:
    """Raise OutputError if there are more than `MOST_GATES_DRAWN` gates; it says how to draw a part."""
    if len(circuit.gates) <= MOST_GATES_DRAWN:
        return
    problem = (
        f"drawing {visible(circuit.name)}: it has {counted(len(circuit.gates), 'gate')}, and at most {MOST_GATES_DRAWN}"
    )
    part = _drawable(circuit)
    how = "draw what one output depends on with --cone OUTPUT"
    if part is not None:
        how += f", for example --cone {visible(part)}"
    elif circuit.outputs:
        how = "no output depends on so few: watch it in the explorer instead"
    raise OutputError(f"{problem} can be drawn legibly: {how}")


def _drawable(circuit: Circuit) -> str | None:
    """Return an output of which the part that it depends on can be drawn; None if there is none among the first ones."""
    driven = {gate.net for gate in circuit.gates}
    tried = [name for name, net in circuit.outputs if net in driven][:_MOST_CONES]
    return next((name for name in tried if len(cone(circuit, name).gates) <= MOST_GATES_DRAWN), None)


def function_of(gate: Gate) -> str:
    """Return the kind of a gate, or its table, ``table 0010``."""
    return f"table {gate.table}" if gate.kind == gate.table else gate.kind


# ── what all the drawings share ─────────────────────────────────────────────────────────────────────────
def _nodes(circuit: Circuit) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield the name of each node in the picture, what it is, and the lines of its label."""
    refuse_large(circuit)
    for number, net in enumerate(circuit.inputs):
        yield f"n{number}", "input", (shown(net),)
    for number, gate in enumerate(circuit.gates, start=len(circuit.inputs)):
        yield f"n{number}", "gate", (function_of(gate), shown(gate.net))
    for number, (name, _) in enumerate(circuit.outputs):
        yield f"y{number}", "output", (shown(name),)


def _arrows(circuit: Circuit) -> Iterator[tuple[str, str, str]]:
    """Yield each arrow, with the operand's place, from 1, where that matters."""
    numbers = circuit.numbers
    for gate in circuit.gates:
        for place, net in enumerate(gate.operands, start=1):
            yield f"n{numbers[net]}", f"n{numbers[gate.net]}", "" if symmetric(gate.table) else str(place)
    for number, (_, net) in enumerate(circuit.outputs):
        yield f"n{numbers[net]}", f"y{number}", ""


def _digraph(circuit: Circuit) -> Any:
    """Return the `graphviz.Digraph`, which is untyped."""
    drawing = graphviz.Digraph(
        dot_label(shown(circuit.name)),
        graph_attr={"rankdir": "LR", "nodesep": "0.2", "ranksep": "0.4"},
        node_attr={**FONT, "style": "filled", "fontsize": "12", "margin": "0.08,0.03", "height": "0.3"},
        edge_attr={**FONT, "fontsize": "9", "arrowsize": "0.6"},
    )
    for node, shape, label in _nodes(circuit):
        drawing.node(node, dot_label(*label), tooltip=dot_label(" ".join(label)), **_DOT_NODES[shape])
    for start, end, place in _arrows(circuit):
        drawing.edge(start, end, **({"headlabel": place} if place else {}))
    return drawing
