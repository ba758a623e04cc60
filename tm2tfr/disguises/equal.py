"""How far floats keep hidden weights equal to the original: a comparison on inputs, and called that.

In exact arithmetic they are equal on all inputs, which `verify` proves. The dense engine rounds, and rounds another basis
differently; so both are run, the hidden weights fed the original's tokens, and their answers compared at every position.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.choices import Float
from tm2tfr.disguises.profile import prompts_of
from tm2tfr.engines.decode import generate, prompted
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.reading import softly
from tm2tfr.engines.whole import WholeDense
from tm2tfr.targets.common.labels import CLOSE
from tm2tfr.transformer.outputs import sections
from tm2tfr.transformer.weights import Decoder

RUNS, POSITIONS = 200, 1_024
"""How many inputs are compared at most, and the positions of each."""


@dataclass(frozen=True)
class FloatEquality:
    """What was compared, in floats of this dtype.

    Args:
        runs, tokens: how many inputs, and positions in all.
        longest: the positions of the longest run.
        different: the tokens of the inputs on which an answer differs.
        largest: the largest difference of two logits.
    """

    runs: int
    tokens: int
    longest: int
    different: tuple[tuple[str, ...], ...]
    dtype: str = "float64"
    largest: float = 0.0

    @property
    def equal(self) -> bool:
        """Whether anything was compared, and every answer was the same."""
        return bool(self.runs) and not self.different

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        plain = {"dtype": self.dtype, "runs": self.runs, "positions": self.tokens, "longest": self.longest}
        return {**plain, "different": len(self.different)}


def compared(
    original: Decoder,
    hidden: Decoder,
    program: Any,
    *,
    runs: int = RUNS,
    positions: int = POSITIONS,
    fed: Sequence[Sequence[str]] | None = None,
    dtype: Float = "float64",
) -> FloatEquality:
    """Return how the answers of `hidden` compare with those of `original`, which is run in float64.

    Labels and generated tokens have to be the same; numbers may differ by 2^-16 of their size, as in exports.

    Args:
        hidden: its tokens in the order of the original's.
        program: what the original was compiled from, whose inputs are used; None: prompts made from the vocabulary.
        fed: the prompts; None: some, see `prompts_of`.
        dtype: that in which the hidden weights are run.
    """
    made, found = WholeDense(original), WholeDense(hidden, dtype)
    if fed is None:
        fed = prompts_of(original, program, positions=positions, runs=runs)
    sequences = [_fed(original, prompt, positions) for prompt in fed]
    different: list[tuple[str, ...]] = []
    largest = 0.0
    for same in _by_length(sequences):
        tokens = np.array([numbers for numbers, _ in same])
        right, mine = made.run(tokens).logits, found.run(tokens).logits
        largest = max(largest, float(np.abs(right - mine).max(initial=0.0)))
        for k, (numbers, start) in enumerate(same):
            if not _alike(original, right[:, k, start:], mine[:, k, start:]):
                different.append(tuple(original.vocabulary[number] for number in numbers))
    lengths = [len(numbers) for numbers, _ in sequences]
    return FloatEquality(len(sequences), sum(lengths), max(lengths, default=0), tuple(different), dtype, largest)


def _fed(decoder: Decoder, prompt: Sequence[str], positions: int) -> tuple[tuple[int, ...], int]:
    """Return the tokens that are fed, by number, and the position from which on answers count."""
    if decoder.labeller:
        return tuple(prompted(decoder, prompt)), 0
    steps = generate(decoder, prompt, engine=Dense(), max_positions=positions)
    start = len(prompted(decoder, prompt)) - 1
    return tuple(decoder.numbers[step.token] for step in steps), start


def _by_length(sequences: Iterable[tuple[tuple[int, ...], int]]) -> Iterator[list[tuple[tuple[int, ...], int]]]:
    """Yield the sequences of one length together."""
    grouped: dict[int, list[tuple[tuple[int, ...], int]]] = {}
    for each in sequences:
        grouped.setdefault(len(each[0]), []).append(each)
    yield from grouped.values()


def _alike(decoder: Decoder, right: NDArray[np.float64], found: NDArray[np.float64]) -> bool:
    """Return whether answers are the same: logits (answers, n)."""
    if not decoder.labeller:
        return bool((right.argmax(axis=0) == found.argmax(axis=0)).all())
    for output, cut in sections(decoder.outputs):
        wanted, got = right[cut], found[cut]
        if decoder.soft:
            wanted, got = softly(wanted), softly(got)
        if output.labels is None:
            if not (np.abs(wanted - got) <= CLOSE * np.maximum(1.0, np.abs(wanted))).all():
                return False
        elif not np.array_equal(wanted, got):
            return False
    return True
