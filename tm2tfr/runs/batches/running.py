"""Many inputs of one decoder, in parts, in several threads: run, and compared with the reference's rows.

The parts come in the order of the inputs and are the same whatever the number of threads. Each thread has a session of its
own, which computes what follows from the weights once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tm2tfr.engines.fast.many import REFUSED, ManyRuns, RowsInTurn
from tm2tfr.errors import EngineError
from tm2tfr.runs.batches.given import Prompts
from tm2tfr.runs.batches.kept import kernel
from tm2tfr.runs.batches.right import ColumnProbes, WordsGiven, probes_of
from tm2tfr.transformer.matrix import Ints
from tm2tfr.transformer.weights import Decoder

ROWS = 2**16
"""About so many rows are made at a time by a thread: few enough for the processor's caches."""
FIRST, MOST = 32, 8_192
"""The runs of the first part, from which the others' size is estimated, and the most in one of them."""
AHEAD = 3
"""The number of parts that may wait for each thread."""


class RightRun(Protocol):
    """The right rows of some runs, and what comes out of them."""

    @property
    def offsets(self) -> Ints: ...  # (runs + 1,), from 0 on
    def without_rows(self) -> RightRun: ...  # what is said of each run alone


class RightRuns(Protocol):
    """The reference of one program, for one thread."""

    def rows(self, given: WordsGiven, first: int, last: int, room: int) -> RightRun:
        """Return the right rows of runs from `first` on, as many as there is room for, but at least one."""

    def differs(self, found: RowsInTurn, tokens: NDArray[np.int32], probed: bool, right: Any) -> Ints:
        """Return the place of the first row of each run that differs, -1 if none does: (runs,).

        Args:
            found: the decoder's rows; tokens: (rows,) those fed; right: what `rows` has returned.
            probed: of the chapter's table, whether x is read off the stream, as the fourth of the codes.
        """


class BatchPart(NamedTuple):
    """Runs `first`, `first` + 1, …; see `tm2tfr.runs.batches.batch.Batch`.

    Args:
        offsets: (runs + 1,), from 0 on.
        ends: (runs,) see `tm2tfr.engines.fast.many.CUT`.
        expected: the right rows; None without a check.
    """

    first: int
    offsets: Ints
    ends: Ints
    tokens: NDArray[np.int32]
    answers: NDArray[np.int32]
    columns: dict[str, NDArray[Any]]
    differs: Ints
    expected: RightRun | None

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self.ends)

    def without_rows(self) -> BatchPart:
        """Return the runs alone."""
        none, right = slice(0, 0), None if self.expected is None else self.expected.without_rows()
        columns = {name: column[none] for name, column in self.columns.items()}
        return self._replace(tokens=self.tokens[none], answers=self.answers[none], columns=columns, expected=right)


@dataclass
class _Worker:
    """What one thread needs."""

    session: ManyRuns
    reference: RightRuns | None
    rows: int = ROWS


class Running:
    """Many runs of one decoder.

    Args:
        given: what is fed.
        reference: makes the reference of a thread; None: nothing is compared.
        limit: (runs,) the most positions of each run.
    """

    def __init__(
        self, decoder: Decoder, given: Prompts, reference: Callable[[], RightRuns] | None, limit: Ints, workers: int
    ) -> None:
        self._decoder, self._given, self._limit, self._reference = decoder, given, limit, reference
        self.probes: ColumnProbes = probes_of(decoder)
        self._coming = 0
        self._workers, self._idle = workers, list[_Worker]()

    def parts(self) -> Iterator[BatchPart]:
        """Yield all runs, in order.

        Raises:
            EngineError: if the fast engine does not run these weights.
        """
        done, runs = 0, len(self._limit)
        known = self._decoder.positions or 1
        part = self._part(0, min(FIRST, runs, max(1, 4 * ROWS // known)))
        yield part
        done += part.runs
        size = max(1, min(MOST, part.runs * ROWS // max(1, int(part.offsets[-1]))))
        self._coming = int(part.offsets[-1]) * (runs - done) // part.runs
        if self._workers == 1 or runs - done <= size:
            while done < runs:
                part = self._part(done, min(done + size, runs))
                done += part.runs
                yield part
            return
        with ExitStack() as stack:
            pool = stack.enter_context(ThreadPoolExecutor(self._workers))
            stack.callback(pool.shutdown, wait=True, cancel_futures=True)
            waiting: deque[tuple[int, Future[BatchPart]]] = deque()
            coming = iter(range(done, runs, size))
            while True:
                while len(waiting) < AHEAD * self._workers and (first := next(coming, None)) is not None:
                    last = min(first + size, runs)
                    waiting.append((last, pool.submit(self._part, first, last)))
                if not waiting:
                    return
                last, future = waiting.popleft()
                part = future.result()
                if part.first + part.runs < last:  # it was too large
                    waiting.appendleft((last, pool.submit(self._part, part.first + part.runs, last)))
                yield part

    def _part(self, first: int, last: int) -> BatchPart:
        """Run inputs `first`, … up to `last`, or fewer of them."""
        worker = self._idle.pop() if self._idle else self._new()
        given, expected = self._given, None
        if worker.reference is not None:
            expected = worker.reference.rows(given.words, first, last, worker.rows)
            most = np.diff(expected.offsets)
            worker.rows = max(worker.rows, min(int(expected.offsets[-1]), 4 * ROWS))
        else:
            most = self._limit[first:last]
        last = first + len(most)
        start = given.start[first : last + 1]
        tokens = given.tokens[start[0] : start[-1]]
        found = worker.session.run(tokens, start - start[0], most, worker.rows, self._coming)
        part = self._compared(first, tokens, start - start[0], found, worker.reference, expected)
        self._idle.append(worker)
        return part

    def _new(self) -> _Worker:
        try:
            session = ManyRuns(self._decoder, labels=self.probes.labels, numbers=self.probes.numbers)
        except EngineError as error:
            what = str(error).removesuffix(": use the dense engine")
            raise EngineError(f"{what}: run these inputs one by one, with the dense engine") from error
        return _Worker(session, None if self._reference is None else self._reference())

    def _compared(
        self,
        first: int,
        given: NDArray[np.int32],
        start: Ints,
        found: RowsInTurn,
        reference: RightRuns | None,
        expected: RightRun | None,
    ) -> BatchPart:
        tokens, differs = np.empty(len(found.answers), dtype=np.int32), np.full(len(found.ends), -1, dtype=np.int64)
        kernel("fed")(given, start, found.offsets, found.answers, tokens)
        if reference is not None:
            differs = reference.differs(found, tokens, "x" in self.probes.codes, expected)
            sizes = np.diff(found.offsets)
            differs[(found.ends == REFUSED) & (differs == sizes)] = -1  # what is refused is no difference
        return BatchPart(
            first, found.offsets, found.ends, tokens, found.answers, self.probes.columns(found), differs, expected
        )
