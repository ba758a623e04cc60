"""Text -> YAML that every reader reads alike: unquoted only where no version of YAML would take it for something else."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

from tm2tfr.text.source import escape

_PLAIN = re.compile("[A-Za-z][A-Za-z0-9_-]*|_|[0-9]")
_TAKEN = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


def scalar(text: str) -> str:
    """Return `text` as YAML, unquoted if it cannot be misread, otherwise in quotes."""
    if _PLAIN.fullmatch(text) and text.lower() not in _TAKEN:
        return text
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return '"' + "".join(a if a.isprintable() and a not in '"\\' else escape(a) for a in text) + '"'


def flow_list(texts: Iterable[str]) -> str:
    """Return texts as a list in brackets."""
    return f"[{', '.join(map(scalar, texts))}]"


def paragraph(text: str) -> str:
    """Return a long text as a block, of wrapped lines or of its own, where that preserves every character."""
    wrapped = textwrap.wrap(text, 96, break_long_words=False, break_on_hyphens=False)
    if len(wrapped) > 1 and text.isprintable() and " ".join(wrapped) == text:
        return "\n  ".join([">-", *wrapped])
    lines = text.removesuffix("\n").split("\n")
    simple = all(line.isprintable() for line in lines) and lines[0][:1].strip() and lines[-1].strip()
    if len(lines) == 1 or not simple:
        return scalar(text)
    return "\n  ".join(["|" if text.endswith("\n") else "|-", *lines])
