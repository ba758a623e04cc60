"""A measured soft run as a picture, by matplotlib."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tm2tfr.base.errors import OutputError, required, visible
from tm2tfr.base.files import write_whole
from tm2tfr.lab.softness.measure import HeadError
from tm2tfr.lab.softness.run import SoftRun

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


def _figures(path: Path) -> Any:
    return required(f"{path}: a plot needs matplotlib", ["matplotlib.figure"], "plot", error=OutputError)[0]


def plot(run: SoftRun, path: str | Path) -> None:
    """Draw errors and bounds by position, and 1/τ by length, into a .png, .svg or .pdf file.

    Raises:
        OutputError: for another extension, if matplotlib is missing, or if the file cannot be written.
    """

    def draw(figure: Any) -> None:
        (read, latest), (layers, growth) = figure.subplots(2, 2)
        title = f"{visible(run.machine)} on {run.input!r}, softmax at temperature {run.softness.temperature:.4g}"
        figure.suptitle(title.replace("$", r"\$"))
        _weights(run, read, 3)
        _weights(run, latest, 4)
        _layers(run, layers)
        _growth(run, growth)

    drawn(path, draw, size=(12, 8.5))


def drawn(path: str | Path, draw: Callable[[Any], None], *, size: tuple[float, float]) -> None:
    """Write what `draw` draws into a matplotlib figure of that size, in inches, to a .png, .svg or .pdf file.

    Raises:
        OutputError: for another extension, if matplotlib is missing, or if the file cannot be written.
    """
    path = checked(Path(path))
    figure: Any = _figures(path).Figure(figsize=size, layout="constrained")
    draw(figure)
    metadata = {"Date": None} if path.suffix == ".svg" else {"CreationDate": None} if path.suffix == ".pdf" else None
    write_whole(path, lambda file: figure.savefig(file, format=path.suffix[1:], metadata=metadata))


def _weights(run: SoftRun, axes: Any, layer: int) -> None:
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


def _layers(run: SoftRun, axes: Any) -> None:
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


def _growth(run: SoftRun, axes: Any) -> None:
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


def _by_position(axes: Any, label: str) -> None:
    axes.set(yscale="log", xlabel="position i", ylabel=label)
    if axes.get_ylim()[1] > 1e3 * SMALLEST:
        axes.set_ylim(bottom=max(axes.get_ylim()[0], SMALLEST))
    if axes.lines:
        axes.legend(fontsize="small")
