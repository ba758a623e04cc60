"""The reference's run that a decoder has to be compared with."""

from __future__ import annotations

from typing import Any

from tm2tfr.contract import Truth
from tm2tfr.sources.registry import of_program
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.truth import TuringTruth
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.transformer.weights import Decoder

AnyMachine = Machine | Universal
"""A machine, or one in the prompt of a universal decoder."""


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


def machine_truth_of(machine: AnyMachine, word: str, decoder: Decoder, max_steps: int | None) -> TuringTruth:
    """Return the simulator's run of a machine, see `truth_of` for errors."""
    found = truth_of(machine, word, decoder, max_steps)
    if not isinstance(found, TuringTruth):  # never: that is the truth of all machines
        raise TypeError(f"{found} is not the run of a machine")
    return found
