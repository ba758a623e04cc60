"""Many inputs of one RASP program: every output at every position against the interpreter's, batch by batch.

The first input with a wrong value is run again, cell by cell, so that its cause is found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.engines.whole import WholeDense
from tm2tfr.runs.options import RunOptions
from tm2tfr.runs.run import carried_out
from tm2tfr.sources.rasp.evaluate import Undefined, evaluate
from tm2tfr.sources.rasp.given.inputs import written
from tm2tfr.sources.rasp.program import Program, Word, shown_atom
from tm2tfr.sources.rasp.sops import SOp
from tm2tfr.sources.rasp.specification.claims import numeric, shown_value
from tm2tfr.trace.check import Trace
from tm2tfr.transformer.outputs import sections
from tm2tfr.transformer.weights import Decoder

WordsProgress = Callable[[int], None]
"""Called from time to time with the number of inputs done."""
BATCH = 4_096
"""So many inputs of one length are run at once."""


@dataclass(frozen=True, kw_only=True)
class Words:
    """Many runs of one program.

    Args:
        program: its name.
        engine, dtype: those that ran the weights.
        runs: the number of inputs that were compared.
        cells: the number of cells compared.
        undefined: the number of inputs on which the program is undefined, which were not compared.
        failure: the first run that differs, None if all agree.
    """

    program: str
    engine: str
    dtype: str
    runs: int
    cells: int
    undefined: int
    failure: Trace | None

    @property
    def agrees(self) -> bool:
        """Whether every cell of every run agrees."""
        return self.failure is None

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        plain: dict[str, Any] = {"program": self.program, "runs": self.runs, "cells": self.cells}
        plain |= {"undefined": self.undefined, "agrees": self.agrees, "engine": self.engine, "dtype": self.dtype}
        return plain if self.failure is None else plain | {"failure": self.failure.as_dict()}


def checked_words(
    decoder: Decoder,
    program: Program,
    words: Iterable[Word],
    *,
    dtype: Any = "float64",
    progress: WordsProgress | None = None,
) -> Words:
    """Run `decoder` on all `words` and compare every output at every position, up to the first that differs.

    Raises:
        EngineError: if the dense engine cannot run these weights.
    """
    engine, compare = WholeDense(decoder, dtype), _Comparison(decoder, program)
    runs = cells = undefined = 0
    failure = None
    for batch in _batches(words):
        given, tokens, wanted = compare.right(batch)
        undefined += len(batch) - len(given)
        wrong = _first_wrong(engine, decoder, tokens, wanted) if given else None
        runs += len(given) if wrong is None else wrong + 1
        cells += (len(given) if wrong is None else wrong + 1) * len(decoder.outputs) * len(batch[0])
        if wrong is not None:
            options = RunOptions(engine="dense", dtype=dtype, max_steps=None, keep_rows=False)
            failure = carried_out(decoder, written(given[wrong]), program, options)
            break
        if progress is not None:
            progress(runs + undefined)
    return Words(
        program=program.name, engine="dense", dtype=dtype, runs=runs, cells=cells, undefined=undefined, failure=failure
    )


def _batches(words: Iterable[Word]) -> Iterator[list[Word]]:
    """Yield the words in their order, those of one length together that follow each other."""
    waiting = iter(words)
    batch: list[Word] = []
    for word in waiting:
        if batch and (len(word) != len(batch[0]) or len(batch) == BATCH):
            yield batch
            batch = []
        batch.append(word)
    if batch:
        yield batch


class _Comparison:
    """What the interpreter says of many inputs, as numbers of tokens and labels."""

    def __init__(self, decoder: Decoder, program: Program) -> None:
        self._numbers = {token: decoder.numbers[shown_atom(token)] for token in program.alphabet}
        self._sops: list[SOp] = [program.choosing(output.name).sop for output in decoder.outputs]
        self._places = [{label: n for n, label in enumerate(output.labels or ())} for output in decoder.outputs]
        self._numeric: dict[SOp, bool] | None = None

    def right(self, batch: Sequence[Word]) -> tuple[list[Word], NDArray[np.int64], NDArray[np.int64]]:
        """Return the inputs that are defined, their tokens (inputs, n), and the labels (outputs, inputs, n); -1: none."""
        given, labels = [], []
        for word in batch:
            try:
                values = evaluate(tuple(self._sops), word).values
            except Undefined:
                continue
            if self._numeric is None:
                self._numeric = numeric(values)
            given.append(word)
            labels.append(
                [
                    [places.get(shown_value(v, self._numeric[sop]), -1) for v in values[sop]]
                    for sop, places in zip(self._sops, self._places, strict=True)
                ]
            )
        tokens = np.array([[self._numbers[token] for token in word] for word in given], dtype=np.int64)
        return (
            given,
            tokens,
            np.array(labels, dtype=np.int64).reshape(len(given), len(self._sops), len(batch[0])).swapaxes(0, 1),
        )


def _first_wrong(engine: WholeDense, decoder: Decoder, tokens: NDArray[np.int64], wanted: NDArray[np.int64]) -> int | None:
    """Return the number of the first input with a wrong output; None if there is none."""
    for block in engine.blocks(tokens):
        right = np.ones(block.logits.shape[1], dtype=bool)
        for n, (_, cut) in enumerate(sections(decoder.outputs)):
            logits, due = block.logits[cut], wanted[n, block.sequences]
            hot = np.take_along_axis(logits, np.maximum(due, 0)[None], axis=0)[0] == 1
            alone = np.count_nonzero(logits, axis=0) == 1
            right &= (hot & alone & (due >= 0)).all(axis=-1)
        if not right.all():
            return int(block.sequences.start + np.flatnonzero(~right)[0])
    return None
