"""Many inputs of one decoder that generates, in one call of the fast engine: all rows, and how each run ended."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.contract import Truth
from tm2tfr.engines.fast.many import REFUSED as NOT_RUN
from tm2tfr.errors import CompileError
from tm2tfr.runs.batches.batch import END, LIMIT, REFUSED, Batch, BatchResults
from tm2tfr.runs.batches.circuits import CircuitRuns, RightBits
from tm2tfr.runs.batches.given import Prompts, of_circuit, of_machine, of_text
from tm2tfr.runs.batches.labelled import labelled_batch
from tm2tfr.runs.batches.machines import OUTCOMES, MachineRuns
from tm2tfr.runs.batches.right import RightRows
from tm2tfr.runs.batches.running import BatchPart, BatchProgress, RightRuns, Running
from tm2tfr.runs.batches.words import Tapes
from tm2tfr.runs.options import MAX_STEPS
from tm2tfr.runs.truths import AnyMachine, truth_of
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.sources.circuit.truth import CircuitTruth
from tm2tfr.sources.turing.columns import CHECKED, OUTCOME_OF_TOKEN
from tm2tfr.sources.turing.truth import TuringTruth
from tm2tfr.trace.columns import is_turing
from tm2tfr.transformer import provenance
from tm2tfr.transformer.matrix import Ints
from tm2tfr.transformer.weights import Decoder


def batch_of(
    decoder: Decoder,
    program: Any,
    words: Sequence[str],
    *,
    checked: bool,
    max_steps: int,
    workers: int | None = None,
    keep_rows: bool = True,
    progress: BatchProgress | None = None,
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
