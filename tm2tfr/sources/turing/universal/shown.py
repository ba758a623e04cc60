"""A class of machines, and the one in the prompt, as HTML for notebooks."""

from __future__ import annotations

from html import escape
from itertools import islice

from tm2tfr.errors import counted, visible
from tm2tfr.sources.turing.drawing import html as machine_html
from tm2tfr.sources.turing.universal.program import Universal

MOST_RULES = 200
"""The most rules of the prompt that are shown."""
_TAPES = {"both": "a one-way or a two-way tape", "one-way": "a one-way tape", "two-way": "a two-way tape"}


def html(universal: Universal) -> str:
    """Return a line about the class; of a machine in the prompt also its tokens, its state graph and its rules."""
    sizes = f"{counted(universal.states, 'state')} and {counted(universal.symbols, 'symbol')}"
    about = f"<p>One decoder for all machines with at most {sizes} and {_TAPES[universal.tape]}"
    if universal.machine is None:
        return f"{about}; no machine is in its prompt.</p>\n"
    rules = [" ".join(universal.names.rule(entry)) for entry in islice(universal.entries, MOST_RULES)]
    more = len(universal.entries) - len(rules)
    texts = [*universal.description[: len(universal.tapes) // 2], *rules]
    shown = " ".join(f'<code style="white-space:nowrap">{escape(visible(text))}</code>' for text in texts)
    shown += f" and {counted(more, 'more rule')}" if more else ""
    held = f"<b>{escape(visible(universal.name))}</b>, {universal.counts}"
    return f"{about}; in its prompt: {held}:</p>\n<p>{shown}</p>\n{machine_html(universal.right)}"
