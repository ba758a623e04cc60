"""The residual stream as a direct sum of named subspaces, so that nothing is ever addressed by number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TypeVar

from tm2tfr.base.errors import ShapeError, did_you_mean

_Value = TypeVar("_Value")
Linear = Mapping[str, float]
"""A linear form on the residual stream: direction -> coefficient, e.g. ``{"h/(i+1)": 2}``."""


@dataclass(frozen=True)
class Subspace:
    """A named part of the residual stream.

    With labels it has one direction per label, called ``name[label]``; without, it is a single number and its
    one direction is called `name`.

    Args:
        holds: its content by the construction's claim, a key of the construction's specification; empty: no claim.
        share: whether that is a multiple of 1/(i+1), which uniform attention alone carries on.
        since: (layer, part) after which it holds that, a claim; layers count from 0, the ``embedding`` is of layer -1, and
            a layer has the parts ``attention`` and ``feed_forward``. None: no claim.
        groups: where several values share a label: pairs of such a value, as text, and the label that it has; a claim.

    Raises:
        ShapeError: for a `since` that is not a layer and one of its parts, or a group that has none of the labels.
    """

    name: str
    labels: tuple[str, ...] | None = None
    holds: str = ""
    share: bool = False
    since: tuple[int, str] | None = None
    groups: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.groups != ():
            object.__setattr__(self, "groups", tuple((value, label) for value, label in self.groups))
            known = {*(self.labels or ())}
            if stray := next((label for _, label in self.groups if label not in known), None):
                raise ShapeError(f"subspace {self.name!r} has no label {stray!r}: group its values by labels that it has")
        if self.since is not None:
            object.__setattr__(self, "since", tuple(self.since))
            if not _is_stage(self.since):
                problem = f"subspace {self.name!r} cannot hold its value since {self.since!r}"
                raise ShapeError(
                    f"{problem}: use (-1, 'embedding'), (n, 'attention') or (n, 'feed_forward') with n from 0 on"
                )

    @property
    def width(self) -> int:
        """Its number of directions."""
        return 1 if self.labels is None else len(self.labels)

    @cached_property
    def directions(self) -> tuple[str, ...]:
        """The names of its directions, in order."""
        return (self.name,) if self.labels is None else tuple([at(self.name, label) for label in self.labels])


def _is_stage(since: tuple[object, ...]) -> bool:
    """Return whether `since` is a layer, from 0 or -1 for the embedding, and one of its parts."""
    match since:
        case (int(layer), str(part)):
            return part == "embedding" if layer == -1 else layer >= 0 and part in ("attention", "feed_forward")
    return False


def at(subspace: str, label: str) -> str:
    """Return the name of one direction of a labelled subspace: ``e_q[q0]``."""
    return f"{subspace}[{label}]"


@dataclass(frozen=True)
class Residual:
    """The layout of a residual stream: subspaces one after the other, each with its own slice.

    Raises:
        ShapeError: two subspaces or two directions with the same name; a request for one that does not exist.
    """

    subspaces: tuple[Subspace, ...]

    def __post_init__(self) -> None:
        for names in ([s.name for s in self.subspaces], self.directions):
            if len(set(names)) == len(names):
                continue
            twice = sorted(name for name, count in Counter(names).items() if count > 1)
            if twice:
                raise ShapeError(f"the residual stream has two directions or subspaces called {twice[0]!r}")

    def __hash__(self) -> int:
        return hash(self.directions)  # equal for equal ones, and quicker than that of all subspaces

    @cached_property
    def directions(self) -> tuple[str, ...]:
        """The names of all directions; the index of a name is its coordinate."""
        return tuple(chain.from_iterable([s.directions for s in self.subspaces]))

    @property
    def width(self) -> int:
        """The dimension of the residual stream."""
        return len(self.directions)

    @cached_property
    def _slices(self) -> dict[str, slice]:
        slices, start = {}, 0
        for subspace in self.subspaces:
            slices[subspace.name] = slice(start, start + subspace.width)
            start += subspace.width
        return slices

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.directions)}

    @cached_property
    def _holding(self) -> dict[str, Subspace]:
        return {s.holds: s for s in reversed(self.subspaces) if s.holds}

    def __getitem__(self, name: str) -> slice:
        """Return the slice of the subspace called `name`: ``x[layout["h"]]``."""
        if name not in self._slices:
            raise ShapeError(f"no subspace is called {name!r}{did_you_mean(name, self._slices)}")
        return self._slices[name]

    def __contains__(self, name: str) -> bool:
        return name in self._slices

    def subspace(self, name: str) -> Subspace:
        """Return the subspace called `name`."""
        if name not in self._slices:
            raise ShapeError(f"no subspace is called {name!r}{did_you_mean(name, self._slices)}")
        return next(s for s in self.subspaces if s.name == name)

    def holding(self, what: str) -> Subspace | None:
        """Return the subspace that is claimed to hold `what`, None if there is none."""
        return self._holding.get(what)

    def holder(self, what: str) -> Subspace:
        """Return the subspace that is claimed to hold `what`.

        Raises:
            ShapeError: if there is none.
        """
        subspace = self.holding(what)
        if subspace is None:
            raise ShapeError(f"no subspace is claimed to hold {what!r}: compile the machine again")
        return subspace

    def index(self, direction: str) -> int:
        """Return the coordinate of a direction such as ``h`` or ``e_q[q0]``."""
        if direction not in self._index:
            raise ShapeError(f"no direction is called {direction!r}{did_you_mean(direction, self._index)}")
        return self._index[direction]

    def form(self, linear: Linear) -> dict[int, float]:
        """Return a linear form in terms of coordinates instead of names."""
        return {self.index(name): value for name, value in linear.items()}

    def named(self, coordinates: Mapping[int, _Value]) -> dict[str, _Value]:
        """Return a linear form in terms of names instead of coordinates, such as a row of a matrix."""
        return {self.directions[at]: value for at, value in coordinates.items()}


def total(directions: Iterable[str]) -> dict[str, float]:
    """Return the linear form that adds up `directions`."""
    return dict.fromkeys(directions, 1.0)


def by_claims(layout: Residual) -> Residual:
    """Return `layout` with every subspace called what it is claimed to hold: proofs are about claims, not names.

    Raises:
        ShapeError: if nothing is claimed about a subspace, or the same about two.
    """
    nameless = next((s.name for s in layout.subspaces if not s.holds), None)
    if nameless is not None:
        raise ShapeError(f"nothing says what the subspace {nameless!r} holds: compile the machine again")
    try:
        return Residual(tuple(replace(s, name=s.holds) for s in layout.subspaces))
    except ShapeError as error:
        raise ShapeError(f"by what its subspaces are claimed to hold, {error}: compile the machine again") from error
