"""Text in columns, for a terminal."""

from __future__ import annotations

from collections.abc import Collection, Sequence

_NARROW = frozenset(map(chr, range(0x20, 0x7F))) | frozenset("⊥…⋮▸≠␣≤·")
"""Signs that take one column: those of ASCII, and a few of our own."""


def width(text: str) -> int:
    """Return how many columns of a terminal `text` takes."""
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
