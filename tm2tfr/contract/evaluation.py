"""The values of a model's variables: at all positions of many runs at once, or one position of a batch after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tm2tfr.contract.labelling import Ragged, offsets_of
from tm2tfr.contract.model import HeadPlaces, KeyScore, ModelColumns, SourceModel, VariableValues
from tm2tfr.transformer.matrix import AnyArray


@dataclass
class WholeRuns(ModelColumns):
    """All positions of some runs whose tokens are known, one run after the other.

    Args:
        offsets: (runs + 1,): the rows of run r are ``offsets[r]:offsets[r + 1]``.
        given: variable -> its values where they are known: the reference's; its equation is skipped.
        fast: whether the shortcuts of variables may be taken.
    """

    model: SourceModel
    offsets: NDArray[np.int64]
    token: AnyArray
    given: Mapping[str, VariableValues] = field(default_factory=dict)
    fast: bool = False

    def __post_init__(self) -> None:
        sizes = np.diff(self.offsets)
        self.run = np.repeat(np.arange(len(sizes)), sizes)
        self.starts = np.repeat(self.offsets[:-1], sizes)
        self.i = np.arange(len(self.run)) - self.starts
        self._values: dict[str, VariableValues] = dict(self.given)
        self._places: dict[str, HeadPlaces] = {}
        self._rows: dict[str, NDArray[np.int64]] = {}

    def __getitem__(self, name: str) -> VariableValues:
        if name not in self._values:
            variable = self.model.by_name[name]
            equation = (variable.shortcut if self.fast else None) or variable.equation
            if equation is None:
                raise KeyError(f"{name} has no equation and is not given")
            self._values[name] = as_stored(equation(self))
        return self._values[name]

    def places(self, claim: str) -> HeadPlaces:
        """Return the positions that heads with this claim attend to."""
        if claim not in self._places:
            pattern = self.model.by_claim[claim]
            self._places[claim] = (pattern.shortcut or pattern.places)(self)
        return self._places[claim]

    def at(self, claim: str, name: str) -> VariableValues:
        """Return the value of a variable at the one position that a head finds; its rows are found once."""
        if claim not in self._rows:
            places = self.places(claim)
            if isinstance(places, Ragged):
                return super().at(claim, name)
            self._rows[claim] = self.starts + places
        return np.asarray(self[name][self._rows[claim]])

    def there(self, name: str, runs: NDArray[np.int64], positions: AnyArray) -> VariableValues:
        """Return the values of a variable at these positions of these runs."""
        starts = self.starts if runs is self.run else self.offsets[runs]
        return np.asarray(self[name][starts + positions])

    def total(self, name: str) -> VariableValues:
        """Return Σ_{j≤i} of a number."""
        sums = np.concatenate([[0], np.cumsum(self[name])])
        return np.asarray(sums[1:] - sums[self.starts])

    def latest_where(self, name: str) -> NDArray[np.int64]:
        """Return the latest position j ≤ i at which a bit is 1; i where there is none."""
        rows = np.arange(len(self.i))
        latest = np.maximum.accumulate(np.where(self[name] == 1, rows, -1)) if len(rows) else rows
        return np.where(latest >= self.starts, latest, rows) - self.starts

    def best(self, score: KeyScore) -> Ragged:
        """Return all positions j ≤ i with the largest score."""
        seen = [places for grid in self._grids(score) for places in (grid == grid.max(axis=0)).T]
        return Ragged.of_lists([np.flatnonzero(places).tolist() for places in seen])

    def latest_best(self, score: KeyScore) -> NDArray[np.int64]:
        """Return the latest position j ≤ i with the largest score."""
        found = [_latest(grid) for grid in self._grids(score)]
        return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)

    def _grids(self, score: KeyScore) -> list[VariableValues]:
        """Return the scores in each run: (keys, queries), of keys after the query less than any other."""
        grids = []
        for first, last in pairwise(self.offsets.tolist()):
            rows = slice(first, last)
            scores = score(lambda name, rows=rows: self[name][rows], lambda name, rows=rows: self[name][rows, None])  # type: ignore[misc]
            hidden = np.arange(last - first)[:, None] > np.arange(last - first)
            grids.append(np.where(hidden, scores.min(initial=0) - 1, scores))
        return grids


@dataclass
class SteppedRuns(ModelColumns):
    """One position of a batch of runs after the other, in which some variables are set.

    Args:
        runs: the number of runs.
        settings: (variable, position) -> the runs in which it is set there, and the values that they have, as stored.
    """

    model: SourceModel
    runs: int
    settings: Mapping[tuple[str, int], tuple[NDArray[np.int64], VariableValues]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.position, self.run = -1, np.arange(self.runs)
        self._past: dict[str, VariableValues] = {}
        self._here: dict[str, VariableValues] = {}
        self._places: dict[str, HeadPlaces] = {}
        self._totals: dict[str, tuple[int, VariableValues]] = {}  # (positions summed, their sum)

    def step(self, token: AnyArray) -> None:
        """Go on to the next position, at which there are these tokens, and compute all variables there."""
        self.position += 1
        self.i, self.token = np.full(self.runs, self.position), token
        self._here, self._places = {}, {}
        for variable in self.model.variables:
            self[variable.name]

    def past(self, name: str) -> VariableValues:
        """Return the values of a variable up to here: (positions, runs)."""
        self[name]  # which stores them
        return self._past[name][: self.position + 1]

    def __getitem__(self, name: str) -> VariableValues:
        if name not in self._here:
            self._here[name] = self._stored(name, self._computed(name))
        return self._here[name]

    def _computed(self, name: str) -> VariableValues:
        chosen = self.settings.get((name, self.position))
        if chosen is not None and len(chosen[0]) == self.runs:
            values = np.empty(self.runs, dtype=chosen[1].dtype)
            values[chosen[0]] = chosen[1]
            return values
        equation = self.model.by_name[name].equation
        if equation is None:
            raise KeyError(f"{name} has no equation")
        values = as_stored(equation(self))
        if chosen is not None:
            values = values.astype(np.result_type(values, chosen[1]))
            values[chosen[0]] = chosen[1]
        return values

    def _stored(self, name: str, values: VariableValues) -> VariableValues:
        past = self._past.get(name)
        if past is None:
            past = self._past[name] = np.zeros((64, self.runs), dtype=values.dtype)
        if self.position >= len(past):
            past = self._past[name] = np.concatenate([past, np.zeros_like(past)])
        if past.dtype != values.dtype:
            past = self._past[name] = past.astype(np.result_type(past, values))
        past[self.position] = values
        return values

    def places(self, claim: str) -> HeadPlaces:
        """Return the positions that heads with this claim attend to."""
        if claim not in self._places:
            self._places[claim] = self.model.by_claim[claim].places(self)
        return self._places[claim]

    def there(self, name: str, runs: NDArray[np.int64], positions: AnyArray) -> VariableValues:
        """Return the values of a variable at these positions of these runs."""
        return np.asarray(self.past(name)[positions, runs])

    def total(self, name: str) -> VariableValues:
        """Return Σ_{j≤i} of a number."""
        summed, total = self._totals.get(name, (0, np.zeros(self.runs, dtype=np.int64)))
        total = total + self.past(name)[summed:].sum(axis=0)
        self._totals[name] = (self.position + 1, total)
        return np.asarray(total)

    def latest_where(self, name: str) -> NDArray[np.int64]:
        """Return the latest position j ≤ i at which a bit is 1; i where there is none."""
        return _latest(self.past(name) == 1)

    def best(self, score: KeyScore) -> Ragged:
        """Return all positions j ≤ i with the largest score."""
        grid = self._grid(score)
        rows = (grid == grid.max(axis=0)).T
        return Ragged(offsets_of(rows.sum(axis=1)), np.nonzero(rows)[1].astype(np.int32), np.zeros(self.runs, dtype=bool))

    def latest_best(self, score: KeyScore) -> NDArray[np.int64]:
        """Return the latest position j ≤ i with the largest score."""
        return _latest(self._grid(score))

    def _grid(self, score: KeyScore) -> VariableValues:
        return np.broadcast_to(score(self.__getitem__, self.past), (self.position + 1, self.runs))


def _latest(grid: VariableValues) -> NDArray[np.int64]:
    """Return for each query the last key with the largest score: (keys, queries) -> (queries,)."""
    return np.asarray(len(grid) - 1 - grid[::-1].argmax(axis=0), dtype=np.int64)


def as_stored(values: VariableValues) -> VariableValues:
    """Return values with truth values as bits."""
    return values.astype(np.int64) if values.dtype == bool else values
