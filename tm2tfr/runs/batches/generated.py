"""Many inputs of one decoder that generates, in calls of the fast engine: all rows, and how each run ended.

They are run in parts, in several threads, and compared with the reference's rows. The parts come in the order of the inputs
and are the same whatever the number of threads. Each thread has a session of its own, which computes what follows from the
weights once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import EngineError
from tm2tfr.contract.blocks import BlockReference, FoundRows, RightRun
from tm2tfr.engines.decode import Engine, generate
from tm2tfr.engines.fast.many import CUT, ENDED, ManyRuns, RowsInTurn
from tm2tfr.engines.fast.many import REFUSED as NOT_RUN
from tm2tfr.runs.batches.batch import END, LIMIT, REFUSED, Batch, as_one
from tm2tfr.runs.batches.given import Prompts, fed_tokens, of_program, of_text
from tm2tfr.runs.batches.labelled import labelled_batch
from tm2tfr.runs.blocks import TOKENS_ALONE, ColumnProbes, probes_of
from tm2tfr.runs.choose import NamedProgram, blocks_of, cores
from tm2tfr.runs.comparison import Progress, ends_of
from tm2tfr.runs.plan import MAX_STEPS
from tm2tfr.transformer import provenance
from tm2tfr.transformer.matrix import Ints
from tm2tfr.transformer.weights import Decoder

ROWS = 2**16
"""A thread makes about this many rows at a time: few enough for the processor's caches."""
FIRST, MOST = 32, 8_192
"""The runs of the first part, from which the others' size is estimated, and the most in one of them."""
AHEAD = 3
"""The number of parts that may wait for each thread."""


class BatchPart(NamedTuple):
    """Runs `first`, `first` + 1, …; see `tm2tfr.runs.batches.batch.Batch`.

    Args:
        offsets: (runs + 1,), from 0 on.
        ends: (runs,) see `tm2tfr.engines.fast.many.CUT`.
        fed: see `tm2tfr.contract.blocks.FoundRows`.
        differs, reach: (runs,) the place of the first row that differs, -1 if none does; the largest |h| before it.
        expected: the right rows; None without a check.
    """

    first: int
    offsets: Ints
    ends: Ints
    fed: Callable[[], NDArray[np.int32]]
    answers: NDArray[np.int32]
    columns: dict[str, NDArray[np.generic]]
    differs: Ints
    reach: Ints
    expected: RightRun | None

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self.ends)

    def without_rows(self) -> BatchPart:
        """Return the runs alone."""
        right = None if self.expected is None else self.expected.without_rows()
        columns, nothing = {name: column[:0].copy() for name, column in self.columns.items()}, self.answers[:0].copy()
        return self._replace(fed=lambda: nothing, answers=nothing, columns=columns, expected=right)


class _OneByOne:
    """Runs of any engine, one after the other, of which only tokens are read."""

    def __init__(self, decoder: Decoder, engine: Engine) -> None:
        self._decoder, self._engine = decoder, engine

    def run(self, given: NDArray[np.int32], start: Ints, most: Ints, rows: int, coming: int = 0) -> RowsInTurn:
        """Run on each prompt, see `tm2tfr.engines.fast.many.ManyRuns.run`."""
        decoder, answers, ends = self._decoder, list[NDArray[np.int32]](), list[int]()
        for r, limit in enumerate(most.tolist()):
            prompt = [decoder.vocabulary[n] for n in given[start[r] : start[r + 1] - (decoder.bos is not None)].tolist()]
            steps = generate(decoder, prompt, engine=self._engine, max_positions=limit)
            found = [step.output for step in steps]
            answers.append(np.array([decoder.numbers[output] for output in found], dtype=np.int32))
            ends.append(ENDED if found and found[-1] in decoder.stop else CUT)
        offsets = np.cumsum([0, *map(len, answers)], dtype=np.int64)
        total = int(offsets[-1])
        codes, numbers = np.zeros((total, 0), dtype=np.int32), np.zeros((total, 0))
        every = np.concatenate([np.zeros(0, dtype=np.int32), *answers])
        return RowsInTurn(offsets, np.array(ends, dtype=np.int64), every, codes, numbers)

    def close(self) -> None:
        """There is nothing to give back."""


@dataclass
class _Worker:
    """What one thread needs."""

    session: ManyRuns | _OneByOne
    rows: int


class Running:
    """Many runs of one decoder; what follows from its weights is computed once for each thread.

    Args:
        reference: None: nothing is compared.
        probes: what is read off the stream, and so compared beside tokens.
        engine: makes one run after the other, of which only tokens are read; None: the fast engine, many in a call.
    """

    def __init__(
        self,
        decoder: Decoder,
        reference: BlockReference | None,
        probes: ColumnProbes,
        workers: int,
        engine: Engine | None = None,
    ) -> None:
        self._decoder, self._reference, self._probes, self._engine = decoder, reference, probes, engine
        self._workers, self._idle = workers, list[_Worker]()
        self._coming, self._at_once = 0, ROWS if probes.labels or probes.numbers else 4 * ROWS  # of tokens alone more fit
        self._runs = self._rows = 0  # of all parts so far

    def parts(self, given: Prompts, limit: Ints, later: int = 0) -> Iterator[BatchPart]:
        """Yield the runs on these prompts, in order.

        Args:
            limit: (runs,) the most positions of each run.
            later: the number of runs that will follow in other calls.

        Raises:
            EngineError: if the fast engine does not run these weights.
        """
        runs, known = len(limit), self._decoder.positions or 1
        first = min(FIRST, runs, max(1, 4 * ROWS // known)) if not self._runs else 0
        if first:
            part = self._noted(self._part(given, limit, 0, first))
            first = part.runs  # fewer, if it was too large
            yield part
        each = max(1, self._rows // max(1, self._runs))
        size = max(1, min(MOST, self._at_once // each))
        self._coming = each * (runs - first + later)
        places = deque((start, min(start + size, runs)) for start in range(first, runs, size))
        with ExitStack() as stack:
            if self._workers == 1 or len(places) < 2:
                submit: Callable[[int, int], Callable[[], BatchPart]] = partial(partial, self._part, given, limit)
            else:
                pool = stack.enter_context(ThreadPoolExecutor(self._workers))
                stack.callback(pool.shutdown, wait=True, cancel_futures=True)

                def submit(first: int, last: int) -> Callable[[], BatchPart]:
                    return pool.submit(self._part, given, limit, first, last).result

            waiting = deque[tuple[int, Callable[[], BatchPart]]]()
            while places or waiting:
                while places and len(waiting) < AHEAD * self._workers:
                    first, last = places.popleft()
                    waiting.append((last, submit(first, last)))
                last, result = waiting.popleft()
                part = self._noted(result())
                if part.first + part.runs < last:  # it was too large
                    waiting.appendleft((last, submit(part.first + part.runs, last)))
                yield part

    def close(self) -> None:
        """End all sessions: others may use their arrays."""
        for worker in self._idle:
            worker.session.close()
        self._idle.clear()

    def _noted(self, part: BatchPart) -> BatchPart:
        self._runs, self._rows = self._runs + part.runs, self._rows + int(part.offsets[-1])
        return part

    def _part(self, given: Prompts, limit: Ints, first: int, last: int) -> BatchPart:
        """Run inputs `first`, … up to `last`, or fewer of them."""
        worker, expected = self._idle.pop() if self._idle else self._new(), None
        if self._reference is not None:
            expected = self._reference.rows(given.words, first, last, min(worker.rows, int(limit[first:last].sum())))
            most = np.diff(expected.offsets)
            worker.rows = max(worker.rows, min(int(expected.offsets[-1]), 4 * ROWS))
        else:
            most = limit[first:last]
        last = first + len(most)
        start = given.start[first : last + 1]
        tokens = given.tokens[start[0] : start[-1]]
        found = worker.session.run(tokens, start - start[0], most, min(worker.rows, int(most.sum())), self._coming)
        fed = cache(partial(fed_tokens, tokens, start - start[0], found.offsets, found.answers))
        part = self._compared(first, fed, found, expected)
        self._idle.append(worker)
        return part

    def _new(self) -> _Worker:
        if self._engine is not None:
            return _Worker(_OneByOne(self._decoder, self._engine), self._at_once)
        try:
            session = ManyRuns(self._decoder, labels=self._probes.labels, numbers=self._probes.numbers)
        except EngineError as error:
            what = str(error).removesuffix(": use the dense engine")
            raise EngineError(f"{what}: run these inputs one by one, with the dense engine") from error
        return _Worker(session, self._at_once)

    def _compared(
        self, first: int, fed: Callable[[], NDArray[np.int32]], found: RowsInTurn, expected: RightRun | None
    ) -> BatchPart:
        differs, reach = np.full(len(found.ends), -1, dtype=np.int64), np.zeros(len(found.ends), dtype=np.int64)
        if self._reference is not None:
            rows = FoundRows(found.offsets, fed, found.answers, found.codes, found.numbers, self._probes.values)
            differs, reach = self._reference.differs(rows, expected)
            sizes = np.diff(found.offsets)
            differs[(found.ends == NOT_RUN) & (differs == sizes)] = -1  # a refused position is not a difference
        columns = self._probes.columns(found.codes, found.numbers)
        return BatchPart(first, found.offsets, found.ends, fed, found.answers, columns, differs, reach, expected)


# ── whole batches ─────────────────────────────────────────────────────────────────────────────────────────────
def batch_of(
    decoder: Decoder,
    program: NamedProgram | None,
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
            `tm2tfr.runs.plan.RunOptions`.
        workers: the number of threads; None: one for each core.
        keep_rows: keep the rows; otherwise only the result of each run.

    Raises:
        InputError: for a word that is not an input of the program, with its number.
        EngineError: for a word with symbols that are not in the vocabulary; if the fast engine does not run these weights.
        CompileError: if the decoder's table cannot be compared with the program's.
    """
    words = tuple(words)
    workers = workers or cores()
    if decoder.labeller:
        return labelled_batch(
            decoder,
            program,
            words,
            checked=checked,
            max_steps=max_steps,
            workers=workers,
            keep_rows=keep_rows,
            progress=progress,
        )
    [batch] = batches_of(
        decoder,
        program,
        words,
        checked=checked,
        max_steps=max_steps,
        workers=workers,
        keep_rows=keep_rows,
        at_once=len(words) + 1,
        progress=progress,
    )
    return batch


def batches_of(
    decoder: Decoder,
    program: NamedProgram | None,
    words: Sequence[str],
    *,
    checked: bool,
    max_steps: int,
    workers: int,
    keep_rows: bool,
    at_once: int,
    tokens_alone: bool = False,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Iterator[Batch]:
    """Run a decoder that generates on many words, and yield `at_once` runs at a time; see `batch_of`.

    Args:
        tokens_alone: read nothing off the stream, and so compare tokens alone.
        engine: the engine for that, one run after the other; None: the fast engine, many runs in a call.
    """
    limit = None if decoder.positions is not None and max_steps == MAX_STEPS else max_steps  # their length is known
    blocks = None if program is None else blocks_of(program, decoder, limit)
    probes = TOKENS_ALONE if tokens_alone else probes_of(decoder)
    running = Running(decoder, blocks if checked else None, probes, workers, engine)
    ending = blocks is not None and checked and blocks.truth.ending(decoder) is not None
    said = _Said(decoder, np.zeros_like if blocks is None else blocks.cells, ending=ending)
    rows = 0
    for first in range(0, max(1, len(words)), at_once):
        some = words[first : first + at_once] if len(words) > at_once else words
        given = of_text(decoder, some) if blocks is None else of_program(decoder, blocks, some)
        most = np.full(len(some), np.iinfo(np.int32).max, dtype=np.int64)
        if limit is not None:
            most = given.size + limit + (2 if decoder.bos is not None else -1)
        parts, told = list[BatchPart](), list[_PartSaid]()
        for part in running.parts(given, most, max(0, len(words) - first - at_once)) if len(some) else ():
            told.append(said.of(part, given.size))
            rows += int(part.offsets[-1])
            parts.append(part if keep_rows else part.without_rows())
            if progress is not None:
                progress(first + part.first + part.runs, rows)
        names = parts[0].columns if parts else ()
        yield Batch(
            name=provenance.name(decoder.provenance, "weights") if blocks is None else blocks.truth.name,
            noun="machine" if blocks is None else blocks.truth.noun,
            inputs=some,
            offsets=_joined([part.offsets for part in parts]),
            tokens=as_one([part.fed() for part in parts], np.int32),
            answers=as_one([part.answers for part in parts], np.int32),
            columns={name: as_one([part.columns[name] for part in parts], np.int64) for name in names},
            labels=probes.names,
            vocabulary=decoder.vocabulary,
            outcomes=said.names[as_one([part.outcome for part in told], np.int64)],
            T=as_one([part.steps for part in told], np.int64),
            differs=as_one([part.differs for part in told], np.int64),
            reach=as_one([part.reach for part in parts], np.int64),
            compared=as_one([part.compared for part in told], np.int64),
            results=blocks.results([part.expected for part in parts]) if checked and blocks is not None else None,
            max_steps=max_steps,
            decoder=decoder,
            program=program,
        )
    running.close()


class _PartSaid(NamedTuple):
    """The results of the runs of a part: (runs,) each; the outcome by its place among `_Said.names`."""

    outcome: Ints
    steps: Ints
    differs: Ints
    compared: Ints


class _Said:
    """The results of the runs, while parts come.

    Args:
        cells: see `tm2tfr.contract.blocks.BlockReference`.
        ending: whether the decoder would stop in another place than the reference, whatever the input.
    """

    def __init__(self, decoder: Decoder, cells: Callable[[Ints], Ints], *, ending: bool) -> None:
        ends = ends_of(decoder)
        found = {name: n for n, name in enumerate(dict.fromkeys((LIMIT, REFUSED, END, *ends.values())))}
        self.names = np.array(list(found))
        self._of_token = np.array([found[ends.get(token, LIMIT)] for token in decoder.vocabulary])
        self._refused, self._limit, self._end = found[REFUSED], found[LIMIT], found[END]
        self._cells, self._ending, self._decoder = cells, ending, decoder

    def of(self, part: BatchPart, size: Ints) -> _PartSaid:
        """Return the results of the runs of a part; size: (runs,) the tokens before BOS, of all parts."""
        rows, prompt = np.diff(part.offsets), size[part.first : part.first + part.runs]
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
        return _PartSaid(answer, np.where(ended, steps, -1), differs, compared)


def _joined(offsets: Sequence[Ints]) -> Ints:
    """Return offsets of parts, each from 0 on, as those of all."""
    if len(offsets) == 1:
        return offsets[0]
    sizes = [np.diff(each) for each in offsets]
    return np.concatenate([[0], np.cumsum(as_one(sizes, np.int64))]).astype(np.int64)
