"""The figure: the measurements of each case, by the length of the words."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tm2tfr.base.text.shown import aligned, code
from tm2tfr.base.text.tex import needs, text
from tm2tfr.contract.blocks import ManyLabels
from tm2tfr.lab.softness.report import drawn, number
from tm2tfr.lab.softness.temperature import EVERY, SAMPLED, Needed, exponent, growth, growth_exponent, local_exponent
from tm2tfr.transformer.soft import any_length, largest_entry
from tm2tfr.transformer.weights import Decoder

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure


# ── The cases of Figure 1: a formula or a program for each logic, ours and as printed, and the paper's statements.
#
# The figure gives each logic two possibilities: a temperature that falls with the length and bounded position embeddings,
# or a temperature of 1 and position embeddings that grow. The theorems for future-masked transformers have others.
class Printed(NamedTuple):
    """The paper's statement: its place, τ as a function of the length, and the largest position embedding."""

    source: str
    temperature: str
    embedding: str


@dataclass(frozen=True, kw_only=True)
class MeasuredOn:
    """One row.

    Args:
        section, logic: those of the paper.
        subject: a formula, or the name of a shipped program.
        alphabet: the letters of a formula's words; empty for a program.
        weights: which weights, in a few words; `options`: those that they are compiled with.
        printed: the paper's statement about them.
    """

    section: str
    logic: str
    subject: str
    alphabet: str = ""
    weights: str = "ours"
    options: Mapping[str, object] = field(default_factory=dict)
    printed: Printed


SINCE, UNTIL = "(Q[a] | Q[b]) since Q[b]", "(Q[a] | Q[b]) until Q[b]"
PAST = "prev ((prev Q[a]) S (Q[b] & !prev Q[c]))"
BOTH = "next ((prev Q[a]) S (Q[b] & !next Q[c]))"
COMPARED = "2*count(Q[a]) <= 3*count(Q[b])"
RIGHT = "2*count(Q[a]) <= 3*count_right(Q[b])"
EVERYTHING = "next (Q[a] U odd(count_right(Q[b])))"
PAST_COUNTS = "prev (Q[a] S odd(count(Q[b])))"
_KINDS: Mapping[str, Mapping[str, object]] = {
    "ours": {},
    "no temperature": {"steep": True},
    "sign head": {"compare": "sign"},
    "a": {"variant": "paper"},
    "b": {"variant": "paper", "steep": True},
}
"""Options by the weights; those as printed by the case of their theorem."""
_DECODERS = ("13", "16", "18", "21", "23")
"""The theorems about future-masked transformers."""
_COROLLARIES = ("17", "18", "22", "23")
_LOGICS = {
    "12": ("4.1", "TL[⊖, ⊕]"),
    "13": ("4.1", "TL[⊖]"),
    "15": ("4.2", "TL[since, until]"),
    "16": ("4.2", "TL[since]"),
    "17": ("4.3", "LTL"),
    "18": ("4.3", "past LTL"),
    "20": ("4.4", "TL[#←, #→, +, Mon]"),
    "21": ("4.4", "TL[#←, +, Mon]"),
    "22": ("4.5", "LTL[#←, #→, +, Mon]"),
    "23": ("4.5", "past LTL[#←, +, Mon]"),
}
_THEOREM_26 = ("Theorem 26", "γ/log(n·x/γ)", "any")


def _case(theorem: str, subject: str, weights: str, temperature: str, embedding: str) -> MeasuredOn:
    """Return the row of a theorem, such as ``12a``: of its case (a) or (b) as printed, or of other weights beside it."""
    number = theorem.rstrip("ab")
    section, logic = _LOGICS[number]
    printed = weights == "as printed"
    kind = (theorem[-1] if theorem[-1] in "ab" else "a") if printed else weights
    encoder = {"mask": "none"} if number not in _DECODERS and (printed or weights == "no temperature") else {}
    return MeasuredOn(
        section=section,
        logic=logic,
        subject=subject,
        alphabet="abc" if "c" in re.findall(r"Q\[(.)\]", subject) or number in ("15", "16") else "ab",
        weights=weights,
        options={**_KINDS[kind], **encoder},
        printed=Printed(f"{'Corollary' if number in _COROLLARIES else 'Theorem'} {theorem}", temperature, embedding),
    )


CASES: tuple[MeasuredOn, ...] = (
    *(
        _case(*each)
        for each in (
            ("12a", "prev Q[a]", "as printed", "1/n", "1"),
            ("12a", "next Q[a]", "as printed", "1/n", "1"),
            ("12b", "prev Q[a]", "as printed", "1", "n"),
            ("12b", "next Q[a]", "as printed", "1", "n"),
            ("12b", "prev Q[a]", "ours", "1", "n"),
            ("12b", "next Q[a]", "ours", "1", "n"),
            ("13a", "prev Q[a]", "as printed", "1/n²", "1"),
            ("13b", "prev Q[a]", "as printed", "1", "n²"),
            ("15a", SINCE, "as printed", "1/n", "1"),
            ("15a", UNTIL, "as printed", "1/n", "1"),
            ("15a", SINCE, "ours", "1/n", "1"),
            ("15a", UNTIL, "ours", "1/n", "1"),
            ("15b", SINCE, "as printed", "1", "n"),
            ("15b", UNTIL, "as printed", "1", "n"),
            ("15b", UNTIL, "no temperature", "1", "n"),
            ("16a", SINCE, "as printed", "1/n²", "1"),
            ("16b", SINCE, "as printed", "1", "n²"),
            ("16b", SINCE, "no temperature", "1", "n²"),
            ("17a", BOTH, "as printed", "1/n", "1"),
            ("17b", BOTH, "as printed", "1", "n"),
            ("18a", PAST, "as printed", "1/n²", "1"),
            ("18b", PAST, "as printed", "1", "n²"),
            ("18b", PAST, "no temperature", "1", "n²"),
            ("20a", RIGHT, "as printed", "1/n", "n²"),
            ("20b", RIGHT, "as printed", "1", "n³"),
            ("20a", RIGHT, "ours", "1/n", "n²"),
            ("21", "odd(count(Q[a]))", "as printed", "1/n", "n²"),
            ("21", COMPARED, "as printed", "1/n", "n²"),
            ("21", COMPARED, "sign head", "1/n", "n²"),
            ("22a", EVERYTHING, "as printed", "1/n", "n²"),
            ("22b", EVERYTHING, "as printed", "1", "n³"),
            ("23", PAST_COUNTS, "as printed", "1/n²", "n²"),
        )
    ),
    *(
        MeasuredOn(section="6", logic=logic, subject=subject, printed=Printed(*_THEOREM_26))
        for logic, subject in (
            ("B-RASP", "hop-1"),
            ("B-RASP", "hop-2"),
            ("B-RASP", "hop-3"),
            ("S-RASP", "dyck-1-by-depth"),
            ("S-RASP", "dyck-2-by-depth"),
        )
    ),
)
LENGTHS = (8, 16, 32, 64)
"""The lengths of words that exponents are over."""
_FAR = (10**4, 10**8)
"""Between these numbers of positions the exponent of the largest entry is taken: there the largest feature decides."""


@dataclass(frozen=True, kw_only=True)
class FigureRow:
    """The measurements of a case.

    Args:
        entries: p, where the largest entry before the first layer grows like n^p with the number of positions.
        features: the position features.
        any_length: whether the local bounds are the same for any length.
        growth: the temperatures by length.
    """

    case: MeasuredOn
    layers: int
    heads: int
    entries: float
    features: tuple[str, ...]
    any_length: bool
    growth: tuple[Needed, ...]

    @property
    def needed(self) -> float | None:
        """The exponent of 1/τ, as needed, in the number of positions."""
        return growth_exponent(self.growth)

    @property
    def local(self) -> float | None:
        """The temperature of the local bounds."""
        return local_exponent(self.growth)

    @property
    def theorem(self) -> float | None:
        """The temperature of Theorem 26."""
        return exponent([(at.positions, at.theorem) for at in self.growth if at.theorem is not None])


@dataclass(frozen=True)
class Figure:
    """The figure, a row for each case."""

    rows: tuple[FigureRow, ...]

    def as_dict(self) -> dict[str, object]:
        """Return all of it as plain data."""
        return {
            "rows": [asdict(row) | {"needed": row.needed, "local": row.local, "theorem": row.theorem} for row in self.rows]
        }

    def json(self) -> str:
        """Return all of it as JSON, on one line."""
        return json.dumps(self.as_dict(), ensure_ascii=False) + "\n"


def row_of(case: MeasuredOn, decoder: Decoder, labels: ManyLabels, lengths: Sequence[int] = LENGTHS) -> FigureRow:
    """Return the measurements of the weights of a case; labels: the reference's labels.

    Raises:
        EngineError: if the dense engine cannot run the weights.
    """
    near, far = (largest_entry(decoder, n) for n in _FAR)
    return FigureRow(
        case=case,
        layers=len(decoder.layers),
        heads=sum(len(layer.heads) for layer in decoder.layers),
        entries=math.log(far / near) / math.log(_FAR[1] / _FAR[0]),
        features=decoder.features,
        any_length=any_length(decoder),
        growth=growth(decoder, labels, lengths),
    )


# ── The figure as text, Markdown or LaTeX.
TITLES = ("§", "logic", "measured on", "weights", "printed τ", "printed PE", "τ needed", "τ proved", "PE", "1/τ at n=")
_POWER = re.compile(r"N\^(-?[0-9.]+)")


def report(figure: Figure, format: str = "text") -> str:
    """Return the figure as ``text``, ``markdown``, ``latex`` or ``json``."""
    if format == "json":
        return figure.json()
    lengths = sorted({at.length for row in figure.rows for at in row.growth})
    titles = [*TITLES[:-1], f"{TITLES[-1]}{lengths[-1]}"]
    rows = [_cells(row) for row in figure.rows]
    about = _about(lengths)
    if format == "latex":
        return _latex([titles, *rows])
    if format == "markdown":
        for cells in rows:
            cells[2] = code(cells[2]).replace("|", r"\|")
        lines = [" | ".join(each) for each in (titles, ["---"] * len(titles), *rows)]
        return "\n".join([*(f"| {line} |" for line in lines), "", " ".join(about), ""])
    return "\n".join([*aligned([titles, *rows]), "", *about, ""])


def _cells(row: FigureRow) -> list[str]:
    case = row.case
    return [
        case.section,
        case.logic,
        case.subject,
        f"{case.weights}, {case.printed.source.partition(' ')[2]}" if case.weights == "as printed" else case.weights,
        case.printed.temperature,
        case.printed.embedding,
        _power(row.needed, -1),
        _proved(row),
        _power(row.entries, 1),
        _last(row),
    ]


def _power(exponent: float | None, sign: int) -> str:
    """Return how a number grows: ``N^-1.00``; 1 if it does not."""
    if exponent is None:
        return "-"
    return "1" if abs(exponent) < 0.005 else f"N^{sign * exponent:.2f}"


def _proved(row: FigureRow) -> str:
    """Return how the temperature of the local bounds falls, or of Theorem 26 where there are no local bounds."""
    if any(at.local is not None for at in row.growth) or row.theorem is None:
        return _power(row.local, -1)
    return f"{_power(row.theorem, -1)} (26)"


def _last(row: FigureRow) -> str:
    """Return 1/τ at the greatest length, as needed and as proved: ``128 ≤ 180``."""
    at = row.growth[-1]
    found = "?" if at.found is None else number(1 / at.found)
    proved = at.local if at.local is not None else at.theorem
    return found if proved is None else f"{found} ≤ {number(1 / proved)}"


def _about(lengths: Sequence[int]) -> list[str]:
    *first, last = map(str, lengths)
    listed = f"{', '.join(first)} and {last}" if first else last
    return [
        f"τ needed: the largest temperature, one for all heads, at which every node is right, on words of {listed} tokens:",
        f"all if there are at most {EVERY:,}, otherwise {SAMPLED} sampled ones, so that 1/τ needed is at least as shown;",
        "τ proved: by the local bounds, or (26) by Theorem 26 where there are none; PE: the largest position feature;",
        "N: the number of positions, with BOS and EOS.",
    ]


def _latex(rows: Sequence[Sequence[str]]) -> str:
    titles, *lines = (" & ".join(map(_tex_cell, row)) + r" \\" for row in rows)
    begin = [
        needs("", "booktabs"),
        rf"\begin{{tabular}}{{{'l' * len(TITLES)}}}",
    ]
    return "\n".join([*begin, r"\toprule", titles, r"\midrule", *lines, r"\bottomrule", r"\end{tabular}", ""])


def _tex_cell(cell: str) -> str:
    """Return a cell with its powers as formulas."""
    parts = _POWER.split(cell)
    return "".join(f"$N^{{{part}}}$" if n % 2 else text(part) for n, part in enumerate(parts))


# ── The figure as a picture: 1/τ by the number of positions, as needed and as proved.
COLUMNS = 3


def plot(figure: Figure, path: str | Path) -> None:
    """Draw 1/τ over the number of positions, a panel for each section, into a .png, .svg or .pdf file.

    Raises:
        OutputError: for another extension, if matplotlib is missing, or if the file cannot be written.
    """
    sections: dict[str, list[FigureRow]] = {}
    for row in figure.rows:
        sections.setdefault(row.case.section, []).append(row)
    lines = -(-len(sections) // COLUMNS)

    def draw(picture: MatplotlibFigure) -> None:
        axes = list(picture.subplots(lines, COLUMNS, squeeze=False).flat)
        for (section, rows), panel in zip(sections.items(), axes, strict=False):
            _panel(panel, section, rows)
        for panel in axes[len(sections) :]:
            panel.set_axis_off()

    drawn(path, draw, size=(5 * COLUMNS, 5.4 * lines))


def _panel(axes: Axes, section: str, rows: list[FigureRow]) -> None:
    axes.set_title(f"§{section}")
    for k, row in enumerate(rows):
        found = [(at.positions, 1 / at.found) for at in row.growth if at.found is not None and not at.unbounded]
        local = [(at.positions, 1 / at.local) for at in row.growth if at.local is not None]
        power = "" if row.needed is None else f": N^{row.needed:.2f}"
        named = f"{row.case.subject}, {row.case.weights}{power}".replace("$", r"\$")
        axes.plot([n for n, _ in found], [value for _, value in found], "o-", color=f"C{k}", label=named)
        axes.plot([n for n, _ in local], [value for _, value in local], "--", color=f"C{k}")
    axes.set(xscale="log", yscale="log", xlabel="positions N", ylabel="1/τ (dashed: local bound)")
    positions = sorted({at.positions for row in rows for at in row.growth})
    axes.set_xticks(positions, [str(n) for n in positions], rotation=90, fontsize="x-small")
    axes.set_xticks([], minor=True)
    low, high = axes.get_ylim()
    axes.set_ylim(low / 2, high * 2)  # so that what hardly grows looks like it
    axes.legend(fontsize="x-small", loc="upper center", bbox_to_anchor=(0.5, -0.22))
