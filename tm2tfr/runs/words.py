"""Many inputs of one RASP program: every output at every position against the interpreter's, batch by batch.

The first input with a wrong value is run again, cell by cell, so that its cause is found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.choices import Float
from tm2tfr.engines.reading import softly
from tm2tfr.engines.whole import WholeDense
from tm2tfr.errors import CompileError, visible
from tm2tfr.runs.options import RunOptions
from tm2tfr.runs.run import carried_out
from tm2tfr.sources.rasp.evaluate_many import ManyInputs
from tm2tfr.sources.rasp.program import Program, shown_atom
from tm2tfr.sources.rasp.sops import SOp
from tm2tfr.sources.rasp.specification.claims import numeric, shown_value
from tm2tfr.sources.rasp.truth import answered
from tm2tfr.text.words import written
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
    batches: Iterable[NDArray[np.int64]],
    *,
    dtype: Float = "float64",
    progress: WordsProgress | None = None,
) -> Words:
    """Run `decoder` on many inputs and compare every output at every position, up to the first that differs.

    Args:
        batches: inputs of one length, as places of their tokens in the program's alphabet: (inputs, n).

    Raises:
        EngineError: if the dense engine cannot run these weights.
        CompileError: if these are weights for other tokens, or do not answer what the program chooses.
    """
    engine, right = WholeDense(decoder, dtype), _Right(decoder, program)
    runs = cells = undefined = 0
    failure = None
    for batch in batches:
        defined, wanted = right(batch)
        given = batch[defined]
        undefined += len(batch) - len(given)
        wrong = _first_wrong(engine, decoder, right.tokens[given], wanted) if len(given) else None
        done = len(given) if wrong is None else wrong + 1
        runs, cells = runs + done, cells + done * len(decoder.outputs) * batch.shape[1]
        if wrong is not None:
            word = written([program.alphabet[place] for place in given[wrong].tolist()])
            options = RunOptions(engine="dense", dtype=dtype, max_steps=None, keep_rows=False)
            failure = carried_out(decoder, word, program, options)
            break
        if progress is not None:
            progress(runs + undefined)
    return Words(
        program=program.name, engine="dense", dtype=dtype, runs=runs, cells=cells, undefined=undefined, failure=failure
    )


def every_input(letters: int, longest: int) -> Iterator[NDArray[np.int64]]:
    """Yield all inputs of up to `longest` tokens over so many, batch by batch: (inputs, n)."""
    for n in range(1, longest + 1):
        for start in range(0, letters**n, BATCH):
            numbers = np.arange(start, min(start + BATCH, letters**n))
            powers = np.array([letters ** (n - 1 - i) for i in range(n)], dtype=np.int64)
            yield numbers[:, None] // powers % letters


def random_inputs(letters: int, lengths: Sequence[int], count: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Yield so many random inputs over `letters` tokens, as many of each length as of the others, batch by batch."""
    drawn = np.random.default_rng(seed)
    for place, n in enumerate(lengths):
        left = count // len(lengths) + (place < count % len(lengths))
        while left:
            yield drawn.integers(0, letters, (min(left, BATCH), n))
            left -= min(left, BATCH)


class _Right:
    """What the interpreter says of many inputs, as numbers of labels.

    Attributes:
        tokens: the number in the vocabulary of each token of the alphabet.
    """

    def __init__(self, decoder: Decoder, program: Program) -> None:
        if set(map(shown_atom, program.alphabet)) != set(decoder.vocabulary):
            what = f"{visible(program.name)}: the alphabet of the program is not the vocabulary of these weights"
            raise CompileError(f"{what}: compile the program again, with the same --alphabet")
        self.tokens = np.array([decoder.numbers[shown_atom(token)] for token in program.alphabet], dtype=np.int64)
        self._sops = answered(program, decoder)
        self._many = ManyInputs(self._sops, program.alphabet)
        self._numeric = numeric(node for node in self._many.nodes if isinstance(node, SOp))
        self._labels = [
            None if output.labels is None else {label: n for n, label in enumerate(output.labels)}
            for output in decoder.outputs
        ]

    def __call__(self, batch: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Return on which inputs the program is defined, and for those what each output is: (outputs, inputs, n).

        That is the number of its label, -1 if it has none for a value; of an output that is a number, the number.
        """
        found = self._many.run(batch)
        wanted = []
        for sop, labels in zip(self._sops, self._labels, strict=True):
            atoms = found.atoms[sop]
            if labels is None:
                known = [np.nan if isinstance(atom, str) else float(atom) for atom in atoms]
            else:
                known = [labels.get(shown_value(atom, self._numeric[sop]), -1) for atom in atoms]
            wanted.append(np.array(known, dtype=np.float64)[found.places[sop][found.defined]])
        return found.defined, np.stack(wanted)


def _first_wrong(
    engine: WholeDense, decoder: Decoder, tokens: NDArray[np.int64], wanted: NDArray[np.float64]
) -> int | None:
    """Return the number of the first input with a wrong output; None if there is none."""
    for block in engine.blocks(tokens):
        right = np.ones(block.logits.shape[1], dtype=bool)
        for n, (output, cut) in enumerate(sections(decoder.outputs)):
            logits, due = block.logits[cut], wanted[n, block.sequences]
            logits = softly(logits) if decoder.soft else logits
            if output.labels is None:
                right &= (logits[0] == due).all(axis=-1)
                continue
            hot = np.take_along_axis(logits, np.maximum(due, 0)[None].astype(np.int64), axis=0)[0] == 1
            alone = np.count_nonzero(logits, axis=0) == 1
            right &= (hot & alone & (due >= 0)).all(axis=-1)
        if not right.all():
            return int(block.sequences.start + np.flatnonzero(~right)[0])
    return None
