"""The figures of the page on the universal decoder, drawn from a run when the site is built."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from figures.chapter import BEST, INK, OTHER, saved, styled
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from matplotlib.path import Path as MplPath

import tm2tfr
from tm2tfr.engines.dense import Dense
from tm2tfr.runs.cause import observe
from tm2tfr.runs.comparison import Trace
from tm2tfr.web.palette import palette

MACHINE, WORD = "binary-increment", "11"
"""The run that is drawn: it has few rules, reads what was given and what was written, and halts."""
GIVEN, WRITTEN = (palette()[name].light for name in ("hue3", "hue2"))
KINDS = {"tape": INK, "key": OTHER, "value": BEST, "input": GIVEN, "BOS": INK, "triple": WRITTEN}
"""The kinds of tokens, in the order of the prompt, with their colours."""
LOOKS = {
    "latest write": "latest write",
    "input symbol": "input, at h + k",
    "rule for q, a": "the rule for q, a",
    "cell h+": "the number h, at h",
}
"""The heads whose arrows are drawn, from the lowest to the highest, with what they find."""


class Run(NamedTuple):
    """A run of the decoder with the machine in its prompt.

    Args:
        lead: k, the number of tokens of the machine's description.
        places: (layer, head) of each head, by its name.
    """

    universal: tm2tfr.Universal
    trace: Trace
    lead: int
    places: dict[str, tuple[int, int]]
    decoder: Any

    @property
    def tokens(self) -> list[str]:
        """The tokens fed."""
        return [str(row.x) for row in self.trace.rows]

    def kind(self, i: int) -> str:
        """Return the kind of the token at position `i`."""
        if i >= self.lead:
            return "input" if i < self.lead + len(WORD) else "BOS" if self.tokens[i] == "BOS" else "triple"
        return "tape" if i == 0 else "key" if i % 2 else "value"

    def seen(self, head: str, i: int) -> tuple[Any, Any]:
        """Return the scores of a head at position `i`, and the positions that it attends to."""
        scores, attended = observe(self.decoder, self.tokens[: i + 1], engine=Dense()).heads[self.places[head]]
        return scores, attended

    def where(self, state: str, symbol: str) -> int:
        """Return the first position in `state` with `symbol` under the head."""
        return next(i for i, row in enumerate(self.trace.rows) if (row.q, row.a) == (state, symbol))


@cache
def run() -> Run:
    """Return the run that is drawn.

    Raises:
        RuntimeError: if it is wrong.
    """
    universal = tm2tfr.Universal(states=8, symbols=4).holding(tm2tfr.load(MACHINE))
    decoder, trace = tm2tfr.compile(universal), tm2tfr.check(universal, WORD)
    if not trace.agrees:
        raise RuntimeError(f"the run that is drawn is wrong: {trace.divergence}")
    places = {head.name: (i, k) for i, layer in enumerate(decoder.layers) for k, head in enumerate(layer.heads)}
    return Run(universal, trace, len(universal.description), places, decoder)


def _tokens(axes: Axes, last: int) -> None:
    """Write the tokens up to position `last` below the axis, each in the colour of its kind."""
    found = run()
    axes.set_xticks(range(last + 1), [f"{token}  {i}" for i, token in enumerate(found.tokens[: last + 1])])
    for i, label in enumerate(axes.get_xticklabels()):
        label.set(rotation=90, fontsize=8, family="monospace", color=KINDS[found.kind(i)])
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.7, last + 0.7)


def _arc(axes: Axes, start: int, end: int, height: float, says: str, colour: str) -> None:
    """Draw an arrow from a position to another, above the tokens or below, with a text below its top or beside its head."""
    foot = 0.18 if height > 0 else -0.18
    path = MplPath([(start, foot), (start, foot + height), (end, foot + height), (end, foot)], [1, 4, 4, 4])
    width = 2.0 if colour == BEST else 1.0
    arrow = FancyArrowPatch(
        path=path, arrowstyle="-|>", mutation_scale=10 if height > 0 else 5, color=colour, linewidth=width
    )
    arrow.set_fill(False)
    axes.add_patch(arrow)
    if start - end > 8:
        axes.text((start + end) / 2, foot + 0.74 * height - 0.14, says, ha="center", va="top", fontsize=9, color=colour)
    elif says:
        axes.text(end - 0.35, foot + 0.3, says, ha="right", va="center", fontsize=9, color=colour)


@styled
def sequence() -> bytes:
    """Draw the whole sequence, and where one of its positions looks."""
    found = run()
    here, last = found.where("carry", "1"), len(found.tokens) - 1
    figure = Figure(figsize=(7.5, 3.6))
    axes = figure.subplots()
    _tokens(axes, last)
    for i in range(last + 1):
        axes.plot(i, 0, "s", color=KINDS[found.kind(i)], markersize=9, alpha=1 if i <= here else 0.35)
    for height, (head, says) in enumerate(LOOKS.items(), start=1):
        (target,) = found.seen(head, here)[1]
        _arc(axes, here, target, 0.9 * height, says, BEST if head == "rule for q, a" else INK)
    for i in range(2, found.lead, 2):
        _arc(axes, i, found.seen("last key", i)[1][0], -0.45, "", INK)
    axes.set(ylim=(-0.6, 3.3), yticks=[])
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    return saved(figure)


@styled
def rule() -> bytes:
    """Draw the scores of the head that finds the rule: where there is one, and where there is none."""
    found = run()
    figure = Figure(figsize=(7.5, 5.2))
    upper, lower = figure.subplots(2, 1, sharex=True)
    last = len(found.tokens) - 1
    for axes, (state, symbol) in ((upper, ("carry", "1")), (lower, ("done", "_"))):
        here = found.where(state, symbol)
        scores, attended = found.seen("rule for q, a", here)
        others = [j for j in range(here + 1) if j not in attended]
        axes.vlines(range(here + 1), 0, [scores[j] for j in range(here + 1)], color=INK, linewidth=0.8)
        axes.plot(others, [scores[j] for j in others], "o", color=OTHER, markersize=4)
        share = "1" if len(attended) == 1 else f"1/{len(attended)} each"
        best = [scores[j] for j in attended]
        axes.plot(attended, best, "D", color=BEST, markersize=8, label=f"attended to, weight {share}")
        answer = found.trace.rows[here].y
        axes.set(yticks=[0, 1, 2], ylim=(-0.15, 2.4), ylabel="[q] + [a]")
        axes.set_title(f"position {here}: q = {state}, a = {symbol}; it answers {answer}", fontsize=10)
        axes.legend(frameon=False, loc="upper right", fontsize=9)
    _tokens(lower, last)
    figure.subplots_adjust(hspace=0.3)
    return saved(figure)


@styled
def offset() -> bytes:
    """Draw the scores of the head that reads the input, which begins behind the machine's description."""
    found = run()
    here = found.where("carry", "1")
    scores, attended = found.seen("input symbol", here)
    figure = Figure(figsize=(7.5, 3))
    axes = figure.subplots()
    axes.plot(range(here + 1), scores, "o", color=OTHER, markersize=4, label="score of position j")
    axes.plot(attended, [scores[j] for j in attended], "D", color=BEST, markersize=9, label="attended to")
    _tokens(axes, here)
    title = f"position {here}: h = {found.trace.rows[here].h}, k = {found.lead}, so position {attended[0]} is best"
    axes.set_title(title, fontsize=10)
    axes.set(ylabel="score")
    axes.legend(frameon=False, loc="lower right", fontsize=9)
    return saved(figure)


FIGURES = {"sequence": sequence, "rule": rule, "offset": offset}
"""Name of a figure -> what draws it, as SVG."""

if __name__ == "__main__":
    from pathlib import Path

    for name, drawn in FIGURES.items():
        Path(f"/tmp/uf-{name}.svg").write_bytes(drawn())
