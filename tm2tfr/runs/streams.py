"""The whole residual stream of a RASP program's weights, after every sublayer, on all short inputs.

The outputs alone can be right where a value on the way is wrong that makes no difference to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from tm2tfr.choices import Float
from tm2tfr.engines import engine as engine_named
from tm2tfr.engines.decode import Engine
from tm2tfr.sources.rasp.evaluate import Undefined
from tm2tfr.sources.rasp.given.inputs import written
from tm2tfr.sources.rasp.program import Program
from tm2tfr.sources.rasp.truth import RaspTruth
from tm2tfr.trace.cause import Cause, find_cause
from tm2tfr.transformer.weights import Decoder

MOST_STREAMS = 130
"""The streams of all inputs are compared up to the longest length at which there are at most so many."""


@dataclass(frozen=True, kw_only=True)
class Streams:
    """What was found.

    Args:
        inputs: the number of inputs whose streams were compared.
        longest: of up to how many tokens.
        numbers: the number of numbers compared.
        covered: whether the specification knows every claim of the weights; if not, nothing was compared.
        input, cause: the first input with a wrong number, and where that comes from; None if there is none.
    """

    inputs: int
    longest: int
    numbers: int
    covered: bool
    input: str | None = None
    cause: Cause | None = None

    @property
    def agrees(self) -> bool:
        """Whether no number is wrong."""
        return self.cause is None

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        plain: dict[str, Any] = {"inputs": self.inputs, "longest": self.longest, "numbers": self.numbers}
        plain |= {"covered": self.covered, "agrees": self.agrees}
        return plain if self.cause is None else plain | {"input": self.input, "cause": self.cause.as_dict()}


def checked_streams(decoder: Decoder, program: Program, *, longest: int | None = None, dtype: Float = "float64") -> Streams:
    """Compare the stream after every sublayer at every position, up to the first input with a wrong number.

    Args:
        longest: all inputs of up to so many tokens; None: see `MOST_STREAMS`.
    """
    positions = decoder.positions or 1
    longest = longest_streamed(len(program.alphabet), positions) if longest is None else longest
    engine, stages = engine_named("dense", dtype), 1 + 2 * len(decoder.layers)
    inputs = numbers = 0
    for length in range(1, min(longest, positions) + 1):
        for word in product(program.alphabet, repeat=length):
            found = _compared(decoder, program, word, engine)
            if found is None:
                continue
            covered, cause = found
            if not covered:
                return Streams(inputs=inputs, longest=longest, numbers=numbers, covered=False)
            inputs, numbers = inputs + 1, numbers + length * stages * decoder.layout.width
            if cause is not None:
                text = written(word)
                return Streams(inputs=inputs, longest=longest, numbers=numbers, covered=True, input=text, cause=cause)
    return Streams(inputs=inputs, longest=longest, numbers=numbers, covered=True)


def longest_streamed(letters: int, positions: int) -> int:
    """Return the longest length at which there are at most `MOST_STREAMS` inputs over so many tokens, at least 1."""
    fits = (n for n in range(1, positions + 1) if sum(letters**k for k in range(1, n + 1)) <= MOST_STREAMS)
    return max(fits, default=1)


def _compared(decoder: Decoder, program: Program, word: Sequence[Any], engine: Engine) -> tuple[bool, Cause | None] | None:
    """Return whether the stream of an input can be compared, and what is wrong with it; None if that is undefined."""
    try:
        specification = RaspTruth(program, written(word), decoder).specification(len(word) - 1)
    except Undefined:
        return None
    if not specification.covers(decoder.layout):
        return False, None
    return True, find_cause(decoder, specification, 0, engine=engine)
