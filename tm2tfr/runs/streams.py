"""The whole residual stream of a RASP program's weights, after every sublayer, on all short inputs.

The outputs alone can be right where a value on the way is wrong that makes no difference to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.choices import Float
from tm2tfr.contract import written
from tm2tfr.engines import engine as engine_named
from tm2tfr.engines.decode import Engine
from tm2tfr.engines.watching import observe_all
from tm2tfr.sources.rasp.evaluate import Undefined
from tm2tfr.sources.rasp.program import Program
from tm2tfr.sources.rasp.specification import RaspSpecification
from tm2tfr.sources.rasp.truth import RaspTruth
from tm2tfr.text.words import written as written_word
from tm2tfr.trace.cause import Cause, find_cause
from tm2tfr.transformer.weights import Decoder

MOST_STREAMS = 140
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
    there = _Written(decoder)
    inputs = numbers = 0
    for length in range(1, min(longest, positions) + 1):
        for word in product(program.alphabet, repeat=length):
            found = _compared(decoder, program, word, engine, there)
            if found is None:
                continue
            covered, cause = found
            if not covered:
                return Streams(inputs=inputs, longest=longest, numbers=numbers, covered=False)
            inputs, numbers = inputs + 1, numbers + length * stages * decoder.layout.width
            if cause is not None:
                text = written_word(word)
                return Streams(inputs=inputs, longest=longest, numbers=numbers, covered=True, input=text, cause=cause)
    return Streams(inputs=inputs, longest=longest, numbers=numbers, covered=True)


def longest_streamed(letters: int, positions: int) -> int:
    """Return the longest length at which there are at most `MOST_STREAMS` inputs over so many tokens, at least 1."""
    fits = (n for n in range(1, positions + 1) if sum(letters**k for k in range(1, n + 1)) <= MOST_STREAMS)
    return max(fits, default=1)


def _compared(
    decoder: Decoder, program: Program, word: Sequence[Any], engine: Engine, there: _Written
) -> tuple[bool, Cause | None] | None:
    """Return whether the stream of an input can be compared, and what is wrong with it; None if that is undefined."""
    try:
        specification = RaspTruth(program, written_word(word), decoder).specification(len(word) - 1)
    except Undefined:
        return None
    if not specification.covers(decoder.layout):
        return False, None
    if there.agrees(specification, engine):
        return True, None
    return True, find_cause(decoder, specification, 0, engine=engine)


class _Written:
    """Compares streams as arrays, for what agrees; of what differs, `find_cause` says where and why."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._masks: dict[tuple[int, str], NDArray[np.bool_]] = {}

    def agrees(self, specification: RaspSpecification, engine: Engine) -> bool:
        """Return whether every number of a stream is right, up to a few roundings of the engine's numbers."""
        decoder, tokens = self._decoder, specification.tokens
        last = len(decoder.layers), "feed_forward"
        final = [list(map(float, specification.stream(decoder.layout, i, *last))) for i in range(len(tokens))]
        due, slack = np.array(final), 8 * float(np.finfo(engine.dtype).eps)
        for i, seen in enumerate(observe_all(decoder, tokens, engine=engine)):
            for layer, part, residual in seen.stages:
                right = np.where(self._mask(layer, part), due[i], 0.0)
                allowed = slack * np.maximum(np.abs(right), 1 / len(tokens))
                if not (np.abs(np.asarray(residual, dtype=np.float64) - right) <= allowed).all():
                    return False
        return True

    def _mask(self, layer: int, part: str) -> NDArray[np.bool_]:
        """Return in which coordinates there is anything after `part` of `layer`: (width,)."""
        if (layer, part) not in self._masks:
            spaces = self._decoder.layout.subspaces
            flags = [written(subspace, layer, part) for subspace in spaces for _ in range(subspace.width)]
            self._masks[layer, part] = np.array(flags, dtype=bool)
        return self._masks[layer, part]
