"""The figures of the pages on the construction, drawn from runs of compiled decoders when the site is built."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from functools import wraps
from itertools import accumulate
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

import tm2tfr
from tm2tfr.engines.dense import Dense
from tm2tfr.runs.cause import observe
from tm2tfr.web.palette import palette

BEST, OTHER, INK = (palette()[name].light for name in ("hue1", "hue0", "soft"))
HEX = re.compile(r"#[0-9a-f]{6}")
LIGHT_DARK = re.compile(rb"light-dark\((#[0-9a-f]{6}), #[0-9a-f]{6}\)")
INKED = ("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "axes.edgecolor")
LOOKS = {"font.family": "sans-serif", "font.size": 11, "axes.spines.top": False, "axes.spines.right": False}
STYLE = {"svg.fonttype": "none", "svg.hashsalt": "tm2tfr", **LOOKS, **dict.fromkeys(INKED, INK)}
MACHINE, WORD, POSITION = "busy-beaver-4", "", 86
"""The run that is drawn, and where: far enough from cell 0 to see the parabola's top, and long after the last write."""


def _observed() -> tuple[list[Any], dict[str, tuple[int, int]], Any]:
    """Return the rows of the run, each head's place (layer, head), and what was seen at `POSITION`."""
    decoder = tm2tfr.compile(MACHINE)
    trace = tm2tfr.run(decoder, WORD, max_steps=POSITION)
    tokens = [str(row.x) for row in trace.rows[: POSITION + 1]]
    places = {head.name: (i, k) for i, layer in enumerate(decoder.layers) for k, head in enumerate(layer.heads)}
    return list(trace.rows), places, observe(decoder, tokens, engine=Dense())


def styled(draw: Callable[[], bytes]) -> Callable[[], bytes]:
    """Return a figure that is drawn, and saved, with the site's looks, and leaves matplotlib's settings as they were."""

    @wraps(draw)
    def found() -> bytes:
        with mpl.rc_context(STYLE):
            return draw()

    return found


def saved(figure: Figure) -> bytes:
    """Return a figure as SVG, whose colours are those of the page that it stands in, light or dark."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None})
    text = buffer.getvalue().decode("utf-8").replace("<svg ", '<svg style="color-scheme: light dark" ', 1)
    dark = {colour.light: f"light-dark({colour.light}, {colour.dark})" for colour in palette().values()}
    return HEX.sub(lambda colour: dark.get(colour[0], colour[0]), text).encode("utf-8")


def light_only(figure: bytes) -> bytes:
    """Return a figure with its light colours alone, for programs that know no others."""
    return LIGHT_DARK.sub(rb"\1", figure)


def _scores(head: str, title: str, shown: Callable[[int], bool]) -> bytes:
    """Draw the scores of a head at `POSITION`, the position that it attends to marked."""
    rows, places, seen = _observed()
    scores, attended = seen.heads[places[head]]
    figure = Figure(figsize=(7.5, 3))
    axes = figure.subplots()
    kept = [j for j in range(len(scores)) if shown(j)]
    axes.plot(kept, [scores[j] for j in kept], "o", color=OTHER, markersize=4, label="score of position j")
    axes.plot(attended, [scores[j] for j in attended], "D", color=BEST, markersize=9, label="attended to")
    axes.set(xlabel="position j", ylabel="score", title=title.format(h=rows[POSITION].h, j=attended[0]))
    axes.legend(frameon=False, loc="best")
    return saved(figure)


@styled
def head_position() -> bytes:
    """Draw the mean of the moves, which attention computes, and the head position, which it stands for."""
    rows, _, _ = _observed()
    figure = Figure(figsize=(7.5, 3))
    left, right = figure.subplots(1, 2)
    steps = range(len(rows))
    left.plot(steps, [total / (i + 1) for i, total in enumerate(accumulate(row.m for row in rows))], color=OTHER)
    left.set(xlabel="position i", title="h/(i+1), the mean move so far")
    right.step(steps, [row.h for row in rows], where="post", color=BEST)
    right.set(xlabel="position i", title="h, the head position")
    return saved(figure)


@styled
def lookup() -> bytes:
    """Draw the scores of the head that turns |h|/(i+1) into h."""
    rows, _, _ = _observed()
    sign = "+" if rows[POSITION].h >= 0 else "-"
    title = f"lookup at position {POSITION}: h = {{h}}, so position {{j}} is best"
    return _scores(f"cell h{sign}", title, lambda j: j <= 14)


@styled
def latest_write() -> bytes:
    """Draw the scores of the head that finds the latest write to the cell under the head."""
    title = f"latest write at position {POSITION}: h = {{h}}, told by token {{j}}"
    return _scores("latest write", title, lambda _: True)


FIGURES = {"head-position": head_position, "lookup": lookup, "latest-write": latest_write}
"""Name of a figure -> what draws it, as SVG."""
