"""A trace as the chapter's table, for people and for programs.

``csv``, ``json`` and ``jsonl`` contain the cells as they are; ``text``, ``markdown``, ``latex`` and ``html`` mark each cell
that differs from the simulator's: ``found≠expected``, and ▸ in the first such row. All but ``json`` and ``jsonl`` show the
tape of a machine as well: as the second column, and in ``csv`` as the last one, so that the others keep their places.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterable
from fractions import Fraction
from pathlib import PurePath

from tm2tfr.base.choices import TABLES as FORMATS
from tm2tfr.base.errors import OutputError, did_you_mean, visible
from tm2tfr.base.text.shown import ESCAPES, line, widths
from tm2tfr.contract.source import BOTTOM
from tm2tfr.runs.comparison import Trace
from tm2tfr.tables.sheet import MARK, TAPE, Gap, Line, Sheet, Stretch, tapes, title

TERMINAL_WINDOW, WINDOW = 24, 40
"""The most cells of the tape that a row shows, on a terminal (where a cell is two columns) and elsewhere."""

_EXTENSIONS = {
    ".txt": "text",
    ".md": "markdown",
    ".markdown": "markdown",
    ".tex": "latex",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".html": "html",
    ".htm": "html",
}


_DATA = ("csv", "json", "jsonl")
"""The formats for programs."""


def table(
    trace: Trace, format: str, *, caption: str | None = None, elide: int | None = None, description: bool = False
) -> str:
    """Return the rows of a trace as a table in one of `FORMATS`, with a line break at its end.

    Args:
        caption: the text above the table; csv, json and jsonl have no place for it.
        elide: in a table for people, show at most this many rows, always including those around the first difference.
        description: in a table for people, also show the rows of a machine's description in the prompt; by default one
            line gives their number. csv, json and jsonl always have them.

    Raises:
        OutputError: for an unknown format, for `caption` or `elide` in a format that has no place for it, or if `trace` is
            not a trace.
    """
    if not isinstance(trace, Trace):
        what = f"a table is of a trace, not of {trace!r} ({type(trace).__name__})"
        given = f"...), {format!r}" if format in FORMATS else f"..., {format!r})"
        raise OutputError(f"{what}: use tm2tfr.table(tm2tfr.check({given})")
    if format not in FORMATS:
        known = ", ".join(FORMATS)
        raise OutputError(f"unknown table format {format!r}{did_you_mean(str(format), FORMATS)}: use one of {known}")
    if elide is not None and (not isinstance(elide, int) or elide < 0):
        raise OutputError(f"elide must be a number of rows, not {elide!r}: use 0 or more, or None")
    if format in _DATA and (caption is not None or elide is not None):
        what, remedy = ("captions", "caption") if caption is not None else ("rows left out", "elide")
        raise OutputError(f"{format} is for programs and has no place for {what}: omit {remedy}")
    if format == "csv":
        return _csv(trace)
    if format == "json":
        return _json(trace)
    if format == "jsonl":
        return "".join(f"{row}\n" for row in _json_rows(trace))
    window = TERMINAL_WINDOW if format == "text" else WINDOW
    sheet = Sheet.of(trace, window=window, elide=elide, description=description)
    if format == "html":
        from tm2tfr.tables.html import html  # noqa: PLC0415  (a terminal needs neither this nor LaTeX)

        return html(sheet, caption or title(trace))
    if format == "latex":
        from tm2tfr.tables.latex import latex  # noqa: PLC0415

        return latex(sheet, caption)
    return (_text if format == "text" else _markdown)(sheet, caption)


def format_for(path: str | PurePath) -> str | None:
    """Return the format that a file's extension stands for, or None."""
    return _EXTENSIONS.get(PurePath(path).suffix.lower())


def formulas(names: Iterable[str]) -> list[str]:
    """Return the names that a spreadsheet takes for formulas: cells of CSV are exact, whatever they begin with.

    A symbol is one sign and harmless, and so are moves, ``-1`` and ``+1``; tokens begin with a bracket.
    """
    return [name for name in names if len(name) > 1 and name[0] in "=+-@\t\r"]


# ── for programs ────────────────────────────────────────────────────────────────────────────────────────────
def _csv(trace: Trace) -> str:
    import csv  # noqa: PLC0415

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*(c.name for c in trace.columns), *([TAPE] if trace.has_tape else [])])
    for row, stretch in zip(trace.rows, tapes(trace, window=WINDOW), strict=True):
        tape = [] if not trace.has_tape else ["" if stretch is None else _text_tape(stretch, room=stretch.cut).strip()]
        cells = (v if c.kind == "probability" else c.text(v) for c, v in zip(trace.columns, row, strict=True))
        writer.writerow([*cells, *tape])
    return out.getvalue()


def _json(trace: Trace) -> str:
    """Return the summary and the rows as one object, one row per line."""
    whole = {
        **{name: _jsonable(value) for name, value in trace.as_dict().items()},
        "columns": [c.name for c in trace.columns],
        "rows": [],
    }
    rows = ",\n    ".join(_json_rows(trace))
    text = json.dumps(whole, ensure_ascii=False, indent=2)
    return text.removesuffix("[]\n}") + (f"[\n    {rows}\n  ]\n}}\n" if rows else "[]\n}\n")


def _json_rows(trace: Trace) -> Iterable[str]:
    each = (
        {c.name: plain(value, whole=c.whole) for c, value in zip(trace.columns, row, strict=True)} for row in trace.rows
    )
    return (json.dumps(_jsonable(cells), ensure_ascii=False) for cells in each)


def plain(value: object, *, whole: bool) -> object:
    """Return a cell as JSON has it: of a column of whole numbers a label is its number, and ⊥ is nothing."""
    if not whole or not isinstance(value, str):
        return value
    if value == BOTTOM:
        return None
    return int(value) if value.removeprefix("-").isdecimal() else value  # weights may hold anything, as 0.5·1 + 0.5·2


def _jsonable(value: object) -> object:
    """Return `value` without anything that JSON cannot express: infinities, NaN and fractions become text."""
    if isinstance(value, dict):
        return {k: _jsonable(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(v) for v in value]
    odd = isinstance(value, Fraction) or (isinstance(value, float) and not math.isfinite(value))
    return str(value) if odd else value


# ── for people ──────────────────────────────────────────────────────────────────────────────────────────────
def _text(sheet: Sheet, caption: str | None) -> str:
    """Return columns aligned by the width of each character on a terminal."""
    found = list(sheet.lines)
    room = any(isinstance(each, Line) and each.tape and each.tape.cut for each in found)
    table = [each if isinstance(each, Gap) else _text_cells(sheet, each, room=room) for each in found]
    rows = [sheet.header, *(row for row in table if not isinstance(row, Gap))]
    wide, numeric = widths(rows), sheet.with_tape([c.numeric for c in sheet.columns], False)
    right = {n for n, number in enumerate(numeric) if number}
    rule = "─" * (sum(wide) + 2 * (len(wide) - 1))
    body = (f"  {row}" if isinstance(row, Gap) else line(row, wide, right) for row in table)
    return "\n".join([*([caption] if caption else []), line(rows[0], wide, right), rule, *body, ""])


def _text_cells(sheet: Sheet, line: Line, *, room: bool) -> list[str]:
    first, *rest = (f"!{v}≠{line.wrong[c]}" if c in line.wrong else v for c, v in line.cells.items())
    tape = "" if line.tape is None else _text_tape(line.tape, room=room)
    return sheet.with_tape([f"{MARK} {first}" if line.differs else first, *rest], tape)


def _text_tape(tape: Stretch, *, room: bool) -> str:
    """Return the cells with the head's in brackets: `` _[1]_ …``."""
    around = [" "] * (len(tape.cells) + 1)
    if tape.head is not None:
        around[tape.head : tape.head + 2] = "[", "]"
    cells = "".join(f"{sign}{cell}" for sign, cell in zip(around, [*tape.cells, "…"], strict=True))
    return (("…" if tape.cut else " ") if room else "") + cells


def _markdown(sheet: Sheet, caption: str | None) -> str:
    """Return a table in GitHub's Markdown."""
    above = [_marked_down(caption), ""] if caption else []
    header = sheet.with_tape([_marked_down(visible(c.name)) for c in sheet.columns], TAPE)
    bars = sheet.with_tape(["---:" if c.numeric else ":---" for c in sheet.columns], ":---")
    rows = (_markdown_row(sheet, line) for line in sheet.lines)
    return "\n".join(f"{line}" for line in (*above, _bars(header), _bars(bars), *rows, ""))


def _markdown_row(sheet: Sheet, line: Line | Gap) -> str:
    if isinstance(line, Gap):
        sign, _, count = str(line).partition(" ")
        return _bars([sign, count, *[""] * (len(sheet.header) - 2)])
    cells = {c: _marked_down(v) for c, v in line.cells.items()}
    cells |= {c: f"**{cells[c]}≠{_marked_down(v)}**" for c, v in line.wrong.items()}
    first, *rest = cells.values()
    first = f"{MARK} {first}" if line.differs else first
    return _bars(sheet.with_tape([first, *rest], _markdown_tape(line.tape)))


def _markdown_tape(tape: Stretch | None) -> str:
    if tape is None:
        return ""
    cells = [f"**{_marked_down(a)}**" if k == tape.head else _marked_down(a) for k, a in enumerate(tape.cells)]
    return " ".join([*(["…"] if tape.cut else []), *cells, "…"])  # between spaces, ** is always recognised


def _marked_down(text: str) -> str:
    return "".join(ESCAPES.get(sign, sign) for sign in text)


def _bars(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
