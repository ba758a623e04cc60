"""The figure as a picture: 1/τ by the number of positions, as needed and as proved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tm2tfr.softness.figure_1.measured import Figure, FigureRow
from tm2tfr.softness.plot import drawn

COLUMNS = 3


def plot(figure: Figure, path: str | Path) -> None:
    """Draw 1/τ over the number of positions, a panel for each section, into a .png, .svg or .pdf file.

    Raises:
        OutputError: for another extension, if matplotlib is missing, or if the file cannot be written.
    """
    sections: dict[str, list[FigureRow]] = {}
    for row in figure.rows:
        sections.setdefault(row.case.section, []).append(row)
    lines = -(-len(sections) // COLUMNS)

    def draw(picture: Any) -> None:
        axes = list(picture.subplots(lines, COLUMNS, squeeze=False).flat)
        for (section, rows), panel in zip(sections.items(), axes, strict=False):
            _panel(panel, section, rows)
        for panel in axes[len(sections) :]:
            panel.set_axis_off()

    drawn(path, draw, size=(5 * COLUMNS, 5.4 * lines))


def _panel(axes: Any, section: str, rows: list[FigureRow]) -> None:
    axes.set_title(f"§{section}")
    for k, row in enumerate(rows):
        found = [(at.positions, 1 / at.found) for at in row.growth if at.found is not None and not at.unbounded]
        local = [(at.positions, 1 / at.local) for at in row.growth if at.local is not None]
        power = "" if row.needed is None else f": N^{row.needed:.2f}"
        named = f"{row.case.subject}, {row.case.weights}{power}".replace("$", r"\$")
        axes.plot([n for n, _ in found], [value for _, value in found], "o-", color=f"C{k}", label=named)
        axes.plot([n for n, _ in local], [value for _, value in local], "--", color=f"C{k}")
    axes.set(xscale="log", yscale="log", xlabel="positions N", ylabel="1/τ (dashed: local bound)")
    positions = sorted({at.positions for row in rows for at in row.growth})
    axes.set_xticks(positions, [str(n) for n in positions], rotation=90, fontsize="x-small")
    axes.set_xticks([], minor=True)
    low, high = axes.get_ylim()
    axes.set_ylim(low / 2, high * 2)  # so that what hardly grows looks like it
    axes.legend(fontsize="x-small", loc="upper center", bbox_to_anchor=(0.5, -0.22))
