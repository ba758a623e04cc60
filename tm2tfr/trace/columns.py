"""The columns of a decoder's table: a construction's if its stream has what they show, otherwise every subspace."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from tm2tfr.contract import ANSWER, FED, POSITION, Column, Kind, readable
from tm2tfr.sources.circuit.columns import LOOKUP_COLUMNS, PAPER_COLUMNS
from tm2tfr.sources.turing.columns import TURING
from tm2tfr.transformer.residual import Residual

KNOWN = (TURING, LOOKUP_COLUMNS, PAPER_COLUMNS)
"""The tables of the constructions, each for the decoders whose streams hold what it shows."""


@lru_cache(maxsize=64)
def columns_of(layout: Residual) -> tuple[Column, ...]:
    """Return the columns of the table of a decoder with this stream."""
    return next((columns for columns in KNOWN if readable(columns, layout)), None) or tuple(_columns(layout))


def is_turing(layout: Residual) -> bool:
    """Return whether this stream has what the chapter's table shows, of whatever names."""
    return columns_of(layout) is TURING


def _columns(layout: Residual) -> Iterator[Column]:
    """Yield the position, the token fed, each subspace in its order, and the token answered."""
    yield POSITION
    yield Column(name="x", kind="fed", meaning=FED, tex="$x^{(i)}$")
    taken = {"i", "x", "y", *(subspace.name for subspace in layout.subspaces)}
    for subspace in layout.subspaces:
        name = subspace.name
        if name in ("i", "x", "y"):
            while name in taken:
                name = f"{name} (stream)"
            taken.add(name)
        kind: Kind = "number" if subspace.labels is None else "label"
        meaning = "the number in this subspace" if kind == "number" else "the label of this subspace's vector"
        yield Column(name=name, kind=kind, subspace=subspace.name, meaning=meaning)
    yield ANSWER
