"""Where the heads of the chapter's construction look: at all positions, at cells, at the latest write (Eqs. 8.6-8.16)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tm2tfr.contract.model import Equation, ModelColumns, NamedValues, Pattern, VariableValues, everywhere
from tm2tfr.sources.turing.columns import ALIASES, LABELS

LabelCodes = NDArray[np.int32]


def patterns() -> Iterator[Pattern]:
    """Yield the positions that the chapter's heads attend to."""
    yield Pattern(
        claim="all", meaning="all positions so far", formula="j ≤ i", source="Eq. 8.6", seen="all", places=everywhere
    )
    for name, equation in (("h", "Eq. 8.8"), ("h_{i-1}", "Eq. 8.11")):
        for sign in ("", "+", "-"):
            meaning, repair = f"the position of the number {name}{sign}", ", repair 5" if sign else ""
            yield Pattern(
                claim=f"{name}{sign}",
                meaning=meaning,
                formula=f"argmax_{{j≤i}} (2{name}{sign}·j - j²)/(i+1)",
                source=equation + repair,
                places=_cell(f"{name}{sign}/(i+1)"),
            )
    yield Pattern(
        claim="j*",
        meaning="the latest write of the cell under the head; if there is none, of the nearest cell",
        formula="j* = argmax_{j≤i} 2h·h_{j-1} - h_{j-1}² + j/(2(i+1))",
        source="Eqs. 8.15-8.16",
        places=latest_write,
        shortcut=lambda c: latest_writes(c["h"], c["h_{i-1}"], np.arange(len(c.i)) - c.i),
        column=LABELS["j*"],
    )


def _cell(name: str) -> Equation:
    return lambda c: c.nearest(c[name])


def latest_write(c: ModelColumns) -> NDArray[np.int64]:
    """Return j*: the latest position j ≤ i with the largest 2h·h_{j-1} - h_{j-1}², so the latest whose cell is nearest."""
    return c.latest_best(lambda query, key: 2 * query("h") * key("h_{i-1}") - key("h_{i-1}^2"))


# ── what the simulator's rows say, for many runs at once
def given(table: NamedValues, positions: NDArray[np.int64]) -> NamedValues:
    """Return what the simulator's rows say of variables; h_{i-1} is the head's cell in the row before, 0 at position 0."""
    h, before = table["h"], before_of(table["h"], positions)
    named = {ALIASES.get(name, name): values for name, values in table.items()}
    return named | {"h/(i+1)": h, "h": h, "h_{i-1}/(i+1)": before, "h_{i-1}": before}


def before_of(h: VariableValues, position: VariableValues) -> VariableValues:
    """Return the head's cell one position earlier, 0 at position 0: (rows,)."""
    before = np.zeros_like(h)
    before[1:] = h[:-1]
    before[position == 0] = 0
    return before


def latest_writes(h: LabelCodes, before: LabelCodes, starts: NDArray[np.int64]) -> LabelCodes:
    """Return j* of each row: the position j ≤ i whose `before` is nearest to h, the latest of several (Eq. 8.16).

    The cells that a head has been on are all between two of them, so that one on which it is for the first time has the
    nearest next to it, on the side of cell 0.

    Args:
        starts: the number of the first row of each row's run.
    """
    rows = np.arange(len(h))
    if not len(h):
        return np.zeros(0, dtype=np.int32)
    least = int(min(h.min(), before.min())) - 1
    cells = int(max(h.max(), before.max())) - least + 2
    run = np.cumsum(np.diff(starts, prepend=starts[0]) > 0)

    def key(cell: LabelCodes) -> NDArray[np.int64]:
        places: NDArray[np.int64] = run * cells + (cell.astype(np.int64) - least)
        return places

    order = np.argsort(key(before), kind="stable")  # by run and cell, then by position
    written = key(before)[order]
    here = np.full(len(h), -1)

    def last(cell: LabelCodes, wanted: NDArray[np.bool_]) -> None:
        """Put the latest row up to each wanted one with this cell where there is one."""
        asked = key(cell)[wanted] * len(h) + rows[wanted]
        at = np.searchsorted(written * len(h) + order, asked, side="right") - 1
        there = (at >= 0) & (written[np.maximum(at, 0)] == asked // len(h))
        here[np.flatnonzero(wanted)[there]] = order[at[there]]

    last(h, np.ones(len(h), dtype=bool))
    last(np.where(h > 0, h - 1, h + 1), here < 0)
    return (here - starts).astype(np.int32)
