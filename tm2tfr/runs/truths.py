"""The reference that a decoder has to be compared with: one run of it row by row, or many at once as arrays."""

from __future__ import annotations

from typing import Any

from tm2tfr.base.errors import CompileError
from tm2tfr.contract.blocks import BlockReference, ManyLabels
from tm2tfr.contract.source import Truth
from tm2tfr.sources.registry import of_program
from tm2tfr.transformer.weights import Decoder


def truth_of(program: Any, word: str, decoder: Decoder, max_steps: int | None) -> Truth | None:
    """Return the reference's run that `decoder` has to be compared with; None if there is no program.

    Raises:
        InputError: if `word` is not an input of the program.
        CompileError: if the decoder's table cannot be compared with the program's.
    """
    construction = None if program is None else of_program(program)
    if construction is None:
        return None
    truth = construction.truth(program, word, decoder, max_steps)
    truth.refuse(decoder.layout)
    return truth


def blocks_of(program: Any, decoder: Decoder, max_steps: int | None) -> BlockReference:
    """Return the reference of many runs of a program that generates, as arrays.

    Raises:
        CompileError: if the program labels words, or the decoder's table cannot be compared with the program's.
        EngineError: if what that needs is not installed.
    """
    construction = of_program(program)
    if construction is None or construction.blocks is None:
        what = f"{program.name} labels words, and these weights generate tokens: they are not its weights"
        raise CompileError(f"{what}: compile it again")
    return construction.blocks(program, decoder, max_steps)


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
