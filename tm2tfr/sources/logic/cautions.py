"""What is legal but probably not meant, given the options: a definition and an alphabet that are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tm2tfr.errors import Diagnostic
from tm2tfr.sources.logic.headers import resembling
from tm2tfr.sources.logic.nodes import Input, Node, OneOf
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.read import never_used


def cautions(program: LogicProgram, options: Mapping[str, Any], warnings: Sequence[str]) -> tuple[str, ...]:
    """Return the warnings about a formula or program.

    Args:
        program: it, with the definition and the alphabet that are asked for.
        options: those of the construction, by name.
        warnings: those about its text alone, of which one is not true if a definition is asked for that nothing uses.
    """
    found = list(warnings)
    if options.get("define") is not None:
        found = [warning for warning in found if never_used(program.chosen) not in warning]
    if options.get("alphabet") is not None:
        found += map(str, _outside(program))
    return tuple(dict.fromkeys(found))


def _outside(program: LogicProgram) -> list[Diagnostic]:
    """Return a warning for each token that is named and is not in the alphabet, where it is named first."""
    named: dict[str, Node] = {}
    for node in program.nodes:
        if isinstance(node, OneOf) and isinstance(node.of, Input):
            for token in node.values:
                named.setdefault(token, node)
    return [_complaint(program, token, node) for token, node in named.items() if token not in program.alphabet]


def _complaint(program: LogicProgram, token: str, node: Node) -> Diagnostic:
    signs = tuple(dict.fromkeys(token))
    what, remedy = f"{token!r} is not in the alphabet that is given", "write one that is, or add it to the alphabet"
    if 1 < len(signs) <= 4 and set(signs) <= set(program.alphabet):
        either = " | ".join(f"Q[{sign}]" for sign in signs)
        remedy = f"write {either} for any of these tokens, or add it to the alphabet as one token"
    else:
        what += resembling(token, program.alphabet)
    return Diagnostic(what=what, remedy=remedy, file=program.file, span=node.span, severity="warning")
