"""What weights claim of a RASP program, read: which values of it a subspace holds, and where a head looks.

Nodes are named by their numbers, s-ops as ``s12``, selectors as ``c12``; ``s`` alone is the token.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tm2tfr.sources.rasp.program import shown_atom
from tm2tfr.sources.rasp.sops import (
    Aggregate,
    Atom,
    Constant,
    Elementwise,
    SOp,
    Tokens,
)

Literals = tuple[tuple[int, bool], ...]
"""Numbers of selectors, each with whether it has to be true: all of them at once."""


@dataclass(frozen=True)
class Gaze:
    """Where a head looks: at the visible positions that satisfy the most clusters.

    Args:
        selector: the number of the selector that it computes.
        ahead: whether positions after its own are visible.
        clusters: each a conjunction.
    """

    selector: int
    ahead: bool
    clusters: tuple[Literals, ...]


@lru_cache(maxsize=4096)
def look(claim: str) -> Gaze | None:
    """Return where a head with this claim looks: ``c7 none c5,!c6|c4``; None if it says no such thing."""
    head, *rest = claim.split(" ")
    if _SELECTOR.fullmatch(head) is None or len(rest) not in (1, 2) or rest[0] not in ("none", "future"):
        return None
    found = clusters(rest[1]) if len(rest) == 2 else ()
    return None if found is None else Gaze(int(head[1:]), rest[0] == "none", found)


def clusters(text: str) -> tuple[Literals, ...] | None:
    """Return clusters of selectors from text: ``c5,!c6|c4``; None if it is none."""
    found = []
    for cluster in text.split("|"):
        literals = cluster.split(",")
        if not all(_LITERAL.fullmatch(literal) for literal in literals):
            return None
        found.append(tuple((int(literal.lstrip("!")[1:]), not literal.startswith("!")) for literal in literals))
    return tuple(found)


def s_ops(text: str) -> tuple[int | None, ...] | None:
    """Return the numbers of s-ops listed in a text, ``s1,s12``, None in place of the token; None if it is no list."""
    if not text:
        return ()
    names = text.split(",")
    if not all(_SOP.fullmatch(name) for name in names):
        return None
    return tuple(int(name[1:]) if name != "s" else None for name in names)


_SELECTOR, _LITERAL, _SOP = re.compile("c[0-9]{1,9}"), re.compile("!?c[0-9]{1,9}"), re.compile("s[0-9]{0,9}")


# ── values as labels have them ──────────────────────────────────────────────────────────────────────────────
def shown_value(value: Atom, numeric: bool) -> str:
    """Return a value as labels have it; a truth value among numbers is 0 or 1."""
    return str(int(value)) if numeric and isinstance(value, bool) else shown_atom(value)


def kinds(sop: SOp, known: Mapping[SOp, frozenset[str]]) -> frozenset[str]:
    """Return of which kinds the values of an s-op may be by its type: ``bool``, ``number``, ``text``.

    Args:
        known: those of the s-ops that it is made of.
    """
    if isinstance(sop, Tokens):
        return frozenset([{"int": "number", "float": "number", "bool": "bool"}.get(sop.conversion, "text")])
    if isinstance(sop, Constant):
        return frozenset([_kind(sop.value)])
    if isinstance(sop, Aggregate):
        return known[sop.values] | {_kind(sop.default)}
    return _kinds_of_function(sop, known) if isinstance(sop, Elementwise) else frozenset(["number"])


def _kinds_of_function(sop: Elementwise, known: Mapping[SOp, frozenset[str]]) -> frozenset[str]:
    if sop.operator == "if":
        return known[sop.arguments[0]] | known[sop.arguments[-1]]
    if sop.operator == "table":
        return frozenset(_kind(value) for _, value in sop.entries)
    if sop.operator == "+":
        return frozenset[str]().union(*(known[a] for a in sop.arguments)) - {"bool"} or frozenset(["number"])
    return frozenset(["bool" if sop.operator in _TRUTHS else "number"])


def numeric(sops: Iterable[SOp]) -> dict[SOp, bool]:
    """Return for each of some s-ops, with all that they are made of, whether its truth values count as numbers."""
    known: dict[SOp, frozenset[str]] = {}
    for node in sorted(sops, key=lambda each: each.number):
        known[node] = kinds(node, known)
    return {node: {"bool", "number"} <= found for node, found in known.items()}


_TRUTHS = frozenset(["==", "<=", ">=", "<", ">", "and", "or", "not", "in"])


def _kind(value: Atom) -> str:
    return "bool" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"


def number(value: Atom) -> Fraction:
    """Return a value that is no text as a number.

    Raises:
        ValueError: for a text.
    """
    if isinstance(value, str):
        raise ValueError(f"{value!r} is no number")
    return Fraction(int(value) if isinstance(value, bool) else value)
