"""How an s-op or a selector is made, as RASP text that refers to what is drawn by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tm2tfr.sources.rasp.sops import Aggregate, Combined, Constant, Elementwise, Indices, Select, Selector, SOp, Tokens
from tm2tfr.sources.rasp.values import shown
from tm2tfr.sources.rasp.write import CALLED, applied

MOST_ENTRIES = 4
"""Of a table that is written out."""


def expression(sop: SOp, names: Mapping[int, str]) -> str:
    """Return how an s-op is made.

    Args:
        names: the numbers of those s-ops that are referred to by name; the others are written out.
    """
    if isinstance(sop, Constant):
        return shown(sop.value)
    if isinstance(sop, Tokens):
        return f"tokens_{sop.conversion}"
    if isinstance(sop, Indices):
        return "indices"
    if isinstance(sop, Aggregate):
        return f"aggregate({sop.selector.name or selector_text(sop.selector, names)}, {named(sop.values, names)})"
    if isinstance(sop, Elementwise):
        return _elementwise(sop, names)
    raise TypeError(f"{type(sop).__name__} is not an s-op of a program")


def named(sop: SOp, names: Mapping[int, str]) -> str:
    """Return an s-op as it is referred to: by its name, or written out."""
    return names.get(sop.number) or expression(sop, names)


def selector_text(selector: Selector, names: Mapping[int, str]) -> str:
    """Return how a selector is made: of other selectors by their names, of s-ops as `named` has them."""
    if isinstance(selector, Select):
        return f"select({named(selector.key, names)}, {named(selector.query, names)}, {selector.relation})"
    if not isinstance(selector, Combined):
        raise TypeError(f"{type(selector).__name__} is not a selector of a program")
    parts = [_part(part, names) for part in selector.parts]
    return f"not {parts[0]}" if selector.operator == "not" else f" {selector.operator} ".join(parts)


def _part(selector: Selector, names: Mapping[int, str]) -> str:
    text = selector.name or selector_text(selector, names)
    return f"({text})" if isinstance(selector, Combined) and not selector.name else text


def _elementwise(sop: Elementwise, names: Mapping[int, str]) -> str:
    word = named if sop.operator in (*CALLED, "table") else _operand
    entries = [shown(k) + (f": {shown(v)}" if sop.operator == "table" else "") for k, v in sop.entries]
    return applied(sop, [word(argument, names) for argument in sop.arguments], _cut(entries))


def _operand(sop: SOp, names: Mapping[int, str]) -> str:
    """Return an operand: whatever is written out and is no call is in brackets, since few know RASP's precedences."""
    text = named(sop, names)
    return f"({text})" if isinstance(sop, Elementwise) and sop.number not in names and sop.operator not in CALLED else text


def _cut(entries: Sequence[str]) -> Sequence[str]:
    """Return entries, only the first ones if there are many."""
    shortened = [*entries[:MOST_ENTRIES], f"… {len(entries) - MOST_ENTRIES} more"]
    return entries if len(entries) <= MOST_ENTRIES + 1 else shortened
