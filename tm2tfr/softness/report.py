"""A measured soft run as text, CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from math import inf, log2

from tm2tfr.errors import counted, visible
from tm2tfr.softness.measure import HeadError, LayerError, Softness
from tm2tfr.softness.run import SoftRun
from tm2tfr.softness.temperature import Warmest, exponent
from tm2tfr.text.columns import aligned
from tm2tfr.transformer.claims import DIVIDED, divisor

SHOWN = 12
"""How many positions a table shows, unless all are requested."""


def report(run: SoftRun, format: str = "text", *, everything: bool = False) -> str:
    """Return `run` as ``text``, ``csv`` (a row for each position, layer and head) or ``json`` (all of it)."""
    if format == "json":
        return json.dumps(run.as_dict(), ensure_ascii=False) + "\n"
    if format == "csv":
        rows, text = list(run.rows()), io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()
    return "\n".join([*_head(run), "", *_tables(run.softness, everything), *_growth(run)]) + "\n"


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
    """Return what the gap of `head` is divided by at its position, as it is claimed."""
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
    cells = [
        [f"{w.positions:,}", *_found(w), _slope(before, w), number(w.guaranteed), number(1 / w.guaranteed), _times(w)]
        for before, w in zip((None, *run.growth), run.growth, strict=False)
    ]
    yield from _aligned(["n", "found", "1/found", "slope", "Theorem 26", "1/τ", "times"], cells)
    found, due = run.found_exponent, run.guaranteed_exponent
    if found is not None and due is not None:
        yield f"over these lengths 1/τ grows like n^{found:.2f} as found, like n^{due:.2f} by the theorem: {_order(run)}"
    else:
        yield f"too few lengths for an exponent of 1/τ in n; by the theorem it is {_order(run)}"


def _order(run: SoftRun) -> str:
    """Return how 1/τ grows with n by the theorem: with 1/γ(n), which may be constant, and a logarithm."""
    constant = all(head.over == "constant" for head in run.softness.heads if head.claimed is not None)
    return "O(log n)" if constant else "O(n·log n)"


def _found(at: Warmest) -> tuple[str, str]:
    if at.found is None:
        return "none", "-"
    if at.unbounded:
        return f"≥ {at.found:g}", "-"
    return number(at.found), number(1 / at.found)


def _slope(before: Warmest | None, at: Warmest) -> str:
    """Return the exponent of 1/τ in n from one length to the next."""
    points = [(w.positions, w.found) for w in (before, at) if w and w.found is not None and not w.unbounded]
    found = exponent(points)
    return "-" if found is None else f"{found:.2f}"


def _times(at: Warmest) -> str:
    return "-" if at.found is None or at.unbounded else f"{at.found / at.guaranteed:,.0f}"


def _chosen(n: int, most: int) -> list[int]:
    """Return at most `most` of the positions 0 … n - 1, evenly spaced, including the last."""
    if n <= most:
        return list(range(n))
    return [round((k + 1) * n / most) - 1 for k in range(most)]


def _aligned(titles: Sequence[str], cells: Sequence[Sequence[str]]) -> Iterable[str]:
    return aligned([titles, *cells], {n for n, title in enumerate(titles) if title != "worst head"})


def number(value: float | None) -> str:
    """Return three digits, or ``-`` for None: the premise of a lemma fails."""
    if value is None:
        return "-"
    return "0" if value == 0 else f"{value:.3g}" if 1e-3 <= value < 1e6 else f"{value:.2e}"


def temperature_text(value: float) -> str:
    """Return a temperature, as a power of two if it is one."""
    power = log2(value)
    return f"2^{power:.0f} = {value:.3g}" if power.is_integer() else f"{value:.6g}"
