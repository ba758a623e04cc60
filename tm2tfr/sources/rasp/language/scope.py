"""What exists while a program is elaborated: values of the meta level, variables, functions, and refusals."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tm2tfr.base.text.parts import TextPart
from tm2tfr.sources.rasp.language import syntax as s
from tm2tfr.sources.rasp.language.syntax import Definition
from tm2tfr.sources.rasp.program import Word
from tm2tfr.sources.rasp.sops import Node, Selector, SOp

Meta = Any
"""A value of the meta level: an atom, a list, a dictionary, a function, an s-op, a selector, an `Answer`, or `BROKEN`."""

_FRAMES = 100_000

RESERVED = frozenset(
    [
        "if",
        "else",
        "not",
        "and",
        "or",
        "out",
        "def",
        "return",
        "range",
        "for",
        "in",
        "zip",
        "len",
        "get",
        "True",
        "False",
        "tokens_asis",
        "tokens_str",
        "tokens_int",
        "tokens_bool",
        "tokens_float",
        "indices",
    ]
)
"""Names that cannot be assigned anywhere; those of the library can be, but not at the top of a program."""


@dataclass
class Scope:
    """Variables by name, and the scope around them.

    Args:
        reserved: names that cannot be assigned here.
        taker: the scope that takes over what is assigned here, but for names that begin with an underscore: that of a
            statement ``load``.
        unknown: whether some of its names are unknown, since a file could not be loaded.
    """

    parent: Scope | None = None
    reserved: frozenset[str] = RESERVED
    taker: Scope | None = None
    names: dict[str, Meta] = field(default_factory=dict)
    unknown: bool = False

    def inner(self) -> Scope:
        """Return a scope within this one: that of a call, or of a comprehension."""
        return Scope(self)

    def chain(self) -> Iterator[Scope]:
        """Yield this scope and those around it."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def known(self) -> list[str]:
        """Return every name that can be read here."""
        return [name for scope in self.chain() for name in scope.names]


@dataclass(frozen=True, eq=False)
class RaspFunction:
    """A function of the meta level, with the scope in which it was defined."""

    definition: Definition
    scope: Scope

    @property
    def name(self) -> str:
        """Its name."""
        return self.definition.name.name


@dataclass(frozen=True)
class Request:
    """A ``draw(…)`` or an application such as ``reverse("hello")``, which a program asks its interpreter for.

    Args:
        node: what to draw, or to evaluate.
        word: the input.
        part: the part of the text that asks for it.
        drawn: whether it is a drawing.
    """

    node: SOp | Selector
    word: Word
    part: TextPart
    drawn: bool = False


@dataclass(frozen=True)
class Answer:
    """What an application gives: a value that only the interpreter can show."""

    request: Request


class _Broken:
    """The value of a variable whose definition has been reported."""


BROKEN = _Broken()


class StatementRefused(Exception):  # noqa: N818  (it is caught at its statement)
    """A statement cannot be carried out; `what` is empty if that has been reported."""

    def __init__(self, part: TextPart, what: str = "", remedy: str = "") -> None:
        self.part, self.what, self.remedy = part, what, remedy
        super().__init__(what)


def is_atom(value: Meta) -> bool:
    """Return whether it is a text, a truth value or a number."""
    return isinstance(value, str | bool | int | Fraction)


def sort_of(value: Meta) -> str:
    """Return the kind of a value of the meta level, with its article."""
    if isinstance(value, str):
        return "a text"
    if isinstance(value, bool):
        return "a truth value"
    if isinstance(value, int | Fraction):
        return "a number"
    for kind, words in _SORTS.items():
        if isinstance(value, kind):
            return words
    return "the result of an application"


_SORTS = {
    SOp: "an s-op", Selector: "a selector", list: "a list", dict: "a dictionary", RaspFunction: "a function",
}  # fmt: skip


# ── puts values into variables, and marks those of a statement that was refused ───────────────────────
def assign(name: s.Variable, value: Meta, scope: Scope) -> None:
    """Assign a value to a variable of a scope and of those that take over what is assigned there."""
    owner: Scope | None = scope
    while owner is not None:
        if name.name in owner.reserved:
            noun = "of the language" if name.name in RESERVED else "of the library"
            raise StatementRefused(name, f"{name.name!r} is a name {noun} and cannot be assigned", "choose another name")
        owner.names.pop(name.name, None)
        owner.names[name.name] = value
        owner = None if name.name.startswith("_") else owner.taker


def items_of(names: Sequence[s.Variable], value: Meta, part: s.TextPart) -> list[Meta]:
    """Return the items of a list, or the characters of a text, one for each of some variables."""
    if not isinstance(value, list | dict | str):
        what = f"{len(names)} variables need {len(names)} values, not {sort_of(value)}"
        raise StatementRefused(part, what, "use a list, or one variable")
    if len(value) != len(names):
        what = f"{len(names)} variables cannot take {len(value)} values"
        raise StatementRefused(part, what, "use as many variables as there are values")
    return list(value)


def bind(names: Sequence[s.Variable], item: Meta, part: s.TextPart, scope: Scope) -> None:
    """Assign an item of a list that is gone over to a variable, or its own items to several."""
    if len(names) == 1:
        assign(names[0], item, scope)
    else:
        if not isinstance(item, list | dict | str):
            what = f"{len(names)} variables go over items that are lists, and this item is {sort_of(item)}"
            raise StatementRefused(part, what, "use one variable, or zip(…)")
        if len(item) != len(names):
            what = f"{len(names)} variables cannot take an item of {len(item)} values"
            raise StatementRefused(part, what, "use as many variables as an item has values")
        for name, value in zip(names, item, strict=True):
            assign(name, value, scope)


def break_names(statement: s.Statement, scope: Scope) -> None:
    """Mark what a refused statement assigns as broken, so that its uses are not reported."""
    names: list[s.Variable] = []
    if isinstance(statement, s.Assignment):
        names = [*statement.names]
    elif isinstance(statement, s.Definition):
        names = [statement.name]
    elif isinstance(statement, s.Loop | s.Repetition):
        names = [*statement.names] if isinstance(statement, s.Loop) else []
        for inner in statement.body:
            break_names(inner, scope)
    owner: Scope | None = scope
    while owner is not None:
        for name in names:
            if name.name not in owner.reserved:
                owner.names[name.name] = BROKEN
        owner = owner.taker


def named(values: Mapping[str, Meta], kind: type[Node]) -> dict[str, Any]:
    """Return the variables that are of a kind, in the order in which they were last assigned."""
    return {name: value for name, value in values.items() if isinstance(value, kind) and name != "out"}


@contextmanager
def deeply() -> Iterator[None]:
    """Let functions of RASP call themselves as deep as they may."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
