"""What pages show of a formula, or of a B-RASP, S-RASP or C-RASP program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

from tm2tfr.sources.logic.drawing import render
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.text.words import FEW, short_words, written
from tm2tfr.transformer.weights import Decoder


def picture(program: LogicProgram, decoder: Decoder) -> tuple[str, Callable[[], str]]:
    """Return the drawing of its syntax, under its heading."""
    return f"The syntax of the {program.noun}", lambda: render(program, "svg").decode()


def tried(program: LogicProgram, examples: Sequence[Any]) -> Iterable[str]:
    """Return inputs to try: those of its examples, otherwise short ones."""
    known = set(program.alphabet)
    own = [written(example.word) for example in program.examples if set(example.word) <= known]
    return own or islice(map(written, short_words(program.alphabet)), FEW)
