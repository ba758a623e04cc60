"""The columns of a decoder's table: the chapter's if its stream has them, otherwise every subspace that it has."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from tm2tfr.contract import Column, Kind
from tm2tfr.transformer.residual import Residual

_FED, _ANSWERED = "the token at this position", "the answer: the next token"
_POSITION = Column(name="i", kind="position", meaning="the position", tex="$i$")
_ANSWER = Column(name="y", kind="answered", meaning=_ANSWERED, tex="$y^{(i)}$")
TURING: tuple[Column, ...] = (
    _POSITION,
    Column(name="x", kind="label", holds="e_x", meaning=_FED, tex="$x^{(i)}$"),
    Column(name="q", kind="label", holds="e_q", meaning="the state", tex="$q^{(i)}$"),
    Column(name="b", kind="label", holds="e_b", meaning="the symbol just written", tex="$b^{(i-1)}$"),
    Column(name="m", kind="number", holds="m", meaning="the move", signed=True, tex="$m^{(i-1)}$"),
    Column(name="h", kind="number", holds="h", meaning="the head's cell", tex="$h^{(i)}$"),
    Column(name="a", kind="label", holds="e_a", meaning="the symbol under the head", tex="$a^{(i)}$"),
    _ANSWER,
)
"""The columns of the chapter's table, of a decoder that simulates a Turing machine."""


@lru_cache(maxsize=64)
def columns_of(layout: Residual) -> tuple[Column, ...]:
    """Return the columns of the table of a decoder with this stream."""
    if all(column.read_from(layout) is not None for column in TURING if column.holds):
        return TURING
    return tuple(_columns(layout))


def is_turing(layout: Residual) -> bool:
    """Return whether this stream has what the chapter's table shows, of whatever names."""
    return columns_of(layout) is TURING


def _columns(layout: Residual) -> Iterator[Column]:
    """Yield the position, the token fed, each subspace in its order, and the token answered."""
    yield _POSITION
    yield Column(name="x", kind="fed", meaning=_FED, tex="$x^{(i)}$")
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
    yield _ANSWER
