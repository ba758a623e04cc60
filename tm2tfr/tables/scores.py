"""One head's scores at one position of a run: what it thinks of each position that it sees, and what each gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.engines.decode import Engine, generate, observable
from tm2tfr.engines.watching import observe
from tm2tfr.errors import EngineError, OutputError, ShapeError, counted, visible
from tm2tfr.extras import required
from tm2tfr.tables.attention import FEW, MOST_INCHES, head_of, named, plain, saved, share, weights_of
from tm2tfr.text.columns import aligned
from tm2tfr.transformer.attention import in_sight
from tm2tfr.transformer.weights import Decoder

LOOKED_AT, OTHERS = "#0b7285", "0.6"
"""The colours of positions that get a share, and of those that get none."""


@dataclass(frozen=True, kw_only=True)
class ScoresAt:
    """The scores of one head at one position.

    Args:
        title: for people.
        position: the one that looks.
        first: the first position in sight.
        names: of the positions in sight, from `first` on.
        scores: (n_key,), theirs, as the engine computed them.
        weights: (n_key,), what each of them gets.

    Raises:
        ShapeError: if there are not as many scores and weights as names.
    """

    title: str
    position: int
    first: int
    names: tuple[str, ...]
    scores: NDArray[np.float64]
    weights: NDArray[np.float64]

    def __post_init__(self) -> None:
        if not len(self.names) == len(self.scores) == len(self.weights):
            there = f"{counted(len(self.names), 'name')}, {len(self.scores)} scores and {len(self.weights)} weights"
            raise ShapeError(f"{there}: give one of each for each position in sight")

    def text(self) -> str:
        """Return the scores as text: a line for each position in sight with its score, and its weight if that is not 0."""
        cells = [
            (visible(name), f"{score:g}", share(weight) if weight else "")
            for name, score, weight in zip(self.names, self.scores, self.weights, strict=True)
        ]
        rows = aligned([("position", "score", "weight"), *cells], {1})
        return "\n".join([visible(self.title), *(row.rstrip() for row in rows)]) + "\n"


def head_scores(
    decoder: Decoder,
    prompt: Sequence[str],
    position: int,
    *,
    engine: Engine,
    layer: int = 1,
    head: int = 0,
    symbols: Sequence[str] | None = None,
    max_positions: int | None = None,
) -> ScoresAt:
    """Return the scores of a head at a position of the run on `prompt`; see `tm2tfr.tables.attention.attention_map`.

    Raises:
        EngineError: if there is no such layer, head or position, or the prompt cannot be run.
    """
    looking = head_of(decoder, layer, head)
    fed = [step.token for step in generate(decoder, prompt, engine=engine, max_positions=max_positions)]
    if not 0 <= position < len(fed):
        what = f"there is no position {position}: the run has {counted(len(fed), 'position')}"
        raise EngineError(f"{what}: use one from 0 to {len(fed) - 1}")
    scores, attended = observe(decoder, fed, engine=observable(engine), position=position).heads[layer - 1, head]
    sight = in_sight(looking.mask, position, len(fed))
    weights = weights_of(looking, scores, attended, position=position, count=len(fed))
    names = [f"{n} {token}" for n, token in enumerate(fed)] if symbols is None else symbols
    where = f"layer {layer} ({decoder.layers[layer - 1].name}), head {looking.name!r}"
    return ScoresAt(
        title=f"{where}: scores at position {names[position] if symbols is None else f'{position} {names[position]}'}",
        position=position,
        first=sight.start,
        names=tuple(names[sight.start : sight.stop]),
        scores=np.asarray(scores, dtype=np.float64),
        weights=weights[sight.start : sight.stop],
    )


def scores_figure(found: ScoresAt, path: Path) -> Any:
    """Return a matplotlib figure of the scores: a line for each position, with its share where it gets one.

    Args:
        path: where it goes, for complaints.

    Raises:
        OutputError: if matplotlib is missing.
    """
    figures = required(f"{path}: a plot needs matplotlib", ["matplotlib.figure"], "plot", error=OutputError)[0]
    many = len(found.names) > FEW
    size = 8 if many else 13
    wide = max(6.0, min(MOST_INCHES, 0.55 * len(found.names)))
    figure = figures.Figure(figsize=(wide + 1.0, 5.0), layout="constrained")
    axes = figure.subplots()
    places = np.arange(found.first, found.first + len(found.names))
    axes.margins(y=0.15)
    axes.plot(places, found.scores, "o", color="none")  # first, so that the lines begin at the lower edge
    if len(found.scores) and np.ptp(found.scores) == 0:  # otherwise the scale would be one of nothing
        axes.set_ylim(found.scores[0] - 1, found.scores[0] + 0.5)
    low = axes.get_ylim()[0]
    for gets, colour in ((False, OTHERS), (True, LOOKED_AT)):
        here = (found.weights > 0) == gets
        axes.vlines(places[here], low, found.scores[here], color=colour, linewidth=1 if many else 4)
        axes.plot(places[here], found.scores[here], "o", color=colour, markersize=4 if many else 9)
    axes.set_ylim(bottom=low)
    shared = np.flatnonzero(found.weights >= 0.005)
    if len(shared) <= FEW:
        for n in shared:
            place = {"xytext": (0, 7), "textcoords": "offset points", "ha": "center", "color": LOOKED_AT}
            axes.annotate(share(found.weights[n]), (places[n], found.scores[n]), fontsize=size, **place)
    named(axes.xaxis, found.names, size=size, first=found.first, field=wide / max(len(found.names), 1))
    axes.tick_params(axis="y", labelsize=size)
    axes.set_ylabel("score", fontsize=size)
    axes.set_title(plain(found.title), fontsize=size + 1)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def plot_scores(found: ScoresAt, path: str | Path) -> None:
    """Draw the scores into a .png, .svg or .pdf file.

    Raises:
        OutputError: for another extension, if matplotlib is missing, or if the file cannot be written.
    """
    saved(Path(path), lambda where: scores_figure(found, where), found.title)
