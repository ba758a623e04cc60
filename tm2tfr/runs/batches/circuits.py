"""The right rows of a circuit on many inputs: the bits of all nets, and what the columns of its table have to be."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.contract import Column
from tm2tfr.engines.fast.many import RowsInTurn
from tm2tfr.runs.batches.probes import probes_of
from tm2tfr.runs.batches.right import WordsGiven
from tm2tfr.sources.circuit.columns import OPERANDS, widened
from tm2tfr.sources.circuit.evaluate import Bits, evaluate_cases
from tm2tfr.sources.circuit.truth import CircuitTruth
from tm2tfr.trace.columns import columns_of
from tm2tfr.transformer.matrix import Ints
from tm2tfr.transformer.weights import Decoder

_UNKNOWN = -9
"""The number of a token that is not in the vocabulary."""


class RightBits(NamedTuple):
    """The bits of all nets in some runs, inputs and then gates: (runs, nets); `offsets` are those of the rows."""

    offsets: Ints
    bits: Bits

    def without_rows(self) -> RightBits:
        """Return the runs alone: what comes out of them is among the bits."""
        return self


class CircuitRuns:
    """The reference of one circuit.

    Args:
        truth: a run of it, which says what is right where.
    """

    def __init__(self, decoder: Decoder, truth: CircuitTruth) -> None:
        self._decoder, self._circuit, self._positions = decoder, truth.circuit, truth.positions
        self._spec, self._first = truth.specification(0), len(truth.circuit.inputs) - 1
        self._columns, self._probes = columns_of(decoder), probes_of(decoder)
        self._tokens = np.array([decoder.numbers.get(bit, _UNKNOWN) for bit in "01"])

    def rows(self, given: WordsGiven, first: int, last: int, room: int) -> RightBits:
        """Return the right bits of runs from `first` on, see `tm2tfr.runs.batches.running.RightRuns`."""
        positions, inputs = self._positions, len(self._circuit.inputs)
        runs = min(last - first, max(1, room // max(1, positions)))
        cases = given.words[given.start[first] : given.start[first + runs]].reshape(runs, inputs)
        return RightBits(
            np.arange(runs + 1, dtype=np.int64) * positions, evaluate_cases(self._circuit, cases.astype(np.uint8))
        )

    def cells(self, rows: Ints) -> Ints:
        """Return the number of cells that the reference says something of in so many rows from the first on."""
        unsaid = sum(column.kind == "answered" or column.holds == "mean" for column in self._columns)
        found: Ints = rows * (len(self._columns) - 1) - np.minimum(rows, self._first) * unsaid
        return found

    def differs(self, found: RowsInTurn, tokens: NDArray[np.int32], probed: bool, right: RightBits) -> Ints:
        """Return the place of the first row of each run that differs, see `tm2tfr.runs.batches.running.RightRuns`."""
        sizes = np.diff(found.offsets)
        run = np.repeat(np.arange(len(sizes)), sizes)
        place = np.arange(len(run)) - found.offsets[:-1][run]
        bits, said = right.bits, place >= self._first
        same = tokens == self._tokens[bits[run, place]]
        same &= ~said | (found.answers == self._tokens[bits[run, np.minimum(place + 1, bits.shape[1] - 1)]])
        for column in self._columns:
            at = self._probes.values.get(column.name)
            if at is not None:
                same &= self._right(column, found.numbers[:, list(at)], bits, run, place)
        differs = np.where(sizes < np.diff(right.offsets), sizes, -1)
        wrong, first = np.unique(run[~same], return_index=True)
        differs[wrong] = place[~same][first]
        return differs

    def _right(self, column: Column, numbers: NDArray[np.float64], bits: Bits, run: Ints, place: Ints) -> NDArray[np.bool_]:
        """Return in which rows the numbers of a column are right: (rows, numbers)."""
        what, found = column.holds, numbers[:, 0]
        if column.kind == "bits":
            digits = numbers @ (1 << np.arange(numbers.shape[1])[::-1])
            clean = ((numbers == 0) | (numbers == 1)).all(axis=1)
            return np.asarray(clean & (self._named[np.where(clean, digits, 0).astype(np.int64)] == self._gates[place]))
        if what in OPERANDS:
            return np.asarray(found == self._addresses[place, OPERANDS.index(what)])
        if what == "mean":
            return np.asarray((place < self._first) | (found == self._means(bits)[run, place]))
        operand = self._addresses[place, OPERANDS.index(what.removeprefix("x_"))]
        return np.asarray(found == bits[run, operand])

    @cached_property
    def _addresses(self) -> Ints:
        """The positions of the operands: (positions, operands)."""
        return np.array([self._spec.addresses(i) for i in range(self._positions)], dtype=np.int64)

    @cached_property
    def _gates(self) -> NDArray[np.str_]:
        """How the gate of each position is called: (positions,)."""
        column = self._column
        gates = map(self._spec.gate, range(self._positions))
        return np.array([column.named("0" * len(column.bits) if gate is None else widened(gate)) for gate in gates])

    @cached_property
    def _named(self) -> NDArray[np.str_]:
        """How bits are called, by the number that they are in binary: some have the same name."""
        width = len(self._column.bits)
        return np.array([self._column.named(f"{number:0{width}b}") for number in range(1 << width)])

    @property
    def _column(self) -> Column:
        return next(column for column in self._columns if column.kind == "bits")

    def _means(self, bits: Bits) -> NDArray[np.float64]:
        """Return the means of the operands' signs where a gate is answered, ∞ for one that is no float."""
        means = np.full((len(bits), self._positions), np.inf)
        numbers = self._circuit.numbers
        for i in range(self._first, self._positions):
            gate = self._spec.gate(i)
            operands = [] if gate is None else [numbers[net] for net in gate.operands]
            totals = 2 * bits[:, operands].sum(axis=1, dtype=np.int64) - len(operands)
            for total in np.unique(totals).tolist() if operands else ():
                mean = Fraction(total, len(operands))
                if Fraction(float(mean)) == mean:
                    means[totals == total, i] = float(mean)
        return means

    def outcomes(self, right: RightBits) -> NDArray[np.str_]:
        """Return what comes out of the runs: the bits of the outputs; ``limit`` of runs that are cut off."""
        if self._positions < right.bits.shape[1] - 1:
            return np.full(len(right.bits), "limit")
        outputs = right.bits[:, [self._circuit.numbers[net] for _, net in self._circuit.outputs]]
        if not outputs.shape[1]:
            return np.full(len(right.bits), "")
        text: Any = np.ascontiguousarray(outputs + ord("0")).astype(np.uint32)
        return np.asarray(text.view(f"<U{outputs.shape[1]}")[:, 0])
