"""What is read off the stream at every position of many runs: the columns of a decoder's table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from tm2tfr.contract import Column
from tm2tfr.engines.fast.many import RowsInTurn
from tm2tfr.runs.long_run import shows_its_token
from tm2tfr.trace.columns import columns_of
from tm2tfr.transformer.weights import Decoder


@dataclass(frozen=True)
class ColumnProbes:
    """The columns of a table that the tokens do not tell.

    Args:
        labels, numbers: what a session reads, see `tm2tfr.engines.fast.session.FastSession`.
        codes: column -> its place among the labels, and their names.
        values: column -> its place among the numbers; of bits, the places of all of them.
    """

    labels: tuple[tuple[int, int], ...]
    numbers: tuple[int, ...]
    codes: Mapping[str, tuple[int, tuple[str, ...]]]
    values: Mapping[str, tuple[int, ...]]

    @property
    def names(self) -> Mapping[str, tuple[str, ...]]:
        """The labels that the codes of each column are the places of."""
        return {name: labels for name, (_, labels) in self.codes.items()}

    def columns(self, rows: RowsInTurn) -> dict[str, NDArray[Any]]:
        """Return the columns of rows; bits as (rows, bits)."""
        found: dict[str, NDArray[Any]] = {name: rows.codes[:, at] for name, (at, _) in self.codes.items()}
        for name, at in self.values.items():
            found[name] = rows.numbers[:, at[0]] if len(at) == 1 else rows.numbers[:, list(at)]
        return found


def probes_of(decoder: Decoder) -> ColumnProbes:
    """Return what is read; of the chapter's table q, b, a, m and h, and x if the token does not show it."""
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
    return rest if embedded and shows_its_token(decoder) else rest + embedded
