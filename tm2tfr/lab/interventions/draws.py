"""Random interventions: which run, which variable, where, and to what; the same for one seed on any machine."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import starmap
from typing import Any, NamedTuple

from tm2tfr.base.errors import Tm2tfrError, UsageError, visible
from tm2tfr.contract.model import ModelVariable
from tm2tfr.contract.modelled import CausalRun, CausalValue
from tm2tfr.lab.interventions.intervened import Base
from tm2tfr.lab.interventions.intervention import VariableSetting, first_difference
from tm2tfr.lab.labels.patches import square_of

INTERCHANGED = 0.6
"""The share of values that are taken from another run, or another position of it; the others are any that there may be."""
SEVERAL = 0.15
"""The share of interventions that set two variables."""
FAR = 3
"""How far beyond the run's values a number without a largest value is drawn."""
TRIALS, LEAST = 300, 3
"""A variable is set in turn if at least `LEAST` of `TRIALS` random settings of it are as required."""
MOST_DRAWS = 20_000
"""The most draws for one intervention."""
TOGETHER = 100
"""The number of trials that are drawn at once."""


class Drawn(NamedTuple):
    """A random intervention.

    Args:
        base: the run that it is made on.
        settings: the variables that are set.
    """

    base: Base
    settings: list[VariableSetting]


class Taken(NamedTuple):
    """A random intervention that is as required, what its run must come to, and the number of draws that it took."""

    drawn: Drawn
    expected: CausalRun
    draws: int


@dataclass(frozen=True)
class Draws:
    """Random interventions, by number. Each has generators of its own, so that it does not depend on the others.

    Args:
        words: the inputs.
        base: input -> the run on it.
        effective: whether interventions are drawn until an answer changes that is known.
        known: whether they are drawn until all answers are known.
        balanced: whether each sets one variable, the variables in turn.
        variables: the variables that are set in turn; empty: any variable is set.
    """

    words: Sequence[str]
    base: Callable[[str], Base]
    seed: int
    effective: bool = False
    known: bool = False
    balanced: bool = False
    variables: tuple[str, ...] = ()

    @property
    def repeated(self) -> bool:
        """Whether some interventions are drawn more than once."""
        return self.effective or self.known

    def draw(self, number: int, attempt: int = 0) -> Drawn:
        """Return the intervention of a number; attempt: the number of draws before this one.

        Raises:
            UsageError: if no variable can be set.
        """
        again = f", attempt {attempt}" if attempt else ""
        chance = random.Random(f"{self.seed} intervention {number}{again}")
        variable = self.variables[number % len(self.variables)] if self.variables else ""
        return _one(chance, self.words, self.base, variable)

    def as_required(self, drawn: Drawn, expected: CausalRun) -> bool:
        """Return whether an intervention whose run is expected to be `expected` is as required."""
        if self.known and expected.unanswered:
            return False
        return not self.effective or first_difference(drawn.base.run, expected) is not None

    def taken(self, numbers: Sequence[int]) -> list[Taken]:
        """Return the interventions of these numbers, in their order.

        Raises:
            UsageError: if `MOST_DRAWS` draws for a number give none that is as required.
        """
        waiting, found, first = list(numbers), dict[int, Taken](), 0
        while first < MOST_DRAWS:
            # the fewer are left, the more attempts for each at once: a batch of runs costs little more than one run
            last = first + (max(1, TOGETHER // len(waiting)) if self.repeated else 1)
            attempts = [(number, attempt) for attempt in range(first, last) for number in waiting]
            drawn = [self.draw(*each) for each in attempts]
            for (number, attempt), own, expected in zip(attempts, drawn, expected_runs(drawn), strict=True):
                if number not in found and self.as_required(own, expected):
                    found[number] = Taken(own, expected, attempt + 1)
            waiting, first = [number for number in waiting if number not in found], last
            if not waiting:
                return [found[number] for number in numbers]
        raise self._nothing(f"none of {MOST_DRAWS:,} draws for an intervention {self._criterion}")

    def in_turn(self) -> tuple[Draws, dict[str, str]]:
        """Return the draws with the variables that are set in turn, and variable -> why it is not set.

        Raises:
            UsageError: if no variable is left, or no intervention is as required.
        """
        first = self.base(self.words[0])
        if not self.balanced:
            if self.effective and not self._found("", 1):
                raise self._unchanging()
            return self, {}
        left_out = {name: variable.unset for name, variable in first.model.variables.items() if variable.unset}
        variables = list[str]()
        for variable in _settable(first):
            found = self._found(variable.name, LEAST) if self.repeated else LEAST
            if found >= LEAST:
                variables.append(variable.name)
                continue
            why = "" if variable.read_by else ": it is read by nothing once it is written"
            left_out[variable.name] = f"{found or 'none'} of {TRIALS:,} random settings {self._criterion}{why}"
        if not variables:
            raise self._nothing(
                f"no variable has {LEAST} settings among {TRIALS:,} random ones, each of which {self._criterion}"
            )
        return replace(self, variables=tuple(variables)), left_out

    @property
    def _criterion(self) -> str:
        return "changes an answer" if self.effective else "has answers that are all known"

    def _nothing(self, what: str) -> UsageError:
        omit = "--effective" if self.effective else "--balanced"
        return UsageError(f"{visible(self.base(self.words[0]).name)}: {what}: omit {omit}, or use other inputs")

    def _unchanging(self) -> UsageError:
        """Return the error that no trial changes an answer, or that all have unknown answers."""
        runs = [expected for trials in self._tried("") for _, expected in trials]
        unknown = [run for run in runs if run.unanswered]
        if len(unknown) < len(runs):
            return self._nothing(f"none of {TRIALS:,} random interventions {self._criterion}")
        name, why = visible(self.base(self.words[0]).name), unknown[0].why_unanswered
        what = f"each of {TRIALS:,} random interventions has expected answers that are unknown, for example since {why}"
        return UsageError(f"{name}: {what}: use other inputs, or set variables by name")

    def _found(self, variable: str, enough: int) -> int:
        """Return the number of interventions as required among `TRIALS` trials, or `enough`; variable: empty for any."""
        found = 0
        for trials in self._tried(variable):
            found += sum(starmap(self.as_required, trials))
            if found >= enough:
                return enough
        return found

    def _tried(self, variable: str) -> Iterator[list[tuple[Drawn, CausalRun]]]:
        """Yield the trials, `TOGETHER` at a time, each with the run that it must come to; variable: empty for any."""
        for start in range(0, TRIALS, TOGETHER):
            chances = (random.Random(f"{self.seed} trial {variable} {n}") for n in range(start, start + TOGETHER))
            drawn = [_one(chance, self.words, self.base, variable) for chance in chances]
            yield list(zip(drawn, expected_runs(drawn), strict=True))


def expected_runs(drawn: Sequence[Drawn]) -> list[CausalRun]:
    """Return the run that each intervention must come to, in their order; those on the same input are made at once."""
    numbers = defaultdict[str, list[int]](list)
    for number, each in enumerate(drawn):
        numbers[each.base.input].append(number)
    found: dict[int, CausalRun] = {}
    for own in numbers.values():
        found |= zip(own, drawn[own[0]].base.expected([drawn[number].settings for number in own]), strict=True)
    return [found[number] for number in range(len(drawn))]


def _settable(base: Base) -> list[ModelVariable]:
    """Return the variables that are drawn: without squares, which are set with their roots."""
    every = base.model.variables
    squares = {square_of(name, every) for name in every}
    return [each for each in every.values() if not each.unset and each.name not in squares]


def _one(chance: random.Random, words: Sequence[str], base: Callable[[str], Base], only: str = "") -> Drawn:
    """Return a random intervention; only: the variable that it sets; empty: one or two of all."""
    here, source = base(chance.choice(words)), chance.choice(words)
    every, variables = here.model.variables, _settable(here)
    if not variables or not here.run.cells:
        raise UsageError(f"{here.name}: there is no variable that can be set")
    settings: list[VariableSetting] = []
    for _ in range(2 if not only and chance.random() < SEVERAL else 1):
        variable = every[only] if only else chance.choice(variables)
        position = chance.randrange(len(here.run.cells))
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
        square = square_of(variable.name, every)
        if square and isinstance(value, int):  # a head compares both, as one number
            settings.append(
                VariableSetting(square, square, position, value * value, here.run.cells[position][square], origin)
            )
    return Drawn(here, settings)


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
