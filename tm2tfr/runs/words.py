"""Many words through one labeller: every output at every position against the reference's, batch by batch.

The first word with a wrong value is run again, cell by cell, so that its cause is found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.choices import Float
from tm2tfr.contract.labellers import ManyLabels
from tm2tfr.engines.reading import right_answers
from tm2tfr.engines.whole import WholeDense
from tm2tfr.errors import CompileError
from tm2tfr.runs.many import ComparedRuns
from tm2tfr.runs.options import RunOptions
from tm2tfr.runs.run import carried_out
from tm2tfr.sources.registry import of_program
from tm2tfr.transformer.weights import Decoder

WordsProgress = Callable[[int], None]
"""Called from time to time with the number of inputs done."""
BATCH = 4_096
"""So many inputs of one length are run at once."""
CELLS = 2**22
"""The most cells of a batch, which long words make smaller."""


def labels_of(program: Any, decoder: Decoder) -> ManyLabels:
    """Return what the outputs of a labeller have to be on many words.

    Raises:
        CompileError: if the program labels no words, or these are not its weights.
    """
    construction = of_program(program)
    if construction is None or construction.labels is None:
        raise CompileError(
            f"{getattr(program, 'name', program)}: it labels no words: compare one run of it with its reference"
        )
    return construction.labels(program, decoder)


def checked_words(
    decoder: Decoder,
    program: Any,
    batches: Iterable[NDArray[np.int64]],
    *,
    dtype: Float = "float64",
    progress: WordsProgress | None = None,
) -> ComparedRuns:
    """Run `decoder` on many inputs and compare every output at every position, up to the first that differs.

    Args:
        program: what labels words, such as a RASP program.
        batches: inputs of one length, as places of their tokens in the program's alphabet: (inputs, n).

    Raises:
        EngineError: if the dense engine cannot run these weights.
        CompileError: if these are weights for other tokens, or do not answer what the program chooses.
    """
    construction = of_program(program)
    engine, right = WholeDense(decoder, dtype), labels_of(program, decoder)
    runs = cells = undefined = 0
    failure = None
    for batch in (part for whole in batches for part in _parts(whole, len(decoder.outputs))):
        defined, wanted = right(batch)
        given = batch[defined]
        undefined += len(batch) - len(given)
        wrong = first_wrong(engine, decoder, right.fed(given), wanted) if len(given) else None
        done = len(given) if wrong is None else wrong + 1
        runs, cells = runs + done, cells + int(np.count_nonzero(~np.isnan(wanted[:, :done])))
        if wrong is not None:
            options = RunOptions(engine="dense", dtype=dtype, max_steps=None, keep_rows=False)
            failure = carried_out(decoder, right.written(given[wrong].tolist()), program, options)
            break
        if progress is not None:
            progress(runs + undefined)
    return ComparedRuns(
        name=program.name,
        noun="program" if construction is None else construction.noun_of(program),
        reference=right.reference,
        engine="dense",
        dtype=dtype,
        runs=runs,
        cells=cells,
        undefined=undefined,
        failure=failure,
    )


def _parts(batch: NDArray[np.int64], outputs: int) -> Iterator[NDArray[np.int64]]:
    """Yield parts of a batch of at most `CELLS` cells, or of one word."""
    size = max(1, CELLS // (outputs * batch.shape[1]))
    for start in range(0, len(batch), size):
        yield batch[start : start + size]


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


def first_wrong(engine: WholeDense, decoder: Decoder, tokens: NDArray[np.int64], wanted: NDArray[np.float64]) -> int | None:
    """Return the number of the first input with a wrong output; None if there is none."""
    for block in engine.blocks(tokens):
        right = right_answers(decoder, block.logits, wanted[:, block.sequences]).all(axis=-1)
        if not right.all():
            return int(block.sequences.start + np.flatnonzero(~right)[0])
    return None
