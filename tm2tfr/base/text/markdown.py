"""Foreign text in a Markdown page: shown literally, never interpreted."""

from __future__ import annotations

import re
import shlex

ESCAPES = {**{sign: f"\\{sign}" for sign in "\\`*_{}[]()<>#!|~$:&"}, "(": "(", ")": ")"}
"""Signs that mean something to Markdown or HTML, and how to show them literally."""
_LEADING = re.compile(r"^([-+=]|\d+(?=[.)]))")


def escaped(text: str) -> str:
    """Return `text` as one line that Markdown shows literally: breaks and control characters become spaces."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return _LEADING.sub(r"\\\1", "".join(ESCAPES.get(sign, sign) for sign in line))


def code(text: str) -> str:
    """Return a line of text as code, between more backticks than it has in any row."""
    ticks = "`" * (_longest(text) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def block(text: str) -> str:
    """Return lines of text as a block of code, between more backticks than they have in any row."""
    ticks = "`" * max(3, _longest(text) + 1)
    return f"{ticks}text\n{text.rstrip()}\n{ticks}"


def quoted(word: str) -> str:
    r"""Return `word` for a shell, on one line: what cannot be printed as in C, ``$'a\nb'``."""
    if word.isprintable():
        return shlex.quote(word)
    inside = "".join(_escape(sign) for sign in word)
    return f"$'{inside}'"


def _escape(sign: str) -> str:
    if sign in "\\'":
        return f"\\{sign}"
    return sign if sign.isprintable() else sign.encode("unicode_escape").decode()


def _longest(text: str) -> int:
    """Return the number of backticks in the longest row of them."""
    return max(map(len, re.findall("`+", text)), default=0)
