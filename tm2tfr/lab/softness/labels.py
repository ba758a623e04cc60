"""A whole sequence under softmax: at which temperatures a labeller still answers what it does under average-hard attention.

Several positions may share the best score of a head, and average-hard attention is then their mean. Equal scores stay
equal when they are divided by a temperature τ, so that the mean is also the limit of softmax for τ → 0: where the best
scores are ahead of all others by at least γ, and are computed without an error, each other position has at most the weight
e^(-γ/τ), and all of n together less than n·e^(-γ/τ). In later layers the scores have errors of their own, so that this is
no bound there, and Theorem 26, whose heads are tieless, says nothing of them: what is shown is measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import inf
from typing import Any, NamedTuple

import numpy as np

from tm2tfr.contract.blocks import ManyLabels
from tm2tfr.contract.source import Truth
from tm2tfr.engines.decode import Engine, Observation, prompted, run_whole
from tm2tfr.engines.dense_parts import Vector
from tm2tfr.engines.reading import answered
from tm2tfr.lab.softness.measure import as_claimed, gap_below
from tm2tfr.lab.softness.run import right_run
from tm2tfr.lab.softness.temperature import HIGHEST, Needed, growth, growth_exponent, local_exponent, warmest
from tm2tfr.transformer.attention import softmax
from tm2tfr.transformer.local import needed
from tm2tfr.transformer.soft import softened
from tm2tfr.transformer.weights import Decoder, Head

LOWEST = -10
"""The last power of two tried: with a gap of 1, e^(-γ/τ) is then 0 in floats."""
ABOVE, BELOW = 2, 5
"""How many powers of two above and below the warmest temperature are shown."""


@dataclass(frozen=True, kw_only=True)
class Lead:
    """One head on one input, under average-hard attention.

    Args:
        layer: counted from 1; `number`: of the head in it, from 0.
        claimed: the gap that the construction claims at the last position; None: it claims none.
        uniform: whether queries or keys are 0, so that softmax changes nothing.
        gap: the smallest lead of the best scores over the next lower one at any position; ∞ without a lower one.
        sharing: the most positions that share the best score.
        holds: whether the gap is as claimed at every position, up to rounding, or the head is uniform; not if nothing is
            claimed of a head that is not.
        margin, degree: the claimed margin, and its degree; None: none is claimed, see `Claim`.
        needs: the local bound of this head on 1/τ in runs of so many positions; None likewise.
    """

    layer: int
    number: int
    head: str
    claimed: float | None
    uniform: bool
    gap: float
    sharing: int
    holds: bool
    margin: float | None = None
    degree: int = 0
    needs: float | None = None


@dataclass(frozen=True, kw_only=True)
class AtTemperature:
    """What a labeller answers at one temperature.

    Args:
        right, outputs: how many of the outputs at all positions are right, and how many there are.
        first_wrong: the position and the name of the first that is wrong, None if all are right.
        elsewhere: the largest weight that a head gives to positions with less than the best score.
        bound: n·e^(-γ/τ), with the smallest gap of any head.
        logits, stream: the largest error of a logit, and of a number of the residual stream after any layer.
    """

    temperature: float
    right: int
    outputs: int
    first_wrong: tuple[int, str] | None
    elsewhere: float
    bound: float
    logits: float
    stream: float


@dataclass(frozen=True, kw_only=True)
class SoftLabels:
    """The measurements of one input.

    Args:
        warmest: the largest temperature found at which all outputs are right; None: none of those tried.
        rows: by falling temperature.
        growth: the temperatures needed on many words, by their length, if some head has a margin and the length is free.
        noun: what the program is called.
    """

    program: str
    input: str
    dtype: str
    positions: int
    heads: tuple[Lead, ...]
    warmest: float | None
    rows: tuple[AtTemperature, ...]
    growth: tuple[Needed, ...] = ()
    noun: str = "program"

    @property
    def holds(self) -> bool:
        """Whether every head has at least the gap that is claimed."""
        return all(head.holds for head in self.heads)

    @property
    def unchanged(self) -> bool:
        """Whether no head is other than uniform, so that softmax is average-hard attention at any temperature."""
        return all(head.uniform for head in self.heads)

    @property
    def unbounded(self) -> bool:
        """Whether even the first temperature tried was right, so that the largest is not known."""
        return self.warmest == 2.0**HIGHEST

    @property
    def exponent(self) -> float | None:
        """The exponent of 1/τ, as needed, in the number of positions; None for fewer than two lengths."""
        return growth_exponent(self.growth)

    @property
    def local_exponent(self) -> float | None:
        """The exponent of the local bounds on 1/τ over the same lengths."""
        return local_exponent(self.growth)

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain data; a gap without a lower score is None."""
        plain = {self.noun: self.program} | asdict(self)
        for own in {"program", "noun"} - {self.noun}:
            del plain[own]
        for head in plain["heads"]:
            head["gap"] = head["gap"] if math.isfinite(head["gap"]) else None
        exponents = {"exponent": self.exponent, "local_exponent": self.local_exponent}
        return plain | {"holds": self.holds} | (exponents if self.growth else {})


def soft_labels(
    decoder: Decoder,
    word: str,
    *,
    truth: Truth | None,
    engine: Engine,
    temperature: float | None = None,
    labels: ManyLabels | None = None,
) -> SoftLabels:
    """Run a labeller on `word` under softmax at many temperatures, and measure how far it is from average-hard attention.

    Args:
        decoder: with average-hard attention and outputs.
        truth: against which the run with average-hard attention is checked first; None: no check.
        temperature: one more at which it is measured.
        labels: what is right on many words; None: temperatures are not compared by length.

    Raises:
        EngineError: if the run with average-hard attention is itself wrong; if `engine` runs no whole sequence.
        CompileError: for an invalid temperature.
    """
    if temperature is not None:
        softened(decoder, temperature)  # refuses an invalid temperature before anything is run
    trace = right_run(decoder, word, truth, engine, None)
    tokens = prompted(decoder, list(word) if truth is None else truth.prompt)
    hard = _seen(decoder, tokens, engine)
    heads = tuple(_leads(decoder, hard))
    gap = min((head.gap for head in heads if not head.uniform), default=inf)

    def at(temperature: float) -> AtTemperature:
        soft = softened(decoder, temperature)
        found = _seen(soft, tokens, engine)
        names = [output.name for output in decoder.outputs]
        pairs = [(i, name) for i in range(len(tokens)) for name in names]
        met = [x == y for one, two in zip(hard.answers, found.answers, strict=True) for x, y in zip(one, two, strict=True)]
        return AtTemperature(
            temperature=temperature,
            right=sum(met),
            outputs=len(met),
            first_wrong=next((pair for pair, good in zip(pairs, met, strict=True) if not good), None),
            elsewhere=max(_elsewhere(decoder, hard, found), default=0.0),
            bound=len(tokens) * math.exp(-gap / temperature),
            logits=_farthest(hard.logits, found.logits),
            stream=_farthest(hard.streams, found.streams),
        )

    free = decoder.positions is None and any(head.needs for head in heads)  # any length, and some head has a local bound
    known: dict[float, AtTemperature] = {}

    def tried(power: float) -> AtTemperature:
        if power not in known:
            known[power] = at(2.0**power)
        return known[power]

    found = warmest(lambda power: tried(power).first_wrong is None, 2.0**LOWEST)
    middle = 0 if found is None else math.floor(math.log2(found))
    top = min(HIGHEST, middle + ABOVE)
    rows = {row.temperature: row for row in map(tried, range(top, middle - BELOW - 1, -1))}
    if temperature is not None and temperature not in rows:
        rows[temperature] = at(temperature)
    return SoftLabels(
        program=trace.machine,
        noun=trace.noun,
        input=word,
        dtype=engine.dtype,
        positions=len(tokens),
        heads=heads,
        warmest=found,
        rows=tuple(rows[key] for key in sorted(rows, reverse=True)),
        growth=growth(decoder, labels) if labels is not None and free else (),
    )


class _Seen(NamedTuple):
    """A run of a whole sequence: its answers, logits and streams by position, and what was seen of the heads."""

    answers: list[tuple[Any, ...]]
    logits: Vector
    streams: Vector
    watched: list[Observation]


def _seen(decoder: Decoder, tokens: Sequence[int], engine: Engine) -> _Seen:
    watched = [Observation() for _ in tokens]
    passed = run_whole(decoder, tokens, engine=engine, watches=dict(enumerate(watched)))
    return _Seen(
        [answered(decoder, each.logits) for each in passed],
        np.array([each.logits for each in passed], dtype=np.float64),
        np.array([one.streams for one in watched], dtype=np.float64),
        watched,
    )


def _leads(decoder: Decoder, hard: _Seen) -> Iterator[Lead]:
    for number, layer in enumerate(decoder.layers):
        for k, head in enumerate(layer.heads):
            scores = [np.asarray(one.heads[number, k][0], dtype=np.float64) for one in hard.watched]
            gaps, due = [gap_below(each) for each in scores], _claimed(head, len(scores))
            yield Lead(
                layer=number + 1,
                number=k,
                head=head.name,
                claimed=None if due is None else due[-1],
                uniform=head.uniform,
                gap=min(gaps),
                sharing=max(int((each == each.max()).sum()) for each in scores),
                holds=head.uniform or (due is not None and all(map(as_claimed, scores, gaps, due))),
                margin=None if head.claim is None else head.claim.margin,
                degree=0 if head.claim is None else head.claim.degree,
                needs=None if head.claim is None or head.claim.margin is None else needed(head, len(scores)),
            )


def _claimed(head: Head, positions: int) -> list[float] | None:
    """Return the gap that is claimed of a head at each position; None: nothing is, or it is to be uniform."""
    claim = head.claim
    if claim is None or claim.gap is None:
        return None
    return [float(claim.gap_at(i, positions) or 0) for i in range(positions)]


def _elsewhere(decoder: Decoder, hard: _Seen, soft: _Seen) -> Iterator[float]:
    """Yield the weight that softmax gives to positions without the best score, of each head that is not uniform."""
    for number, layer in enumerate(decoder.layers):
        for k in (k for k, head in enumerate(layer.heads) if not head.uniform):
            for one, two in zip(hard.watched, soft.watched, strict=True):
                scores = np.asarray(one.heads[number, k][0], dtype=np.float64)
                weights = softmax(np.asarray(two.heads[number, k][0], dtype=np.float64))
                yield float(weights[scores < scores.max()].sum())


def _farthest(one: Vector, two: Vector) -> float:
    return float(np.abs(one - two).max(initial=0.0))
