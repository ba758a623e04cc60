"""The copy button of a block gives what a reader would type: commands without prompts, and no outputs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape, unescape
from typing import Any

BLOCK = re.compile(r'<div class="(?P<classes>[^"]*\bhighlight\b[^"]*)">(?P<code><pre>.*?</pre>)</div>', re.DOTALL)
TAG = re.compile(r"<[^>]*>")
FURTHER = re.compile(r'<span class="go">&gt; ')
"""A line of a here-document, which the highlighter takes for output."""
PROMPTS = {"language-console": ("$ ", "> "), "language-python": (">>> ", "... ")}
"""Class of a block -> the prompts of a command and of each further line of it."""


def on_page_content(html: str, **_: Any) -> str:
    return BLOCK.sub(marked, html)


def marked(block: re.Match[str]) -> str:
    """Return a block with what its copy button is to copy, if it has prompts; the theme's script looks for `data-copy`."""
    text = unescape(TAG.sub("", block["code"]))
    for name in block["classes"].split():
        if name in PROMPTS and (lines := list(typed(text, *PROMPTS[name]))):
            copied = escape("\n".join(lines)).replace("\n", "&#10;")
            code = FURTHER.sub(r'<span class="gp">&gt; </span><span>', block["code"])
            return f'<div class="{block["classes"]}" data-copy="{copied}">{code}</div>'
    return block[0]


def typed(text: str, prompt: str, further: str) -> Iterator[str]:
    """Yield the lines of the commands in `text`; what follows a command without `further` in front is its output."""
    within = False
    for line in text.splitlines():
        if line.startswith(prompt):
            within = True
            yield line.removeprefix(prompt)
        elif within and (line + " ").startswith(further):  # a line with nothing on it may have lost its space
            yield line.removeprefix(further.rstrip()).removeprefix(" ")
        else:
            within = False
