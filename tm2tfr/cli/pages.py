"""The help of a command: the options that apply to every source, and to the one that is named before ``--help``."""

from __future__ import annotations

from copy import copy
from typing import Any

from tm2tfr.cli.asked import PARAMETERS, options_class
from tm2tfr.cli.options import UNIVERSAL, metavar_of
from tm2tfr.cli.reading import escaped
from tm2tfr.contract.options import CIRCUITS, CONSTRUCTION, EVERY, FORMULAS, PROGRAMS, CircuitOptions, fields_of

TITLES = {kind: name[0].upper() + name[1:] for name, kind in EVERY.items()}
"""The class of a construction's options -> what its sources are called."""
OWN = dict(zip(EVERY.values(), (UNIVERSAL, CIRCUITS, PROGRAMS, FORMULAS), strict=True))
"""The class of a construction's options -> the panel of what only its sources have."""
MORE = "Machines, circuits, RASP programs and formulas have further options: name the source before --help, as in"


def for_help(command: Any, context: Any) -> Any:
    """Return a command as its help shows it, by the line that was typed, ``context.obj``."""
    shown = copy(command)
    params = [copy(param) for param in command.params]
    if any(param.name == "expression" for param in params):  # it takes every kind of source
        kind = options_class(context)
        params = [param for param in params if not (kinds := kinds_of(param)) or kind in kinds]
        for param in params:
            if kind is not None and kinds_of(param):
                _of_kind(param, kind)
        if kind is None:
            shown.epilog = f"{MORE}: {context.command_path} palindromes --help"
    shown.params = params
    return shown


def _of_kind(param: Any, kind: type[Any]) -> None:
    """Have an option speak of one construction alone, in its panel."""
    if param.rich_help_panel == UNIVERSAL:
        return
    known = fields_of(kind).get(param.name)
    if known is not None and known.about.help:
        param.help = escaped(known.about.help)
        param.metavar = metavar_of(known.words) if known.words else param.metavar
    param.rich_help_panel = TITLES[kind]


def kinds_of(param: Any) -> list[type[Any]]:
    """Return the constructions that an option is for, each as the class of its options; none: for every one."""
    panel = param.rich_help_panel
    if panel != CONSTRUCTION and panel not in OWN.values():
        return []
    named = [kind for kind in OWN if param.name in fields_of(kind) or (kind is CircuitOptions and param.name in PARAMETERS)]
    return named or [kind for kind, own in OWN.items() if own == panel]
