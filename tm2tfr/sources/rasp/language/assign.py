"""Puts values into variables, and marks those of a statement that was refused."""

from __future__ import annotations

from collections.abc import Sequence

from tm2tfr.sources.rasp.language import syntax as s
from tm2tfr.sources.rasp.language.nodes import call_it
from tm2tfr.sources.rasp.language.scope import BROKEN, RESERVED, Meta, Scope, StatementRefused, sort_of
from tm2tfr.sources.rasp.sops import Node


def assign(name: s.Variable, value: Meta, scope: Scope, *, naming: bool = True) -> None:
    """Assign a value to a variable of a scope and of those that take over what is assigned there; name a node after it."""
    owner: Scope | None = scope
    while owner is not None:
        if name.name in owner.reserved:
            noun = "of the language" if name.name in RESERVED else "of the library"
            raise StatementRefused(name, f"{name.name!r} is a name {noun} and cannot be assigned", "choose another name")
        owner.names.pop(name.name, None)
        owner.names[name.name] = value
        owner = None if name.name.startswith("_") else owner.taker
    if naming and isinstance(value, Node):
        call_it(value, name.name)


def take_apart(names: Sequence[s.Variable], value: Meta, part: s.TextPart, scope: Scope) -> None:
    """Assign the items of a list, or the characters of a text, to variables."""
    if not isinstance(value, list | dict | str):
        what = f"{len(names)} variables need {len(names)} values, not {sort_of(value)}"
        raise StatementRefused(part, what, "use a list, or one variable")
    if len(value) != len(names):
        what = f"{len(names)} variables cannot take {len(value)} values"
        raise StatementRefused(part, what, "use as many variables as there are values")
    for name, item in zip(names, value, strict=True):
        assign(name, item, scope)


def bind(names: Sequence[s.Variable], item: Meta, part: s.TextPart, scope: Scope) -> None:
    """Assign an item of a list that is gone over to a variable, or its own items to several."""
    if len(names) == 1:
        assign(names[0], item, scope, naming=False)
    else:
        if not isinstance(item, list | dict | str):
            what = f"{len(names)} variables go over items that are lists, and this item is {sort_of(item)}"
            raise StatementRefused(part, what, "use one variable, or zip(…)")
        if len(item) != len(names):
            what = f"{len(names)} variables cannot take an item of {len(item)} values"
            raise StatementRefused(part, what, "use as many variables as an item has values")
        for name, value in zip(names, item, strict=True):
            assign(name, value, scope, naming=False)


def break_names(statement: s.Statement, scope: Scope) -> None:
    """Mark what a refused statement assigns as broken, so that its uses are not reported."""
    names: list[s.Variable] = []
    if isinstance(statement, s.Assignment):
        names = [*statement.names]
    elif isinstance(statement, s.Definition):
        names = [statement.name]
    elif isinstance(statement, s.Loop):
        names = [*statement.names]
        for inner in statement.body:
            break_names(inner, scope)
    owner: Scope | None = scope
    while owner is not None:
        for name in names:
            if name.name not in owner.reserved:
                owner.names[name.name] = BROKEN
        owner = owner.taker
