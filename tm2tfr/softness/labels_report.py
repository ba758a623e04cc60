"""The measurements of a labeller under softmax as text, CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from math import inf

from tm2tfr.errors import counted, visible
from tm2tfr.softness.labels import AtTemperature, Lead, SoftLabels
from tm2tfr.softness.needed import SAMPLED, Needed, local_exponent, needed_exponent
from tm2tfr.softness.report import number, report, temperature_text
from tm2tfr.softness.run import SoftRun
from tm2tfr.text.columns import aligned


def measured_report(found: SoftRun | SoftLabels, format: str = "text", *, everything: bool = False) -> str:
    """Return the measurements of what generates, or labels, in a format, see `report` and `labels_report`."""
    if isinstance(found, SoftRun):
        return report(found, format, everything=everything)
    return labels_report(found, format)


def labels_report(found: SoftLabels, format: str = "text") -> str:
    """Return `found` as ``text``, ``csv`` (a row for each temperature) or ``json`` (all of it)."""
    if format == "json":
        return json.dumps(found.as_dict(), ensure_ascii=False) + "\n"
    if format == "csv":
        rows, text = [_plain(row) for row in found.rows], io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()
    return "\n".join([*_head(found), "", *_table(found), *_growth(found.growth)]) + "\n"


def _plain(row: AtTemperature) -> dict[str, object]:
    position, output = row.first_wrong or (None, None)
    plain = asdict(row)
    del plain["first_wrong"]
    return plain | {"wrong_position": position, "wrong_output": output}


def _head(found: SoftLabels) -> Iterable[str]:
    yield f"{visible(found.program)} on {found.input!r}: dense, {found.dtype}, {counted(found.positions, 'position')}"
    holds = "hold" if found.holds else "do NOT hold"
    yield f"the gaps that are claimed, checked with average-hard attention at every position: {holds}"
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


def _table(found: SoftLabels) -> Iterable[str]:
    titles = ["τ", "elsewhere", "n·e^(-γ/τ)", "logits", "stream", "outputs"]
    cells = [
        [temperature_text(row.temperature), *map(number, (row.elsewhere, row.bound, row.logits, row.stream)), _said(row)]
        for row in found.rows
    ]
    yield from aligned([titles, *cells], {1, 2, 3, 4})


def _growth(found: Sequence[Needed]) -> Iterable[str]:
    if not found:
        return
    yield ""
    yield "1/τ needed, the same for all heads, where every output is right at every position of all words of n tokens, or"
    yield f"of {SAMPLED} sampled ones (at least this); beside it the local bound, the largest of all heads', and Theorem 26"
    titles = ["n", "words", "1/τ needed", "local bound", "times", "Theorem 26", "times"]
    yield from aligned([titles, *(_needed(at) for at in found)], set(range(7)))
    needed, local = needed_exponent(found), local_exponent(found)
    if needed is not None:
        proved = "" if local is None else f", like N^{local:.2f} by the local bounds"
        yield f"over these lengths 1/τ grows like N^{needed:.2f} as needed{proved}, where N counts all positions"


def _needed(at: Needed) -> list[str]:
    words = f"all {at.words:,}" if at.every else f"{at.words:,}"
    found = "none found" if at.found is None else f"≤ {1 / at.found:.3g}" if at.unbounded else number(1 / at.found)
    cells = [str(at.length), words, found]
    for proved in (at.local, at.theorem):
        times = at.times(proved)
        cells += ["-" if proved is None else number(1 / proved), "-" if times is None else f"{times:.3g}"]
    return cells


def _said(row: AtTemperature) -> str:
    if row.first_wrong is None:
        return f"all {row.outputs} right"
    position, name = row.first_wrong
    return f"{row.outputs - row.right} of {row.outputs} wrong, first {visible(name)} at position {position}"
