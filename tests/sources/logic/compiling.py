"""Weights of formulas and programs, and whether they answer what the evaluator says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.choices import Float
from tm2tfr.contract.options import LogicOptions
from tm2tfr.runs.batches.batch import ComparedRuns
from tm2tfr.runs.batches.labelled import checked_words, every_input
from tm2tfr.sources.logic.compiler import compile_program
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.transformer.weights import Decoder

OURS = LogicOptions()


def weights(program: LogicProgram, options: LogicOptions = OURS) -> Decoder:
    """Return the weights of a program."""
    return compile_program(program, options)


def compared(
    program: LogicProgram,
    batches: Iterable[NDArray[np.int64]],
    options: LogicOptions = OURS,
    *,
    dtype: Float = "float64",
) -> ComparedRuns:
    """Return what was found of every output at every position of some words."""
    return checked_words(weights(program, options), program, batches, dtype=dtype)


def all_to(program: LogicProgram, longest: int) -> Iterator[NDArray[np.int64]]:
    """Yield all words of up to so many tokens over a program's alphabet."""
    return every_input(len(program.alphabet), longest)
