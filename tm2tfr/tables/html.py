"""A trace's table as HTML, and its summary for notebooks. A module of its own: a run in a terminal needs no entities."""

from __future__ import annotations

from html import escape

from tm2tfr.runs.comparison import Trace
from tm2tfr.tables.sheet import MARK, Gap, Line, Sheet, Stretch, title

MOST_ROWS, WINDOW = 40, 24
"""The most rows, and the most cells of the tape in one, that `summary` shows."""
STYLE = """<style>
.tm2tfr { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.tm2tfr caption { text-align: left; white-space: nowrap; }
.tm2tfr :is(th, td) { padding: 0.1em 0.7em; text-align: left; white-space: nowrap; }
.tm2tfr thead th { border-bottom: 1px solid; }
.tm2tfr td:nth-child(2) { font-family: monospace; }
</style>
"""


def summary(trace: Trace, *, titled: bool = True) -> str:
    """Return the table, with rows left out if there are many, the verdict, and the result of the comparison.

    Args:
        titled: whether the table has a caption; a page with a heading of its own needs none.
    """
    words = [] if any(column.kind == "output" for column in trace.columns) else [_verdict(trace)]
    words.append(f"{trace.engine} engine, {trace.dtype}, {trace.tokens:,} positions")
    if trace.by_chance and trace.divergence is not None:
        words.append(f"a sampled run, which departs by chance: {trace.divergence}")
    elif trace.divergence is not None:
        words.append(f"✗ check failed: {trace.divergence}")
    elif trace.checked:
        words.append(f"✓ {trace.compared:,} cells compared with the {trace.reference}, all agree")
    else:
        words.append("not compared with a simulator")
    table = (
        STYLE + html(Sheet.of(trace, window=WINDOW, elide=MOST_ROWS), title(trace) if titled else None)
        if trace.rows
        else ""
    )
    return table + "".join(f"<p>{escape(line)}</p>\n" for line in words)


def _verdict(trace: Trace) -> str:
    return f"{trace.answer}, T = {trace.T:,}" if trace.T is not None else "no verdict within the limit"


def html(sheet: Sheet, caption: str | None) -> str:
    """Return the table; the head's cell is underlined, a wrong one reads ``found ≠ expected`` and is marked."""
    header = "".join(f'<th scope="col">{escape(c)}</th>' for c in sheet.header)
    rows = "\n".join(f"    <tr{_row(sheet, line)}</tr>" for line in sheet.lines)
    above = "" if caption is None else f"  <caption>{escape(caption)}</caption>\n"
    return f"""<table class="tm2tfr">
{above}  <thead>
    <tr>{header}</tr>
  </thead>
  <tbody>
{rows}
  </tbody>
</table>
"""


def _row(sheet: Sheet, line: Line | Gap) -> str:
    """Return the text between ``<tr`` and ``</tr>``."""
    if isinstance(line, Gap):
        return f'><td colspan="{len(sheet.header)}">{line}</td>'
    first, *rest = sheet.with_tape([_cell(line, c.name) for c in sheet.columns], _tape(line.tape))
    opening = f' title="the first difference"><th scope="row">{MARK} ' if line.differs else '><th scope="row">'
    return f"{opening}{first}</th>" + "".join(f"<td>{cell}</td>" for cell in rest)


def _cell(line: Line, column: str) -> str:
    found = escape(line.cells[column])
    return f"<mark>{found} ≠ {escape(line.wrong[column])}</mark>" if column in line.wrong else found


def _tape(tape: Stretch | None) -> str:
    if tape is None:
        return ""
    cells = [f"<u>{escape(a)}</u>" if k == tape.head else escape(a) for k, a in enumerate(tape.cells)]
    return f"{'…' if tape.cut else ''}{''.join(cells)}…"
