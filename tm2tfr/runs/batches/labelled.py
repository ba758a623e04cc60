"""Many inputs of one decoder that labels words: those of one length at once, in the dense engine's arithmetic.

A word on which a number gets too large is run by itself, which says what becomes of it: there are few of them.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.choices import Float
from tm2tfr.base.errors import EngineError
from tm2tfr.contract.blocks import BatchResults, ManyLabels
from tm2tfr.engines import engine as engine_named
from tm2tfr.engines.decode import generate, prompted
from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.engines.reading import as_wanted, read_outputs
from tm2tfr.runs.batches.batch import END, LIMIT, REFUSED, VERDICTS, Batch, ComparedRuns, RunSink, SinkRun, Verdicts, as_one
from tm2tfr.runs.batches.given import of_input, of_labeller, of_text
from tm2tfr.runs.choose import NamedProgram, labels_of, truth_of
from tm2tfr.runs.comparison import Progress
from tm2tfr.runs.plan import RunOptions
from tm2tfr.runs.rows import columns_of
from tm2tfr.runs.run import carried_out
from tm2tfr.sources.registry import of_program
from tm2tfr.transformer import provenance
from tm2tfr.transformer.matrix import Ints
from tm2tfr.transformer.weights import Decoder

WORDS, PAIRS = 8_192, 1 << 20
"""The most words that are run at once, and the most pairs of positions of them."""
WINDOW = 1 << 16
"""The words that are sorted by length at a time."""
AHEAD = 3
"""The number of groups that may wait for each thread."""
BATCH = 4_096
"""The inputs of one length that are enumerated, or drawn, at once."""
CELLS = 2**22
"""The most cells of a group, which long words make smaller."""


class OneLength(NamedTuple):
    """What came of words of one length: (words,) each, and (words, n) by the output.

    Args:
        numbers: those of the words on which the program is defined; undefined: those of the others.
        given, fed: their tokens as indices in the alphabet, and the tokens fed.
        values: the answers of each output, if requested.
        sizes: the rows before a refusal; refused: whether there is one.
        differs: the first position that differs, -1 if none does.
        compared: the number of cells compared, with the tokens; cells: those of all outputs, of whole words.
        outcomes: the reference's, if requested.
    """

    numbers: Ints
    undefined: Ints
    given: NDArray[np.int64]
    fed: NDArray[np.int64]
    values: list[NDArray[np.generic]]
    sizes: Ints
    refused: NDArray[np.bool_]
    differs: Ints
    compared: Ints
    cells: Ints
    outcomes: Sequence[str]


class LabellerRuns:
    """Runs of a sequence model on words of one length at a time, in several threads; the same whatever their number.

    Args:
        program: what labels words; None: one token is fed for each character.
        checked: compare with the reference.
        rows: return the answers of the outputs, and the reference's outcomes.

    Raises:
        EngineError: if the dense engine does not run the weights.
        CompileError: if these are not weights of the program.
    """

    def __init__(
        self,
        decoder: Decoder,
        program: NamedProgram | None,
        *,
        checked: bool,
        rows: bool,
        workers: int,
        dtype: Float = "float64",
    ) -> None:
        self._decoder, self._program, self._checked, self._rows = decoder, program, checked, rows
        self._workers, self._engine, self._dtype = workers, DenseDecoder(decoder, dtype), dtype
        self._own = threading.local()  # evaluators keep the values that have come up

    @property
    def labels(self) -> ManyLabels:
        """The reference of this thread."""
        found: ManyLabels | None = getattr(self._own, "labels", None)
        if found is None:
            found = self._own.labels = labels_of(self._program, self._decoder)
        return found

    def on(self, groups: Iterable[tuple[Ints, NDArray[np.generic]]]) -> Iterator[OneLength]:
        """Yield the result of each group, in order: numbers of words of one length, and their tokens, (words, n)."""
        with ExitStack() as stack:
            if self._workers == 1:
                yield from (self._of(*group) for group in groups)
                return
            pool = stack.enter_context(ThreadPoolExecutor(self._workers))
            stack.callback(pool.shutdown, wait=True, cancel_futures=True)
            waiting = deque[Future[OneLength]]()
            for group in groups:
                waiting.append(pool.submit(self._of, *group))
                if len(waiting) > AHEAD * self._workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def _of(self, numbers: Ints, tokens: NDArray[np.generic]) -> OneLength:
        """Run words of one length."""
        given, wanted, undefined = tokens.astype(np.int64), np.zeros((0, *tokens.shape)), numbers[:0]
        if self._checked:
            defined, wanted = self.labels(given)
            if not defined.all():
                numbers, undefined, given = numbers[defined], numbers[~defined], given[defined]
        fed = given if self._program is None else self.labels.fed(given)
        shape, outputs = fed.shape, self._decoder.outputs if self._rows else ()
        values = [np.empty(shape, dtype=np.float64 if output.labels is None else np.int32) for output in outputs]
        sizes, refused = np.full(shape[0], shape[1]), np.zeros(shape[0], dtype=np.bool_)
        same = np.ones(shape, dtype=np.bool_)
        for block in self._engine.blocks(fed, keep_refused=True) if len(fed) else ():
            refused[block.sequences] = block.refused
            self._read(block.answers(), block.sequences, wanted, values, same)
        for k in np.flatnonzero(refused).tolist():
            logits = self._alone(fed[k].tolist())
            sizes[k], same[k] = len(logits), True
            if logits:
                n = slice(0, len(logits))
                part = [whole[k : k + 1, n] for whole in values]
                answers = read_outputs(self._decoder, np.array(logits).T[:, None])
                self._read(answers, slice(0, 1), wanted[:, k : k + 1, n], part, same[k : k + 1, n])
        refused &= sizes < shape[1]
        differs = np.where(same.all(axis=1), -1, same.argmin(axis=1))
        said = len(wanted) - np.isnan(wanted).sum(axis=0)
        cells = said.sum(axis=1)
        compared = cells + shape[1] if self._checked else np.zeros(shape[0], dtype=np.int64)  # the token as well
        if self._checked and not (whole := (differs < 0) & ~refused).all():
            short, upto = np.flatnonzero(~whole), np.where(differs < 0, sizes, differs + 1)
            compared[short] = np.where(np.arange(shape[1]) < upto[short, None], 1 + said[short], 0).sum(axis=1)
        outcomes = self.labels.outcomes(given) if self._checked and self._rows and len(given) else ()
        return OneLength(numbers, undefined, given, fed, values, sizes, refused, differs, compared, cells, outcomes)

    def _read(
        self,
        answers: Sequence[NDArray[np.generic]],
        words: slice,
        wanted: NDArray[np.float64],
        values: Sequence[NDArray[np.generic]],
        same: NDArray[np.bool_],
    ) -> None:
        """Fill in the answers of outputs on some words, and whether they are right: answers (words, n) each."""
        for whole, part in zip(values, answers, strict=False):  # there are none where they are not asked for
            whole[words] = part
        if self._checked:
            same[words] = as_wanted(answers, wanted[:, words])

    def _alone(self, fed: Sequence[int]) -> list[object]:
        """Run one word by itself, and return the logits of the positions before one that is refused."""
        decoder, logits = self._decoder, []
        try:
            for step in generate(decoder, [decoder.vocabulary[n] for n in fed], engine=engine_named("dense", self._dtype)):
                logits.append(step.logits)
        except EngineError:
            pass
        return logits


# ── Many words as a batch.
def labelled_batch(
    decoder: Decoder,
    program: NamedProgram | None,
    words: Sequence[str],
    *,
    checked: bool,
    max_steps: int,
    workers: int,
    keep_rows: bool,
    progress: Progress | None,
) -> Batch:
    """Run a sequence model on many words; see `tm2tfr.runs.batches.generated.batch_of`.

    Raises:
        InputError: for a word that is not an input of the program; where there is a comparison, if it is undefined there.
        EngineError: for one that the weights do not take; if the dense engine does not run them.
        CompileError: if these are not weights of the program.
    """
    runs = LabellerRuns(decoder, program, checked=checked, rows=True, workers=workers)
    tokens, start, extra = _tokens(decoder, program, words, runs)
    long: Ints = np.diff(start)
    sizes = long + extra  # the positions of each run, if nothing is refused
    names = [column.name for column in columns_of(decoder)[2:]]
    kept, said, rows = list[_Window](), list[_Window](), 0
    for first in range(0, len(words), WINDOW):
        window = _Window(sizes[first : first + WINDOW], first)
        for found in runs.on(_groups(long[first : first + WINDOW], first, tokens, start)):
            if len(found.undefined):
                with of_input(number := int(found.undefined[0])):
                    truth_of(program, words[number], decoder, None)
            window.add(found)
        window.cut()
        rows += int(window.sizes.sum())
        if keep_rows:
            kept.append(window)
        said.append(window)
        if not keep_rows:
            window.tokens, window.columns = window.tokens[:0], []
        if progress is not None:
            progress(sum(len(each.sizes) for each in said), rows)
    refused, differs = as_one([each.refused for each in said], np.bool_), as_one([each.differs for each in said], np.int64)
    whole = (differs < 0) | (differs == sizes - 1)
    outcomes = np.where(refused & (differs < 0), REFUSED, np.where(whole, END, LIMIT))
    construction = None if program is None else of_program(program)
    right = np.array([text for each in said for text in each.outcomes], dtype=np.str_)
    return Batch(
        name=provenance.name(decoder.provenance, "weights") if program is None else program.name,
        noun="machine" if construction is None else construction.noun_of(program),
        inputs=tuple(words),
        offsets=np.cumsum(np.concatenate([[0], *(each.sizes for each in said)]), dtype=np.int64),
        tokens=as_one([each.tokens for each in kept], np.int32),
        answers=np.zeros(0, dtype=np.int32),
        columns={name: as_one([each.columns[n] for each in kept], np.int32) for n, name in enumerate(names)},
        labels={
            name: output.labels for name, output in zip(names, decoder.outputs, strict=True) if output.labels is not None
        },
        vocabulary=decoder.vocabulary,
        outcomes=outcomes,
        T=np.where(outcomes == END, 0, -1),
        differs=differs,
        reach=np.zeros(len(words), dtype=np.int64),
        compared=as_one([each.compared for each in said], np.int64),
        results=BatchResults.of(right) if checked else None,
        max_steps=max_steps,
        engine="dense",
        decoder=decoder,
        program=program,
    )


def _tokens(
    decoder: Decoder, program: NamedProgram | None, words: Sequence[str], runs: LabellerRuns
) -> tuple[NDArray[np.int32], Ints, int]:
    """Return the tokens of all words, the start of each, and the number of further positions of a run."""
    if program is None:
        given, extra = of_text(decoder, words), 0
        tokens, start = given.tokens, given.start
    else:
        tokens, start = of_labeller(runs.labels, words)
        extra = runs.labels.fed(np.zeros((1, 1), dtype=np.int64)).shape[1] - 1
    sizes, positions = np.diff(start) + extra, decoder.positions
    if positions is not None and (sizes > positions).any():
        place = int((sizes > positions).argmax())
        with of_input(place):
            prompted(decoder, [decoder.vocabulary[0]] * int(sizes[place]))
    return tokens, start, extra


def _groups(long: Ints, first: int, tokens: NDArray[np.int32], start: Ints) -> Iterator[tuple[Ints, NDArray[np.int32]]]:
    """Yield words `first`, `first` + 1, …, with these numbers of tokens, by their lengths."""
    for length in np.unique(long).tolist():
        numbers = np.flatnonzero(long == length) + first
        size = max(1, min(WORDS, PAIRS // (length + 2) ** 2))
        for at in range(0, len(numbers), size):
            part = numbers[at : at + size]
            yield part, tokens[start[part][:, None] + np.arange(length)]


class _Window:
    """Runs `first`, `first` + 1, …, which come in groups of one length; as in `Batch`."""

    def __init__(self, sizes: Ints, first: int) -> None:
        runs = len(sizes)
        self._first, self._given, self.sizes = first, sizes, sizes.copy()
        self._start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.tokens = np.empty(int(self._start[-1]), dtype=np.int32)
        self.columns: list[NDArray[np.generic]] = []
        self.refused, self.differs = np.zeros(runs, dtype=np.bool_), np.full(runs, -1)
        self.compared, self.outcomes = np.zeros(runs, dtype=np.int64), [""] * runs

    def add(self, found: OneLength) -> None:
        """Put runs of one length where they belong."""
        numbers = found.numbers - self._first
        rows = self._start[numbers][:, None] + np.arange(found.fed.shape[1])
        self.columns = self.columns or [np.empty(len(self.tokens), dtype=whole.dtype) for whole in found.values]
        self.tokens[rows] = found.fed
        for column, whole in zip(self.columns, found.values, strict=True):
            column[rows] = whole
        self.sizes[numbers], self.refused[numbers] = found.sizes, found.refused
        self.differs[numbers], self.compared[numbers] = found.differs, found.compared
        for number, outcome in zip(numbers.tolist(), found.outcomes, strict=False):
            self.outcomes[number] = outcome

    def cut(self) -> None:
        """Leave out the rows that were refused."""
        if (self.sizes < self._given).any():
            places = np.arange(len(self.tokens)) - np.repeat(self._start[:-1], self._given)
            kept = places < np.repeat(self.sizes, self._given)
            self.tokens, self.columns = self.tokens[kept], [column[kept] for column in self.columns]


# ── Many words up to the first that differs.
def checked_words(
    decoder: Decoder,
    program: NamedProgram,
    batches: Iterable[NDArray[np.int64]],
    *,
    dtype: Float = "float64",
    progress: Progress | None = None,
    every: int = 0,
    sink: RunSink | None = None,
    listed: bool = False,
) -> ComparedRuns:
    """Run `decoder` on many inputs and compare every output at every position, up to the first that differs.

    That one is run again, cell by cell, so that its cause is found. With `listed`, verdicts are counted as well.

    Args:
        program: what labels words, such as a RASP program.
        batches: inputs of one length, as indices of their tokens in the program's alphabet: (inputs, n).
        every: the number of all inputs, for `progress`; sink, listed: see `tm2tfr.runs.batches.checked.checked_inputs`.

    Raises:
        EngineError: if the dense engine cannot run these weights.
        CompileError: if these are weights for other tokens, or without the output that the program chooses.
    """
    construction = of_program(program)
    runs = LabellerRuns(decoder, program, checked=True, rows=False, workers=1, dtype=dtype)
    right, done, cells, undefined, failure, verdicts = runs.labels, 0, 0, 0, None, Verdicts() if listed else None
    parts = (part for whole in batches for part in _parts(whole, len(decoder.outputs)))
    for found in runs.on((np.arange(len(part)), part) for part in parts):
        wrong = np.flatnonzero((found.differs >= 0) | found.refused)
        agreed = int(wrong[0]) + 1 if len(wrong) else len(found.numbers)
        done, cells, undefined = done + agreed, cells + int(found.cells[:agreed].sum()), undefined + len(found.undefined)
        same = found.given[: int(wrong[0]) if len(wrong) else None]
        if len(same) and (sink or verdicts):
            ends = right.outcomes(same)
            verdicts = verdicts if VERDICTS.issuperset(ends) else None  # a program's values are not verdicts
            if verdicts is not None:
                verdicts.first += map(right.written, same[verdicts.add(ends)].tolist())
            if sink is not None:
                sink(SinkRun(right.written(word), end, end, True) for word, end in zip(same.tolist(), ends, strict=True))
        if len(wrong):
            options = RunOptions(engine="dense", dtype=dtype, max_steps=None, keep_rows=False)
            failure = carried_out(decoder, right.written(found.given[wrong[0]].tolist()), program, options)
            if sink is not None:
                sink([SinkRun(failure.input, failure.result.outcome, failure.result.shown, False)])
            break
        if progress is not None:
            progress(done + undefined, every)
    return ComparedRuns(
        name=program.name,
        noun="program" if construction is None else construction.noun_of(program),
        reference=right.reference,
        engine="dense",
        dtype=dtype,
        runs=done,
        cells=cells,
        undefined=undefined,
        outcomes=None if verdicts is None else dict(sorted(verdicts.outcomes.items())),
        accepted=None if verdicts is None or failure is not None else verdicts.accepted,
        failure=failure,
    )


def _parts(batch: NDArray[np.int64], outputs: int) -> Iterator[NDArray[np.int64]]:
    """Yield parts of a batch of at most `CELLS` cells, or of one word."""
    size = max(1, CELLS // (outputs * batch.shape[1]))
    for start in range(0, len(batch), size):
        yield batch[start : start + size]


def every_input(letters: int, longest: int) -> Iterator[NDArray[np.int64]]:
    """Yield all inputs of up to `longest` tokens over `letters` tokens, batch by batch: (inputs, n)."""
    for n in range(1, longest + 1):
        for start in range(0, letters**n, BATCH):
            numbers = np.arange(start, min(start + BATCH, letters**n))
            powers = np.array([letters ** (n - 1 - i) for i in range(n)], dtype=np.int64)
            yield numbers[:, None] // powers % letters


def random_inputs(letters: int, lengths: Sequence[int], count: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Yield `count` random inputs over `letters` tokens, as many of each length as of the others, batch by batch.

    Fewer inputs than lengths are spread from the first to the last length; a single input has the last.
    """
    drawn = np.random.default_rng(seed)
    if count < len(lengths):
        lengths = [lengths[-1 - k * (len(lengths) - 1) // max(count - 1, 1)] for k in reversed(range(count))]
    for place, n in enumerate(lengths):
        left = count // len(lengths) + (place < count % len(lengths))
        while left:
            yield drawn.integers(0, letters, (min(left, BATCH), n))
            left -= min(left, BATCH)


def first_wrong(
    engine: DenseDecoder, decoder: Decoder, tokens: NDArray[np.int64], wanted: NDArray[np.float64]
) -> int | None:
    """Return the number of the first input with a wrong output; None if there is none."""
    for block in engine.blocks(tokens):
        right = as_wanted(block.answers(), wanted[:, block.sequences]).all(axis=-1)
        if not right.all():
            return int(block.sequences.start + np.flatnonzero(~right)[0])
    return None
