"""What names and expressions mean while a program is elaborated: nodes, sums in cases, and macros."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tm2tfr.sources.logic.language.tree import Phrase
from tm2tfr.sources.logic.nodes import Node


class Meaningless(Exception):  # noqa: N818  (it is caught at its definition)
    """An expression means nothing, which has been reported."""


@dataclass(frozen=True)
class Affine:
    """``constant + Σ coefficient·node``, where a bit counts as 1 or 0; no coefficient is 0."""

    terms: Mapping[Node, int] = field(default_factory=dict)
    constant: int = 0

    def plus(self, other: Affine, times: int = 1) -> Affine:
        """Return this and a multiple of another, added."""
        terms = dict(self.terms)
        for node, factor in other.terms.items():
            terms[node] = terms.get(node, 0) + times * factor
        return Affine({node: factor for node, factor in terms.items() if factor}, self.constant + times * other.constant)


@dataclass(frozen=True)
class Branch:
    """What a number is where every guard, a bit, has the value beside it."""

    linear: Affine
    guards: tuple[tuple[Node, bool], ...] = ()


Amount = tuple[Branch, ...]
"""A number, in cases of which exactly one holds; without a condition, in one."""


@dataclass(frozen=True)
class Macro:
    """``name(s, t) = body``: expanded where it is called; its arguments are expressions."""

    parameters: tuple[str, ...]
    body: Phrase


@dataclass(frozen=True)
class Context:
    """Where an expression stands.

    Args:
        at: the position that it is about: ``i``, or ``j`` inside the brackets of an attention; empty in a formula.
        local: the parameters of the macro that it stands in -> argument, and where that stands.
        carry: how an expression at j is carried to i, inside the value of an attention; None: not there.
    """

    at: str = ""
    local: Mapping[str, tuple[Phrase, Context]] = field(default_factory=dict)
    carry: Callable[[Phrase, Context], Node] | None = None


def place(phrase: Phrase, context: Context) -> str:
    """Return the position that a name stands for, ``i`` or ``j``, and the empty string if it stands for none."""
    if phrase.operator != "name":
        return ""
    if phrase.text in context.local:
        return place(*context.local[phrase.text])
    return phrase.text if phrase.text in ("i", "j") else ""


def positions(phrase: Phrase, context: Context, macros: Mapping[str, object]) -> frozenset[str]:
    """Return the positions that an expression is about: ``i``, ``j``, both or none."""
    if phrase.operator in ("latest", "earliest", "psum", "#"):
        return frozenset("i")
    found: set[str] = set()
    if phrase.operator == "name":
        if phrase.text in context.local:
            return positions(*context.local[phrase.text], macros)
        return frozenset(phrase.text if phrase.text in ("i", "j") else "")
    if phrase.operator == "call" and isinstance(macro := macros.get(phrase.text), Macro):
        return positions(macro.body, called(macro, phrase, context), macros)
    for part in phrase.parts:
        found |= positions(part, context, macros)
    return frozenset(found)


def called(macro: Macro, phrase: Phrase, context: Context) -> Context:
    """Return where the body of a macro stands that is called by `phrase`."""
    arguments = {name: (part, context) for name, part in zip(macro.parameters, phrase.parts, strict=False)}
    return Context(context.at, arguments, context.carry)
