"""Many inputs of one decoder that labels words: those of one length at once, in the dense engine's arithmetic.

A word on which a number gets too large is run by itself, which says what becomes of it: there are few of them.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.contract.labellers import ManyLabels
from tm2tfr.engines import engine as engine_named
from tm2tfr.engines.decode import generate, prompted
from tm2tfr.engines.reading import read_outputs
from tm2tfr.engines.whole import WholeDense
from tm2tfr.errors import EngineError
from tm2tfr.runs.batches.batch import END, LIMIT, REFUSED, Batch, BatchResults
from tm2tfr.runs.batches.given import of_input, of_text
from tm2tfr.runs.batches.spelt import spelt
from tm2tfr.runs.truths import truth_of
from tm2tfr.runs.words import labels_of
from tm2tfr.sources.registry import of_program
from tm2tfr.trace.check import Progress
from tm2tfr.trace.rows import columns_of
from tm2tfr.transformer import provenance
from tm2tfr.transformer.matrix import Ints
from tm2tfr.transformer.weights import Decoder

WORDS, PAIRS = 8_192, 1 << 20
"""At most so many words are run at once, and at most so many pairs of positions of them."""
WINDOW = 1 << 16
"""So many words are sorted by length at a time."""
AHEAD = 3
"""The number of groups that may wait for each thread."""


def labelled_batch(
    decoder: Decoder,
    program: Any,
    words: Sequence[str],
    *,
    checked: bool,
    max_steps: int,
    workers: int,
    keep_rows: bool,
    progress: Progress | None,
) -> Batch:
    """Run a labeller on many words; see `tm2tfr.runs.batches.carried.batch_of`.

    Raises:
        InputError: for a word that is not an input of the program; where there is a comparison, if it is undefined there.
        EngineError: for one that the weights do not take; if the dense engine does not run them.
        CompileError: if these are not weights of the program.
    """
    running = LabelledRunning(decoder, program, words, checked=checked, workers=workers)
    names = [column.name for column in columns_of(decoder)[2:]]
    kept, said, rows = list[_Grouped](), list[_Grouped](), 0
    for window in running.windows():
        rows += int(window.sizes.sum())
        said.append(window.without_rows())
        if keep_rows:
            kept.append(window)
        if progress is not None:
            progress(sum(len(each.sizes) for each in said), rows)
    sizes = _all([each.sizes for each in said], np.int64)
    refused, differs = _all([each.refused for each in said], np.bool_), _all([each.differs for each in said], np.int64)
    whole = (differs < 0) | (differs == running.sizes - 1)
    outcomes = np.where(refused & (differs < 0), REFUSED, np.where(whole, END, LIMIT))
    construction = None if program is None else of_program(program)
    results = None
    if checked:
        results = BatchResults.of(np.array([text for each in said for text in each.outcomes], dtype=np.str_))
    return Batch(
        name=provenance.name(decoder.provenance, "weights") if program is None else program.name,
        noun="machine" if construction is None else construction.noun_of(program),
        inputs=tuple(words),
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        tokens=_all([each.tokens for each in kept], np.int32),
        answers=np.zeros(0, dtype=np.int32),
        columns={name: _all([each.columns[n] for each in kept], np.int32) for n, name in enumerate(names)},
        labels={
            name: output.labels for name, output in zip(names, decoder.outputs, strict=True) if output.labels is not None
        },
        vocabulary=decoder.vocabulary,
        outcomes=outcomes,
        T=np.where(outcomes == END, 0, -1),
        differs=differs,
        compared=_all([each.compared for each in said], np.int64),
        results=results,
        max_steps=max_steps,
        engine="dense",
        decoder=decoder,
        program=program,
    )


@dataclass(frozen=True)
class _Grouped:
    """Some runs, one after the other, as in `Batch`; `outcomes` are the reference's, empty without one."""

    sizes: Ints
    refused: NDArray[np.bool_]
    differs: Ints
    compared: Ints
    outcomes: Sequence[str]
    tokens: NDArray[np.int32]
    columns: list[NDArray[Any]]

    def without_rows(self) -> _Grouped:
        """Return what is said of each run alone."""
        nothing = np.zeros(0, dtype=np.int32)
        return _Grouped(self.sizes, self.refused, self.differs, self.compared, self.outcomes, nothing, [])


class _Found(NamedTuple):
    """What came of words of one length, by the output: (words, n) each; sizes: the rows before a refusal."""

    numbers: Ints
    fed: NDArray[np.int64]
    values: list[NDArray[Any]]
    sizes: Ints
    refused: NDArray[np.bool_]
    differs: Ints
    compared: Ints
    outcomes: Sequence[str]


class LabelledRunning:
    """The runs of a labeller on many words, in several threads; the same whatever their number.

    Args:
        program: what labels words; None: one token is fed for each character.
        checked: compare with the reference.

    Raises:
        InputError, EngineError, CompileError: see `labelled_batch`.
    """

    def __init__(self, decoder: Decoder, program: Any, words: Sequence[str], *, checked: bool, workers: int) -> None:
        self._decoder, self._program, self._words, self._checked = decoder, program, words, checked
        self._workers, self._engine = workers, WholeDense(decoder)
        self._own = threading.local()  # evaluators keep the values that have come up
        if program is None:
            given = of_text(decoder, words)
            self._flat: NDArray[Any] = given.tokens
            self._start, extra = given.start, 0
        else:
            if checked:
                self._refused_truth()
            self._flat, self._start = spelt(self._labels, words)
            extra = self._labels.fed(np.zeros((1, 1), dtype=np.int64)).shape[1] - 1
        self._long: Ints = np.diff(self._start)
        self.sizes = self._long + extra
        """The positions of each run, if nothing is refused: (runs,)."""
        positions = decoder.positions
        if positions is not None and (self.sizes > positions).any():
            place = int((self.sizes > positions).argmax())
            with of_input(place):
                prompted(decoder, [decoder.vocabulary[0]] * int(self.sizes[place]))

    def _refused_truth(self) -> None:
        """Raise CompileError if these weights cannot be compared with the program."""
        labels_of(self._program, self._decoder)

    @property
    def _labels(self) -> ManyLabels:
        """The reference of this thread."""
        found: ManyLabels | None = getattr(self._own, "labels", None)
        if found is None:
            found = self._own.labels = labels_of(self._program, self._decoder)
        return found

    def windows(self) -> Iterator[_Grouped]:
        """Yield all runs in order, some at a time.

        Raises:
            InputError: for a word on which the program is undefined, with its number.
        """
        with ExitStack() as stack:
            pool = stack.enter_context(ThreadPoolExecutor(self._workers)) if self._workers > 1 else None
            if pool is not None:
                stack.callback(pool.shutdown, wait=True, cancel_futures=True)
            for first in range(0, len(self._words), WINDOW):
                last = min(first + WINDOW, len(self._words))
                window, waiting = _Window(self.sizes[first:last], first), deque[Future[_Found]]()
                for numbers in self._groups(first, last):
                    if pool is None:
                        window.add(self._found(numbers))
                        continue
                    waiting.append(pool.submit(self._found, numbers))
                    if len(waiting) > AHEAD * self._workers:
                        window.add(waiting.popleft().result())
                while waiting:
                    window.add(waiting.popleft().result())
                yield window.joined()

    def _groups(self, first: int, last: int) -> Iterator[Ints]:
        """Yield the numbers of words of one length."""
        lengths = self._long[first:last]
        for length in np.unique(lengths).tolist():
            numbers = np.flatnonzero(lengths == length) + first
            size = max(1, min(WORDS, PAIRS // (length + 2) ** 2))
            for start in range(0, len(numbers), size):
                yield numbers[start : start + size]

    def _found(self, numbers: Ints) -> _Found:
        """Run words of one length."""
        given = self._flat[self._start[numbers][:, None] + np.arange(self._long[numbers[0]])]
        fed = given.astype(np.int64) if self._program is None else self._labels.fed(given.astype(np.int64))
        shape = fed.shape
        values = [
            np.empty(shape, dtype=np.float64 if output.labels is None else np.int32) for output in self._decoder.outputs
        ]
        sizes, refused = np.full(shape[0], shape[1]), np.zeros(shape[0], dtype=np.bool_)
        for block in self._engine.blocks(fed, keep_refused=True):
            for whole, part in zip(values, read_outputs(self._decoder, block.logits), strict=True):
                whole[block.sequences] = part
            refused[block.sequences] = block.refused
        for k in np.flatnonzero(refused).tolist():
            sizes[k] = self._alone(fed[k].tolist(), [whole[k] for whole in values])
        refused &= sizes < shape[1]
        differs, compared = np.full(shape[0], -1), np.zeros(shape[0], dtype=np.int64)
        outcomes: Sequence[str] = ()
        if self._checked:
            differs, compared, outcomes = self._compared(numbers, given.astype(np.int64), values, sizes)
        return _Found(numbers, fed, values, sizes, refused, differs, compared, outcomes)

    def _alone(self, fed: Sequence[int], values: Sequence[NDArray[Any]]) -> int:
        """Run one word by itself, fill in its values, and return the number of positions before one that is refused."""
        decoder, logits = self._decoder, []
        try:
            for step in generate(decoder, [decoder.vocabulary[n] for n in fed], engine=engine_named("dense")):
                logits.append(step.logits)
        except EngineError:
            pass
        n = len(logits)
        if n:
            for whole, part in zip(values, read_outputs(decoder, np.array(logits).T[:, None]), strict=True):
                whole[:n] = part[0]
        return n

    def _compared(
        self, numbers: Ints, given: NDArray[np.int64], values: Sequence[NDArray[Any]], sizes: Ints
    ) -> tuple[Ints, Ints, Sequence[str]]:
        """Return of each run the first position that differs, the number of cells compared, the reference's outcome."""
        defined, wanted = self._labels(given)
        if not defined.all():
            place = int(numbers[(~defined).argmax()])
            with of_input(place):
                truth_of(self._program, self._words[place], self._decoder, None)
        same = np.ones((len(numbers), values[0].shape[1]), dtype=np.bool_)
        for found, due in zip(values, wanted, strict=True):
            same &= np.isnan(due) | (found == due)
        n = same.shape[1]
        same |= np.arange(n) >= sizes[:, None]
        differs = np.where(same.all(axis=1), -1, same.argmin(axis=1))
        upto = np.where(differs < 0, sizes, differs + 1)
        cells = 1 + (~np.isnan(wanted)).sum(axis=0)  # the token as well
        compared = np.where(np.arange(n) < upto[:, None], cells, 0).sum(axis=1)
        return differs, compared, self._labels.outcomes(given)


class _Window:
    """Runs `first`, `first` + 1, …, which come in groups of one length."""

    def __init__(self, sizes: Ints, first: int) -> None:
        runs = len(sizes)
        self._first, self._sizes, self._given = first, sizes.copy(), sizes
        self._start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._tokens = np.empty(int(self._start[-1]), dtype=np.int32)
        self._columns: list[NDArray[Any]] = []
        self._refused, self._differs = np.zeros(runs, dtype=np.bool_), np.full(runs, -1)
        self._compared, self._outcomes = np.zeros(runs, dtype=np.int64), [""] * runs

    def add(self, found: _Found) -> None:
        """Put runs of one length where they belong."""
        numbers = found.numbers - self._first
        rows = self._start[numbers][:, None] + np.arange(found.fed.shape[1])
        self._columns = self._columns or [np.empty(len(self._tokens), dtype=whole.dtype) for whole in found.values]
        self._tokens[rows] = found.fed
        for column, whole in zip(self._columns, found.values, strict=True):
            column[rows] = whole
        self._sizes[numbers], self._refused[numbers] = found.sizes, found.refused
        self._differs[numbers], self._compared[numbers] = found.differs, found.compared
        for number, outcome in zip(numbers.tolist(), found.outcomes, strict=False):
            self._outcomes[number] = outcome

    def joined(self) -> _Grouped:
        """Return all of them."""
        tokens, columns = self._tokens, self._columns
        if (self._sizes < self._given).any():
            kept = np.arange(len(tokens)) - np.repeat(self._start[:-1], self._given) < np.repeat(self._sizes, self._given)
            tokens, columns = tokens[kept], [column[kept] for column in columns]
        return _Grouped(self._sizes, self._refused, self._differs, self._compared, self._outcomes, tokens, columns)


def _all(arrays: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=dtype)
