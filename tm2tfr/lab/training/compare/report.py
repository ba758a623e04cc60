"""A comparison in words, and as a picture: the paper's Figure 2."""

from __future__ import annotations

from dataclasses import astuple
from pathlib import Path
from typing import Any

from tm2tfr.base.errors import OutputError, visible
from tm2tfr.base.text.shown import aligned
from tm2tfr.lab.softness.plot import drawn
from tm2tfr.lab.training.compare.measured import AttentionComparison, ComparedHead, Masses
from tm2tfr.tables.scores import named, plain

_TITLES = ["rows", "number", "operands", "uniform", "equivalent", "uniform", "distance", "uniform", "top"]
_INCHES = 0.17
"""The size of a field of the picture."""


def comparison_report(found: AttentionComparison) -> str:
    """Return the numbers as lines: a table by kind for the head that is nearest, and a line for each other one."""
    best, *others = found.heads
    match = "" if found.exact_match is None else f", exact match {found.exact_match:.4f}"
    lines = [f"{visible(found.name)}{match}", *_about(found, best), ""]
    rows = [_TITLES, *(_cells(masses) for masses in best.kinds), _cells(best.overall)]
    lines += [*aligned(rows, set(range(1, len(_TITLES)))), ""]
    for each in others:
        lines.append(f"{each.name}: {each.overall.operands:.3f} on the operands.")
    lines += [
        "operands: the part of the attention on what the compiled head attends to; equivalent: on the gate's ancestors, up",
        "to three steps back, and on gates computed from those alone; distance: total variation from compiled attention;",
        "uniform: the same for uniform attention; top: rows whose largest weights are exactly on the operands.",
        "L0H0 is the first head of the first layer of the learned model.",
    ]
    if best.overall.equivalent is None:
        lines.append("Equivalent positions are not defined here: only a circuit says which values follow from which.")
    return "\n".join(lines)


def _about(found: AttentionComparison, best: ComparedHead) -> list[str]:
    compiled = {"default": "the compiled heads", "lookup": "the operands, as 'lookup' attends to them"}
    beside = compiled.get(found.variant, f"compiled weights ({found.variant})")
    return [f"Learned attention of head {best.name} beside {beside}, mean of {found.inputs} unseen inputs"]


def _cells(masses: Masses) -> list[str]:
    def share(value: float | None) -> str:
        return "-" if value is None else f"{value:.3f}"

    _, _, *numbers = astuple(masses)
    return [visible(masses.kind), f"{masses.rows:,}", *map(share, numbers)]


def plot_comparison(found: AttentionComparison, path: str | Path) -> None:
    """Draw the compiled attention beside the learned one, into a .png, .svg or .pdf file (extra ``plot``).

    Raises:
        OutputError: where attention is not averaged; for another extension, if matplotlib is missing, or if the file cannot
            be written.
    """
    if found.learned is None or found.compiled is None:
        what = "there is no mean attention of inputs of different lengths"
        raise OutputError(f"{path}: {what}: only runs on circuits are drawn, use the numbers")
    pictures = {f"compiled ({found.variant})": found.compiled, "learned": found.learned}
    names, size = found.rows[found.first :], max(5.0, _INCHES * len(found.columns))
    letters = min(9.0, 0.6 * 72 * size / len(found.columns))

    def draw(figure: Any) -> None:
        axes = figure.subplots(1, 2)
        shades = None
        for (title, weights), panel in zip(pictures.items(), axes, strict=True):
            shades = panel.imshow(weights[found.first :], cmap="Greys", vmin=0.0, vmax=1.0, interpolation="nearest")
            named(panel.xaxis, found.columns, size=letters, field=size / len(found.columns))
            named(panel.yaxis, names, size=letters)
            panel.set(xlabel="attended to", ylabel="predicted", title=title)
        figure.colorbar(shades, ax=axes, shrink=0.6, label="weight")
        best = found.heads[0].overall
        same = "" if best.equivalent is None else f", {best.equivalent:.2f} on equivalent positions"
        figure.suptitle(plain(f"{found.name}: {best.operands:.2f} of the learned attention on the operands{same}"))

    height = max(4.0, _INCHES * len(names)) + 1.6
    drawn(path, draw, size=(2 * size + 2.0, height))
