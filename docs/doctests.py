"""Docstrings as Markdown, for the reference of the library: examples are blocks of code, and a star is a star."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?:^[ ]*>>>.*\n?)(?:^[ ]*\S.*\n?)*", re.MULTILINE)
STAR = re.compile(r"(?<=\w)\*(?=[\s}\-:)])")
"""The one in j*, which Markdown would take for the beginning of something in italics."""


class Doctests(griffe.Extension):
    """Puts fences around each example, and a backslash in front of each star outside code."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            fenced = EXAMPLE.sub(lambda m: f"```python\n{m[0].rstrip()}\n```\n", obj.docstring.value)
            obj.docstring.value = "".join(map(_starred, re.split(r"(``.*?``|`.*?`|^    .*$)", fenced, flags=re.MULTILINE)))


def _starred(part: str) -> str:
    return part if part.startswith(("`", "    ")) else STAR.sub(r"\\*", part)
