"""The flow of a computation as a graph: Graphviz DOT, Mermaid, SVG, PNG, PDF, and for networkx.

From top to bottom: tokens and indices, then a box for each layer with its heads and the s-ops behind them. A head tells
its selector, the keys and queries that it compares, what it averages, and the default where it selects nothing. Arrows come
from what a thing is made of: into a head blue from its keys, orange from its queries, green from its values.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import graphviz

from tm2tfr.base.errors import OutputError, counted, visible
from tm2tfr.base.text.dot import FONT, RenderFormat, dot_label, mermaid_label, rendered, write_drawing
from tm2tfr.sources.rasp.drawing.flow import Flow, FlowHead, flow
from tm2tfr.sources.rasp.program import Program
from tm2tfr.sources.rasp.sops import SOp

if TYPE_CHECKING:
    import networkx as nx

MOST_DRAWN = 200
"""The most heads and s-ops of a drawing."""
Role = Literal["key", "query", "value", ""]
_COLOURS: dict[Role, str] = {"key": "#4c6ef5", "query": "#d9480f", "value": "#2b8a3e", "": "#7a7f87"}
_FILLS: dict[Role, str] = {"key": "#e5ebfd", "query": "#fdebe0", "value": "#e2f3e2", "": "#f4f5f7"}


def to_dot(program: Program) -> str:
    """Return the flow of a program's chosen s-op in Graphviz's language, without ``dot``.

    Raises:
        OutputError: if there are more than `MOST_DRAWN` heads and s-ops, as for all drawings.
    """
    return str(_digraph(flow(program)).source)


def to_mermaid(program: Program) -> str:
    """Return it as a Mermaid flowchart, which GitHub and many editors draw themselves."""
    drawn = flow(program)
    _refuse_large(drawn)
    lines = ["flowchart TB"]
    for title, members in _boxes(drawn):
        lines.append(f'  subgraph {title.replace(" ", "")}["{mermaid_label(title)}"]')
        for node, label, shape in members:
            opening, closing = _MERMAID[shape]
            lines.append(f'    {node}{opening}"{"<br>".join(map(mermaid_label, label))}"{closing}')
        lines.append("  end")
    for start, end, role in _arrows(drawn):
        lines.append(f"  {start.partition(':')[0]} -->{f'|{role}|' if role else ''} {end.partition(':')[0]}")
    return "\n".join([*lines, ""])


_MERMAID = {"base": ("([", "])"), "head": ("[", "]"), "sop": ("(", ")"), "answer": ("[[", "]]")}


def render(program: Program, format: RenderFormat) -> bytes:
    """Return the flow as the bytes of an SVG, PNG or PDF file.

    Raises:
        OutputError: if `format` is unknown, ``dot`` is missing or fails, or there is too much to draw.
    """
    return rendered(_digraph(flow(program)), format, program.name)


def save(program: Program, path: str | Path) -> None:
    """Write the flow to `path` in the format of its extension; the file appears whole or not at all.

    Raises:
        OutputError: if the extension is that of no drawing, the drawing cannot be made, or the file cannot be written.
    """
    write_drawing(path, program.name, lambda: _digraph(flow(program)), lambda: to_mermaid(program))


def to_networkx(program: Program) -> nx.MultiDiGraph[str]:
    """Return the flow as a graph: a node for each s-op that has a name in it, by that name, and an edge from what it needs.

    A node has the attributes ``depth`` (int, as RASP's analysis counts; 0: before the first head), ``head`` (from 1 for
    what a head computes, otherwise None), ``selector`` (its text) and ``expression`` (that of any other s-op). The key of
    an edge is ``key``, ``query``, ``value``, or empty where no attention is needed.
    """
    import networkx as nx  # noqa: PLC0415

    drawn = flow(program)
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph(name=program.name)
    for sop in (*drawn.base, *drawn.embedding):
        graph.add_node(drawn.named(sop), depth=0, head=None, selector="", expression=drawn.expression(sop))
    for number, layer in enumerate(drawn.layers, start=1):
        for place, head in enumerate(layer.heads, start=1):
            for carried in head.carried:
                graph.add_node(carried.name, depth=number, head=place, selector=head.text, expression="")
                for role, source in _reads(drawn, head, carried.result.values):
                    graph.add_edge(drawn.named(source), carried.name, key=role)
        for sop in layer.elementwise:
            graph.add_node(drawn.named(sop), depth=number, head=None, selector="", expression=drawn.expression(sop))
    for sop in (*drawn.embedding, *(sop for layer in drawn.layers for sop in layer.elementwise)):
        for source in drawn.sources(sop):
            graph.add_edge(drawn.named(source), drawn.named(sop), key="")
    return graph


# ── what all the drawings share ─────────────────────────────────────────────────────────────────────────────
def _refuse_large(drawn: Flow) -> None:
    size = len(drawn.names) + sum(len(layer.heads) for layer in drawn.layers)
    if size > MOST_DRAWN:
        what = f"drawing {visible(drawn.title)}: it has {counted(size, 'head')} and s-ops"
        raise OutputError(f"{what}, and at most {MOST_DRAWN} can be drawn legibly: draw an earlier s-op with --sop")


def _reads(drawn: Flow, head: FlowHead, *values: SOp) -> Iterator[tuple[Role, SOp]]:
    """Yield what a head reads, by the names that it has: each s-op once in each role."""
    roles: tuple[tuple[Role, tuple[SOp, ...]], ...] = (("key", head.keys), ("query", head.queries), ("value", values))
    for role, sops in roles:
        found = {source.number: source for sop in sops for source in drawn.behind(sop)}
        yield from ((role, source) for source in found.values())


def head_lines(head: FlowHead, number: int) -> tuple[str, ...]:
    """Return what a head is in lines of text: its number and name, its selector, and those that this one is made of."""
    title = f"head {number}: {head.name}" if head.name else f"head {number}"
    return (title, head.text, *(f"{name} = {text}" for name, text in head.parts))


def _boxes(drawn: Flow) -> Iterator[tuple[str, list[tuple[str, tuple[str, ...], str]]]]:
    """Yield the title of each box, and for its members their node, the lines of their label, and their shape."""
    first = [(_node(sop), (drawn.named(sop),), "base") for sop in drawn.base]
    yield "input", [*first, *(_member(drawn, sop) for sop in drawn.embedding)]
    for number, layer in enumerate(drawn.layers, start=1):
        heads = []
        for place, head in enumerate(layer.heads, start=1):
            carried = (f"{each.name} = aggregate {each.values}, default {each.default}" for each in head.carried)
            heads.append((f"h{number}_{place}", (*head_lines(head, drawn.head(number, place)), *carried), "head"))
        yield drawn.heading(number), [*heads, *(_member(drawn, sop) for sop in layer.elementwise)]


def _member(drawn: Flow, sop: SOp) -> tuple[str, tuple[str, ...], str]:
    lines = (drawn.named(sop), f"= {drawn.expression(sop)}")
    return _node(sop), lines, "answer" if sop is drawn.sop else "sop"


def _node(sop: SOp) -> str:
    return f"s{sop.number}"


def _arrows(drawn: Flow) -> Iterator[tuple[str, str, Role]]:
    """Yield each arrow, between nodes and, of heads, their ports: ``h1_2:s7`` is the result number 7 of a head."""
    ports = {_node(sop): _node(sop) for sop in (*drawn.base, *drawn.embedding)}
    for number, layer in enumerate(drawn.layers, start=1):
        for place, head in enumerate(layer.heads, start=1):
            here = f"h{number}_{place}"
            ports |= {_node(each.result): f"{here}:{_node(each.result)}" for each in head.carried}
        ports |= {_node(sop): _node(sop) for sop in layer.elementwise}
    for sop in drawn.embedding:
        yield from ((ports[_node(source)], _node(sop), "") for source in drawn.sources(sop))
    for number, layer in enumerate(drawn.layers, start=1):
        for place, head in enumerate(layer.heads, start=1):
            for role, source in _reads(drawn, head, *(each.result.values for each in head.carried)):
                yield ports[_node(source)], f"h{number}_{place}:{role}", role
        for sop in layer.elementwise:
            yield from ((ports[_node(source)], _node(sop), "") for source in drawn.sources(sop))


# ── Graphviz ────────────────────────────────────────────────────────────────────────────────────────────────
def _digraph(drawn: Flow) -> Any:
    """Return the `graphviz.Digraph`, which is untyped."""
    _refuse_large(drawn)
    drawing = graphviz.Digraph(
        dot_label(visible(drawn.program)),
        graph_attr={**FONT, "rankdir": "TB", "nodesep": "0.3", "ranksep": "0.45", "fontsize": "11"},
        node_attr={
            **FONT,
            "style": "filled,rounded",
            "shape": "box",
            "fillcolor": "white",
            "fontsize": "11",
            "height": "0.3",
        },
        edge_attr={**FONT, "arrowsize": "0.6", "color": _COLOURS[""]},
    )
    heads = {
        f"h{number}_{place}": (drawn.head(number, place), head)
        for number, layer in enumerate(drawn.layers, start=1)
        for place, head in enumerate(layer.heads, start=1)
    }
    for number, (title, members) in enumerate(_boxes(drawn)):
        with drawing.subgraph(name=f"cluster_{number}") as box:
            box.attr(label=dot_label(title), color="#adb5bd", style="rounded", labeljust="l")
            for node, label, shape in members:
                if shape == "head":
                    place, head = heads[node]
                    box.node(node, _head_table(drawn, head, place), shape="plain", style="")
                else:
                    box.node(node, dot_label(*label), **_DOT[shape])
    for start, end, role in _arrows(drawn):
        drawing.edge(f"{start}:s" if ":" in start else start, f"{end}:n" if role else end, color=_COLOURS[role])
    return drawing


_DOT = {
    "base": {"fillcolor": _FILLS[""], "style": "filled"},
    "sop": {},
    "answer": {"peripheries": "2", "fillcolor": _FILLS["value"]},
}


def _head_table(drawn: Flow, head: FlowHead, number: int) -> str:
    """Return the label of a head: a table in Graphviz's HTML, with a port for what it reads and for each result."""
    title, *about = head_lines(head, number)
    lines = [f"<B>{_html(title)}</B>", *(f'<FONT POINT-SIZE="10">{_html(line)}</FONT>' for line in about)]
    compared: tuple[tuple[Role, str, tuple[SOp, ...]], ...] = (
        ("key", "keys", head.keys), ("query", "queries", head.queries)
    )  # fmt: skip
    rows = [(role, heading, [drawn.named(sop) for sop in sops]) for role, heading, sops in compared]
    rows.append(("value", "values", list(dict.fromkeys(each.values for each in head.carried))))
    reads = [_cell(*row) for row in rows if row[2]]
    results = []
    for each in head.carried:
        fill = f' BGCOLOR="{_FILLS["value"]}"' if each.result is drawn.sop else ""
        default = f' <FONT POINT-SIZE="9">(default {_html(each.default)})</FONT>'
        results.append(f'<TD PORT="{_node(each.result)}"{fill}><B>{_html(each.name)}</B>{default}</TD>')
    return (
        '<<TABLE BORDER="1" CELLBORDER="0" CELLSPACING="0" CELLPADDING="3" STYLE="ROUNDED" COLOR="#868e96">'
        f'<TR><TD>{_row(reads)}</TD></TR><TR><TD ALIGN="LEFT" BALIGN="LEFT">{"<BR/>".join(lines)}</TD></TR>'
        f"<TR><TD>{_row(results)}</TD></TR></TABLE>>"
    )


def _row(cells: list[str]) -> str:
    look = 'BORDER="0" CELLBORDER="1" CELLSPACING="3" CELLPADDING="3" COLOR="#ced4da"'
    return f"<TABLE {look}><TR>{''.join(cells)}</TR></TABLE>"


def _cell(role: Role, heading: str, lines: list[str]) -> str:
    text = "<BR/>".join(map(_html, lines))
    return f'<TD PORT="{role}" BGCOLOR="{_FILLS[role]}"><FONT POINT-SIZE="9">{heading}</FONT><BR/>{text}</TD>'


def _html(text: str) -> str:
    return escape(visible(text)).replace("\\", "\\\\")  # what begins with one stands for something, also in HTML
