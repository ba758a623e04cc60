"""What a construction brings, as data: so far the columns of its table. Knows the transformer, and no construction."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Literal

from tm2tfr.errors import ShapeError
from tm2tfr.transformer.residual import Residual, Subspace

BOTTOM = "⊥"
"""A cell that contains nothing."""


class Unspecified(Enum):
    """The type of `ANY`."""

    ANY = "any"


ANY: Final = Unspecified.ANY
"""In a row that is expected: it does not matter what the cell contains."""

Kind = Literal["position", "fed", "label", "number", "bits", "answered"]
"""What the cells of a column are: the position i; the token fed at it, as text; the label of a subspace's one-hot vector
after the last layer, as text or None for the zero vector; the number in a subspace; the bits in several subspaces, as the
text of their digits or by name; the token answered, as text."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column of the table of a run: what its cells are, and how they are shown.

    Args:
        name: its heading, and its key in files; no two columns of a table have the same.
        kind: see `Kind`. The first column of a table is the position, the second tells the token at it, the last is the
            token answered.
        meaning: what it shows, in a few words.
        holds: of a label or number, what its subspace is claimed to hold: it is read from wherever that is.
        subspace: otherwise the name of the subspace itself.
        bits: of bits, what their subspaces are claimed to hold, in order.
        names: pairs of the digits of such bits and their name, if they have one.
        signed: whether a positive number is shown with its sign, as moves are.
        tex: its heading in LaTeX, ``$q^{(i)}$``; by default its name.

    Raises:
        ShapeError: if a label or number is not read from exactly one thing, bits from nothing, or another column from
            anything.
    """

    name: str
    kind: Kind
    meaning: str
    holds: str = ""
    subspace: str | None = None
    bits: tuple[str, ...] = ()
    names: tuple[tuple[str, str], ...] = ()
    signed: bool = False
    tex: str = ""

    def __post_init__(self) -> None:
        given = bool(self.holds) + (self.subspace is not None)
        if given != (self.kind in ("label", "number")):
            need = "exactly one of holds and subspace" if self.kind in ("label", "number") else "neither holds nor subspace"
            raise ShapeError(f"column {self.name!r}: it is a {self.kind}: give it {need}")
        if bool(self.bits) != (self.kind == "bits"):
            raise ShapeError(f"column {self.name!r}: it is a {self.kind}: columns of kind bits have bits, and no others")

    @property
    def numeric(self) -> bool:
        """Whether its cells are numbers."""
        return self.kind in ("position", "number")

    def read_from(self, layout: Residual) -> Subspace | None:
        """Return the subspace of `layout` that it is read from; None if there is none of the right kind."""
        if self.subspace is None:
            found = layout.holding(self.holds)
        else:
            found = layout.subspace(self.subspace) if self.subspace in layout else None
        return found if found is not None and (found.labels is None) == (self.kind == "number") else None

    def read_bits(self, layout: Residual) -> tuple[Subspace, ...] | None:
        """Return the subspaces of `layout` that its bits are read from; None if it has none or some are not there."""
        found = [layout.holding(what) for what in self.bits]
        there = tuple(subspace for subspace in found if subspace is not None and subspace.labels is None)
        return there if there and len(there) == len(found) else None

    def named(self, digits: str) -> str:
        """Return bits, given as text, by their name; as they are if they have none."""
        return dict(self.names).get(digits, digits)

    def text(self, value: Any) -> str:
        """Return a cell as it is written: ⊥ for nothing, a positive number with its sign if the column is signed."""
        return shown(value, signed=self.signed)


def shown(value: Any, *, signed: bool = False) -> str:
    """Return a cell as it is written, see `Column.text`."""
    if value is None:
        return BOTTOM
    return f"+{value}" if signed and value > 0 else str(value)
