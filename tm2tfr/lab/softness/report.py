"""Measurements under softmax, of one run or of a sequence model, as text, CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from math import inf, log2
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from tm2tfr.base.errors import OutputError, counted, required, visible
from tm2tfr.base.files import write_whole
from tm2tfr.base.text.shown import aligned
from tm2tfr.lab.softness.measure import HeadError, LayerError, Softness
from tm2tfr.lab.softness.run import AtTemperature, Lead, SoftLabels, SoftRun
from tm2tfr.lab.softness.temperature import SAMPLED, LargestFound, Needed, growth_exponent
from tm2tfr.transformer.claims import DIVIDED, divisor

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = 12
"""The number of positions in a table, unless all are requested."""


def report(found: SoftRun | SoftLabels, format: str = "text", *, everything: bool = False) -> str:
    """Return measurements in a format.

    Args:
        format: ``text``; ``csv``, with a row per position, layer and head, or, for a sequence model, per temperature; or
            ``json``, which has everything.
        everything: whether a table shows every position of a run.
    """
    if format == "json":
        return json.dumps(found.as_dict(), ensure_ascii=False) + "\n"
    if format == "csv":
        rows = list(found.rows()) if isinstance(found, SoftRun) else [_plain(row) for row in found.rows]
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()
    if isinstance(found, SoftRun):
        lines = [*_head(found), "", *_tables(found.softness, everything), *_growth(found)]
    else:
        lines = [*_head_of_labels(found), "", *_temperatures(found), *_needed(found)]
    return "\n".join(lines) + "\n"


# ── one run
def _head(run: SoftRun) -> Iterable[str]:
    measured = run.softness
    yield f"{visible(run.machine)} on {run.input!r}: dense, {run.dtype}, {measured.positions:,} positions"
    but = ", but for ties that decide nothing" if any(head.tied for head in measured.heads) else ""
    holds = f"holds{but}" if measured.uniform_tieless else "does NOT hold"
    yield f"uniform-tieless, checked with average-hard attention at every position: {holds}"
    heads: dict[tuple[int, int], list[HeadError]] = {}
    for head in measured.heads:
        heads.setdefault((head.layer, head.number), []).append(head)
    yield from (f"  {line}" for line in aligned([(own[0].head, _property(own)) for own in heads.values()]))
    wrong = measured.first_wrong
    tokens = "every token is right" if wrong is None else f"the first wrong token is at position {wrong}"
    yield f"softmax at temperature {temperature_text(measured.temperature)}: {tokens}"
    yield ""
    yield "weights: ‖hard - soft‖₁, with Lemmas 6 and 33; place: |j* - Σ α_j·j| of a lookup, with Lemma 7; before, after:"
    yield "‖u - û‖₁ before the layer (the largest so far) and after it, with Lemma 25; -: a premise fails"


def _property(heads: Sequence[HeadError]) -> str:
    bad = next((head for head in heads if not head.holds), None)
    where = "" if bad is None else f"; NOT at position {bad.position}, where the gap is {bad.gap:.3g}"
    if heads[0].claimed is None:
        return f"uniform{where}"
    by = DIVIDED[heads[0].over]
    claimed = heads[0].claimed * _divisor(heads[0], len(heads))
    smallest = min(head.gap * _divisor(head, len(heads)) for head in heads)
    found = "never more than one position" if smallest == inf else f"smallest found {smallest:.3g}{by}"
    kind = "equal scores share" if heads[0].shared else "tieless"
    if harmless := sum(head.tied for head in heads):
        kind = f"tied at {counted(harmless, 'position')}, where that decides nothing; otherwise tieless"
    return f"{kind}, gap at least {claimed:g}{by}; {found}{where}"


def _divisor(head: HeadError, positions: int) -> int:
    """Return the divisor of the claimed gap of `head` at its position."""
    return divisor(head.over, head.position, positions)


def _tables(measured: Softness, everything: bool) -> Iterable[str]:
    shown = set(_chosen(measured.positions, measured.positions if everything else SHOWN))
    for number in sorted({layer.layer for layer in measured.layers}):
        layers = [layer for layer in measured.layers if layer.layer == number]
        if not any(layer.before or layer.after for layer in layers):
            continue
        heads = [head for head in measured.heads if head.layer == number]
        yield f"layer {number} ({layers[0].name})"
        yield from _layer([layer for layer in layers if layer.position in shown], heads)
        yield ""


def _layer(layers: Sequence[LayerError], heads: Sequence[HeadError]) -> Iterable[str]:
    cells = []
    for layer in layers:
        worst = max((h for h in heads if h.position == layer.position), key=lambda h: h.weights, default=None)
        row = [str(layer.position)]
        if worst is not None:
            row += [worst.head, *map(number, (worst.weights, worst.lemma_6, worst.lemma_33))]
            row += map(number, (worst.place, worst.lemma_7))
        cells.append([*row, number(layer.before), number(layer.after), number(layer.lemma_25)])
    titles = ["i", "worst head", "weights", "Lemma 6", "Lemma 33", "place", "Lemma 7"] if heads else ["i"]
    yield from _aligned([*titles, "before", "after", "Lemma 25"], cells)


def _growth(run: SoftRun) -> Iterable[str]:
    yield "the largest temperature at which the first n positions are all right, and the one guaranteed for every such run"
    cells = []
    for k, at in enumerate(run.growth):
        slope = growth_exponent(run.growth[max(0, k - 1) : k + 1])  # from one length to the next
        found = [f"{at.positions:,}", *_found(at), "-" if slope is None else f"{slope:.2f}"]
        cells.append([*found, number(at.guaranteed), number(1 / at.guaranteed), _times(at, at.guaranteed, ",.0f")])
    yield from _aligned(["n", "found", "1/found", "slope", "Theorem 26", "1/τ", "times"], cells)
    needed, due = run.found_exponent, run.guaranteed_exponent
    if needed is not None and due is not None:
        yield f"over these lengths 1/τ grows like n^{needed:.2f} as found, like n^{due:.2f} by the theorem: {_order(run)}"
    else:
        yield f"too few lengths for an exponent of 1/τ in n; by the theorem it is {_order(run)}"


def _order(run: SoftRun) -> str:
    """Return how 1/τ grows with n by the theorem: with 1/γ(n), which may be constant, and a logarithm."""
    constant = all(head.over == "constant" for head in run.softness.heads if head.claimed is not None)
    return "O(log n)" if constant else "O(n·log n)"


def _chosen(n: int, most: int) -> list[int]:
    """Return at most `most` of the positions 0 … n - 1, evenly spaced, including the last."""
    if n <= most:
        return list(range(n))
    return [round((k + 1) * n / most) - 1 for k in range(most)]


def _aligned(titles: Sequence[str], cells: Sequence[Sequence[str]]) -> Iterable[str]:
    return aligned([titles, *cells], {n for n, title in enumerate(titles) if title != "worst head"})


# ── what labels words
def _plain(row: AtTemperature) -> dict[str, object]:
    plain = asdict(row)
    position, output = plain.pop("first_wrong") or (None, None)
    return plain | {"wrong_position": position, "wrong_output": output}


def _head_of_labels(found: SoftLabels) -> Iterable[str]:
    yield f"{visible(found.program)} on {found.input!r}: dense, {found.dtype}, {counted(found.positions, 'position')}"
    holds = "hold" if found.holds else "do NOT hold"
    yield f"the claimed gaps, checked with average-hard attention at every position: {holds}"
    yield from (f"  {line}" for line in aligned([(visible(head.head), _lead(head)) for head in found.heads]))
    if found.unchanged:
        yield "softmax changes nothing at any temperature: there is no head that is not uniform"
    elif found.warmest is None:
        yield "no temperature was found at which every output is right"
    else:
        most = f"≥ {found.warmest:g}" if found.unbounded else temperature_text(found.warmest)
        yield f"the largest temperature found at which every output is right: {most}"
    yield ""
    yield "elsewhere: the largest weight of a head on positions without its best score, at most n·e^(-γ/τ) where scores are"
    yield "exact, as in the first layer (γ: the smallest gap); logits, stream: their largest error"


def _lead(head: Lead) -> str:
    if head.uniform:
        return "uniform"
    claimed = "no gap claimed" if head.claimed is None else f"gap at least {head.claimed:g}"
    smallest = "never a lower score" if head.gap == inf else f"smallest found {head.gap:.3g}"
    sharing = "one position has" if head.sharing == 1 else f"up to {head.sharing} positions share"
    power = f"·N^{head.degree}" if head.degree else ""
    bound = "" if head.needs is None else f"; margin {head.margin:g}{power}: 1/τ ≥ {head.needs:.4g}"
    return f"{claimed}; {smallest}; {sharing} the best score{bound}{'' if head.holds else '; does NOT hold'}"


def _temperatures(found: SoftLabels) -> Iterable[str]:
    titles = ["τ", "elsewhere", "n·e^(-γ/τ)", "logits", "stream", "outputs"]
    cells = [
        [temperature_text(row.temperature), *map(number, (row.elsewhere, row.bound, row.logits, row.stream)), _verdict(row)]
        for row in found.rows
    ]
    yield from aligned([titles, *cells], {1, 2, 3, 4})


def _needed(found: SoftLabels) -> Iterable[str]:
    if not found.growth:
        return
    yield ""
    yield "1/τ needed, the same for all heads, where every output is right at every position of all words of n tokens, or"
    yield f"of {SAMPLED} sampled ones (at least this); beside it the local bound, the largest of all heads', and Theorem 26"
    titles = ["n", "words", "1/τ needed", "local bound", "times", "Theorem 26", "times"]
    yield from aligned([titles, *map(_at_length, found.growth)], set(range(7)))
    if found.exponent is not None:
        proved = "" if found.local_exponent is None else f", like N^{found.local_exponent:.2f} by the local bounds"
        yield f"over these lengths 1/τ grows like N^{found.exponent:.2f} as needed{proved}, where N counts all positions"


def _at_length(at: Needed) -> list[str]:
    words = f"all {at.words:,}" if at.every else f"{at.words:,}"
    found = "none found" if at.found is None else f"≤ {1 / at.found:.3g}" if at.unbounded else number(1 / at.found)
    cells = [str(at.length), words, found]
    for proved in (at.local, at.theorem):
        cells += ["-" if proved is None else number(1 / proved), _times(at, proved, ".3g")]
    return cells


def _verdict(row: AtTemperature) -> str:
    if row.first_wrong is None:
        return f"all {row.outputs} right"
    position, name = row.first_wrong
    return f"{row.outputs - row.right} of {row.outputs} wrong, first {visible(name)} at position {position}"


# ── numbers
def _found(at: LargestFound) -> tuple[str, str]:
    if at.found is None:
        return "none", "-"
    if at.unbounded:
        return f"≥ {at.found:g}", "-"
    return number(at.found), number(1 / at.found)


def _times(at: LargestFound, proved: float | None, format: str) -> str:
    times = at.times(proved)
    return "-" if times is None else f"{times:{format}}"


def number(value: float | None) -> str:
    """Return three digits, or ``-`` for None: the premise of a lemma fails."""
    if value is None:
        return "-"
    return "0" if value == 0 else f"{value:.3g}" if 1e-3 <= value < 1e6 else f"{value:.2e}"


def temperature_text(value: float) -> str:
    """Return a temperature, as a power of two if it is one."""
    power = log2(value)
    return f"2^{power:.0f} = {value:.3g}" if power.is_integer() else f"{value:.6g}"


# ── A measured soft run as a picture, by matplotlib.
SMALLEST = 1e-20
"""The lower end of the scale of errors, if any are well above it."""
FORMATS = (".png", ".svg", ".pdf")


def checked(path: Path) -> Path:
    """Return `path` if a plot can be written to a file of that name.

    Raises:
        OutputError: for another extension, or if matplotlib is missing.
    """
    if path.suffix not in FORMATS:
        raise OutputError(f"{path}: a plot is written as {', '.join(FORMATS)}: use for example {path.stem}.svg")
    _figures(path)
    return path


def _figures(path: Path) -> ModuleType:
    return required(f"{path}: a plot needs matplotlib", ["matplotlib.figure"], "plot", error=OutputError)[0]


def plot(run: SoftRun, path: str | Path) -> None:
    """Draw errors and bounds by position, and 1/τ by length, into a .png, .svg or .pdf file.

    Raises:
        OutputError: for another extension, if matplotlib is missing, or if the file cannot be written.
    """

    def draw(figure: Figure) -> None:
        (read, latest), (layers, growth) = figure.subplots(2, 2)
        title = f"{visible(run.machine)} on {run.input!r}, softmax at temperature {run.softness.temperature:.4g}"
        figure.suptitle(title.replace("$", r"\$"))
        _weights(run, read, 3)
        _weights(run, latest, 4)
        _layers(run, layers)
        _plot_growth(run, growth)

    drawn(path, draw, size=(12, 8.5))


def drawn(path: str | Path, draw: Callable[[Figure], None], *, size: tuple[float, float]) -> None:
    """Write what `draw` draws into a matplotlib figure of that size, in inches, to a .png, .svg or .pdf file.

    Raises:
        OutputError: for another extension, if matplotlib is missing, or if the file cannot be written.
    """
    path = checked(Path(path))
    figure: Figure = _figures(path).Figure(figsize=size, layout="constrained")
    draw(figure)
    metadata = {"Date": None} if path.suffix == ".svg" else {"CreationDate": None} if path.suffix == ".pdf" else None
    write_whole(path, lambda file: figure.savefig(file, format=path.suffix[1:], metadata=metadata))


def _weights(run: SoftRun, axes: Axes, layer: int) -> None:
    """Draw the errors of a layer's attention weights: the worst head at each position."""
    worst: dict[int, HeadError] = {}
    for head in run.softness.heads:
        if head.layer == layer and head.weights >= (worst[head.position].weights if head.position in worst else 0.0):
            worst[head.position] = head
    name = next((each.name for each in run.softness.layers if each.layer == layer), "")
    axes.set_title(f"attention weights of layer {layer} ({name})")
    columns: dict[str, tuple[str, Callable[[HeadError], float | None]]] = {
        "measured": ("-", lambda h: h.weights),
        "Lemma 6": ("--", lambda h: h.lemma_6),
        "Lemma 33": (":", lambda h: h.lemma_33),
    }
    if layer == 3:
        columns["place, measured"] = ("-", lambda h: h.place)
        columns["place, Lemma 7"] = ("--", lambda h: h.lemma_7)
    for label, (style, of) in columns.items():
        axes.plot(list(worst), [of(h) or float("nan") for h in worst.values()], style, label=label)
    _by_position(axes, "‖hard − soft‖₁")


def _layers(run: SoftRun, axes: Axes) -> None:
    """Draw the error after each layer that has one."""
    axes.set_title("streams after each layer")
    numbers = sorted({each.layer for each in run.softness.layers if each.after})
    for k, number in enumerate(numbers):
        own = [each for each in run.softness.layers if each.layer == number]
        places = [each.position for each in own]
        axes.plot(places, [each.after or float("nan") for each in own], "-", color=f"C{k}", label=f"layer {number}")
        bounds = [each.lemma_25 or float("nan") for each in own]
        axes.plot(places, bounds, "--", color=f"C{k}", label=f"layer {number}, Lemma 25")
    _by_position(axes, "‖v − v̂‖₁")


def _plot_growth(run: SoftRun, axes: Axes) -> None:
    """Draw 1/τ by the length of the run, as found and as guaranteed."""
    axes.set_title("1/τ by the length of the run")
    found = [(w.positions, 1 / w.found) for w in run.growth if w.found is not None and w.known]
    guaranteed = [(w.positions, 1 / w.guaranteed) for w in run.growth]
    for label, points, power in (
        ("every token right, found", found, run.found_exponent),
        ("Theorem 26", guaranteed, run.guaranteed_exponent),
    ):
        if points:
            shown = label if power is None else f"{label}: n^{power:.2f}"
            axes.plot([n for n, _ in points], [value for _, value in points], "o-", label=shown)
    axes.set(xscale="log", yscale="log", xlabel="positions n", ylabel="1/τ")
    axes.legend(fontsize="small")


def _by_position(axes: Axes, label: str) -> None:
    axes.set(yscale="log", xlabel="position i", ylabel=label)
    if axes.get_ylim()[1] > 1e3 * SMALLEST:
        axes.set_ylim(bottom=max(axes.get_ylim()[0], SMALLEST))
    if axes.lines:
        axes.legend(fontsize="small")
