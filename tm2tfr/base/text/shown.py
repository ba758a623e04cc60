"""Text as it is shown: in columns of a terminal, literally in a Markdown page, quoted for a shell."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

_NARROW = frozenset(map(chr, range(0x20, 0x7F))) | frozenset("⊥…⋮▸≠␣≤·")
"""Signs that take one column: those of ASCII, and a few of our own."""


def width(text: str) -> int:
    """Return the number of terminal columns of `text`."""
    if _NARROW.issuperset(text):
        return len(text)
    from rich.cells import cell_len  # noqa: PLC0415  (a short run is over sooner than this is imported)

    return cell_len(text)


def widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the width of each column of a table, that of its widest cell."""
    return [max(map(width, cells)) for cells in zip(*rows, strict=True)]


def line(row: Sequence[str], widths: Sequence[int], right: Collection[int] = ()) -> str:
    """Return a row of a table with its cells padded; `right`: the numbers of the columns that are flush right."""
    pads = [" " * (wide - width(cell)) for cell, wide in zip(row, widths, strict=True)]
    cells = (pad + cell if n in right else cell + pad for n, (cell, pad) in enumerate(zip(row, pads, strict=True)))
    return "  ".join(cells).rstrip()


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """Return the lines of a table, two spaces between its columns; `right`: see `line`."""
    wide = widths(rows)
    return [line(row, wide, right) for row in rows]


# ── Markdown and the shell ──────────────────────────────────────────────────────────────────────────────────
ESCAPES = {**{sign: f"\\{sign}" for sign in "\\`*_{}[]()<>#!|~$:&"}, "(": "(", ")": ")"}
"""Signs that mean something to Markdown or HTML, and how to show them literally."""
_LEADING = re.compile(r"^([-+=]|\d+(?=[.)]))")


def escaped(text: str) -> str:
    """Return `text` as one line that Markdown shows literally: breaks and control characters become spaces."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return _LEADING.sub(r"\\\1", "".join(ESCAPES.get(sign, sign) for sign in line))


def markdown_table(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    head = [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}"]
    return "\n".join([*head, *(f"| {' | '.join(map(str, row))} |" for row in rows)])


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


def json_text(value: object, indent: int = 1) -> str:
    """Return `value` as the text of a JSON file."""
    return json.dumps(value, ensure_ascii=False, indent=indent) + "\n"


class WrittenSource(NamedTuple):
    """A source in a format: its text, or its bytes, and notes on the translation."""

    text: str | bytes
    notes: tuple[str, ...] = ()


def probability(value: float | None) -> str:
    """Return a probability to three digits: ``0.153``, ``1.99e-06``, ``1-3e-05`` for one that is nearly 1; ⊥ for none."""
    if value is None:
        return "⊥"
    text = f"{value:.3g}"
    return text if text != "1" or value == 1 else f"1-{1 - value:.1g}"
