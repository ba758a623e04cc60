"""The page itself: one self-contained HTML file, which uses no network."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from tm2tfr.base.files import write_text
from tm2tfr.runs.comparison import Trace
from tm2tfr.web.explorer.document import document, page_of
from tm2tfr.web.explorer.record import Recording

HEIGHT = 820
"""The height of the page in a notebook's output cell, in pixels."""


@dataclass(frozen=True)
class Explorer:
    """A finished page. A notebook displays it in a frame that may run its script and do nothing else.

    Args:
        html: the whole page.
        traces: the run that it shows, and the second one if there is one.
    """

    html: str = field(repr=False)
    traces: tuple[Trace, ...]

    def save(self, path: str | Path) -> None:
        """Write the page to `path`, whole or not at all.

        Raises:
            OutputError: if the file cannot be written.
        """
        write_text(path, self.html)

    def _repr_html_(self) -> str:
        style = f"width:100%;height:{HEIGHT}px;border:0"
        return f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts" style="{style}" title="tm2tfr"></iframe>'


def explorer(program: Any, recordings: Sequence[Recording], *, drawn: bool = True) -> Explorer:
    """Return the page that shows `recordings`, one or two runs of the same program on the same input.

    Args:
        program: what was run; None: nothing is known of it.
        drawn: see `document`.
    """
    page = page_of(program)
    data, columns = document(page, recordings, drawn=drawn)
    draws = "dot" in (data["machine"] or data["circuit"] or {}).get("graph", {})
    parts = {
        "title": escape(data["title"]),
        "name": escape(recordings[0].trace.machine),
        "input": escape(data["runs"][0]["input"] or "(empty)"),
        "about": escape(page.about),
        "style": asset("explorer.css"),
        "data": embedded(data),
        "columns": columns,
        "viz": f"<script>\n{asset('viz.js')}</script>" if draws else "",
        "script": asset("explorer.js"),
    }
    html = asset("page.html")
    for name, text in parts.items():
        before, _, after = html.partition(f"<!--{name}-->")
        html = f"{before}{text}{after}"
    return Explorer(html, tuple(recording.trace for recording in recordings))


def asset(name: str) -> str:
    """Return the text of a part of the pages: a script, a style sheet, the page around them."""
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def embedded(data: Any) -> str:
    """Return `data` as JSON that no text in it can break out of a ``<script>`` with."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
