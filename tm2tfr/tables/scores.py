"""One head's scores at one position of a run: the score and the attention weight of each position that it sees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tm2tfr.base.errors import EngineError, OutputError, ShapeError, counted, required, visible
from tm2tfr.base.files import write_whole
from tm2tfr.base.text.shown import aligned
from tm2tfr.engines.decode import Engine, generate, observable, observe, observe_all
from tm2tfr.transformer.attention import in_sight, softmax
from tm2tfr.transformer.weights import Decoder, Head, Mask

AttendedPlaces = Sequence[int] | NDArray[np.intp]
"""The positions that share the weight of a head."""


# ── Where a head of any decoder looks in a run, as a matrix, as text, and as a picture.
#
# The weights are those that the engine computed: equal shares of the best positions, or softmax. A row is called by the
# token that is predicted there, the one after the position that looks, as in the figures of the paper on circuits; a
# labeller predicts nothing, and its rows are called by the positions that look.
ATTENTION_FORMATS = (".png", ".svg", ".pdf")
BLOCKS = "·░▒▓█"
"""How text shows a weight: none, up to a quarter, a half, three quarters, and more."""
SHADES = "weights: · 0, ░ up to 1/4, ▒ up to 1/2, ▓ up to 3/4, █ up to 1"


@dataclass(frozen=True, kw_only=True)
class AttentionMap:
    """The attention of one head in a run.

    Args:
        title: for people.
        weights: (rows, positions): what position i gives to position j; 0 where the head's mask hides j.
        rows: what is predicted at each position, or what looks; columns: what is fed at each.
        axis: what the rows are, for people.
        mask: which positions the head sees.
        first: the position of the first row.

    Raises:
        ShapeError: if there are not as many names as rows and positions.
    """

    title: str
    weights: NDArray[np.float64]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    axis: str = "predicted"
    mask: Mask = "future"
    first: int = 0

    def __post_init__(self) -> None:
        if self.weights.shape != (len(self.rows), len(self.columns)):
            there = f"{counted(len(self.rows), 'name')} of rows and {len(self.columns)} of columns"
            raise ShapeError(f"{there}, for attention of shape {self.weights.shape}: give one name for each")

    def text(self) -> str:
        """Return the map as text: a line for each row with a block for each position in sight, then what shades mean."""
        levels = np.ceil(np.clip(self.weights, 0, 1) * (len(BLOCKS) - 1) - 1e-3).astype(int)
        sights = [in_sight(self.mask, self.first + i, len(self.columns)) for i in range(len(self.rows))]
        cells = [" " * s.start + "".join(BLOCKS[n] for n in levels[i, s.start : s.stop]) for i, s in enumerate(sights)]
        lines = aligned([(visible(name), row) for name, row in zip(self.rows, cells, strict=True)], set())
        about = [SHADES] if any(BLOCKS.index(sign) in levels for sign in BLOCKS[1:-1]) else []
        return "\n".join([visible(self.title), *(line.rstrip() for line in lines), *about]) + "\n"


def attention_map(
    decoder: Decoder,
    prompt: Sequence[str],
    *,
    engine: Engine,
    layer: int = 1,
    head: int = 0,
    symbols: Sequence[str] | None = None,
    max_positions: int | None = None,
    first: int = 0,
) -> AttentionMap:
    """Return where a head looks in the run on `prompt`.

    Args:
        layer, head: as in the paths of weights: ``layers.1.heads.0`` is the first head of the first layer.
        symbols: the names of all tokens fed and of the last one answered; by default their positions and the tokens, which
            the rows of a labeller have as well.
        first: the position of the first row; the rows before it are left out.

    Raises:
        EngineError: if there is no such layer or head, or the prompt cannot be run.
        ShapeError: if there are not as many symbols as tokens.
    """
    looked_at = head_of(decoder, layer, head)
    steps = list(generate(decoder, prompt, engine=engine, max_positions=max_positions))
    fed, weights = [step.token for step in steps], np.zeros((len(steps), len(steps)))
    for i, seen in enumerate(observe_all(decoder, fed, engine=observable(engine))):
        weights[i] = weights_of(looked_at, *seen.heads[layer - 1, head], position=i, count=len(steps))
    answered = fed[1:] + [step.output for step in steps[-1:]]
    if decoder.labeller:
        rows = columns = tuple(f"{n} {token}" for n, token in enumerate(fed))
    elif symbols is None:
        columns = tuple(f"{n} {token}" for n, token in enumerate(fed))
        rows = tuple(f"{n} {token}" for n, token in enumerate(answered, start=1))
    else:
        rows, columns = tuple(symbols[1:]), tuple(symbols[:-1])
    title = f"layer {layer} ({decoder.layers[layer - 1].name}), head {looked_at.name!r}"
    axis = "attending" if decoder.labeller else "predicted"
    return AttentionMap(
        title=title,
        weights=weights[first:],
        rows=rows[first:],
        columns=columns,
        axis=axis,
        mask=looked_at.mask,
        first=first,
    )


def weights_of(
    head: Head, scores: ArrayLike, attended: AttendedPlaces, *, position: int, count: int
) -> NDArray[np.float64]:
    """Return a head's weights on the `count` positions from one of them: (count,), see `Watch.head`."""
    found = np.zeros(count)
    if head.weighting == "softmax" and not head.uniform:
        there = in_sight(head.mask, position, count)
        found[there.start : there.stop] = softmax(np.asarray(scores))
    else:
        found[np.asarray(attended)] = 1 / len(attended)
    return found


def head_of(decoder: Decoder, layer: int, head: int, *, first: int = 0) -> Head:
    """Return a head: `layer` counts from 1, `head` from 0.

    Args:
        first: the number that people give to the first head, for complaints.

    Raises:
        EngineError: if there is none.
    """
    if not 1 <= layer <= len(decoder.layers):
        raise EngineError(f"there is no layer {layer}: use one from 1 to {len(decoder.layers)}")
    heads = decoder.layers[layer - 1].heads
    if not 0 <= head < len(heads):
        there = f"layer {layer} has {counted(len(heads), 'head')}"
        with_heads = [str(number) for number, each in enumerate(decoder.layers, start=1) if each.heads]
        known = " or ".join(filter(None, (", ".join(with_heads[:-1]), *with_heads[-1:])))
        remedy = f"use one of layer {known}" if known else "these weights have no heads"
        if heads:
            remedy = f"use one from {first} to {first + len(heads) - 1}"
        raise EngineError(f"there is no head {head + first}: {there}: {remedy}")
    return heads[head]


def attention_figure(found: AttentionMap, path: Path) -> Any:
    """Return a matplotlib figure of the map, see `attention_figures`."""
    return attention_figures([[found]], path)


def attention_figures(lines: Sequence[Sequence[AttentionMap]], path: Path, title: str = "") -> Any:
    """Return a matplotlib figure of maps of one size, and their scale: white is 0, black is 1.

    Of a small map each weight that does not round to 0 is written in its field, ties of average-hard attention as the
    shares that they get. Of a large one not every position is named. A line separates what the head's mask hides.

    Args:
        lines: the maps that stand side by side, line by line.
        path: where it goes, for complaints.
        title: of all of them.

    Raises:
        OutputError: if matplotlib is missing.
    """
    figures = required(f"{path}: a plot needs matplotlib", ["matplotlib.figure"], "plot", error=OutputError)[0]
    first, beside = lines[0][0], max(map(len, lines))
    most = max(first.weights.shape)
    inches = MOST_INCHES / beside**0.5
    field = 0.5 if most <= FEW else inches / most
    wide, high = (min(inches, field * len(names)) for names in (first.columns, first.rows))
    sizes = max(4.5, beside * wide + 2.5), max(4.5, len(lines) * (high + 1) + (0.6 if title else 1.5))
    figure = figures.Figure(figsize=sizes, layout="constrained")
    panels = []
    for place, found in (
        (row * beside + n, each) for row, line in enumerate(lines) for n, each in enumerate(line, start=1)
    ):
        panels.append(figure.add_subplot(len(lines), beside, place))
        shades = _map(panels[-1], found, most, field)
    figure.colorbar(shades, ax=panels, shrink=0.6, label="weight")
    if title:
        figure.suptitle(plain(title), fontsize=16)
    return figure


def _map(axes: Any, found: AttentionMap, most: int, field: float) -> Any:
    """Draw a map, and return its shades; field: the size of one, in inches."""
    size = min(12.0, 0.65 * 72 * field * -(-most // MOST_NAMED))
    shades = axes.imshow(found.weights, cmap="Greys", vmin=0.0, vmax=1.0, interpolation="nearest")
    named(axes.xaxis, found.columns, size=size, field=field)
    named(axes.yaxis, found.rows, size=size)
    for edge in _hidden(found):
        axes.plot(*edge, color="0.75", linewidth=1)
    if most <= FEW:
        for (row, column), weight in np.ndenumerate(found.weights):
            if weight >= 0.005:
                text = share(weight) if "/" in share(weight) or weight >= 0.995 else f"{weight:.2f}"
                dark = "white" if weight > 0.5 else "black"
                axes.text(column, row, text, ha="center", va="center", color=dark, fontsize=size - 1)
    axes.set_xlabel("attended to", fontsize=13)
    axes.set_ylabel(found.axis, fontsize=13)
    axes.set_title(plain(found.title), fontsize=14)
    return shades


FEW = 24
"""The most positions of a map in which every weight is written."""
MOST_NAMED = 60
"""The most positions that are named beside a map."""
MOST_INCHES = 12.0
"""The largest side of a map, but for what stands beside it."""


def plain(text: str) -> str:
    """Return a text as matplotlib shows it as it is: no formula begins at a dollar sign."""
    return visible(text).replace("$", r"\$")


def named(axis: Any, names: Sequence[str], *, size: float, first: int = 0, field: float = 1.0) -> None:
    """Name the positions at an axis of a plot; not all of them where there are too many.

    Args:
        size: of the letters, in points.
        first: the position of the first name.
        field: how far apart positions are, in inches: below the plot, names that are wider stand upright.
    """
    step = max(-(-len(names) // MOST_NAMED), 1)
    wide = 0.65 * size * max(map(len, names), default=0)
    upright = {"rotation": 90} if axis.axis_name == "x" and wide > 72 * field * step else {}
    axis.set_ticks(range(first, first + len(names), step), [plain(name) for name in names[::step]], **upright)
    axis.set_tick_params(labelsize=size)


def share(weight: float) -> str:
    """Return a weight as it is written in a picture: ``1/3`` for a third."""
    parts = round(1 / weight) if weight > 1e-6 else 0
    if parts and abs(parts * weight - 1) < 1e-9:
        return "1" if parts == 1 else f"1/{parts}"
    return f"{weight:.2g}" if weight < 0.995 else f"{weight:.4g}"


def _hidden(found: AttentionMap) -> list[tuple[list[float], list[float]]]:
    """Return the line between what is in sight and what the head's mask hides, as coordinates (x, y)."""
    if found.mask == "none":
        return []
    xs, ys = [], []
    for row in range(len(found.rows)):
        sight = in_sight(found.mask, found.first + row, len(found.columns))
        edge = (sight.stop if found.mask == "future" else sight.start) - 0.5
        xs += [edge, edge]
        ys += [row - 0.5, row + 0.5]
    return [(xs, ys)]


def plot_attention(found: AttentionMap, path: str | Path) -> None:
    """Draw the map into a .png, .svg or .pdf file.

    Raises:
        OutputError: for another extension, if matplotlib is missing, or if the file cannot be written.
    """
    saved(Path(path), lambda where: attention_figure(found, where), found.title)


def saved(path: Path, draw: Callable[[Path], Any], title: str) -> None:
    """Write the matplotlib figure that `draw` returns to a .png, .svg or .pdf file: the same figure as the same bytes.

    Args:
        title: what it shows, for readers that do not see it.

    Raises:
        OutputError: for another extension, if matplotlib is missing, or if the file cannot be written.
    """
    if path.suffix not in ATTENTION_FORMATS:
        use = f"use for example {path.stem}.svg"
        raise OutputError(f"{path}: a plot is written as {', '.join(ATTENTION_FORMATS)}: {use}")
    figure = draw(path)
    dates: dict[str, dict[str, None]] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {}}
    metadata = {"Title": visible(title), **dates[path.suffix]}
    (mpl,) = required(f"{path}: a plot needs matplotlib", ["matplotlib"], "plot", error=OutputError)
    with mpl.rc_context({"svg.hashsalt": "tm2tfr"}):  # otherwise the names of clip paths are random
        write_whole(path, lambda file: figure.savefig(file, format=path.suffix[1:], metadata=metadata, bbox_inches="tight"))


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
    """Return the scores of a head at a position of the run on `prompt`; see `tm2tfr.tables.scores.attention_map`.

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
