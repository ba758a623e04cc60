"""Many inputs of one decoder that generates, in one call of the fast engine: all rows, and how each run ended."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.contract import Column, Truth
from tm2tfr.engines.fast.many import REFUSED as NOT_RUN
from tm2tfr.engines.fast.many import RowsInTurn
from tm2tfr.errors import CompileError
from tm2tfr.runs.batches.batch import END, LIMIT, REFUSED, Batch, BatchResults
from tm2tfr.runs.batches.given import Prompts, of_circuit, of_machine, of_text
from tm2tfr.runs.batches.labelled import labelled_batch
from tm2tfr.runs.batches.machines import OUTCOMES, MachineRuns
from tm2tfr.runs.batches.right import RightRows, WordsGiven, probes_of
from tm2tfr.runs.batches.running import BatchPart, RightRuns, Running
from tm2tfr.runs.batches.words import Tapes
from tm2tfr.runs.options import MAX_STEPS
from tm2tfr.runs.truths import AnyMachine, truth_of
from tm2tfr.sources.circuit.columns import OPERANDS, widened
from tm2tfr.sources.circuit.evaluate import Bits, evaluate_cases
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.sources.circuit.truth import CircuitTruth
from tm2tfr.sources.turing.columns import CHECKED, OUTCOME_OF_TOKEN
from tm2tfr.sources.turing.truth import TuringTruth
from tm2tfr.trace.check import Progress
from tm2tfr.trace.rows import columns_of, is_turing
from tm2tfr.transformer import provenance
from tm2tfr.transformer.matrix import Ints
from tm2tfr.transformer.weights import Decoder

# ── The right rows of a circuit on many inputs: the bits of all nets, and what the columns of its table have to be.
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


def batch_of(
    decoder: Decoder,
    program: Any,
    words: Sequence[str],
    *,
    checked: bool,
    max_steps: int,
    workers: int | None = None,
    keep_rows: bool = True,
    progress: Progress | None = None,
) -> Batch:
    """Run `decoder` on many words, compared with `program` if they are `checked`.

    Args:
        program: the machine, circuit, RASP program or formula; None: one token is fed for each character.
        max_steps: the most steps of a run; the default is for runs that may have no end, see
            `tm2tfr.runs.options.RunOptions`.
        workers: the number of threads; None: one for each core.
        keep_rows: keep the rows; otherwise only what is said of each run is kept.

    Raises:
        InputError: for a word that is not an input of the program, with its number.
        EngineError: for a word with symbols that are not in the vocabulary; if the fast engine does not run these weights.
        CompileError: if the decoder's table cannot be compared with the program's.
    """
    words = tuple(words)
    if decoder.labeller:
        return labelled_batch(
            decoder,
            program,
            words,
            checked=checked,
            max_steps=max_steps,
            workers=workers or cores(),
            keep_rows=keep_rows,
            progress=progress,
        )
    if not isinstance(program, AnyMachine | Circuit | None):
        what = f"{program.name} labels words, and these weights generate tokens: they are not its weights"
        raise CompileError(f"{what}: compile it again")
    limit = None if decoder.positions is not None and max_steps == MAX_STEPS else max_steps  # their length is known
    source = _source(decoder, program, words, limit)
    given, truth = source.given, source.truth
    most = np.full(len(words), np.iinfo(np.int32).max, dtype=np.int64)
    if limit is not None:
        most = given.size + limit + (2 if decoder.bos is not None else -1)
    running = Running(decoder, given, source.reference if checked else None, most, workers or cores())
    ending = truth is not None and checked and truth.ending(decoder) is not None
    told = _Said(decoder, given.size, source.cells, ending=ending)
    parts, rows = list[BatchPart](), 0
    for part in running.parts() if words else ():
        told.add(part)
        rows += int(part.offsets[-1])
        parts.append(part if keep_rows else part.without_rows())
        if progress is not None:
            progress(part.first + part.runs, rows)
    columns = {name: _all([part.columns[name] for part in parts]) for name in (parts[0].columns if parts else ())}
    return Batch(
        name=provenance.name(decoder.provenance, "weights") if truth is None else truth.name,
        noun="machine" if truth is None else truth.noun,
        inputs=words,
        offsets=_joined([part.offsets for part in parts]),
        tokens=_all([part.tokens for part in parts]),
        answers=_all([part.answers for part in parts]),
        columns=columns,
        labels=running.probes.names,
        vocabulary=decoder.vocabulary,
        outcomes=told.names[_all(told.outcome)] if parts else np.array([], dtype=np.str_),
        T=_all(told.steps),
        differs=_all(told.differs),
        compared=_all(told.compared),
        results=source.results([part.expected for part in parts]) if checked and truth is not None else None,
        max_steps=max_steps,
        decoder=decoder,
        program=program,
    )


@dataclass(frozen=True, kw_only=True)
class _Source:
    """What the source of a program brings to its runs.

    Args:
        given: what is fed.
        truth: any run of the reference; None: there is none.
        reference: makes the reference of a thread.
        cells: the number of cells that the reference says something of in so many rows of a run: (runs,) to (runs,).
        results: what comes out of the reference, from the right rows of all parts.
    """

    given: Prompts
    truth: Truth | None = None
    reference: Callable[[], RightRuns] | None = None
    cells: Callable[[Ints], Ints] = np.zeros_like
    results: Callable[[Sequence[Any]], BatchResults | None] = lambda parts: None


def _source(decoder: Decoder, program: AnyMachine | Circuit | None, words: Sequence[str], limit: int | None) -> _Source:
    if program is None:
        return _Source(given=of_text(decoder, words))
    word = "0" * len(program.inputs) if isinstance(program, Circuit) else ""
    truth = truth_of(program, word, decoder, limit)
    if isinstance(truth, TuringTruth):
        machine, most = truth, MAX_STEPS if limit is None else limit
        return _Source(
            given=of_machine(decoder, machine, words),
            truth=machine,
            reference=lambda: MachineRuns(decoder, machine, most),
            cells=lambda rows: len(CHECKED) * rows,
            results=lambda parts: _of_machine(parts, machine),
        )
    if not isinstance(truth, CircuitTruth) or not isinstance(program, Circuit):  # never
        raise TypeError(f"{truth} is not the run of a machine or a circuit")
    circuit = truth
    runs = CircuitRuns(decoder, circuit)
    return _Source(
        given=of_circuit(decoder, program, words),
        truth=circuit,
        reference=lambda: runs,
        cells=runs.cells,
        results=lambda parts: _of_circuit(parts, runs),
    )


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Said:
    """What is said of each run, while parts come.

    Args:
        size: (runs,) the tokens before BOS.
        cells: see `_Source`.
        ending: whether the decoder would stop in another place than the reference, whatever the input.
    """

    def __init__(self, decoder: Decoder, size: Ints, cells: Callable[[Ints], Ints], *, ending: bool) -> None:
        ends = OUTCOME_OF_TOKEN if is_turing(decoder.layout) else {token: token for token in decoder.stop}
        found = {name: n for n, name in enumerate(dict.fromkeys((LIMIT, REFUSED, END, *ends.values())))}
        self.names = np.array(list(found))
        self._of_token = np.array([found[ends.get(token, LIMIT)] for token in decoder.vocabulary])
        self._refused, self._limit, self._end = found[REFUSED], found[LIMIT], found[END]
        self._size, self._cells, self._ending, self._decoder = size, cells, ending, decoder
        self.outcome, self.steps, self.differs, self.compared = (list[NDArray[Any]]() for _ in range(4))

    def add(self, part: BatchPart) -> None:
        """Take note of the runs of a part."""
        rows, prompt = np.diff(part.offsets), self._size[part.first : part.first + part.runs]
        differs, compared = part.differs, np.zeros(part.runs, dtype=np.int64)
        missing = (differs >= 0) & (differs == rows)  # the reference has a row more
        if part.expected is not None:
            right = np.diff(part.expected.offsets)
            agreed = np.where(differs >= 0, differs, rows)
            compared = self._cells(np.minimum(agreed + 1, right))
            if self._ending:  # every run differs, at its last row if at none before
                last = (differs < 0) | missing
                differs, missing = np.where(last, rows - 1, differs), missing & ~last
        tokens = np.where(differs >= 0, np.minimum(rows, differs + 1), rows)
        answer = np.full(part.runs, self._limit)
        some = (tokens > np.maximum(prompt, 0)) & ~missing
        answer[some] = self._of_token[part.answers[part.offsets[:-1][some] + tokens[some] - 1]]
        answer[(part.ends == NOT_RUN) & (differs < 0)] = self._refused
        if self._decoder.positions is not None and not self._decoder.stop:
            answer[(answer == self._limit) & (tokens == self._decoder.positions)] = self._end
        ended = (answer != self._limit) & (answer != self._refused)
        steps = tokens - prompt + (-1 if self._decoder.bos is not None else 1)
        self.outcome.append(answer)
        self.steps.append(np.where(ended, steps, -1))
        self.differs.append(differs)
        self.compared.append(compared)


def _of_machine(found: Sequence[RightRows], truth: TuringTruth) -> BatchResults:
    outcome = _all([each.outcome for each in found])
    return BatchResults(
        outcomes=np.array(OUTCOMES)[outcome],
        steps=_all([each.steps for each in found]),
        visited=_all([each.visited for each in found]),
        ones=_all([each.ones for each in found]),
        tapes=Tapes(
            truth.machine.tape_alphabet, _joined([each.tape_offsets for each in found]), _all([each.tape for each in found])
        ),
    )


def _of_circuit(found: Sequence[RightBits], runs: CircuitRuns) -> BatchResults:
    return BatchResults.of(np.concatenate([np.zeros(0, dtype="U1"), *map(runs.outcomes, found)]))


def _joined(offsets: Sequence[Ints]) -> Ints:
    """Return offsets of parts, each from 0 on, as those of all."""
    sizes = [np.diff(each) for each in offsets]
    return np.concatenate([[0], np.cumsum(_all(sizes))]).astype(np.int64)


def _all(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return arrays as one."""
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int64)
