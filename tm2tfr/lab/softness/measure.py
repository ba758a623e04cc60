"""How far a run under softmax is from the run under average-hard attention, and how far the lemmas allow it to be.

Both decoders are fed the same tokens, those of the average-hard run, so that the activations can be compared. The
lemmas are Yang et al.'s; they hold in exact arithmetic, while the errors are those of the dense engine's floats. Lemmas 6,
7 and 33 bound the effect of softmax on the weights of one head, Lemma 25 the resulting error after the whole layer.

Lemma 25 is used with the constants of its own proof, see `tm2tfr.transformer.soft`, at this very position: U·‖Q‖ and
U·‖K‖ are here the keys and queries of the run, and n its length so far. It says nothing where its premise fails, that
scores are off by less than half the gap.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from tm2tfr.engines.decode import Engine, Observation, Session
from tm2tfr.engines.dense_parts import DenseStream
from tm2tfr.transformer.attention import softmax
from tm2tfr.transformer.claims import Claim, Over
from tm2tfr.transformer.parts import NO_BOS, NORMS, TABLE, refuse_parts
from tm2tfr.transformer.soft import (
    carried_factor,
    claimed,
    feed_forward_factor,
    lemma_6,
    lemma_7,
    lemma_33,
    norm,
    softened,
)
from tm2tfr.transformer.weights import Decoder, Head, Layer


@dataclass(frozen=True, kw_only=True)
class HeadError:
    """One head at one position.

    Args:
        layer, number: of the layer, and of the head in it, from 1; its name, `head`, need not be its own.
        gap: the best score's lead over the next one under average-hard attention; 0 for a tie; ∞ without a second score.
        claimed: the gap that the construction claims; None: the head is claimed to be uniform.
        holds: whether the claim holds: uniform, or tieless with that gap (up to rounding).
        over: what the claimed gap is a multiple of: 1/(i+1), 1/n, or nothing; see `Claim`.
        shared: whether several positions may share the best score; the gap is then that to any lower one.
        tied: whether they do here, where what the head carries decides nothing (`Claim.ties`): softmax may weigh them in
            any way, and no lemma bounds that.
        scores: the largest error of a score, before it is divided by the temperature.
        weights: ‖average-hard weights - softmax weights‖₁, with the bounds of `lemma_6` and `lemma_33` (None: its
            premise fails). Lemma 6 is applied to the soft scores, with the gap a position that they have.
        place: |j* - Σ α_j·j| of a lookup, with the bound of `lemma_7`; None elsewhere, or where its premise fails.
    """

    position: int
    layer: int
    number: int
    head: str
    gap: float
    claimed: float | None
    holds: bool
    over: Over = "position"
    shared: bool = False
    tied: bool = False
    scores: float = 0.0
    weights: float = 0.0
    lemma_6: float | None = None
    lemma_33: float | None = None
    place: float | None = None
    lemma_7: float | None = None


@dataclass(frozen=True, kw_only=True)
class LayerError:
    """One layer at one position: ‖u - û‖₁ before it (the largest so far) and after it; and Lemma 25's bound."""

    position: int
    layer: int
    name: str
    before: float
    after: float
    lemma_25: float | None


@dataclass(frozen=True, kw_only=True)
class Softness:
    """The measurements of a run: `first_wrong` is the first position whose token is wrong, None if all are right."""

    temperature: float
    positions: int
    first_wrong: int | None
    heads: tuple[HeadError, ...]
    layers: tuple[LayerError, ...]

    @property
    def uniform_tieless(self) -> bool:
        """Whether every head was uniform, tieless with the claimed gap, or tied where it may be, at every position."""
        return all(head.holds for head in self.heads)


def refuse_unmeasured(decoder: Decoder) -> None:
    """Raise EngineError if `decoder` has a part that nothing is measured of."""
    remedy = "soften them at a temperature, and check the run of what comes out"
    if decoder.labeller:
        remedy = f"call tm2tfr.api.softness.measure_labels, as the command 'tm2tfr soften' does, or {remedy}"
    refuse_parts(decoder, "a measurement of softness", remedy, known=(TABLE, NORMS, NO_BOS))


def measure(decoder: Decoder, tokens: Sequence[str], temperature: float, *, engine: Engine) -> Softness:
    """Feed `tokens` to `decoder` and to the same decoder with softmax, and compare them at every position.

    Args:
        decoder: with average-hard attention.
        tokens: the average-hard run's, each fed whatever was answered.

    Raises:
        CompileError: if nothing is claimed about a head that is not uniform; for an invalid temperature.
        EngineError: for weights with a part that is not measured.
    """
    refuse_unmeasured(decoder)
    hard, soft = engine.start(decoder), engine.start(softened(decoder, temperature))
    layers = [_Layer(n, layer, temperature, engine.dtype, len(tokens)) for n, layer in enumerate(decoder.layers)]
    heads: list[HeadError] = []
    after: list[LayerError] = []
    first_wrong = None
    for position, token in enumerate(tokens):
        right, one = _watched(hard, decoder.numbers[token])
        found, two = _watched(soft, decoder.numbers[token])
        if right != found and first_wrong is None:
            first_wrong = position
        for layer in layers:
            measured = list(layer.heads(position, one, two))
            heads += measured
            after.append(layer.layer(position, one, two, measured))
    return Softness(
        temperature=temperature,
        positions=len(tokens),
        first_wrong=first_wrong,
        heads=tuple(heads),
        layers=tuple(after),
    )


def _watched(session: Session, token: int) -> tuple[int, Observation]:
    seen = Observation()
    return session.feed(token, seen), seen


class _Layer:
    """One layer during a run."""

    def __init__(self, number: int, layer: Layer, temperature: float, dtype: str, positions: int) -> None:
        self._number, self._layer, self._temperature, self._positions = number, layer, temperature, positions
        self._claims = [head.claim if head.uniform else claimed(head) for head in layer.heads]
        self._factor, self._carried = feed_forward_factor(layer.feed_forward), carried_factor(layer)
        self._reach = [_Reach(head) for head in layer.heads]
        self._eps = float(np.finfo(dtype).eps)
        self._before = 0.0

    def heads(self, position: int, hard: Observation, soft: Observation) -> Iterator[HeadError]:
        """Yield the measurements of each head at the next position."""
        for k, claim in enumerate(self._claims):
            scores = (np.asarray(seen.heads[self._number, k][0], dtype=np.float64) for seen in (hard, soft))
            yield self._head(position, k, claim, *scores)

    def _head(self, position: int, number: int, claim: Claim | None, hard: DenseStream, soft: DenseStream) -> HeadError:
        head = self._layer.heads[number]
        named: dict[str, Any] = {"position": position, "layer": self._number + 1, "number": number + 1, "head": head.name}
        due = claim.gap_at(position, self._positions) if claim is not None else None
        if due is None or head.uniform:
            none = head.uniform and due is None
            return HeadError(**named, gap=0.0 if len(hard) > 1 else inf, claimed=None, holds=none)
        n, best, tau = len(hard), int(hard.argmax()), self._temperature
        harmless = claim is not None and claim.ties
        shared = harmless or (claim is not None and claim.constant and not claim.lookup and self._number == 0)
        tied = harmless and gap_of(hard) == 0
        gap = gap_below(hard) if shared else gap_of(hard)
        weights, error = softmax(soft), float(np.abs(soft * tau - hard).max())
        top = int(soft.argmax())
        distance, place, steep = _distance(hard, weights), None, None
        if claim is not None and claim.lookup and top == best:
            place = abs(math.fsum(weights * (np.arange(n) - best)))
            if place < 8 * self._eps * distance:  # both sides cancel: the rest is rounding
                place = 0.0
            steep = lemma_7(due / tau) if np.allclose(soft, _parabola(n, best, due / tau, soft[best])) else None
        return HeadError(
            **named,
            gap=gap,
            claimed=due,
            holds=gap > 0 and as_claimed(hard, gap, due, self._eps),
            over="position" if claim is None else claim.over,
            shared=shared,
            tied=tied,
            scores=error,
            weights=distance,
            lemma_6=lemma_6(slope_of(soft)) if top == best and not (tied if harmless else shared) else None,
            lemma_33=None if tied else lemma_33(n, gap, error, tau) if gap < inf else 0.0,
            place=place,
            lemma_7=steep,
        )

    def layer(self, position: int, hard: Observation, soft: Observation, measured: Sequence[HeadError]) -> LayerError:
        """Return the measurements of the whole layer at that position."""
        (u, v), (soft_u, soft_v) = self._around(hard), self._around(soft)
        self._before = max(self._before, float(np.abs(u - soft_u).sum()))
        before: float = self._before
        bound: float | None = (1 + self._carried) * before
        for head, reach, error in zip(self._layer.heads, self._reach, measured, strict=True):
            reach.see(u)
            if head.uniform:
                continue
            weights = 0.0
            if error.tied:
                bound = None
                break
            if error.gap < inf:
                shift = reach.shift(before)
                found = lemma_33(position + 1, error.gap, shift * before, self._temperature)
                if found is None:
                    bound = None
                    break
                weights = found
            bound = (bound or 0.0) + reach.carried * weights
        return LayerError(
            position=position,
            layer=self._number + 1,
            name=self._layer.name,
            before=before,
            after=float(np.abs(v - soft_v).sum()),
            lemma_25=None if bound is None else self._factor * bound,
        )

    def _around(self, seen: Observation) -> tuple[DenseStream, DenseStream]:
        """Return the stream before this layer and after it."""
        before, after = (np.asarray(x, dtype=np.float64) for x in seen.streams[self._number : self._number + 2])
        return before, after


class _Reach:
    """The extremes of a head at the positions so far: the largest key, this query, the largest value carried."""

    def __init__(self, head: Head) -> None:
        self._query, self._key, self._value = (m.dense() for m in (head.query, head.key, head.value))
        self._norms = norm(head.query), norm(head.key), norm(head.output)
        self._largest = self._here = self._carried = 0.0

    def see(self, stream: DenseStream) -> None:
        """Include the next position's stream: (width,)."""
        self._largest = max(self._largest, float(np.abs(self._key @ stream).max(initial=0.0)))
        self._here = float(np.abs(self._query @ stream).max(initial=0.0))
        self._carried = max(self._carried, float(np.abs(self._value @ stream).sum()))

    def shift(self, error: float) -> float:
        """Return the largest error of a score per unit of error in the streams, up to `error` (Lemma 32)."""
        query, key, _ = self._norms
        return query * self._largest + key * self._here + query * key * error

    @property
    def carried(self) -> float:
        """The largest error after the head that an error of 1 in the weights makes, ‖O‖·max ‖V·u‖₁ (Lemma 34)."""
        return self._norms[2] * self._carried


def gap_of(scores: DenseStream) -> float:
    """Return the best score's lead over the next one: 0 for a tie, ∞ if there is only one."""
    if len(scores) == 1:
        return inf
    second, first = np.partition(scores, -2)[-2:]
    return float(first - second)


def gap_below(scores: DenseStream) -> float:
    """Return the lead of the best scores, which may be equal, over the next lower one; ∞ if there is none."""
    lower = scores[scores < scores.max()]
    return float(scores.max() - lower.max()) if len(lower) else inf


def as_claimed(scores: DenseStream, gap: float, due: float, eps: float = float(np.finfo(np.float64).eps)) -> bool:
    """Return whether the gap of some scores is as large as claimed, up to rounding."""
    return gap >= due - 16 * eps * max(1.0, float(np.abs(scores).max()))


def slope_of(scores: DenseStream) -> float:
    """Return the largest γ with s_j ≤ s_j* - |j - j*|·γ for all j, the premise of Lemma 6; ∞ if there is only one."""
    best = int(scores.argmax())
    away = np.abs(np.arange(len(scores)) - best)
    others = away > 0
    return float(((scores[best] - scores[others]) / away[others]).min()) if others.any() else inf


def _distance(hard: DenseStream, weights: DenseStream) -> float:
    """Return ‖average-hard weights - weights‖₁; for a tieless head from the other weights, which are not rounded near 1."""
    best = np.flatnonzero(hard == hard.max())
    if len(best) == 1:
        return 2 * float(np.delete(weights, best[0]).sum())
    wanted = np.zeros(len(hard))
    wanted[best] = 1 / len(best)
    return float(np.abs(wanted - weights).sum())


def _parabola(n: int, best: int, steep: float, top: float) -> DenseStream:
    return top - steep * (np.arange(n) - best) ** 2.0
