"""Rows of a decoder in blocks: the values read off its stream, and rows as columns of numbers.

Cells are codes: the index of a label among those of its subspace (of a token in the vocabulary), -1 for ⊥, -2 for a vector
that is not a label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import EngineError
from tm2tfr.contract.source import AnyRow, Column
from tm2tfr.engines.reading import plain_number
from tm2tfr.runs.rows import columns_of, row_type
from tm2tfr.transformer.weights import Decoder

Codes = NDArray[np.int32]
Arrays = Mapping[str, NDArray[np.generic]]
"""The state of a run in blocks, as it is saved."""


# ── What is read off the stream at every position: the columns of a decoder's table that the tokens do not tell.
@dataclass(frozen=True)
class ColumnProbes:
    """The readings of a session, see `tm2tfr.engines.fast.session.FastSession`, and their columns.

    Args:
        labels, numbers: the slices and the directions.
        codes: column -> its place among the labels, and their names.
        values: column -> its place among the numbers; of bits, the places of all of them.
    """

    labels: tuple[tuple[int, int], ...] = ()
    numbers: tuple[int, ...] = ()
    codes: Mapping[str, tuple[int, tuple[str, ...]]] = field(default_factory=dict)
    values: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def names(self) -> Mapping[str, tuple[str, ...]]:
        """The labels that the codes of each column are the places of."""
        return {name: labels for name, (_, labels) in self.codes.items()}

    def columns(self, codes: NDArray[np.int32], numbers: NDArray[np.float64]) -> dict[str, NDArray[np.generic]]:
        """Return the columns of rows from the readings of a session; bits as (rows, bits)."""
        found: dict[str, NDArray[np.generic]] = {name: codes[:, at] for name, (at, _) in self.codes.items()}
        for name, at in self.values.items():
            found[name] = numbers[:, at[0]] if len(at) == 1 else numbers[:, list(at)]
        return found


TOKENS_ALONE = ColumnProbes()
"""Nothing is read: only tokens are compared."""


def probes_of(decoder: Decoder) -> ColumnProbes:
    """Return the values that are read; of the chapter's table q, b, a, m and h, and x if the token does not show it."""
    columns, layout = columns_of(decoder), decoder.layout
    labels, numbers = list[tuple[int, int]](), list[int]()
    codes: dict[str, tuple[int, tuple[str, ...]]] = {}
    values: dict[str, tuple[int, ...]] = {}
    for column in _ordered(columns, decoder):
        found = column.read_from(layout)
        if column.kind == "label" and found is not None:
            place = layout[found.name]
            codes[column.name] = len(labels), found.labels or ()
            labels.append((place.start, place.stop))
        elif column.kind == "number" and found is not None:
            values[column.name] = (len(numbers),)
            numbers.append(layout[found.name].start)
        elif column.kind == "bits":
            bits = [layout[subspace.name].start for subspace in column.read_bits(layout) or ()]
            values[column.name] = tuple(range(len(numbers), len(numbers) + len(bits)))
            numbers += bits
    return ColumnProbes(tuple(labels), tuple(numbers), codes, values)


def _ordered(columns: tuple[Column, ...], decoder: Decoder) -> list[Column]:
    """Return the columns in the order in which they are read: of the chapter's table x last, where it is read at all."""
    rest = [column for column in columns if column.holds != "e_x"]
    embedded = [column for column in columns if column.holds == "e_x"]
    return rest if embedded and _shows_its_token(decoder, embedded[0]) else rest + embedded


def _shows_its_token(decoder: Decoder, column: Column) -> bool:
    """Return whether e_x is the token's one-hot vector after the last layer: embedded as such and never written."""
    subspace = column.read_from(decoder.layout)
    if subspace is None:
        return False
    place, embedding = decoder.layout[subspace.name], decoder.token_embedding
    inside = (embedding.rows >= place.start) & (embedding.rows < place.stop)
    rows, columns, values = (a[inside] for a in (embedding.rows, embedding.columns, embedding.values))
    identity = len(rows) == len(decoder.vocabulary) and bool((rows - place.start == columns).all() and (values == 1).all())
    written = [decoder.position_embedding.rows]
    for layer in decoder.layers:
        written += [head.output.rows for head in layer.heads]
        if layer.feed_forward is not None:
            written += [layer.feed_forward.output.rows, layer.feed_forward.output_bias.rows]
    touched = np.concatenate(written)
    return identity and not bool(((touched >= place.start) & (touched < place.stop)).any())


# ── Rows of the chapter's table.
class RowBlock(NamedTuple):
    """Rows i, i + 1, …: arrays of shape (n,)."""

    i: NDArray[np.int64]
    x: Codes
    q: Codes
    b: Codes
    m: NDArray[np.float64]
    h: NDArray[np.float64]
    a: Codes
    y: Codes

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.i)


class Labels(NamedTuple):
    """The labels that the codes of each column stand for."""

    x: tuple[str, ...]
    q: tuple[str, ...]
    b: tuple[str, ...]
    a: tuple[str, ...]

    @classmethod
    def of(cls, decoder: Decoder) -> Labels:
        """Return the labels of a decoder's subspaces.

        Raises:
            EngineError: if its stream does not have the chapter's table.
        """
        found = {column.name: column.read_from(decoder.layout) for column in columns_of(decoder) if column.kind == "label"}
        lacking = next((name for name in cls._fields if found.get(name) is None), None)
        if lacking is not None:
            raise EngineError(f"no subspace of these weights holds the table's column {lacking}: run them row by row")
        return cls(*(subspace.labels or () for subspace in map(found.__getitem__, cls._fields) if subspace is not None))


def as_rows(block: RowBlock, decoder: Decoder) -> list[AnyRow]:
    """Return a block as rows; codes below -1 become ⟨…⟩."""
    labels = Labels.of(decoder)

    def named(codes: Codes, names: Sequence[str]) -> list[str | None]:
        return [names[c] if c >= 0 else None if c == -1 else "⟨…⟩" for c in codes.tolist()]

    columns = (
        block.i.tolist(),
        named(block.x, labels.x),
        named(block.q, labels.q),
        named(block.b, labels.b),
        [plain_number(float(v)) for v in block.m.tolist()],
        [plain_number(float(v)) for v in block.h.tolist()],
        named(block.a, labels.a),
        [decoder.vocabulary[c] if c >= 0 else "⟨…⟩" for c in block.y.tolist()],
    )
    return [row_type(columns_of(decoder))(*cells) for cells in zip(*columns, strict=True)]
