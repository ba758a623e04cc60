"""Many inputs of one program that generates, compared with its reference up to the first run that differs.

In column blocks where the fast engine runs them, or where tokens alone are compared; otherwise row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from tm2tfr.engines.recognise import recognise
from tm2tfr.runs.batches.batch import Batch, ComparedRuns, RunSink, SinkRun, Verdicts
from tm2tfr.runs.choose import NamedProgram, blocks_of, cores, for_cases
from tm2tfr.runs.comparison import Progress, Trace
from tm2tfr.runs.plan import MAX_STEPS, RunOptions
from tm2tfr.runs.rows import columns_of
from tm2tfr.runs.run import carried_out
from tm2tfr.sources.registry import of_program
from tm2tfr.transformer.weights import Decoder

AT_ONCE = 2**15
"""The inputs of one batch; the first that differs ends the check after its batch."""


def checked_inputs(
    decoder: Decoder,
    program: NamedProgram,
    words: Sequence[str],
    options: RunOptions,
    progress: Progress | None = None,
    *,
    tokens_alone: bool = False,
    sink: RunSink | None = None,
    listed: bool = False,
) -> ComparedRuns:
    """Run `decoder` on many inputs and compare every cell at every position, up to the first run that differs.

    Args:
        options: the engine, its dtype, and the limit on the steps of each run.
        tokens_alone: compare tokens alone, of circuits all bits; the run that differs is compared cell by cell.
        sink: gets every run that was compared.
        listed: list the first accepted inputs, if all runs agree.

    Raises:
        InputError: for a word that is not an input of the program.
        CompileError: if the decoder's table cannot be compared with the program's.
        EngineError: if the engine cannot run these weights; in its words, where it refuses a position.
    """
    engine = for_cases(decoder, options.engine, options.dtype)
    limit = MAX_STEPS if options.max_steps is None else options.max_steps
    options = replace(options, engine=engine, dtype=None, max_steps=limit, keep_rows=False, progress=None)
    blocks, found = None, _Found(lambda word: carried_out(decoder, word, program, options), sink, count=not tokens_alone)
    if engine.name == "fast" or tokens_alone:
        from tm2tfr.runs.batches.generated import batches_of  # noqa: PLC0415  (it takes its time to load)

        blocks = blocks_of(program, decoder, None)
        for batch in batches_of(
            decoder,
            program,
            words,
            checked=True,
            max_steps=limit,
            workers=cores(),
            keep_rows=False,
            at_once=AT_ONCE,
            tokens_alone=tokens_alone,
            engine=None if engine.name == "fast" else engine,
            progress=None if progress is None else lambda runs, _rows: progress(runs, len(words)),
        ):
            found.add_batch(batch)
            if found.failure is not None:
                break
    for n, word in enumerate(words if blocks is None else (), start=1):
        found.add(found.carried_out(word))
        if progress is not None:
            progress(n, len(words))
        if found.failure is not None:
            break
    construction = of_program(program)
    return ComparedRuns(
        name=program.name,
        noun="machine" if construction is None else construction.noun_of(program),
        reference=found.reference if blocks is None else blocks.truth.reference,
        engine=engine.name,
        dtype=engine.dtype,
        runs=found.runs,
        cells=found.runs * (blocks.answers or 0) if tokens_alone and blocks is not None else found.cells,
        counted="bits" if tokens_alone else "compared",
        outcomes=None if tokens_alone else dict(sorted(found.verdicts.outcomes.items())),
        accepted=found.verdicts.accepted if listed and found.failure is None else None,
        failure=found.failure,
        longest=None if tokens_alone else found.longest_run(),
    )


def traces(batch: Batch) -> Iterator[Trace]:
    """Yield each run of a batch, compared with the reference, as `tm2tfr.check` returns it without rows.

    Of heads that are scanned, runs that agree have those that are so from their first position on.
    """
    scanned, columns = _scanned_from_the_start(batch.decoder), columns_of(batch.decoder)
    for run, word in enumerate(batch.inputs):
        steps = int(batch.T[run])
        if batch.results is None or batch.differs[run] >= 0 or run in batch.refused or batch.compared[run] == 0:
            yield batch.trace(run)
            continue
        yield Trace(
            machine=batch.name,
            input=word,
            engine=batch.engine,
            dtype=batch.dtype,
            tokens=int(batch.offsets[run + 1] - batch.offsets[run]),
            answer=str(batch.outcomes[run]),
            T=None if steps < 0 else steps,
            result=batch.result(run),
            compared=int(batch.compared[run]),
            divergence=None,
            reach=int(batch.reach[run]),
            noun=batch.noun,
            columns=columns,
            scanned=scanned,
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
    """Totals over all runs, updated as parts arrive.

    Args:
        carried_out: makes one run by itself, row by row.
        sink: see `checked_inputs`; count: whether outcomes are counted.
    """

    def __init__(self, carried_out: Callable[[str], Trace], sink: RunSink | None, *, count: bool) -> None:
        self.carried_out, self._sink, self._count = carried_out, sink, count
        self.runs = self.cells = self._most = 0
        self.verdicts = Verdicts()
        self.failure: Trace | None = None
        self.longest: Trace | None = None
        self._longest_word: str | None = None
        self.reference = "reference"

    def add(self, trace: Trace, *, agrees: bool = True) -> None:
        """Take note of a run; agrees: whether it does among others."""
        self.runs += 1
        self.cells += trace.compared
        self.reference = trace.reference
        if self._sink is not None:
            self._sink([SinkRun(trace.input, trace.result.outcome, trace.result.shown, trace.agrees and agrees)])
        if not trace.agrees or not agrees:
            self.failure = trace
            return
        self.verdicts.first += [trace.input for _ in self.verdicts.add([trace.answer])]
        if self.longest is None or trace.tokens > self.longest.tokens:
            self.longest = trace

    def longest_run(self) -> Trace | None:
        """Return the longest run that agrees."""
        return self.longest if self._longest_word is None else self.carried_out(self._longest_word)

    def add_batch(self, batch: Batch) -> None:
        """Take note of the runs of a batch, up to the first that differs."""
        wrong = np.flatnonzero((batch.differs >= 0) | (batch.compared == 0))
        first = min((int(each[0]) for each in (wrong, batch.refused) if len(each)), default=len(batch))
        self.runs += first
        self.cells += int(batch.compared[:first].sum())
        if self._count:
            self.verdicts.first += [batch.inputs[run] for run in self.verdicts.add(batch.outcomes[:first].tolist())]
        if first and int(batch.compared[:first].max()) > self._most:
            self._most = int(batch.compared[:first].max())
            self._longest_word = batch.inputs[int(batch.compared[:first].argmax())]
        if self._sink is not None:
            results = map(batch.result, range(first))
            self._sink(SinkRun(batch.inputs[run], r.outcome, r.shown, True) for run, r in enumerate(results))
        if first < len(batch):
            self.add(self.carried_out(batch.inputs[first]), agrees=False)
