"""Random interventions: which run, which variable, where, and to what; the same for one seed on any machine."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tm2tfr.base.errors import Tm2tfrError, UsageError
from tm2tfr.contract.model import ModelVariable
from tm2tfr.contract.modelled import CausalValue
from tm2tfr.lab.interventions.intervened import Base
from tm2tfr.lab.interventions.intervention import VariableSetting
from tm2tfr.lab.labels.patches import square_of

INTERCHANGED = 0.6
"""The share of values that are taken from another run, or another position of it; the others are any that there may be."""
SEVERAL = 0.15
"""The share of interventions that set two variables."""
FAR = 3
"""How far beyond the run's values a number without a largest value is drawn."""


Drawn = tuple[Base, list[VariableSetting]]
"""A random intervention: the run that it is made on, and what is set."""


def drawn(words: Sequence[str], base: Callable[[str], Base], *, seed: int, start: int = 0) -> Iterator[Drawn]:
    """Yield random interventions on runs on these inputs, without end.

    Each has a generator of its own, so that intervention number k is the same wherever one starts.

    Args:
        base: input -> the run on it.
        start: the number of the first one.

    Raises:
        UsageError: if there is nothing to be set.
    """
    number = start
    while True:
        chance = random.Random(f"{seed} intervention {number}")
        number += 1
        yield _one(chance, words, base)


def _one(chance: random.Random, words: Sequence[str], base: Callable[[str], Base]) -> Drawn:
    here, source = base(chance.choice(words)), chance.choice(words)
    every = here.model.variables
    squares = {name: square for name in every if (square := square_of(name, every))}
    variables = [each for each in every.values() if not each.unset and each.name not in squares.values()]
    if not variables or not here.run.cells:
        raise UsageError(f"{here.name}: there is no variable that can be set")
    settings: list[VariableSetting] = []
    for _ in range(2 if chance.random() < SEVERAL else 1):
        variable, position = chance.choice(variables), chance.randrange(len(here.run.cells))
        if any((each.variable, each.position) == (variable.name, position) for each in settings):
            continue
        before: CausalValue = here.run.cells[position][variable.name]
        origin: tuple[str, int] | None = None
        value = _ANY
        if chance.random() < INTERCHANGED:
            other = base(source)
            at = chance.randrange(len(other.run.cells))
            value = _allowed(variable, other.run.cells[at].get(variable.name))
            origin = other.input, at
        if value is _ANY:
            value, origin = _any_value(chance, variable, [cells[variable.name] for cells in here.run.cells]), None
        settings.append(VariableSetting(variable.name, variable.name, position, value, before, origin))
        if variable.name in squares and isinstance(value, int):  # a head compares both, as one number
            name = squares[variable.name]
            settings.append(VariableSetting(name, name, position, value * value, here.run.cells[position][name], origin))
    return here, settings


_ANY: Any = object()


def _allowed(variable: ModelVariable, value: CausalValue) -> CausalValue:
    """Return a value of another run, if it can be set; otherwise `_ANY`."""
    if isinstance(value, Mapping):
        return _ANY
    try:
        return variable.checked(value, "")
    except Tm2tfrError:
        return _ANY


def _any_value(chance: random.Random, variable: ModelVariable, seen: Sequence[CausalValue]) -> CausalValue:
    if variable.among:
        return chance.choice(variable.among)
    if variable.kind == "label":
        return chance.choice([*variable.labels, *([None] if variable.nothing else [])])
    numbers = [int(value) for value in seen if isinstance(value, int)] or [0]
    least = min(numbers) - FAR if variable.least is None else variable.least
    largest = max(numbers) + FAR if variable.largest is None else variable.largest
    return chance.randint(least, max(least, largest))
