"""Many inputs of one decoder that generates, in one call of the fast engine: all rows, and how each run ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.engines.decode import Engine
from tm2tfr.engines.fast.many import REFUSED as NOT_RUN
from tm2tfr.runs.batches.batch import END, LIMIT, REFUSED, Batch
from tm2tfr.runs.batches.given import of_program, of_text
from tm2tfr.runs.batches.labelled import labelled_batch
from tm2tfr.runs.batches.running import BatchPart, Running
from tm2tfr.runs.blocks import TOKENS_ALONE, probes_of
from tm2tfr.runs.choose import cores
from tm2tfr.runs.comparison import Progress, ends_of
from tm2tfr.runs.options import MAX_STEPS
from tm2tfr.runs.truths import blocks_of
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
    program: Any,
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
    """Run a decoder that generates on many words, and yield so many runs at a time; see `batch_of`.

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
            tokens=_all([part.fed() for part in parts]),
            answers=_all([part.answers for part in parts]),
            columns={name: _all([part.columns[name] for part in parts]) for name in names},
            labels=probes.names,
            vocabulary=decoder.vocabulary,
            outcomes=said.names[_all([part.outcome for part in told])],
            T=_all([part.steps for part in told]),
            differs=_all([part.differs for part in told]),
            reach=_all([part.reach for part in parts]),
            compared=_all([part.compared for part in told]),
            results=blocks.results([part.expected for part in parts]) if checked and blocks is not None else None,
            max_steps=max_steps,
            decoder=decoder,
            program=program,
        )


class _PartSaid(NamedTuple):
    """What is said of each run of a part: (runs,) each; the outcome by its place among `_Said.names`."""

    outcome: Ints
    steps: Ints
    differs: Ints
    compared: Ints


class _Said:
    """What is said of each run, while parts come.

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
        """Return what is said of the runs of a part; size: (runs,) the tokens before BOS, of all parts."""
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
    sizes = [np.diff(each) for each in offsets]
    return np.concatenate([[0], np.cumsum(_all(sizes))]).astype(np.int64)


def _all(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return arrays as one."""
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int64)
