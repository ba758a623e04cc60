"""A machine as a picture: Graphviz DOT, Mermaid, SVG, PNG, PDF, and δ as an HTML table.

The conventions are the textbook's (Sipser, Figure 3.10): an arrow from nowhere marks the start state, the
arrow from q to r is labelled ``0,1 → x, R`` (on 0 or 1 write x, move right; ``0 → R`` keeps the 0). An
accepting state has a double line, a rejecting one is a dashed octagon, any other halting one is a box.
DOT and Mermaid are text; the rest is drawn by Graphviz's program ``dot``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any, NamedTuple, TypeAlias

import graphviz

from tm2tfr.base.errors import OutputError
from tm2tfr.base.text.dot import RenderFormat, rendered, shown, write_drawing
from tm2tfr.base.text.states import MOST_STATES_DRAWN, StateGraph, rows_of, shown_symbols
from tm2tfr.sources.turing.graph import to_graph
from tm2tfr.sources.turing.spec import MOVE_LETTERS, Machine

InCm: TypeAlias = tuple[float, float]
_INCH = 0.7 * 2.54  # cm, made smaller as the letters of a page are: 14 points become 10, 12 become 8


def to_dot(machine: Machine, *, large: bool = False) -> str:
    """Return the state graph in Graphviz's language, without ``dot``. With `large` letters it suits a small space."""
    return str(_digraph(machine, large=large).source)


def to_mermaid(machine: Machine) -> str:
    """Return the state graph as a Mermaid flowchart, which GitHub and many editors draw themselves.

    A flowchart rather than a state diagram: only there can a label be quoted, and so contain any symbol.
    """
    return _graph(machine).mermaid()


def to_svg(machine: Machine, *, large: bool = False) -> str:
    """Return the drawing as SVG, with `large` letters if it is for a small space.

    Raises:
        OutputError: if ``dot`` is missing or fails.
    """
    return render(machine, "svg", large=large).decode()


def svg_or_none(machine: Machine, *, large: bool = False) -> str | None:
    """Return the drawing as SVG, or None if ``dot`` cannot draw it or the machine is too large for a legible one."""
    if len(machine.states) > MOST_STATES_DRAWN:
        return None
    try:
        return to_svg(machine, large=large)
    except OutputError:
        return None


def rule_lines(machine: Machine) -> dict[tuple[str, str], int]:
    """Return for each rule δ(q, a) the line of its arrow's label that it belongs to, counted from 0."""
    labels = [(q, n, read) for q, _, lines in _labels(machine) for n, (_, read) in enumerate(lines)]
    return {(q, a): n for q, n, read in labels for a in read}


def render(machine: Machine, format: RenderFormat, *, large: bool = False) -> bytes:
    """Return the drawing as the bytes of an SVG, PNG or PDF file.

    Raises:
        OutputError: if `format` is unknown, or ``dot`` is missing or fails.
    """
    return rendered(_digraph(machine, large=large), format, machine.name)


class DotLayout(NamedTuple):
    """Where ``dot`` puts the states and arrows of a drawing, in cm; states are circles.

    Args:
        states: the centre of each state, and its width.
        arrows: for each pair of states with an arrow between them the points of its Bézier curve, and its end.
        labels: the centre of each arrow's label.
        start: the curve of the arrow that marks the start state.
    """

    states: Mapping[str, tuple[InCm, float]]
    arrows: Mapping[tuple[str, str], tuple[InCm, ...]]
    labels: Mapping[tuple[str, str], InCm]
    start: tuple[InCm, ...]


def dot_layout(machine: Machine) -> DotLayout | None:
    """Return where ``dot`` puts everything; None if it is missing or fails, or there are too many states for it."""
    if len(machine.states) > MOST_STATES_DRAWN:
        return None
    drawing = _digraph(machine)
    drawing.node_attr["shape"] = "circle"
    try:
        found = json.loads(drawing.pipe(format="json0", quiet=True))
    except (graphviz.ExecutableNotFound, CalledProcessError, OSError, ValueError):
        return None
    nodes = {node["_gvid"]: node for node in found["objects"] if "pos" in node}
    states = {name: q for q, name in _graph(machine).ids.items()}
    arrows, labels = dict[tuple[str, str], tuple[InCm, ...]](), dict[tuple[str, str], InCm]()
    start: tuple[InCm, ...] = ()
    for edge in found["edges"]:
        tail, head = (states.get(nodes[edge[end]]["name"], "") for end in ("tail", "head"))
        end, *curve = edge["pos"].removeprefix("e,").split()
        points = tuple(map(_point, [*curve, end]))
        if "lp" in edge:
            arrows[tail, head], labels[tail, head] = points, _point(edge["lp"])
        else:
            start = points
    centres = {
        states[n["name"]]: (_point(n["pos"]), float(n["width"]) * _INCH) for n in nodes.values() if n["name"] in states
    }
    return DotLayout(centres, arrows, labels, start)


def _point(text: str) -> InCm:
    """Return a point that Graphviz writes in points, 72 per inch, in cm."""
    x, y = (float(part) * _INCH / 72 for part in text.split(","))
    return x, y


def save(machine: Machine, path: str | Path) -> None:
    """Write the drawing to `path` in the format of its extension; the file appears whole or not at all.

    Raises:
        OutputError: if the extension is not in `EXTENSIONS`, or the drawing cannot be made or written.
    """
    write_drawing(path, machine.name, lambda: _digraph(machine), lambda: to_mermaid(machine))


def html(machine: Machine) -> str:
    """Return the drawing, if `svg_or_none` returns one, and the table of δ, as HTML to embed in a page."""
    svg = svg_or_none(machine) or ""
    return svg[max(0, svg.find("<svg")) :] + html_table(machine)  # without the lines that only a separate file needs


def html_table(machine: Machine) -> str:
    """Return δ as an HTML table: a row for each state, a column for each tape symbol, (r, b, m) in a cell."""
    symbol = _symbols(machine)
    columns = (escape(symbol[a]) + " (blank)" * (a == machine.blank) for a in machine.tape_alphabet)
    head = "".join(f'<th scope="col">{title}</th>' for title in ("state", *columns))
    lines = [
        "<table>",
        f"<caption>{escape(': '.join(filter(None, (shown(machine.name), machine.description))))}</caption>",
        f"<thead><tr>{head}</tr></thead>",
        "<tbody>",
        *(f"<tr>{''.join(_row(machine, q, symbol))}</tr>" for q in machine.states),
        "</tbody>",
        "</table>",
    ]
    return "\n".join(lines)


def _row(machine: Machine, q: str, symbol: Mapping[str, str]) -> Iterator[str]:
    outcome = machine.outcome_of(q)
    marks = ", ".join([*(["start"] if q == machine.start else []), *([outcome] if outcome else [])])
    yield f'<th scope="row">{escape(shown(q))}{f" ({marks})" if marks else ""}</th>'
    if outcome is not None:
        yield f'<td colspan="{len(machine.tape_alphabet)}">{outcome}</td>'
        return
    for a in machine.tape_alphabet:
        if (q, a) in machine.transitions:
            r, b, m = machine.transitions[q, a]
            yield f"<td>{escape(f'{shown(r)}, {symbol[b]}, {MOVE_LETTERS[m]}')}</td>"
        else:
            yield f'<td title="no rule: {machine.missing_outcome}">—</td>'


# ── what all the drawings share ─────────────────────────────────────────────────────────────────────────
def _arrows(machine: Machine) -> Iterator[tuple[str, str, list[str]]]:
    """Yield (q, r, the lines of the label) for each pair of states with a rule from q to r."""
    for q, r, lines in _labels(machine):
        yield q, r, [text for text, _ in lines]


def _labels(machine: Machine) -> Iterator[tuple[str, str, list[tuple[str, list[str]]]]]:
    """Yield (q, r, the lines of the label, each with its symbols).

    Symbols with the same action share a line: ``0,1 → x, R``.
    """
    symbol = _symbols(machine)
    for q, targets in to_graph(machine).adjacency():
        for r, edges in targets.items():
            groups: dict[str, list[str]] = {}
            for a, edge in edges.items():
                write = "" if edge["write"] == a else f"{symbol[edge['write']]}, "
                groups.setdefault(write + MOVE_LETTERS[edge["move"]], []).append(a)
            yield q, r, [line for action, read in groups.items() for line in _wrapped(read, action, symbol)]


def _wrapped(read: list[str], action: str, symbol: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    rows = rows_of(read)
    texts = [",".join(symbol[a] for a in row) for row in rows]
    texts = [*(f"{text}," for text in texts[:-1]), f"{texts[-1]} → {action}"]
    return list(zip(texts, rows, strict=True))


def _symbols(machine: Machine) -> dict[str, str]:
    """Return how each tape symbol is shown."""
    return shown_symbols(machine.tape_alphabet)


# ── DOT ─────────────────────────────────────────────────────────────────────────────────────────────────
def _graph(machine: Machine) -> StateGraph:
    """Return the state graph, to draw."""
    states = {q: machine.outcome_of(q) for q in machine.states}
    return StateGraph(title=machine.name, states=states, start=machine.start, arrows=tuple(_arrows(machine)))


def _digraph(machine: Machine, *, large: bool = False) -> Any:
    """Return the `graphviz.Digraph`, which is untyped."""
    return _graph(machine).digraph(large=large)
