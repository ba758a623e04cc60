"""The state graphs of machines and automata as drawings: Graphviz's DOT, and Mermaid.

The conventions are the textbook's (Sipser, Figure 3.10): an arrow from nowhere marks the start state. An accepting state
has a double line, a rejecting one is a dashed octagon, any other halting one is a box.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import graphviz

from tm2tfr.base.text.dot import FONT, dot_label, mermaid_label, shown

SYMBOLS_A_ROW = 8
_LONGEST_IN_A_CIRCLE = 5
_NAME, _LABEL = 18, 17  # points: the large letters of states and of arrows
_WIDE = 0.6  # the width of a letter of size 1; the font's are at most as wide, but for m and w
_SMALLEST, _FARTHEST = 36, 1.5  # points: the width of a state with a short name; inches: beyond that, nobody sees the graph
MOST_STATES_DRAWN = 100
"""The largest graph that pages draw: Graphviz takes minutes for a larger one, and nobody can read it."""

_DOT_NODES: Mapping[str | None, Mapping[str, str]] = {
    None: {},
    "accept": {"peripheries": "2", "fillcolor": "#e2f3e2"},
    "reject": {"shape": "octagon", "style": "filled,dashed", "fillcolor": "#fae6e4"},
    "halt": {"shape": "box", "style": "filled,rounded", "fillcolor": "#ececec"},
}
_MERMAID_NODES: Mapping[str | None, tuple[str, str]] = {
    None: ("(", ")"),
    "accept": ("(((", ")))"),
    "reject": ("{{", "}}:::reject"),
    "halt": ("[", "]"),
}


@dataclass(frozen=True, kw_only=True)
class StateGraph:
    """A state graph to draw.

    Args:
        title: of the drawing.
        states: state -> ``accept``, ``reject``, ``halt``, or None; there is at least one.
        start: the state that the arrow from nowhere leads to.
        arrows: (q, r, the lines of the label) for each pair of states with a transition.
    """

    title: str
    states: Mapping[str, str | None]
    start: str
    arrows: Sequence[tuple[str, str, Sequence[str]]]

    @property
    def ids(self) -> dict[str, str]:
        """State -> ``s0, s1, …``: names that are safe in every graph language."""
        return {q: f"s{i}" for i, q in enumerate(self.states)}

    def mermaid(self) -> str:
        """Return it as a Mermaid flowchart, which GitHub and many editors draw themselves.

        A flowchart rather than a state diagram: only there can a label be quoted, and so contain any symbol.
        """
        ids = self.ids
        lines = ["flowchart LR", f'  start[" "]:::start --> {ids[self.start]}']
        for q, outcome in self.states.items():
            opening, closing = _MERMAID_NODES[outcome]
            lines.append(f'  {ids[q]}{opening}"{mermaid_label(shown(q))}"{closing}')
        for q, r, label in self.arrows:
            lines.append(f'  {ids[q]} -->|"{"<br>".join(map(mermaid_label, label))}"| {ids[r]}')
        classes = ("  classDef start fill:none,stroke:none", "  classDef reject stroke-dasharray:4 3", "")
        return "\n".join([*lines, *classes])

    def digraph(self, *, large: bool = False) -> graphviz.Digraph:
        """Return the `graphviz.Digraph`; with `large` letters it suits a small space."""
        ids = self.ids
        long = max(len(shown(q)) for q in self.states) > _LONGEST_IN_A_CIRCLE
        node = {"shape": "ellipse" if long else "circle", "style": "filled", "fillcolor": "white"}
        apart = max(0.25, self._beside_loops()) if large else 0.5
        drawing = graphviz.Digraph(
            dot_label(shown(self.title)),
            graph_attr={"rankdir": "LR", "nodesep": "0.35", "ranksep": f"{apart:g}"},
            node_attr={**FONT, **node, "margin": "0.05", **({"fontsize": str(_NAME)} if large else {})},
            edge_attr={**FONT, "fontsize": str(_LABEL) if large else "12", "arrowsize": "0.7"},
        )
        drawing.node("start", label="", shape="none", width="0", height="0", tooltip="start")
        for q, outcome in self.states.items():
            label = dot_label(shown(q))
            drawing.node(ids[q], label, tooltip=label, **_DOT_NODES[outcome])
        drawing.edge("start", ids[self.start], tooltip="start")
        for q, r, lines in self.arrows:
            label = dot_label(*(f" {line} " for line in lines))  # the spaces keep it clear of the line
            drawing.edge(ids[q], ids[r], label, tooltip=dot_label(f"{shown(q)} → {shown(r)}"))
        return drawing

    def _beside_loops(self) -> float:
        """Return how far apart, in inches, the columns of large letters have to be for the labels of loops to have room.

        ``dot`` centres the label of a loop above its state, and makes no room for what is wider than the state itself.
        """
        spare = [
            max(map(len, lines)) * _WIDE * _LABEL - max(len(shown(q)) * _WIDE * _NAME, _SMALLEST)
            for q, r, lines in self.arrows
            if q == r
        ]
        return round(min(max([0.0, *spare]) / 72, _FARTHEST), 2)


def rows_of(read: Sequence[str]) -> list[list[str]]:
    """Return the symbols of a label in rows of similar length, of at most `SYMBOLS_A_ROW` each."""
    in_a_row = ceil(len(read) / ceil(len(read) / SYMBOLS_A_ROW))
    return [list(read[i : i + in_a_row]) for i in range(0, len(read), in_a_row)]


def shown_symbols(symbols: Sequence[str]) -> dict[str, str]:
    """Return how each symbol is shown in a label: as it is, ``␣`` for a space, quoted where it would mislead."""
    plain = {a: a if a.isprintable() and a not in ",→" else repr(a) for a in symbols}
    return plain | {" ": "␣" if "␣" not in symbols else "' '"}
