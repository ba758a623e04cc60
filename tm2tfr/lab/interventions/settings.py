"""What is to be set, as people write it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tm2tfr.base.errors import UsageError
from tm2tfr.contract.model import ModelVariable
from tm2tfr.lab.interventions.intervened import Base
from tm2tfr.lab.interventions.intervention import VariableSetting, text_of_cell

_AT = r"\s*(?P<name>.+?)\s*@\s*(?P<at>\d{1,9})"
_KEY, _VALUE, _FROM = (
    re.compile(_AT + rest, re.DOTALL | re.ASCII)
    for rest in (r"\s*", r"\s*=(?P<value>.*)", r"\s+from\s*(?P<input>.*?)\s*(@\s*(?P<there>\d{1,9}))?\s*")
)
_SAID = re.compile(r"@\s*\d{1,9}\s*=")
"""A variable at a position and a value, in which there may be a ``from``."""
_WEIGHT = re.compile(r"[\w.]+\s*\[.*\]\s*=.*", re.DOTALL)
"""A weight and a value, as `tm2tfr.transformer.changes` reads them."""


@dataclass(frozen=True)
class From:
    """A value from another run, for an interchange intervention.

    Args:
        input: the input of the other run; None: the same input.
        position: the position that the value is taken from, counted from 0; None: the position that is set.
        variable: the variable that the value is taken from; None: the variable that is set.
    """

    input: str | None = None
    position: int | None = None
    variable: str | None = None


def read_settings(texts: Sequence[str], example: Callable[[], str] = str) -> dict[tuple[str, int] | str, Any]:
    """Return settings as people write them: (variable, position) -> a value as text, None for ``⊥`` or nothing, or `From`.

    Args:
        example: returns advice on how they are written.

    >>> read_settings(["q@5=q3", "h@6 from 111@6", "a @ 7 from @9"])  # doctest: +NORMALIZE_WHITESPACE
    {('q', 5): 'q3', ('h', 6): From(input='111', position=6, variable=None),
     ('a', 7): From(input=None, position=9, variable=None)}

    Raises:
        UsageError: for a text that says neither, and for a variable that is set twice at a position.
    """
    found: dict[tuple[str, int] | str, Any] = {}
    for text in texts:
        if (match := _FROM.fullmatch(text)) and _SAID.search(match["name"]) is None:
            there = match["there"]
            value: Any = From(match["input"] or None, None if there is None else int(there))
        elif match := _VALUE.fullmatch(text):
            value = match["value"].strip() or None
        else:
            weight = " (a weight is changed by 'tm2tfr check --set')" if _WEIGHT.fullmatch(text) else ""
            raise UsageError(f"{text!r} does not say what is to be set{weight}: {example() or 'write VAR@POS=VALUE'}")
        key = match["name"], int(match["at"])
        if key in found:
            raise UsageError(f"{key[0]}@{key[1]} is set twice: set it once")
        found[key] = value
    return found


AskedSettings = Mapping[tuple[str, int] | str, Any] | Sequence[str]
"""(variable, position), or ``q@5``, -> a value, or `From` another run; or texts, see `read_settings`."""


def settings_of(base: Base, asked: AskedSettings, other: Any) -> list[VariableSetting]:
    """Return the settings that are asked for.

    Args:
        other: input -> the `Base` of the run on it.

    Raises:
        UsageError: for a variable, a position or a value that there is not.
    """
    if not isinstance(asked, Mapping):
        asked = read_settings((asked,) if isinstance(asked, str) else asked, partial(_written, base))
    found = []
    for key, value in asked.items():
        name, position = _key(key, base)
        where = f"{name}@{position}"
        if base.reads_off(name):
            found += _read_off(base, name, position, value, other)
            continue
        variable = base.variable(name, where)
        before = base.at(variable.name, position, where)
        origin = None
        if isinstance(value, From):
            source = base if value.input is None else other(value.input)
            at = position if value.position is None else value.position
            taken = variable if value.variable is None else source.variable(value.variable, where)
            held, origin = source.at(taken.name, at, where), (source.input, at)
            if isinstance(held, Mapping):
                raise UsageError(f"{where}: {taken.name} is a mixture at {at} of {source.input!r}: take another position")
        else:
            held = value
        checked = variable.checked(held, where)
        if base.opposite(name) and not isinstance(value, From):
            name, checked = f"the opposite of {name}", 1 - checked
        found.append(VariableSetting(variable.name, name, position, checked, before, origin))
    if not found:
        raise UsageError(f"nothing is set: {_example(base)}")
    keys = [(each.variable, each.position) for each in found]
    if twice := next((key for n, key in enumerate(keys) if key in keys[:n]), None):
        raise UsageError(f"{twice[0]} is set twice at {twice[1]}: set it once")
    return found


def _read_off(base: Base, name: str, position: int, value: Any, other: Any) -> list[VariableSetting]:
    """Return the settings of the variables that a value is read from, which give it this value, or that in another run."""
    where, origin, held = f"{name}@{position}", None, value
    for part in base.model.read_off[name].parts:
        base.at(part, position, where)
    if isinstance(value, From):
        source = base if value.input is None else other(value.input)
        at = position if value.position is None else value.position
        taken, origin = value.variable or name, (source.input, at)
        if source.reads_off(taken):
            source.at(source.model.read_off[taken].parts[0], at, where)
            held = source.model.read_off[taken].at(at)
        else:
            held = source.at(source.variable(taken, where).name, at, where)
    settings = base.model.read_off[name].settings(held, position, where)
    meant = text_of_cell(held)
    return [
        VariableSetting(what, name, i, new, base.at(what, i, where), origin, meant) for (what, i), new in settings.items()
    ]


def _settable(base: Base) -> tuple[str, int, str] | None:
    """Return a variable of this source, under the name that its table has, if it has one, a position, and a value for it.

    None: nothing can be set.
    """
    names = {meant: alias for alias, meant in reversed(list(base.model.aliases.items()))}
    settable = [variable for variable in base.model.variables.values() if not variable.unset]
    if not settable:
        return None

    def preference(each: ModelVariable) -> tuple[bool, bool, int]:
        """Rather computed than embedded, with a name in the table, and short."""
        return each.since[0] >= 0, each.name in names, -len(names.get(each.name, each.name))

    variable = max(settable, key=preference)
    value = variable.labels[0] if variable.labels else str((*variable.among, variable.least or 0)[0])
    cells = [cell[variable.name] for cell in base.run.cells]
    places = range(len(cells) // 2, len(cells))  # a program may not hold it at the first positions
    held = (i for i in places if not variable.labels or cells[i] in variable.labels)
    return names.get(variable.name, variable.name), next(held, 0), value


def _example(base: Base) -> str:
    """Return advice on the variables that can be set."""
    found = _settable(base)
    if found is None:
        return "and nothing of this source can be set: 'tm2tfr intervene --variables' says why"
    name, i, value = found
    return f"add for example --set '{name}@{i}={value}', in Python {{({name!r}, {i}): {value!r}}}; --variables lists all"


def _written(base: Base) -> str:
    """Return advice on how what is set is written."""
    found = _settable(base)
    if found is None:
        return _example(base)
    name, i, value = found
    other = f"{name}@{i} from {base.input}@{i}"
    return f"write for example '{name}@{i}={value}', or '{other}' for the value in another run"


def _key(key: Any, base: Base) -> tuple[str, int]:
    match key:
        case (str(name), int(position)) if not isinstance(position, bool):
            return name, position
        case str(text) if (said := _KEY.fullmatch(text)) is not None:
            return said["name"], int(said["at"])
    name, i, _ = _settable(base) or (next(iter(base.model.variables), "token"), 0, "")
    example = f"({name!r}, {i}), or '{name}@{i}'"
    raise UsageError(f"{key!r} is not a variable with a position: use for example {example}")
