"""An automaton as a picture, drawn as the state graphs of machines are, and as a graph of networkx."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tm2tfr.base.errors import OutputError
from tm2tfr.base.text.dot import RenderFormat, rendered, write_drawing
from tm2tfr.base.text.states import MOST_STATES_DRAWN, StateGraph, rows_of, shown_symbols
from tm2tfr.sources.automaton.automaton import STATE, Automaton

if TYPE_CHECKING:
    import networkx as nx


def to_networkx(automaton: Automaton) -> nx.MultiDiGraph[str]:
    """Return the state graph: a node for each state, with ``start``, ``accept`` and ``trap`` (bool); an edge for each
    transition, whose key and whose attribute ``read`` is the token.
    """
    import networkx as nx  # noqa: PLC0415

    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph(name=automaton.name)
    for state in automaton.states:
        accepting = state in automaton.accepting
        graph.add_node(state, start=state == automaton.start, accept=accepting, trap=state == automaton.trap)
    for (state, token), after in automaton.transitions.items():
        graph.add_edge(state, after, key=token, read=token)
    return graph


def _graph(automaton: Automaton) -> StateGraph:
    """Return the state graph, to draw, without a trap state that was added: missing transitions reject."""
    symbol, states = shown_symbols(automaton.alphabet), [q for q in automaton.states if q != automaton.trap]
    arrows: dict[tuple[str, str], list[str]] = {}
    for state in states:
        for token in automaton.alphabet:
            after = automaton.transitions[state, token]
            if after != automaton.trap:
                arrows.setdefault((state, after), []).append(symbol[token])
    good = set(automaton.accepting)
    labels = []
    for (state, after), read in arrows.items():
        rows = [",".join(row) for row in rows_of(read)]
        labels.append((state, after, [*(f"{row}," for row in rows[:-1]), rows[-1]]))
    shown = {q: "accept" if q in good else None for q in states}
    return StateGraph(title=automaton.name, states=shown, start=automaton.start, arrows=labels)


def to_dot(automaton: Automaton) -> str:
    """Return the state graph in Graphviz's language."""
    return str(_graph(automaton).digraph().source)


def marks(automaton: Automaton) -> dict[str, object]:
    """Return the drawing's node for each state, and that of the start, for a page that marks the current one."""
    ids = _graph(automaton).ids
    return {"column": STATE, "nodes": dict(ids), "start": ids[automaton.start]}


def to_mermaid(automaton: Automaton) -> str:
    """Return the state graph as a Mermaid flowchart."""
    return _graph(automaton).mermaid()


def render(automaton: Automaton, format: RenderFormat) -> bytes:
    """Return the drawing as the bytes of an SVG, PNG or PDF file.

    Raises:
        OutputError: if ``dot`` is missing or fails, or there are too many states to draw.
    """
    if len(automaton.states) > MOST_STATES_DRAWN:
        problem = f"{automaton.name} has {len(automaton.states):,} states, and at most {MOST_STATES_DRAWN} are drawn"
        raise OutputError(f"{problem}: write .dot or .mmd")
    return rendered(_graph(automaton).digraph(), format, automaton.name)


def save(automaton: Automaton, path: Path) -> None:
    """Write the drawing to `path` in the format of its extension; the file appears whole or not at all.

    Raises:
        OutputError: if the drawing cannot be made, or the file cannot be written.
    """
    write_drawing(path, automaton.name, lambda: _graph(automaton).digraph(), lambda: _graph(automaton).mermaid())
