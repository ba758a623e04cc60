"""A trace's table as HTML: one `<table>`, to be put into any page."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from tm2tfr.export.sheet import HEADER, MARK, Gap, Line, Stretch
from tm2tfr.trace.rows import COLUMNS


def html(sheet: Iterable[Line | Gap], caption: str) -> str:
    """Return the table; the head's cell is underlined, a wrong one reads ``found ≠ expected`` and is marked."""
    header = "".join(f'<th scope="col">{c}</th>' for c in HEADER)
    rows = "\n".join(f"    <tr{_row(line)}</tr>" for line in sheet)
    return f"""<table class="tm2tfr">
  <caption>{escape(caption)}</caption>
  <thead>
    <tr>{header}</tr>
  </thead>
  <tbody>
{rows}
  </tbody>
</table>
"""


def _row(line: Line | Gap) -> str:
    """Return what stands between ``<tr`` and ``</tr>``."""
    if isinstance(line, Gap):
        return f'><td colspan="{len(HEADER)}">{line}</td>'
    first, *rest = (_cell(line, c) for c in COLUMNS)
    opening = f' title="the first difference"><th scope="row">{MARK} ' if line.differs else '><th scope="row">'
    return f"{opening}{first}</th>" + "".join(f"<td>{cell}</td>" for cell in (_tape(line.tape), *rest))


def _cell(line: Line, column: str) -> str:
    found = escape(line.cells[column])
    return f"<mark>{found} ≠ {escape(line.wrong[column])}</mark>" if column in line.wrong else found


def _tape(tape: Stretch | None) -> str:
    if tape is None:
        return ""
    cells = [f"<u>{escape(a)}</u>" if k == tape.head else escape(a) for k, a in enumerate(tape.cells)]
    return f"{'…' if tape.cut else ''}{''.join(cells)}…"
