"""One page with the weights of a universal decoder and an editor: any machine that is written there runs in these weights.

The weights are in the page once, with a sign in the place of each name of a state or a symbol, which the page replaces by
the machine's. No machine runs here: `explorer/src/anymachine` reads, runs and compares it.
"""

from __future__ import annotations

import json
from html import escape

from tm2tfr.contract.shown import Standalone
from tm2tfr.web.explorer.document import MOST_STEPS, Explorer, asset, document, embedded
from tm2tfr.web.explorer.record import Recording
from tm2tfr.web.explorer.weights_data import PackedColumns

TITLE = "Run your machine in one transformer"


def standalone(found: Standalone, recording: Recording, word: str | None, *, max_steps: int) -> Explorer:
    """Return the page.

    Args:
        recording: a run of the program with signs in the places of names, of any length.
        word: the input that the page opens with; None: the program's own.
        max_steps: the number of steps that it opens with.
    """
    columns = PackedColumns()
    recorded, _ = document(found.program, [recording], drawn=False, columns=columns)
    signed = {"run": recorded["runs"][0], "model": recorded["model"]}
    data = {
        "title": TITLE,
        **found.plain,
        "signed": columns.add_text(json.dumps(signed, ensure_ascii=False, separators=(",", ":"))),
        "most": MOST_STEPS,
        "examples": [{"name": name, "text": columns.add_text(text)} for name, text in found.examples.items()],
        "opens": {"text": found.text, "input": word, "steps": min(max_steps, MOST_STEPS)},
    }
    about = (
        f"The weights in this page are the same for {found.every}: a machine is put into the prompt, and every cell of its "
        "run is compared with a simulator. Nothing is installed, and nothing leaves this page."
    )
    parts = {
        "title": TITLE,
        "heading": TITLE,
        "about": escape(about),
        "style": asset("anymachine.css"),
        "data": embedded(data),
        "columns": columns.packed(),
        "script": asset("anymachine.js"),
    }
    html = asset("anymachine.html")
    for name, text in parts.items():
        before, _, after = html.partition(f"<!--{name}-->")
        html = f"{before}{text}{after}"
    return Explorer(html, ())
