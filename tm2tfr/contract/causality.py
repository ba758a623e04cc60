"""What a causal model of a source brings: variables at every position, and runs in which some of them are set.

The values of a run are equations of each other: each variable at a position is a function of variables at this position and
others. An intervention sets one, ``do(q at 5 = q3)`` (Pearl 2009): it has that value from the stage on after which it is
written. What is computed from it afterwards sees the new value; what was computed before does not. A causal model knows no
weights: what it says of an intervention is what weights must do when the subspace of that variable is overwritten.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, Protocol

from tm2tfr.base.errors import UsageError, did_you_mean, listing

CausalValue = Any
"""A label as text, None where nothing is held; a number; or shares, label -> share, which can be seen but not set."""

Settings = Mapping[tuple[str, int], CausalValue]
"""(variable, position) -> the value that it is set to."""

CausalKind = Literal["label", "number"]


@dataclass(frozen=True, kw_only=True)
class CausalVariable:
    """Something that has a value at every position, in a subspace of its own.

    Args:
        name: what it is called: what its subspace `holds`.
        subspace: the name of that one, where several hold the same; empty: the one that holds it.
        meaning: what it is, in a few words.
        kind: a label, or a number.
        since: (layer from 0, part) after which it has its value.
        read_by: what reads it, in words; empty: nothing does.
        labels: those that it can be set to; of a number none.
        nothing: whether a label may be None, the zero vector.
        least, largest: the smallest and the largest number that it can be set to; None: any.
        among: the numbers that it can be set to, if these are all.
        share: whether it is kept divided by i+1; its value is given and shown without that.
        mirrors: what else holds the same number times -1, and is overwritten with it.
        whole: whether a number has to be a whole one.
        unset: why it cannot be set, though it can be seen; empty: it can.
        tolerance: by how much a number may be off in the weights, where the model has what softmax comes close to.
    """

    name: str
    meaning: str
    kind: CausalKind
    since: tuple[int, str]
    read_by: str
    subspace: str = ""
    labels: tuple[str, ...] = ()
    nothing: bool = True
    least: int | None = None
    largest: int | None = None
    among: tuple[int, ...] = ()
    share: bool = False
    mirrors: tuple[str, ...] = ()
    whole: bool = True
    unset: str = ""
    tolerance: float = 0.0

    def checked(self, value: CausalValue, where: str) -> CausalValue:
        """Return a value that it can be set to: a label, None, or a whole number; text is read as what it stands for.

        Raises:
            UsageError: for anything else.
        """
        if self.kind == "label":
            if value is None or value == "⊥":
                if self.nothing:
                    return None
                raise UsageError(f"{where}: {self.name} always has a label: use {listing(self.labels, most=8)}")
            if value in self.labels:
                return value
            close = did_you_mean(str(value), self.labels)
            use = f"{listing(self.labels, most=8)}{', or ⊥ for nothing' if self.nothing else ''}"
            raise UsageError(f"{where}: {value!r} is not a value of {self.name}{close}: use {use}")
        if _too_large(value):
            what = f"{where}: {self.name} cannot be {str(value)[:40]}"
            raise UsageError(f"{what}: use a number of at most 9 digits, without an exponent")
        number = _whole(value) if self.whole else _rational(value)
        if number is None and not self.whole:
            raise UsageError(f"{where}: {self.name} is a number, not {value!r}: use for example 1/2")
        if number is None:
            raise UsageError(f"{where}: {self.name} is a whole number, not {value!r}: use for example {self.least or 0}")
        low, high = self.least is not None and number < self.least, self.largest is not None and number > self.largest
        if low or high or (self.among and number not in self.among):
            raise UsageError(f"{where}: {self.name} cannot be {number}: use {self.values}")
        return number

    @property
    def values(self) -> str:
        """The values that it can be set to, in words."""
        if self.unset:
            return "cannot be set"
        if self.kind == "label":
            return "a label" + (", or ⊥" if self.nothing else "")
        if self.among:
            return " or ".join(map(str, self.among))
        number = "a whole number" if self.whole else "a number"
        if self.least is None:
            return number if self.largest is None else f"{number}, at most {self.largest}"
        return f"{number} from {self.least} {'on' if self.largest is None else f'to {self.largest}'}"


def _too_large(value: CausalValue) -> bool:
    """Return whether it is a number, but one with so many digits that weights may not hold it exactly."""
    if isinstance(value, str):
        return re.fullmatch(r"[+-]?(\d{10,}|\d+(\.\d*)?[eE][+-]?\d+)", value.strip(), re.ASCII) is not None
    if not isinstance(value, int | float | Fraction):
        return False
    return (value >= 10**9 or value <= -(10**9)) and value not in (math.inf, -math.inf)


def _rational(value: CausalValue) -> int | Fraction | None:
    """Return a rational number, also from its text; None if it is none."""
    try:
        number = Fraction(value)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return None
    return number.numerator if number.denominator == 1 else number


def _whole(value: CausalValue) -> int | None:
    """Return a whole number, also from its text; None if it is none."""
    if isinstance(value, str):
        digits = value.removeprefix("+").removeprefix("-")
        return int(value) if digits.isascii() and digits.isdecimal() and len(digits) < 10 else None
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float | Fraction) and value == value // 1:
        return int(value)
    return None


@dataclass(frozen=True)
class CausalRun:
    """A run of a causal model.

    Args:
        tokens: those fed, from position 0 on.
        answers: what is answered at each position: the token, or of a labeller each output.
        cells: for each position the value of every variable.
        doubts: (variable, position) -> why its value in the weights is not known: nothing like it occurs in any run.
        unanswered: position -> the numbers of the outputs whose answer is not known there, with why.
    """

    tokens: tuple[str, ...]
    answers: tuple[Any, ...]
    cells: tuple[Mapping[str, CausalValue], ...]
    doubts: Mapping[tuple[str, int], str] = field(default_factory=dict)
    unanswered: Mapping[int, Mapping[int, str]] = field(default_factory=dict)


class CausalCells(dict[str, Any]):
    """The values at a position, as they are computed; one that is set keeps its value."""

    def __init__(self, settings: Settings, position: int) -> None:
        super().__init__()
        self._set = {name: value for (name, at), value in settings.items() if at == position}

    def __setitem__(self, name: str, value: CausalValue) -> None:
        super().__setitem__(name, self._set.get(name, value))


class CausalModel(Protocol):
    """A run on one input, as equations: see the module."""

    @property
    def variables(self) -> Mapping[str, CausalVariable]:
        """The variables that can be set, by name."""

    @property
    def aliases(self) -> Mapping[str, str]:
        """What else variables are called, such as the columns of the table: name -> variable."""

    @property
    def fixed(self) -> Mapping[str, str]:
        """What subspaces hold beside the variables, with the reason why that cannot be set."""

    def run(self, settings: Settings, max_positions: int) -> CausalRun:
        """Return the run in which variables have these values, up to so many positions."""


def only(names: Iterable[str], variables: Iterable[CausalVariable]) -> dict[str, CausalVariable]:
    """Return those of the variables whose subspaces there are, by name."""
    there = frozenset(names)
    return {variable.name: variable for variable in variables if variable.name in there}


def first_of_the_most(votes: Mapping[str, Any], order: Sequence[str]) -> str:
    """Return the token with the most votes, the first of several in `order`; without votes the first token at all."""
    return max(order, key=lambda token: votes.get(token, 0))
