"""All measurements of one run under softmax: the errors at one temperature, and the largest temperature that works."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import inf, isfinite
from typing import Literal, NamedTuple

import numpy as np

from tm2tfr.base.errors import EngineError
from tm2tfr.contract.blocks import ManyLabels
from tm2tfr.contract.source import Truth
from tm2tfr.engines.decode import Engine, Observation, prompted, run_whole
from tm2tfr.engines.dense_parts import DenseStream
from tm2tfr.engines.reading import answered
from tm2tfr.lab.softness.measure import HeadError, LayerError, Softness, as_claimed, gap_below, measure, refuse_unmeasured
from tm2tfr.lab.softness.temperature import (
    HIGHEST,
    Needed,
    Search,
    Warmest,
    exponent,
    growth,
    growth_exponent,
    lengths,
    local_exponent,
    warmest,
)
from tm2tfr.runs.comparison import STOP, Trace, check, run
from tm2tfr.transformer.attention import softmax
from tm2tfr.transformer.soft import needed, power_of_two, smallest_gap, softened, theorem_26
from tm2tfr.transformer.weights import Decoder, Head

COLDER = 4
"""By default errors are measured at this fraction of the largest temperature that works."""


@dataclass(frozen=True, kw_only=True)
class SoftRun:
    """The measurements.

    Args:
        machine, input, dtype: the run.
        softness: the errors and bounds, by position.
        growth: the largest temperatures for the first n positions of the run, with n growing up to its length.
    """

    machine: str
    input: str
    dtype: str
    softness: Softness
    growth: tuple[Warmest, ...]

    @property
    def holds(self) -> bool:
        """Whether the scores are what the bounds are about: of all heads that are not uniform, without ties."""
        return self.softness.uniform_tieless

    @property
    def found_exponent(self) -> float | None:
        """The measured exponent of 1/τ in n, None if there are too few lengths."""
        return growth_exponent(self.growth)

    @property
    def guaranteed_exponent(self) -> float | None:
        """The exponent of Theorem 26's temperature over the same lengths: 1, and a little for the logarithm."""
        return exponent([(w.positions, w.guaranteed) for w in self.growth if w.known])

    def rows(self) -> Iterator[dict[str, object]]:
        """Yield a row per position, layer and head (None: a layer without heads), each with the values for its layer."""
        heads: dict[tuple[int, int], list[HeadError | None]] = {}
        for head in self.softness.heads:
            heads.setdefault((head.position, head.layer), []).append(head)
        for layer in self.softness.layers:
            for each in heads.get((layer.position, layer.layer)) or [None]:
                yield _row(layer, each)

    def as_dict(self) -> dict[str, object]:
        """Return all of it as plain data."""
        measured = self.softness
        return {
            "machine": self.machine,
            "input": self.input,
            "dtype": self.dtype,
            "positions": measured.positions,
            "temperature": measured.temperature,
            "first_wrong": measured.first_wrong,
            "uniform_tieless": measured.uniform_tieless,
            "growth": [asdict(w) for w in self.growth],
            "exponent": self.found_exponent,
            "theorem_exponent": self.guaranteed_exponent,
            "errors": list(self.rows()),
        }


def _row(layer: LayerError, head: HeadError | None) -> dict[str, object]:
    names = ("head", "gap", "claimed", "holds", "scores", "weights", "lemma_6", "lemma_33", "place", "lemma_7")
    values = {name: getattr(head, name, None) for name in names}
    if head is not None and not isfinite(head.gap):
        values["gap"] = None
    own = {"position": layer.position, "layer": layer.layer, "name": layer.name}
    return {**own, **values, "before": layer.before, "after": layer.after, "lemma_25": layer.lemma_25}


def soft_run(
    decoder: Decoder,
    word: str,
    *,
    truth: Truth | None,
    engine: Engine,
    temperature: float | Literal["auto"] | None = None,
    max_steps: int | None = None,
) -> SoftRun:
    """Run `decoder` on `word`, and measure the effect of softmax on the run.

    Args:
        decoder: with average-hard attention.
        truth: the run of the reference against which this one is checked first, with the same limit; None: no check.
        temperature: where the errors are measured; ``auto``: where Theorem 26 guarantees all tokens; None: at a quarter
            of the largest that works. Both are rounded down to a power of two.

    Raises:
        EngineError: if the average-hard run is itself wrong; for weights with a part that is not measured.
        CompileError: if a head is not one of the construction; for an invalid temperature.
    """
    refuse_unmeasured(decoder)
    if temperature is not None and temperature != "auto":
        softened(decoder, temperature)  # refuses an invalid temperature before anything is run
    trace = right_run(decoder, word, truth, engine, max_steps)
    tokens, answers = [str(row.x) for row in trace.rows], [row.y for row in trace.rows]
    search, growth = Search(decoder, tokens, answers, engine=engine), list[Warmest]()
    for n in lengths(len(tokens)):
        guaranteed = theorem_26(decoder, n, smallest_gap(decoder, n))
        growth.append(Warmest(n, search.largest(n, power_of_two(guaranteed)), guaranteed))
    if temperature == "auto":
        temperature = power_of_two(growth[-1].guaranteed)
    elif temperature is None:
        temperature = power_of_two((growth[-1].found or growth[-1].guaranteed) / COLDER)
    measured = measure(decoder, tokens, temperature, engine=engine)
    return SoftRun(machine=trace.machine, input=word, dtype=engine.dtype, softness=measured, growth=tuple(growth))


def right_run(decoder: Decoder, word: str, truth: Truth | None, engine: Engine, max_steps: int | None) -> Trace:
    """Run `decoder` with average-hard attention, and compare it with `truth`, if there is one.

    Raises:
        EngineError: if the run is wrong.
    """
    if truth is None:
        return run(decoder, word, engine=engine, max_steps=max_steps)
    trace = check(decoder, truth, engine=engine, max_steps=max_steps, keep_rows=True)
    if trace.divergence is not None:
        gap = trace.divergence
        where = str(gap).partition("\n")[0] if gap.column == STOP else f"position {gap.position}, {gap.column}"
        raise EngineError(f"the run is wrong even with average-hard attention ({where}): see tm2tfr trace")
    return trace


# ── A whole sequence under softmax: at which temperatures a sequence model still answers as under average-hard attention
LOWEST = -10
"""The last power of two tried: with a gap of 1, e^(-γ/τ) is then 0 in floats."""
ABOVE, BELOW = 2, 5
"""The powers of two that are shown above and below the warmest temperature."""


@dataclass(frozen=True, kw_only=True)
class Lead:
    """One head on one input, under average-hard attention.

    Args:
        layer, number: of the layer, and of the head in it, from 1.
        claimed: the gap that the construction claims at the last position; None: it claims none.
        uniform: whether queries or keys are 0, so that softmax changes nothing.
        gap: the smallest lead of the best scores over the next lower one at any position; ∞ without a lower one.
        sharing: the most positions that share the best score.
        holds: whether the gap is as claimed at every position, up to rounding, or the head is uniform; not if nothing is
            claimed of a head that is not.
        margin, degree: the claimed margin and its degree, see `Claim`; None without a claim.
        needs: the local bound of this head on 1/τ in runs of that length; None without a claim.
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
    """The answers of a sequence model at one temperature.

    Args:
        right, outputs: the number of right outputs at all positions, and of all outputs.
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
        noun: the noun for the program.
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

    def as_dict(self) -> dict[str, object]:
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
    """Run a sequence model on `word` under softmax at many temperatures, and measure its errors.

    Args:
        decoder: with average-hard attention and outputs.
        truth: against which the run with average-hard attention is checked first; None: no check.
        temperature: one more at which it is measured.
        labels: the reference's outputs for a batch of words; None: temperatures are not compared by length.

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

    answers: list[tuple[object, ...]]
    logits: DenseStream
    streams: DenseStream
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
                number=k + 1,
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


def _farthest(one: DenseStream, two: DenseStream) -> float:
    return float(np.abs(one - two).max(initial=0.0))
