"""Models: the variables of a construction with their equations, and the positions that its heads attend to.

A construction is a list of equations. Compilers state them as weights; a model states them independently, in the order of
the paper. From one model follow the specification of a run (what subspaces hold, and where heads look),
the labels of many runs, and causal runs, in which some variables are set: see `tm2tfr.contract.modelled`.

Equations are written against `ModelColumns`: arrays over rows, one for each position of each run. A model says nothing of
how the rows come about, whether all at once (`tm2tfr.contract.evaluation.WholeRuns`) or one position after the other, each
token being the last answer (`SteppedRuns`).

How values are stored: a symbol as its index in `ModelVariable.labels`, `NOTHING` for ⊥; whole numbers as integers; rational
numbers and mixtures of symbols (symbol -> share) as objects.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import UsageError, did_you_mean, listing
from tm2tfr.contract.labelling import HeadPattern, HeldVariable, Ragged, VariableKind, recoded
from tm2tfr.contract.specification import VariableValue, reached
from tm2tfr.transformer.matrix import AnyArray

ModelStage = tuple[int, str]
"""(layer from 0, part), see `tm2tfr.contract.specification.STAGES`."""
EMBEDDING: ModelStage = (-1, "embedding")
NOTHING = -1
"""⊥, the symbol of the zero vector, as its index."""
VariableValues = AnyArray
"""The values of a variable, see the module: (rows,)."""
NamedValues = Mapping[str, VariableValues]
HeadPlaces = AnyArray | Ragged
"""The positions that a head attends to: one for each row, or several."""


@dataclass(frozen=True, kw_only=True)
class LabelColumn:
    """The column of label data in which a variable, or the position that a head attends to, is published.

    Args:
        name, meaning: its heading, and what it shows.
        kind: see `tm2tfr.contract.labelling.VariableKind`.
        labels_of: what the subspace with the symbols holds, if it is not that of the variable itself.
        optional: whether it is left out if no subspace holds the variable.
    """

    name: str
    meaning: str
    kind: VariableKind = "whole"
    labels_of: str = ""
    optional: bool = False


@dataclass(frozen=True, kw_only=True)
class ModelVariable:
    """A variable of a model, with a value at every position.

    Args:
        name: its name, which its subspace, if any, `holds`.
        meaning: its meaning, in a few words.
        kind: a label, or a number.
        equation: its value as a function of variables before it; None: see the model of the source.
        shortcut: a faster equation for labels: only in runs without interventions, and in floats.
        formula: the equation for readers, ``h = Σ_{j≤i} m_{j-1}``; source: its place in the paper, ``Eq. 8.7``.
        since: the stage after which it has its value.
        stored: whether there are subspaces for it; otherwise only other equations and labels use it.
        feature: whether it depends only on the position, and so cannot be a cause.
        read_by: the variables or parts that read it, in words; empty: none.
        subspace: the name of its subspace, if several hold the same; empty: the only one.
        labels: its symbols; empty for a number.
        nothing: whether its symbol may be ⊥.
        mixed: whether it can be a mixture of symbols, or votes for several: stored as texts and mappings.
        least, largest: the smallest and the largest number that it can be set to; None: any.
        among: the only numbers that it can be set to.
        whole: whether it can only be set to whole numbers.
        rational: whether its values are rational numbers, which are stored as objects.
        share: whether subspaces hold it divided by i+1, which its value is not.
        mirrors: the names of subspaces that hold the same number times -1, and are overwritten with it.
        unset: the reason why it cannot be set; empty: it can.
        tolerance: the error allowed in the weights, where softmax only approximates the model.
        column: the label column that it defines.
        held: the contents of its subspace, by label columns; its `mean` is over the positions of a claim. None: its own
            column.
    """

    name: str
    meaning: str
    kind: Literal["label", "number"] = "number"
    equation: Equation | None = None
    shortcut: Equation | None = None
    formula: str = ""
    source: str = ""
    since: ModelStage = EMBEDDING
    stored: bool = True
    feature: bool = False
    read_by: str = ""
    subspace: str = ""
    labels: tuple[str, ...] = ()
    nothing: bool = True
    mixed: bool = False
    least: int | None = None
    largest: int | None = None
    among: tuple[int, ...] = ()
    whole: bool = True
    rational: bool = False
    share: bool = False
    mirrors: tuple[str, ...] = ()
    unset: str = ""
    tolerance: float = 0.0
    column: LabelColumn | None = None
    held: HeldVariable | None = None

    # ── what it can be set to
    def checked(self, value: VariableValue, where: str) -> VariableValue:
        """Return a value that it can be set to: a symbol, None, or a number, also from its text.

        Raises:
                UsageError: for any other value.
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
            problem = f"{where}: {self.name} cannot be {str(value)[:40]}"
            raise UsageError(f"{problem}: use a number of at most 9 digits, without an exponent")
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

    # ── how its values are stored
    @property
    def coded(self) -> bool:
        """Whether its values are stored as indices into its symbols."""
        return self.kind == "label" and not self.mixed

    def decoded(self, stored: VariableValues) -> VariableValues:
        """Return stored values as texts, numbers and mixtures: an array of objects of the same shape."""
        if not self.coded:
            return stored.astype(object)
        texts = np.empty(len(self.labels) + 1, dtype=object)  # the last one stays None: ⊥ is -1
        texts[: len(self.labels)] = self.labels
        return np.asarray(texts[stored])


def _too_large(value: VariableValue) -> bool:
    """Return whether a value is a number with too many digits for weights to hold exactly."""
    if isinstance(value, str):
        return re.fullmatch(r"[+-]?(\d{10,}|\d+(\.\d*)?[eE][+-]?\d+)", value.strip(), re.ASCII) is not None
    if not isinstance(value, int | float | Fraction):
        return False
    return (value >= 10**9 or value <= -(10**9)) and value not in (math.inf, -math.inf)


def _rational(value: VariableValue) -> int | Fraction | None:
    """Return a rational number, also from its text; None if the value is not a number."""
    try:
        number = Fraction(value)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return None
    return number.numerator if number.denominator == 1 else number


def _whole(value: VariableValue) -> int | None:
    """Return a whole number, also from its text; None if the value is not a whole number."""
    if isinstance(value, str):
        digits = value.removeprefix("+").removeprefix("-")
        return int(value) if digits.isascii() and digits.isdecimal() and len(digits) < 10 else None
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float | Fraction) and value == value // 1:
        return int(value)
    return None


@dataclass(frozen=True, kw_only=True)
class Pattern(HeadPattern):
    """The positions that a head attends to, with their equation.

    Args:
        places: the positions, as a function of variables.
        shortcut: a faster function, only for runs without interventions.
        column: the label column that it defines.
    """

    places: Callable[[ModelColumns], HeadPlaces]
    shortcut: Callable[[ModelColumns], HeadPlaces] | None = None
    column: LabelColumn | None = None


@dataclass(frozen=True, kw_only=True)
class SourceModel:
    """The model of a program.

    Args:
        variables: the variables, in the order in which they get their values.
        patterns: the positions that heads attend to.
        vocabulary: the tokens; `ModelColumns.token` has indices into it.
        answer: the index of the answered token in the vocabulary, as a function of variables.
        columns: the names of the label columns, in the order of the data.
        aliases: other names of variables, such as the columns of the table: name -> variable.
        outcomes: the outcomes that are counted over runs.
        stop: the tokens that end a run once they are answered, after the prompt.
        positions: the most positions of a run; None: any number.
        given: (the stored columns of the reference's table, the positions) -> the values of variables that follow.
    """

    variables: tuple[ModelVariable, ...]
    patterns: tuple[Pattern, ...]
    vocabulary: tuple[str, ...]
    answer: Equation
    columns: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    outcomes: tuple[str, ...] = ()
    stop: frozenset[str] = frozenset()
    positions: int | None = None
    given: Callable[[Mapping[str, VariableValues], NDArray[np.int64]], Mapping[str, VariableValues]] = (
        lambda table, positions: {}
    )

    @cached_property
    def by_name(self) -> Mapping[str, ModelVariable]:
        """The variables by name."""
        return {variable.name: variable for variable in self.variables}

    @cached_property
    def by_claim(self) -> Mapping[str, Pattern]:
        """The patterns by claim."""
        return {pattern.claim: pattern for pattern in self.patterns}

    def holds(self, what: str, layer: int, part: str) -> bool:
        """Return whether the subspace that holds `what` has its value after `part` of `layer`; before that, it is 0."""
        return reached(self.held[what][0].since, layer, part)

    def named(self, name: str) -> ModelVariable:
        """Return the variable with this name or alias."""
        return self.by_name[name if name in self.by_name else self.aliases[name]]

    @cached_property
    def held(self) -> Mapping[str, tuple[ModelVariable, int]]:
        """What subspaces can hold -> the variable, and its sign there: -1 for a mirror."""
        own = {variable.name: (variable, 1) for variable in self.variables if variable.stored}
        return own | {mirror: (variable, -1) for variable, _ in own.values() for mirror in variable.mirrors}


Equation = Callable[["ModelColumns"], VariableValues]
"""The values of a variable as a function of others: (rows,)."""
Getter = Callable[[str], VariableValues]
"""The values of a variable, by its name: (rows,), or in the place of keys (keys, rows)."""
KeyScore = Callable[[Getter, Getter], VariableValues]
"""(query, key) -> the score of each key for each query, q·k: (keys, rows)."""


class ModelColumns(ABC):
    """The values of variables at some rows, each a position of a run, and the positions that heads attend to.

    Args:
        model: the model.
        i: (rows,) the position of each row in its run, from 0; run: (rows,) the number of its run.
        token: (rows,) the token at it, as its index in the model's vocabulary.
    """

    model: SourceModel
    i: NDArray[np.int64]
    run: NDArray[np.int64]
    token: AnyArray

    @abstractmethod
    def __getitem__(self, name: str) -> VariableValues:
        """Return the values of a variable: (rows,)."""

    @abstractmethod
    def places(self, claim: str) -> HeadPlaces:
        """Return the positions that heads with this claim attend to."""

    @abstractmethod
    def there(self, name: str, runs: NDArray[np.int64], positions: AnyArray) -> VariableValues:
        """Return the values of a variable at these positions of these runs: (places,)."""

    @abstractmethod
    def total(self, name: str) -> VariableValues:
        """Return Σ_{j≤i} of a number."""

    @abstractmethod
    def latest_where(self, name: str) -> NDArray[np.int64]:
        """Return the latest position j ≤ i at which a bit is 1; i if there is none."""

    @abstractmethod
    def best(self, score: KeyScore) -> Ragged:
        """Return all positions j ≤ i with the largest score."""

    @abstractmethod
    def latest_best(self, score: KeyScore) -> NDArray[np.int64]:
        """Return the latest position j ≤ i with the largest score."""

    # ── what follows
    def nearest(self, numbers: VariableValues) -> NDArray[np.int64]:
        """Return the positions nearest to numbers: themselves, 0 for those below, i for those beyond."""
        return np.minimum(np.maximum(numbers, 0), self.i)

    def at(self, claim: str, name: str) -> VariableValues:
        """Return the value of a variable at the only position that a head attends to."""
        places = self.places(claim)
        if isinstance(places, Ragged):
            raise TypeError(f"heads with the claim {claim!r} find several positions: use mean")
        return self.there(name, self.run, places)

    def mean(self, claim: str, name: str) -> VariableValues:
        """Return the mean of a variable over the positions that a head attends to: exact, or a mixture of symbols."""
        places = self.places(claim)
        if not isinstance(places, Ragged):
            return self.at(claim, name)
        variable, sizes = self.model.by_name[name], np.diff(places.offsets)
        if variable.kind == "number":
            listed = self.there(name, np.repeat(self.run, sizes), places.places)
            sums = np.concatenate([[0], np.cumsum(listed)])[places.offsets]
            totals = np.where(places.everything, self.total(name), np.diff(sums))
            return each(Fraction, totals, np.where(places.everything, self.i + 1, sizes))
        found = np.empty(len(sizes), dtype=object)
        for row, (first, last) in enumerate(pairwise(places.offsets.tolist())):
            positions = np.arange(self.i[row] + 1) if places.everything[row] else places.places[first:last]
            labels = self.there(name, np.repeat(self.run[row], len(positions)), positions)
            found[row] = mixture(variable.decoded(labels).tolist())
        return found

    def each(self, function: Callable[..., VariableValue], *names: str) -> VariableValues:
        """Return a function of the values of variables, as texts and numbers, row by row: (rows,) objects."""
        return each(function, *(self.model.by_name[name].decoded(self[name]) for name in names))


def everywhere(c: ModelColumns) -> Ragged:
    """Return every position up to each row's own."""
    rows = len(c.i)
    return Ragged(np.zeros(rows + 1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.ones(rows, dtype=bool))


def each(function: Callable[..., VariableValue], *columns: VariableValues) -> VariableValues:
    """Return a function of values row by row, called once for equal values: (rows,) objects."""
    known: dict[tuple[Any, ...], VariableValue] = {}
    found = np.empty(len(columns[0]), dtype=object)
    for row, values in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        try:
            if values not in known:
                known[values] = function(*values)
            found[row] = known[values]
        except TypeError:  # a mixture is not hashable
            found[row] = function(*values)
    return found


def mixture(labels: Sequence[str | None]) -> VariableValue:
    """Return the mean of labels: the label if all are equal, None if all are ⊥, otherwise the share of each."""
    shares: dict[str, Fraction] = {}
    for label in labels:
        if label is not None:
            shares[label] = shares.get(label, Fraction(0)) + Fraction(1, len(labels))
    return settled(shares)


def settled(votes: Mapping[str, VariableValue]) -> VariableValue:
    """Return votes as a value: a single one for one label as that label, None if there is none."""
    if len(votes) == 1 and 1 in votes.values():
        return next(iter(votes))
    return votes or None


def votes_of(value: VariableValue) -> Mapping[str, VariableValue]:
    """Return the votes of a value: of a single label, one for it."""
    return {} if value is None else {value: 1} if isinstance(value, str) else value


def place_table(labels: Sequence[str | None], of: Sequence[str]) -> NDArray[np.int64]:
    """Return a table from symbols to their indices among those of another variable; its last entry maps ⊥ to ⊥."""
    return recoded([*labels, None], of).astype(np.int64)
