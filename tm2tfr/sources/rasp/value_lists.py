"""The different values that s-ops have had, and functions of them as tables: what many inputs are evaluated with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.sources.rasp import sops as rasp

Places = NDArray[np.int64]
"""The place of each value in the list of its s-op: (n or 1, inputs or 1), and to others (inputs, n)."""
UNKNOWN, REFUSED = -2, -1
LONG = 1 << 63
"""Whole numbers below this fit 64 bits."""


class ValueList:
    """The different values that an s-op has had, in the order in which they came up."""

    def __init__(self) -> None:
        self.atoms: list[rasp.Atom] = []
        self.mixed = False
        """Whether there are texts beside other values, when `flags` was last asked which are texts."""
        self._place: dict[tuple[type, rasp.Atom], int] = {}
        self._flags: dict[Callable[[rasp.Atom], bool], NDArray[np.bool_]] = {}
        self._whole: tuple[int, NDArray[Any], dict[int, rasp.Atom]] = 1, np.zeros(0, dtype=np.int64), {}

    def place(self, value: rasp.Atom) -> int:
        """Return the place of a value; 1, True and 1.0 are three values."""
        key = type(value), value
        found = self._place.get(key)
        if found is None:
            found = self._place[key] = len(self.atoms)
            self.atoms.append(value)
        return found

    def flags(self, holds: Callable[[rasp.Atom], bool]) -> NDArray[np.bool_]:
        """Return of which values something holds."""
        known = self._flags.get(holds)
        if known is None or len(known) != max(1, len(self.atoms)):
            known = self._flags[holds] = np.array([holds(value) for value in self.atoms] or [False])
            if holds is is_text:
                self.mixed = bool(known.any() and not known.all())
        return known

    def moved(self, theirs: ValueList) -> Places:
        """Return the places here of all values of another list, which become values of this one."""
        return np.array([self.place(atom) for atom in theirs.atoms] or [0], dtype=np.int64)

    def whole(self) -> tuple[int, NDArray[Any], dict[int, rasp.Atom]]:
        """Return a scale, all values times it, as whole numbers (0 for text), and the value of each of these numbers."""
        if len(self._whole[1]) != len(self.atoms):
            numbers = [Fraction(0) if isinstance(value, str) else Fraction(value) for value in self.atoms]
            scale = lcm(*(number.denominator for number in numbers))
            whole = [int(number * scale) for number in numbers]
            fits = max(map(abs, whole)) < LONG
            values = dict(zip(whole, self.atoms, strict=True))
            self._whole = scale, np.array(whole, dtype=np.int64 if fits else object), values
        return self._whole


class ValueLookup:
    """A function of values of some s-ops as a table that is filled as combinations come up."""

    def __init__(self, sources: Sequence[ValueList], function: Callable[..., int], dtype: type = np.int64) -> None:
        self._sources, self._function = sources, function
        self._table: NDArray[Any] = np.full((1,) * len(sources), UNKNOWN, dtype=dtype)
        self._sizes: list[int] = []
        self.least = UNKNOWN
        """The least entry of the table for the values that there are."""

    def __call__(self, *places: Places) -> Places:
        """Return the result for each combination; any places where a source has no value yet: no input is defined."""
        sizes = [len(source.atoms) for source in self._sources]
        if not all(sizes):
            return np.zeros_like(np.broadcast_arrays(*places)[0])
        if sizes != self._sizes:
            self._sizes, self.least = sizes, UNKNOWN
            if any(size > there for size, there in zip(sizes, self._table.shape, strict=True)):
                larger = np.full([2 * size for size in sizes], UNKNOWN, dtype=self._table.dtype)
                larger[tuple(slice(0, there) for there in self._table.shape)] = self._table
                self._table = larger
        found = self._taken(places)
        if self.least != UNKNOWN:
            return found
        if found.min(initial=0) == UNKNOWN:
            missing = found == UNKNOWN
            flat = np.ravel_multi_index([place[missing] for place in np.broadcast_arrays(*places)], self._table.shape)
            for one in np.unique(flat):
                at = np.unravel_index(one, self._table.shape)
                atoms = [source.atoms[int(k)] for source, k in zip(self._sources, at, strict=True)]
                self._table[at] = self._function(*atoms)
            found = self._taken(places)
        self.least = int(self._table[tuple(map(slice, sizes))].min())
        return found

    def _taken(self, places: Sequence[Places]) -> Places:
        """Return the entries at some places: by one number for each, which is faster."""
        flat = places[0]
        for place, size in zip(places[1:], self._table.shape[1:], strict=True):
            flat = flat * size + place
        return np.take(self._table.reshape(-1), flat)


def is_text(value: rasp.Atom) -> bool:
    return isinstance(value, str)


def is_truth(value: rasp.Atom) -> bool:
    return isinstance(value, bool)
