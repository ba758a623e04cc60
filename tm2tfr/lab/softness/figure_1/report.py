"""The figure as text, Markdown or LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tm2tfr.base.text.shown import aligned, code
from tm2tfr.base.text.tex import needs, text
from tm2tfr.lab.softness.figure_1.measured import Figure, FigureRow
from tm2tfr.lab.softness.needed import EVERY, SAMPLED
from tm2tfr.lab.softness.plot import drawn
from tm2tfr.lab.softness.report import number

TITLES = ("§", "logic", "measured on", "weights", "printed τ", "printed PE", "τ needed", "τ proved", "PE", "1/τ at n=")
_POWER = re.compile(r"N\^(-?[0-9.]+)")


def report(figure: Figure, format: str = "text") -> str:
    """Return the figure as ``text``, ``markdown``, ``latex`` or ``json``."""
    if format == "json":
        return figure.json()
    lengths = sorted({at.length for row in figure.rows for at in row.growth})
    titles = [*TITLES[:-1], f"{TITLES[-1]}{lengths[-1]}"]
    rows = [_cells(row) for row in figure.rows]
    about = _about(lengths)
    if format == "latex":
        return _latex([titles, *rows])
    if format == "markdown":
        for cells in rows:
            cells[2] = code(cells[2]).replace("|", r"\|")
        lines = [" | ".join(each) for each in (titles, ["---"] * len(titles), *rows)]
        return "\n".join([*(f"| {line} |" for line in lines), "", " ".join(about), ""])
    return "\n".join([*aligned([titles, *rows]), "", *about, ""])


def _cells(row: FigureRow) -> list[str]:
    case = row.case
    return [
        case.section,
        case.logic,
        case.subject,
        case.weights,
        case.printed.temperature,
        case.printed.embedding,
        _power(row.needed, -1),
        _proved(row),
        _power(row.entries, 1),
        _last(row),
    ]


def _power(exponent: float | None, sign: int) -> str:
    """Return how a number grows: ``N^-1.00``; 1 if it does not."""
    if exponent is None:
        return "-"
    return "1" if abs(exponent) < 0.005 else f"N^{sign * exponent:.2f}"


def _proved(row: FigureRow) -> str:
    """Return how the temperature of the local bounds falls; that of Theorem 26 where there are none."""
    if any(at.local is not None for at in row.growth) or row.theorem is None:
        return _power(row.local, -1)
    return f"{_power(row.theorem, -1)} (26)"


def _last(row: FigureRow) -> str:
    """Return 1/τ at the greatest length, as needed and as proved: ``128 ≤ 180``."""
    at = row.growth[-1]
    found = "?" if at.found is None else number(1 / at.found)
    proved = at.local if at.local is not None else at.theorem
    return found if proved is None else f"{found} ≤ {number(1 / proved)}"


def _about(lengths: Sequence[int]) -> list[str]:
    *first, last = map(str, lengths)
    listed = f"{', '.join(first)} and {last}" if first else last
    return [
        f"τ needed: the largest temperature, one for all heads, at which every node is right, on words of {listed} tokens:",
        f"all if there are at most {EVERY:,}, otherwise {SAMPLED} sampled ones, so that 1/τ needed is at least as shown;",
        "τ proved: by the local bounds, or (26) by Theorem 26 where there are none; PE: the largest position feature;",
        "N: the number of positions, with BOS and EOS.",
    ]


def _latex(rows: Sequence[Sequence[str]]) -> str:
    titles, *lines = (" & ".join(map(_tex_cell, row)) + r" \\" for row in rows)
    begin = [
        needs("", "booktabs"),
        rf"\begin{{tabular}}{{{'l' * len(TITLES)}}}",
    ]
    return "\n".join([*begin, r"\toprule", titles, r"\midrule", *lines, r"\bottomrule", r"\end{tabular}", ""])


def _tex_cell(cell: str) -> str:
    """Return a cell with its powers as formulas."""
    parts = _POWER.split(cell)
    return "".join(f"$N^{{{part}}}$" if n % 2 else text(part) for n, part in enumerate(parts))


# ── The figure as a picture: 1/τ by the number of positions, as needed and as proved.
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
