"""Many inputs of one machine, compared with its reference up to the first that differs: in batches where fast runs them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from tm2tfr.engines.recognise import recognise
from tm2tfr.runs.batches.batch import Batch, BatchResults
from tm2tfr.runs.choose import for_cases
from tm2tfr.runs.many import ComparedRuns
from tm2tfr.runs.options import MAX_STEPS, RunOptions
from tm2tfr.runs.run import carried_out
from tm2tfr.runs.truths import AnyMachine
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.sources.circuit.truth import CircuitResult
from tm2tfr.sources.turing.simulator import Result
from tm2tfr.sources.turing.spec import Outcome
from tm2tfr.trace.check import Progress, Trace
from tm2tfr.trace.rows import is_turing
from tm2tfr.transformer.weights import Decoder

AT_ONCE = 2**15
"""So many inputs are in one batch; the first that differs ends the check after its batch."""


def checked_inputs(
    decoder: Decoder,
    program: AnyMachine,
    words: Sequence[str],
    options: RunOptions,
    progress: Progress | None = None,
) -> ComparedRuns:
    """Run `decoder` on many inputs and compare every cell at every position, up to the first run that differs.

    Args:
        options: the engine, its dtype, and the limit on the steps of each run.

    Raises:
        InputError: for a word that is not an input of the machine.
        CompileError: if the decoder's table cannot be compared with the machine's.
        EngineError: if the engine cannot run these weights; in its words, where it refuses a position.
    """
    engine = for_cases(decoder, options.engine, options.dtype)
    limit = MAX_STEPS if options.max_steps is None else options.max_steps
    options = replace(options, engine=engine, dtype=None, max_steps=limit, keep_rows=False, progress=None)
    together = engine.name == "fast" and is_turing(decoder.layout)
    found = _Found()
    for start in range(0, len(words), AT_ONCE if together else 1):
        if together:
            found.add_batch(_batch(decoder, program, words[start : start + AT_ONCE], limit, progress, start, len(words)))
        else:
            found.add(carried_out(decoder, words[start], program, options))
            if progress is not None:
                progress(start + 1, len(words))
        if found.failure is not None:
            break
    word = found.longest_word
    return ComparedRuns(
        name=program.name,
        noun="machine",
        reference="simulator",
        engine=engine.name,
        dtype=engine.dtype,
        runs=found.runs,
        cells=found.cells,
        counted="compared",
        outcomes=dict(sorted(found.outcomes.items())),
        failure=found.failure,
        longest=found.longest if word is None else carried_out(decoder, word, program, options),
    )


def traces(batch: Batch) -> Iterator[Trace]:
    """Yield each run of a batch with its rows, compared with the reference, as `tm2tfr.check` returns it without rows.

    Of heads that are scanned, runs that agree have those that are so from their first position on.
    """
    scanned = _scanned_from_the_start(batch.decoder)
    right = batch.results
    reach = np.abs(batch.columns["h"]) if "h" in batch.columns else np.zeros(batch.rows)
    for run, word in enumerate(batch.inputs):
        first, last, steps = int(batch.offsets[run]), int(batch.offsets[run + 1]), int(batch.T[run])
        if right is None or batch.differs[run] >= 0 or run in batch.refused or batch.compared[run] == 0:
            yield batch.trace(run)
            continue
        yield Trace(
            machine=batch.name,
            input=word,
            engine=batch.engine,
            dtype=batch.dtype,
            tokens=last - first,
            answer=str(batch.outcomes[run]),
            T=None if steps < 0 else steps,
            result=_result(batch, right, run),
            compared=int(batch.compared[run]),
            divergence=None,
            reach=int(reach[first:last].max(initial=0)),
            noun=batch.noun,
            scanned=scanned,
        )


def _result(batch: Batch, right: BatchResults, run: int) -> Result | CircuitResult:
    """Return what came out of the reference in a run of a machine or a circuit."""
    outcome = str(right.outcomes[run])
    if isinstance(batch.program, Circuit):
        return CircuitResult.of(batch.program, outcome)
    return Result(
        outcome=cast("Outcome", outcome),
        steps=int(right.steps[run]),
        tape=right.tapes[run],
        cells_visited=int(right.visited[run]),
        ones=int(right.ones[run]),
    )


def _scanned_from_the_start(decoder: Decoder) -> tuple[str, ...]:
    """Return a line for each head that the fast engine does not recognise in the weights, see `Trace.scanned`."""
    return tuple(
        f"layer {n}, head {head.name!r}: scan: {found.why}"
        for n, (layer, kinds) in enumerate(zip(decoder.layers, recognise(decoder), strict=True), start=1)
        for head, found in zip(layer.heads, kinds, strict=True)
        if found.kind == "scan"
    )


class _Found:
    """What is said of all runs, while they come."""

    def __init__(self) -> None:
        self.runs = self.cells = 0
        self.outcomes = Counter[str]()
        self.failure: Trace | None = None
        self.longest: Trace | None = None
        self.longest_word: str | None = None
        self._most = 0

    def add(self, trace: Trace) -> None:
        """Take note of a run."""
        self.runs += 1
        self.cells += trace.compared
        if not trace.agrees:
            self.failure = trace
            return
        self.outcomes[trace.answer] += 1
        if self.longest is None or trace.tokens > self.longest.tokens:
            self.longest = trace

    def add_batch(self, batch: Batch) -> None:
        """Take note of the runs of a batch, up to the first that differs."""
        wrong = np.flatnonzero((batch.differs >= 0) | (batch.compared == 0))
        refused = batch.refused
        first = min((int(each[0]) for each in (wrong, refused) if len(each)), default=len(batch))
        self.runs += first
        self.cells += int(batch.compared[:first].sum())
        self.outcomes.update(batch.outcomes[:first].tolist())
        if first and int(batch.compared[:first].max()) > self._most:
            self._most = int(batch.compared[:first].max())
            self.longest_word = batch.inputs[int(batch.compared[:first].argmax())]
        if first < len(batch):
            self.add(batch.trace(first))


def _batch(
    decoder: Decoder,
    program: AnyMachine,
    words: Sequence[str],
    limit: int,
    progress: Progress | None,
    done: int,
    every: int,
) -> Batch:
    from tm2tfr.runs.batches.carried import batch_of  # noqa: PLC0415  (it needs Numba, which is optional)

    def show(runs: int, _rows: int) -> None:
        if progress is not None:
            progress(done + runs, every)

    return batch_of(decoder, program, words, checked=True, max_steps=limit, keep_rows=False, progress=show)
