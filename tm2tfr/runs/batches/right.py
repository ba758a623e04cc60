"""What is right in the runs of machines on words, as arrays that compiled code takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.contract import Column
from tm2tfr.engines.fast.many import RowsInTurn
from tm2tfr.runs.long_run import shows_its_token
from tm2tfr.trace.rows import columns_of
from tm2tfr.transformer.matrix import Ints
from tm2tfr.transformer.weights import Decoder


class WordsGiven(NamedTuple):
    """WordsGiven as symbols of a machine, and the tokens before them.

    The symbols of word r are ``words[start[r] : start[r + 1]]``, its tokens ``leads[lead[r] : lead[r + 1]]``.
    """

    words: NDArray[np.int32]
    start: Ints
    leads: NDArray[np.int32]
    lead: Ints


class RuleTable(NamedTuple):
    """A machine with its states and symbols as numbers: `to`, `written` and `move` are (rules,).

    Without `keys` there is an entry for each pair, at state × symbols + symbol.
    """

    keys: Ints
    to: NDArray[np.int32]
    written: NDArray[np.int32]
    move: NDArray[np.int32]
    symbols: int
    blank: int
    start: int
    walled: bool
    limit: int


class RightCodes(NamedTuple):
    """What is right for a machine, as codes of its decoder's labels: of a state, a symbol written, one read …

    Args:
        state: (states,)
        written, read, fed: (symbols,); fed: the token of an input symbol.
        shown: (tokens,) the code of x.
        first: (symbols,) the answer to BOS, by the symbol under the head.
        answers: (states, symbols, 3) the token of a step, by where it goes, what it writes, and its move + 1.
        stops: (states, symbols) the token where there is no rule.
        ends: (tokens + 3,) whether a token ends the run, by token - `unknown`.
        outcomes: (states, symbols) how a run ends there, as a place in `OUTCOMES`.
        starts_halted: whether the answer to BOS is a verdict.
        nominal: whether m is the move that the rule says.
    """

    state: NDArray[np.int32]
    written: NDArray[np.int32]
    read: NDArray[np.int32]
    fed: NDArray[np.int32]
    shown: NDArray[np.int32]
    first: NDArray[np.int32]
    answers: NDArray[np.int32]
    stops: NDArray[np.int32]
    ends: NDArray[np.bool_]
    outcomes: NDArray[np.int32]
    bos: int
    unknown: int
    starts_halted: bool
    nominal: bool


class RightRows(NamedTuple):
    """The right rows of some runs from `first` on, and what comes out of them: arrays of (rows,) and (runs,).

    Those of a run are ``offsets[r] : offsets[r + 1]``; its final tape is ``tape[tape_offsets[r] : tape_offsets[r + 1]]``.
    """

    first: int
    offsets: Ints
    x: NDArray[np.int32]
    q: NDArray[np.int32]
    b: NDArray[np.int32]
    m: NDArray[np.int32]
    h: NDArray[np.int32]
    a: NDArray[np.int32]
    y: NDArray[np.int32]
    outcome: NDArray[np.int32]
    steps: Ints
    visited: Ints
    ones: Ints
    tape_offsets: Ints
    tape: NDArray[np.int32]

    def without_rows(self) -> RightRows:
        """Return what is said of each run alone."""
        none = slice(0, 0)
        return self._replace(
            x=self.x[none],
            q=self.q[none],
            b=self.b[none],
            m=self.m[none],
            h=self.h[none],
            a=self.a[none],
            y=self.y[none],
        )


# ── What is read off the stream at every position of many runs: the columns of a decoder's table.
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
