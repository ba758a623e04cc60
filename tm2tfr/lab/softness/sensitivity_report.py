"""What was measured of one changed symbol, as text, CSV or JSON, and as a picture."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING

from tm2tfr.base.errors import visible
from tm2tfr.base.text.shown import aligned
from tm2tfr.lab.softness.report import drawn, number
from tm2tfr.lab.softness.sensitivity import AtLength, Sensitivity

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def report(found: Sensitivity, format: str = "text") -> str:
    """Return the measurements as ``text``, ``csv`` (a row for each length, or each symbol of one word) or ``json``."""
    if format == "json":
        return json.dumps(found.as_dict(), ensure_ascii=False) + "\n"
    if format == "csv":
        rows = found.symbols or found.rows
        text = io.StringIO()
        writer = csv.DictWriter(text, [each.name for each in fields(rows[0])], lineterminator="\n")
        writer.writeheader()
        writer.writerows(map(asdict, rows))
        return text.getvalue()
    return "\n".join([*_lines(found), ""])


def _lines(found: Sensitivity) -> Iterable[str]:
    what = "" if found.word is None else f" on {found.word!r}"
    yield f"{visible(found.name)}{what}: {found.attention}; dense, {found.dtype}"
    whose = "of the next token" if found.output is None else f"of {visible(found.output)}"
    if found.word is None:
        yield f"how far the logits {whose} at the last position move when one earlier symbol changes"
        yield from aligned([_TITLES, *map(_cells, found.rows)], set(range(len(_TITLES))))
        if not all(row.every for row in found.rows):
            yield "random words and positions are sampled, so the largest change may be larger"
    else:
        yield f"how far the logits {whose} at the last position move when this symbol changes"
        cells = [
            [str(s.place), visible(s.symbol), visible(s.by) if s.largest else "-", number(s.largest), number(s.bound)]
            for s in found.symbols
        ]
        yield from aligned([["place", "symbol", "by", "moves", "bound"], *cells], {0, 3, 4})
    yield from _growth(found)
    yield ""
    yield "Hahn's lemma: under these premises it is O(1/n), and O((log n)^(L-1)/n) under a future mask with L layers"
    yield from aligned(
        [[f"  {each.assumption}", "yes" if each.broken is None else f"no: {each.broken}"] for each in found.premises]
    )
    yield ""
    yield f"bound on the attention weight from the last position to any other, n = {found.rows[-1].n}, from the matrices"
    cells = [[f"  layer {s.layer}", visible(s.head), s.weighting, number(s.most)] for s in found.shares]
    yield from aligned(cells, {3}) if cells else ["  no heads"]
    if not found.holds:
        yield ""
        yield "WRONG: a measured change exceeds its bound"


_TITLES = ["n", "words", "pairs", "mean", "largest", "bound"]


def _cells(row: AtLength) -> list[str]:
    words = f"all {row.words:,}" if row.every else f"{row.words:,}"
    return [str(row.n), words, f"{row.changes:,}", number(row.mean), number(row.largest), number(row.bound)]


def _growth(found: Sensitivity) -> Iterable[str]:
    if found.exponent is None and found.bound_exponent is None:
        return
    told = [("the largest goes", found.exponent), ("the bound", found.bound_exponent)]
    grows = ", ".join(f"{what} like n^{power:.2f}" for what, power in told if power is not None)
    yield f"over these lengths {grows}"


def plot(found: Sensitivity, path: str | Path) -> None:
    """Draw the change over the length, beside the bound and 1/n, or of one word over its symbols.

    Raises:
        OutputError: for another extension, if matplotlib is missing, or if the file cannot be written.
    """

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.set_title(f"{visible(found.name)}, {found.attention}".replace("$", r"\$"), fontsize="medium")
        if found.word is not None:
            places = [s.place for s in found.symbols]
            axes.plot(places, [s.largest or math.nan for s in found.symbols], "o-", label="measured")
            axes.plot(places, [s.bound or math.nan for s in found.symbols], "--", color="C0", label="bound")
            axes.set(yscale="log", xlabel="place of the changed symbol", ylabel="how far a logit moves")
        else:
            n = [row.n for row in found.rows]
            measured = [row.largest or math.nan for row in found.rows]
            power = "" if found.exponent is None else f": n^{found.exponent:.2f}"
            axes.plot(n, measured, "o-", label=f"largest{power}")
            axes.plot(n, [row.mean or math.nan for row in found.rows], "o:", color="C0", label="mean")
            power = "" if found.bound_exponent is None else f": n^{found.bound_exponent:.2f}"
            axes.plot(n, [row.bound or math.nan for row in found.rows], "--", color="C1", label=f"bound{power}")
            if measured[0] > 0:
                axes.plot(n, [measured[0] * n[0] / each for each in n], color="0.7", linewidth=1, label="1/n")
            axes.set(xscale="log", yscale="log", xlabel="symbols n", ylabel="how far a logit moves")
            axes.set_xticks(n, [str(each) for each in n])
            axes.set_xticks([], minor=True)
        axes.legend(fontsize="small")

    drawn(path, draw, size=(6.4, 4.8))
