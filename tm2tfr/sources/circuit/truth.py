"""The right runs of a circuit, one by one and many at once: the bits of all nets, the rows of its table, its outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import CompileError, InputError, counted, listing, visible
from tm2tfr.contract.blocks import BatchResults, CodedTexts, FoundRows, WordsGiven
from tm2tfr.contract.source import ANY, AnyRow, Column, Ending, readable, unreadable
from tm2tfr.contract.specification import Specification
from tm2tfr.sources.circuit.columns import (
    LOOKUP_COLUMNS,
    OPERANDS,
    PAPER_COLUMNS,
    columns,
    gate_at,
    operand_positions,
    widened,
)
from tm2tfr.sources.circuit.evaluate import Bits, Evaluation, evaluate, evaluate_cases
from tm2tfr.sources.circuit.inputs import all_cases, random_cases, read_input, shown_outputs
from tm2tfr.sources.circuit.model import CircuitSpecification
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.transformer.matrix import AnyArray, Ints
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.weights import Decoder


@dataclass(frozen=True)
class CircuitResult:
    """The results of a run.

    Args:
        outputs: pairs of the name of an output and its bit, in the circuit's order.
        shown: the same in words: a number for each bus, or a digest.
        cut_off: whether the run was cut off before its last gate.
    """

    outputs: tuple[tuple[str, int], ...]
    shown: str = ""
    cut_off: bool = False

    @classmethod
    def of(cls, circuit: Circuit, outcome: str) -> CircuitResult:
        """Return what `outcome` says: the bits of the outputs, or ``limit``."""
        if outcome == "limit" and circuit.outputs:
            return cls((), "", cut_off=True)
        outputs = {name: int(bit) for (name, _), bit in zip(circuit.outputs, outcome, strict=True)}
        return cls(tuple(outputs.items()), shown_outputs(circuit, outputs))

    @property
    def outcome(self) -> str:
        """The bits of the outputs, in order, as text; ``limit`` if the run was cut off."""
        if self.cut_off:
            return "limit"
        return "".join(str(bit) for _, bit in self.outputs)

    @property
    def own(self) -> dict[str, object]:
        """The fields beside the outcome, as plain data."""
        return {"outputs": dict(self.outputs), "result": self.shown}

    def unmet(self, example: Any) -> list[str]:
        """Return the differences from an example, whose `outputs` are bits as text, by name."""
        bits = dict(self.outputs)
        wrong = {name: bit for name, bit in example.outputs.items() if str(bits[name]) != bit}
        return [f"{name} = {bit}, the evaluator {bits[name]}" for name, bit in wrong.items()]


@dataclass(frozen=True)
class CircuitTruth:
    """The right run of a circuit on an input.

    Args:
        bits: those of the inputs, in order: 0 or 1, as numbers or as text.
        variant, epsilon: those of the weights, for the table and the specification.
        max_steps: the run is cut off after this many gates; None: it has all of them.

    Raises:
        InputError: if there are not as many bits as inputs, or anything but bits.
    """

    circuit: Circuit
    bits: Sequence[int] | str
    variant: str = "lookup"
    epsilon: float = 0.0
    max_steps: int | None = None

    def __post_init__(self) -> None:
        given, wanted, name = list(self.bits), len(self.circuit.inputs), visible(self.circuit.name)
        wrong = next((n for n, bit in enumerate(given) if str(bit) not in ("0", "1")), None)
        if wrong is not None:
            raise InputError(f"{name}: bit {wrong} of the input is {given[wrong]!r}: use 0 or 1")
        if len(given) != wanted:
            bits = "is 1 bit" if len(given) == 1 else f"are {len(given)} bits"
            raise InputError(f"{name}: there {bits}, for {counted(wanted, 'input')}: give one bit for each input")

    @property
    def prompt(self) -> tuple[str, ...]:
        """The tokens of the input."""
        return tuple(map(str, map(int, self.bits)))

    @cached_property
    def symbols(self) -> tuple[int, ...]:
        """The bits of all nets: inputs, then gates, in order."""
        return tuple(map(int, self._evaluation.symbols))

    @cached_property
    def _evaluation(self) -> Evaluation:
        return evaluate(self.circuit, "".join(self.prompt))

    @property
    def positions(self) -> int:
        """The number of positions of the run."""
        gates = len(self.circuit.gates) if self.max_steps is None else min(self.max_steps, len(self.circuit.gates))
        return len(self.circuit.inputs) - 1 + gates

    @property
    def outputs(self) -> Mapping[str, int]:
        """The bit of each output."""
        return self._evaluation.outputs

    def result(self) -> CircuitResult:
        """Return the outputs of the circuit; empty if the run is cut off."""
        if self.positions < len(self.symbols) - 1:
            return CircuitResult((), "", cut_off=True)
        return CircuitResult(tuple(self.outputs.items()), shown_outputs(self.circuit, self.outputs))

    @property
    def noun(self) -> str:
        """The name of what runs."""
        return "circuit"

    @property
    def reference(self) -> str:
        """The name of the reference, which evaluates gate by gate."""
        return "evaluator"

    @property
    def name(self) -> str:
        """The circuit's name."""
        return self.circuit.name

    @property
    def input(self) -> str:
        """The bits of the inputs, in order, as text."""
        return "".join(self.prompt)

    @property
    def blank(self) -> str:
        """A circuit has no tape."""
        return ""

    def refuse(self, layout: Residual) -> None:
        """Raise CompileError if a decoder with this stream has no table of a circuit's run, or another variant's."""
        lacking = unreadable(columns(self.variant), layout)
        if not lacking:
            return
        why, remedy = f"no subspace of their residual stream holds {listing(lacking, most=3)}", "run them without a check"
        if any(readable(table, layout) for table in (LOOKUP_COLUMNS, PAPER_COLUMNS)):
            stated = visible(self.variant)
            why = f"they say that their variant is {stated}, and their residual stream is that of another"
            remedy = "compile the circuit again"
        problem = f"{visible(self.name)}: these weights cannot be compared with a circuit"
        raise CompileError(f"{problem}, since {why}: {remedy}")

    def specification(self, upto: int) -> Specification:
        """Return what every subspace holds at every position, and where each head looks."""
        return self._specification

    @cached_property
    def _specification(self) -> CircuitSpecification:
        return CircuitSpecification(self.circuit, self.symbols, self.variant, self.epsilon)

    def ending(self, decoder: Decoder) -> Ending | None:
        """Return the error if `decoder` stops anywhere but at the end of its position table."""
        wanted = len(self.symbols) - 1
        if decoder.positions != wanted:
            found = "endless" if decoder.positions is None else f"{decoder.positions:,}"
            return self._ending(
                "position table", "its length", f"{wanted:,}", found, "the run does not end with the last gate"
            )
        if decoder.stop:
            return self._ending(
                "stop tokens", "the list", "empty", ", ".join(decoder.stop), "a run ends before its last gate"
            )
        return None

    def _ending(self, what: str, part: str, expected: str, found: str, why: str) -> Ending:
        why = f"the weights are right so far, but {why}: compile the circuit again"
        return Ending(what=what, part=part, expected=expected, found=found, why=why)

    def rows(self, columns: Sequence[Column]) -> Iterator[AnyRow]:
        """Yield the right cells at each position, one per column; `ANY` where any value is right."""
        return islice(zip(*map(self._cells, columns), strict=True), self.positions)

    def _cells(self, column: Column) -> Sequence[Any]:
        """Return the cells of a column at all positions: the evaluator's bits, and the model's values from them."""
        bits, held = list(map(str, self.symbols)), self._specification.columns
        if column.kind == "position":
            return range(len(bits) - 1)
        if column.kind == "fed":
            return bits[:-1]
        if column.kind == "bits":
            tables = zip(*(held[name].tolist() for name in column.bits), strict=True)
            return [column.named("".join(map(str, table))) for table in tables]
        cells = bits[1:] if column.kind == "answered" else held[column.holds].tolist()
        before = len(self.circuit.inputs) - 1 if column.kind == "answered" or column.holds == "mean" else 0
        return [*[ANY] * before, *cells[before:]]


# ── many runs
AT_ONCE = 1 << 22
"""The most bits that are evaluated at a time."""
_UNKNOWN = -9
"""The number of a token that is not in the vocabulary."""


class RightBits(NamedTuple):
    """The bits of all nets in some runs, inputs and then gates, and those of the outputs: (runs, nets).

    The rows of run r are ``offsets[r] : offsets[r + 1]``.
    """

    offsets: Ints
    bits: Bits
    outputs: Bits

    def without_rows(self) -> RightBits:
        """Return the runs alone."""
        return self._replace(bits=self.bits[:0].copy())


class CircuitBlocks:
    """The reference of one circuit, see `tm2tfr.contract.blocks.BlockReference`.

    Args:
        truth: a reference run, which determines the columns that are compared at each position.
    """

    letters: Mapping[str, int] = {"0": 0, "1": 1}
    lead: Sequence[str] = ()
    identity: Sequence[str] = ()

    def __init__(self, decoder: Decoder, truth: CircuitTruth) -> None:
        truth.refuse(decoder.layout)
        self.truth, self._circuit, self._positions = truth, truth.circuit, truth.positions
        self._first, self._columns = len(truth.circuit.inputs) - 1, columns(truth.variant)
        self._lock, self._evaluated = Lock(), list[tuple[WordsGiven, int, Bits]]()
        self._tokens = np.array([decoder.numbers.get(bit, _UNKNOWN) for bit in "01"], dtype=np.int32)
        self.size: int | None = len(truth.circuit.inputs)
        self.answers: int | None = max(0, truth.positions - self._first)

    def read(self, text: str) -> Sequence[int]:
        """Return the bits of an input as people write it."""
        return [int(bit) for bit in read_input(self._circuit, text)]

    def rows(self, given: WordsGiven, first: int, last: int, room: int) -> RightBits:
        """Return the right bits of runs from `first` on."""
        positions = self._positions
        bits = self._bits(given, first, min(last, first + max(1, room // max(1, positions))))
        outputs = bits[:, [self._circuit.numbers[net] for _, net in self._circuit.outputs]]
        return RightBits(np.arange(len(bits) + 1, dtype=np.int64) * positions, bits, outputs)

    def _bits(self, given: WordsGiven, first: int, last: int) -> Bits:
        """Return the bits of runs from `first` on, at most up to `last`.

        A large circuit takes as long to evaluate on one input as on many, of which one part has few: those evaluated last
        are kept, of the parts that several threads are at.
        """
        inputs = len(self._circuit.inputs)
        size = max(1, AT_ONCE // (inputs + len(self._circuit.gates)))
        start = first // size * size
        with self._lock:
            known = next((bits for of, at, bits in self._evaluated if of is given and at == start), None)
            if known is None:
                stop = min(start + size, len(given.start) - 1)
                cases = given.words[given.start[start] : given.start[stop]].reshape(stop - start, inputs)
                known = evaluate_cases(self._circuit, cases.astype(np.uint8))
                self._evaluated = [*self._evaluated[-1:], (given, start, known)]
        return known[first - start : last - start]

    def cells(self, rows: Ints) -> Ints:
        """Return the number of cells that the reference determines in the first `rows` rows."""
        unsaid = sum(column.kind == "answered" or column.holds == "mean" for column in self._columns)
        found: Ints = rows * (len(self._columns) - 1) - np.minimum(rows, self._first) * unsaid
        return found

    def differs(self, found: FoundRows, right: RightBits) -> tuple[Ints, Ints]:
        """Return the place of the first row of each run that differs, in an answer or in a column that was read.

        The tokens fed are inputs, or answers that are compared.
        """
        sizes, positions, runs, first = np.diff(found.offsets), self._positions, len(right.bits), self._first
        present = None if (sizes == positions).all() else np.arange(positions) < sizes[:, None]

        def grid(column: AnyArray) -> AnyArray:
            """Return rows by run, (runs, positions); 0 for those that are not there."""
            if present is None:
                return column.reshape(runs, positions, *column.shape[1:])
            whole = np.zeros((runs, positions, *column.shape[1:]), dtype=column.dtype)
            whole[present] = column
            return whole

        differs, reach = np.full(runs, -1, dtype=np.int64), np.zeros(runs, dtype=np.int64)
        answers = grid(found.answers)[:, first:] == self._tokens[right.bits[:, first + 1 : positions + 1]]
        read = [column for column in self._columns if column.name in found.places]
        if present is None and not read and answers.all():
            return differs, reach
        same = np.ones((runs, positions), dtype=np.bool_) if present is None else present.copy()
        same[:, first:] &= answers
        for column in read:
            same &= self._right(column, grid(found.numbers[:, list(found.places[column.name])]), right.bits)
        wrong = ~same.all(axis=1)
        if wrong.any():
            differs[wrong] = same[wrong].argmin(axis=1)
        return differs, reach

    def _right(self, column: Column, numbers: NDArray[np.float64], bits: Bits) -> NDArray[np.bool_]:
        """Return in which rows the numbers of a column, (runs, positions, numbers), are right."""
        what, found = column.holds, numbers[..., 0]
        if column.kind == "bits":
            digits = numbers @ (1 << np.arange(numbers.shape[-1])[::-1])
            clean = ((numbers == 0) | (numbers == 1)).all(axis=-1)
            return np.asarray(clean & (self._named[np.where(clean, digits, 0).astype(np.int64)] == self._gates))
        if what in OPERANDS:
            return np.asarray(found == self._addresses[:, OPERANDS.index(what)])
        if what == "mean":
            return np.asarray((np.arange(self._positions) < self._first) | (found == self._means(bits)))
        return np.asarray(found == bits[:, self._addresses[:, OPERANDS.index(what.removeprefix("x_"))]])

    @cached_property
    def _addresses(self) -> Ints:
        """The positions of the operands: (positions, operands)."""
        return np.array([operand_positions(self._circuit, i) for i in range(self._positions)], dtype=np.int64)

    @cached_property
    def _gates(self) -> NDArray[np.str_]:
        """How the gate of each position is called: (positions,)."""
        column = self._column
        gates = [gate_at(self._circuit, i) for i in range(self._positions)]
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
        """Return the means of the operands' signs where a gate is answered, ∞ for one that is not a float."""
        means = np.full((len(bits), self._positions), np.inf)
        numbers = self._circuit.numbers
        for i in range(self._first, self._positions):
            gate = gate_at(self._circuit, i)
            operands = [] if gate is None else [numbers[net] for net in gate.operands]
            totals = 2 * bits[:, operands].sum(axis=1, dtype=np.int64) - len(operands)
            for total in np.unique(totals).tolist() if operands else ():
                mean = Fraction(total, len(operands))
                if Fraction(float(mean)) == mean:
                    means[totals == total, i] = float(mean)
        return means

    def results(self, parts: Sequence[RightBits]) -> BatchResults:
        """Return the results of the runs: the bits of the outputs; ``limit`` of runs that are cut off."""
        return BatchResults.of(np.concatenate([np.zeros(0, dtype="U1"), *map(self._outcomes, parts)]), self._result)

    def _outcomes(self, right: RightBits) -> NDArray[np.str_]:
        runs, outputs = right.outputs.shape
        if self.answers != len(self._circuit.gates):
            return np.full(runs, "limit")
        if not outputs:
            return np.full(runs, "")
        text: Any = np.ascontiguousarray(right.outputs + ord("0")).astype(np.uint32)
        return np.asarray(text.view(f"<U{outputs}")[:, 0])

    def _result(self, found: BatchResults, run: int) -> CircuitResult:
        return CircuitResult.of(self._circuit, str(found.outcomes[run]))

    def run(self, word: str) -> None:
        """Return None: a run of a circuit is as long as its position table, and is one of many."""


def inputs(circuit: Circuit, count: int | None, seed: int) -> CodedTexts:
    """Return `count` random inputs of a circuit, or all of them.

    Raises:
        InputError: if all inputs are more than 2^20.
    """
    cases = all_cases(circuit) if count is None else random_cases(circuit, count, seed=seed)
    offsets = np.arange(len(cases) + 1, dtype=np.int64) * cases.shape[1]
    return CodedTexts(("0", "1"), offsets, cases.ravel().astype(np.int32))
