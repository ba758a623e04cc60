"""The whole residual stream of a sequence model's weights on all short inputs, where its heads look, and their gaps.

The outputs alone can be right where a value on the way is wrong that makes no difference to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.choices import Float
from tm2tfr.contract.shown import PlainData
from tm2tfr.contract.specification import Specification, written
from tm2tfr.engines import engine as engine_named
from tm2tfr.engines.decode import Observation, observe_all
from tm2tfr.runs.batches.labelled import every_input
from tm2tfr.runs.cause import find_cause, looked_elsewhere
from tm2tfr.runs.choose import labels_of, truth_of
from tm2tfr.runs.passes import WrongPasses, stages
from tm2tfr.runs.told import Cause
from tm2tfr.transformer.claims import Claim, Over
from tm2tfr.transformer.weights import Decoder, Head

MOST_STREAMS = 140
"""The streams of all inputs are compared up to the longest length at which there are at most this many."""
MOST_LENGTH = 12
"""The longest input whose stream is compared, of weights that have any number of positions."""


@dataclass(frozen=True, kw_only=True)
class HeadGap:
    """By how much the best score of a head is ahead of the next lower one.

    Args:
        layer, number: counted from 1.
        head: its name.
        claimed: γ, as the construction claims it.
        over: what γ is divided by, see `tm2tfr.transformer.claims.Claim`.
        measured: the smallest γ at any position of any input.
    """

    layer: int
    number: int
    head: str
    claimed: float
    over: Over
    measured: float

    @property
    def holds(self) -> bool:
        """Whether it is at least the claimed gap, up to a few roundings."""
        return self.measured >= self.claimed * (1 - 2.0**-20)

    def as_dict(self) -> PlainData:
        """Return it as plain data; a head whose scores are all the best has no gap, None."""
        plain: PlainData = {"layer": self.layer, "number": self.number, "head": self.head, "claimed": self.claimed}
        return plain | {"over": self.over, "measured": None if self.measured == inf else self.measured}


@dataclass(frozen=True, kw_only=True)
class Streams:
    """What was found.

    Args:
        inputs: the number of inputs whose streams were compared.
        longest: the length of the longest inputs, in tokens.
        numbers: the number of numbers compared.
        covered: whether the specification knows every claim of the weights; if not, nothing was compared.
        input, cause: the first input with a wrong number, or on which a head looks elsewhere than it claims, and where that
            comes from; None if there is none.
        gaps: of every head that claims one, on these inputs.
    """

    inputs: int
    longest: int
    numbers: int
    covered: bool
    input: str | None = None
    cause: Cause | None = None
    gaps: tuple[HeadGap, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether no number is wrong, no head looks elsewhere than claimed, and no gap is smaller than claimed."""
        return self.cause is None and all(gap.holds for gap in self.gaps)

    def as_dict(self) -> PlainData:
        """Return it as plain data."""
        plain: PlainData = {"inputs": self.inputs, "longest": self.longest, "numbers": self.numbers}
        plain |= {"covered": self.covered, "agrees": self.agrees}
        plain |= {"gaps": [gap.as_dict() for gap in self.gaps]} if self.gaps else {}
        return plain if self.cause is None else plain | {"input": self.input, "cause": self.cause.as_dict()}


def checked_streams(decoder: Decoder, program: object, *, longest: int | None = None, dtype: Float = "float64") -> Streams:
    """Compare the stream after every sublayer at every position, and where heads look, up to the first input with a fault.

    Args:
        program: what labels words, such as a RASP program.
        longest: the most tokens of an input; None: see `MOST_STREAMS`.

    Raises:
        CompileError: if these are not weights of the program.
    """
    right = labels_of(program, decoder)
    positions = decoder.positions or MOST_LENGTH
    longest = longest_streamed(right.letters, positions) if longest is None else longest
    engine = engine_named("dense", dtype)
    there, inputs, numbers = _Written(decoder), 0, 0
    for batch in every_input(right.letters, min(longest, positions)):
        defined, _ = right(batch)
        for places in batch[defined].tolist():
            word = right.written(places)
            truth = truth_of(program, word, decoder, None)
            if truth is None:  # never: `labels_of` requires a reference
                continue
            specification = truth.specification(len(truth.prompt) - 1)
            if not specification.covers(decoder.layout):
                return Streams(inputs=inputs, longest=longest, numbers=numbers, covered=False)
            seen = observe_all(decoder, specification.tokens, engine=engine)
            inputs, numbers = inputs + 1, numbers + sum(len(each.stages) for each in seen) * decoder.layout.width
            cause = None  # as well where there are a few roundings more than there may be
            if not there.agrees(specification, seen, engine.dtype):
                cause = find_cause(decoder, specification, 0, engine=engine)
            cause = cause or looked_elsewhere(decoder, specification, seen, engine=engine)
            if cause is not None:
                return Streams(inputs=inputs, longest=longest, numbers=numbers, covered=True, input=word, cause=cause)
    return Streams(inputs=inputs, longest=longest, numbers=numbers, covered=True, gaps=there.gaps)


def longest_streamed(letters: int, positions: int | None) -> int:
    """Return the longest length at which there are at most `MOST_STREAMS` inputs over such an alphabet, at least 1."""
    most = positions or MOST_LENGTH
    fits = (n for n in range(1, most + 1) if sum(letters**k for k in range(1, n + 1)) <= MOST_STREAMS)
    return max(fits, default=1)


class _Written:
    """Compares streams as arrays; where they differ, `find_cause` finds the place and the cause."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._masks: dict[tuple[int, str], NDArray[np.bool_]] = {}
        self._claiming: dict[tuple[int, int], Head] = {
            (n, k): head
            for n, layer in enumerate(decoder.layers)
            for k, head in enumerate(layer.heads)
            if head.claim is not None and head.claim.gap is not None
        }
        self._smallest = dict.fromkeys(self._claiming, inf)

    def agrees(self, specification: Specification, observed: Sequence[Observation], dtype: str) -> bool:
        """Return whether every number of a stream is right, up to a few roundings of numbers of `dtype`."""
        decoder, tokens = self._decoder, specification.tokens
        last = len(decoder.layers), "feed_forward"
        due, slack = dict[int, NDArray[np.float64]](), 8 * float(np.finfo(dtype).eps)  # by specification: that of a pass
        for stage in stages(decoder, specification, observed[0]):
            if isinstance(stage, WrongPasses):
                return False
            spec = stage.specification
            if id(spec) not in due:
                final = [list(map(float, spec.stream(decoder.layout, i, *last))) for i in range(len(tokens))]
                due[id(spec)] = np.array(final)
            for i, seen in enumerate(observed):
                right = np.where(self._mask(stage.layer, stage.part), due[id(spec)][i], 0.0)
                allowed = slack * np.maximum(np.abs(right), 1 / len(tokens))
                residual = np.asarray(seen.stages[stage.number][2], dtype=np.float64)
                if not (np.abs(residual - right) <= allowed).all():
                    return False
        for i, seen in enumerate(observed):
            for place, head in self._claiming.items():
                if head.claim is not None:
                    self._note(place, head.claim, i, len(tokens), np.asarray(seen.heads[place][0], dtype=np.float64))
        return True

    def _note(self, place: tuple[int, int], claim: Claim, i: int, positions: int, scores: NDArray[np.float64]) -> None:
        """Keep the gap of a head at position i of a run if none was smaller: scores: (n_key,)."""
        lower = scores[scores < scores.max() - 1e-9]  # equal scores may be rounded apart
        gap, due = claim.gap, claim.gap_at(i, positions)
        if len(lower) and gap is not None and due is not None:
            lead = float(scores.max() - lower.max())
            self._smallest[place] = min(self._smallest[place], lead * (gap / due))

    @property
    def gaps(self) -> tuple[HeadGap, ...]:
        """The gap of every head that claims one."""
        return tuple(
            HeadGap(
                layer=n + 1,
                number=k + 1,
                head=head.name,
                claimed=head.claim.gap,
                over=head.claim.over,
                measured=self._smallest[n, k],
            )
            for (n, k), head in self._claiming.items()
            if head.claim is not None and head.claim.gap is not None
        )

    def _mask(self, layer: int, part: str) -> NDArray[np.bool_]:
        """Return in which coordinates there is anything after `part` of `layer`: (width,)."""
        if (layer, part) not in self._masks:
            spaces = self._decoder.layout.subspaces
            flags = [written(subspace, layer, part) for subspace in spaces for _ in range(subspace.width)]
            self._masks[layer, part] = np.array(flags, dtype=bool)
        return self._masks[layer, part]
