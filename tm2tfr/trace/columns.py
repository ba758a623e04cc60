"""The columns of a decoder's table: its outputs, or a construction's if its stream has them, otherwise every subspace."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from tm2tfr.contract import ANSWER, FED, POSITION, Column, Kind, readable
from tm2tfr.sources.circuit.columns import LOOKUP_COLUMNS, PAPER_COLUMNS
from tm2tfr.sources.turing.columns import TURING
from tm2tfr.transformer.outputs import Output
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.weights import Decoder

FED_TOKEN = Column(name="x", kind="fed", meaning=FED, tex="$x^{(i)}$")
KNOWN = (TURING, LOOKUP_COLUMNS, PAPER_COLUMNS)
"""The tables of the constructions, each for the decoders whose streams hold what it shows."""


def columns_of(decoder: Decoder) -> tuple[Column, ...]:
    """Return the columns of the table of `decoder`."""
    return (
        _labelling(decoder.outputs, tuple(o.whole for o in decoder.outputs))
        if decoder.labeller
        else _generating(decoder.layout)
    )


def is_turing(layout: Residual) -> bool:
    """Return whether this stream has what the chapter's table shows, of whatever names."""
    return _generating(layout) is TURING


@lru_cache(maxsize=64)
def _generating(layout: Residual) -> tuple[Column, ...]:
    """Return the columns of the table of a decoder with this stream, which generates."""
    return next((columns for columns in KNOWN if readable(columns, layout)), None) or tuple(_columns(layout))


@lru_cache(maxsize=64)
def _labelling(outputs: tuple[Output, ...], whole: tuple[bool, ...]) -> tuple[Column, ...]:
    """Return the position, the token fed, and each output in order; whole: of each, in which equal outputs may differ."""
    columns = [POSITION, FED_TOKEN]
    taken = {"i", "x", *(output.name for output in outputs)}
    for output, numbers in zip(outputs, whole, strict=True):
        name = output.name
        while name in ("i", "x") or (name != output.name and name in taken):
            name = f"{name} (defined)"
        taken.add(name)
        what = "the number of this output" if output.labels is None else "the label of this output"
        real = output.labels is None
        columns.append(Column(name=name, kind="output", holds=output.name, real=real, whole=numbers, meaning=what))
    return tuple(columns)


def _columns(layout: Residual) -> Iterator[Column]:
    """Yield the position, the token fed, each subspace in its order, and the token answered."""
    yield POSITION
    yield FED_TOKEN
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
