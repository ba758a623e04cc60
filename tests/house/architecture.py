"""The import diagram of the documentation, drawn from the imports: ``python -m tests.house.architecture`` draws it anew.

An arrow goes from a part to one that it imports. Arrows that follow from others are left out (transitive reduction), and
so are those to the parts at the bottom, which any part above them may import.
"""

from __future__ import annotations

from pathlib import Path

import networkx as nx

from tests.house.reading import MODULES, name_of
from tests.house.test_imports import imported_by, part_of
from tm2tfr.web.palette import palette

FILE = Path(__file__).parents[2] / "docs" / "imports.svg"
WIDTH, ROW, HEIGHT, LETTER, PAD, SHIFT = 860, 62, 28, 7.4, 12, 170
HIDDEN = {"_version", "__init__", "__main__"}
"""The version, which anything may import, and the two doors to the whole."""
BOTTOM = ("base", "options")
"""What stands below everything else: errors, files, text with places; the options of constructions and their words."""


def parts() -> nx.DiGraph[str]:
    """The parts of the package, with an edge from each to those that it imports."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for path in MODULES:
        own = part_of(name_of(path))
        for name in imported_by(path):
            if own != part_of(name) and not {*HIDDEN, *BOTTOM} & {own, part_of(name)}:
                graph.add_edge(own, part_of(name))
    return graph


def rows(graph: nx.DiGraph[str]) -> list[list[str]]:
    """The parts from the top to the bottom: each below all that import it, and as high as that allows from the bottom."""
    level: dict[str, int] = {}
    for part in reversed(list(nx.lexicographical_topological_sort(graph))):
        level[part] = 1 + max((level[other] for other in graph[part]), default=-1)
    found: list[list[str]] = [[] for _ in range(max(level.values()) + 1)]
    for part in sorted(level):
        found[level[part]].append(part)
    return found[::-1]


def places(graph: nx.DiGraph[str]) -> dict[str, tuple[float, float]]:
    """The middle of each part's box; a part stands near those above that import it."""
    found: dict[str, tuple[float, float]] = {}
    for n, row in enumerate(rows(graph)):
        above = {p: [found[user][0] for user in graph.predecessors(p) if user in found] for p in row}
        ordered = sorted(row, key=lambda p: (sum(above[p]) / len(above[p]) if above[p] else WIDTH / 2, p))
        for k, part in enumerate(ordered):
            half = (LETTER * len(part)) / 2 + PAD + 1
            aside = SHIFT * (n % 2 - 0.5)  # so that no arrow runs through a box in between
            middle = WIDTH * (k + 1) / (len(ordered) + 1) + aside
            found[part] = (min(max(middle, half), WIDTH - half), ROW * (n + 0.5))  # the whole box is in the picture
    below = ROW * (len(rows(graph)) + 0.5)
    return found | {part: (WIDTH * (k + 0.5) / len(BOTTOM), below) for k, part in enumerate(BOTTOM)}


def drawn() -> str:
    """The diagram as SVG, for a light page and a dark one."""
    graph = parts()
    at, shown = places(graph), nx.transitive_reduction(graph)
    height = ROW * (len(rows(graph)) + 1)
    panel, accent, ink = (palette()[name] for name in ("panel", "accent", "ink"))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" font-family="sans-serif" '
        'font-size="13">',
        "<title>Who imports whom</title>",
        f"<style>.a{{stroke:#7a7f87;fill:none}}.b{{fill:{panel.light};stroke:{accent.light}}}.t{{fill:{ink.light};text-anchor:middle}}",
        f"@media(prefers-color-scheme:dark){{.b{{fill:{panel.dark};stroke:{accent.dark}}}.t{{fill:{ink.dark}}}}}</style>",
        '<defs><marker id="m" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#7a7f87"/></marker></defs>',
    ]
    for user, used in sorted(shown.edges):
        (x, y), (u, v) = at[user], at[used]
        lines.append(
            f'<path class="a" marker-end="url(#m)" d="M{x:.0f} {y + HEIGHT / 2:.0f}L{u:.0f} {v - HEIGHT / 2:.0f}"/>'
        )
    lines.append(f'<path class="a" stroke-dasharray="4 4" d="M0 {height - ROW}H{WIDTH}"/>')
    for part, (x, y) in sorted(at.items()):
        wide = LETTER * len(part) + 2 * PAD
        box = f'x="{x - wide / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{wide:.0f}" height="{HEIGHT}" rx="5"'
        lines.append(f'<rect class="b" {box}/><text class="t" x="{x:.0f}" y="{y + 4.5:.0f}">{part}</text>')
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    FILE.write_text(drawn(), encoding="utf-8")
