"""The feed-forward layers of the universal decoder, verified on the actual matrices for all machines of a class.

Layer 2 does two things that have nothing in common: units that read the head's position scale with 1/(i+1) (`moving`), all
others read bits. They are proved apart, and write different directions.

Layer 7 without a rule. Let the head of layer 6 attend to n positions, at none of which there is a rule for (q, a). The
flags and ``out`` are means: mq = p/n, ma = p'/n, and out[v] = p''/n where a value v stands at p'' of the n. A position with
r_q = q has r_a ≠ a, so that p + p' ≤ n: mq + ma ≤ 1. So the input of a unit that reads them is at most its value at 0
plus max(0, wq, wa) + Σ max(0, w[v]), which has to be ≤ 0: all such units are 0, and the answer is the one at 0, which is
among the cases. On tokens of the prompt e_q = 0, hence mq = 0 and the same holds.

In floats rounded means may add up to a little more than 1: see `rounding` for what that can do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tm2tfr.engines.overflow import nearest
from tm2tfr.sources.turing.proof.feed_forward import FeedForwardProof
from tm2tfr.sources.turing.proof.inputs import HV, MV, V
from tm2tfr.sources.turing.proof.refusal import Refusal
from tm2tfr.sources.turing.universal.proof.domain import FOUND, ClassDomain
from tm2tfr.transformer.matrix import Matrix, Rational
from tm2tfr.transformer.weights import Decoder, FeedForward

SECOND = 2
"""The layer with two kinds of units."""


class AnswerProof(FeedForwardProof):
    """The proof of layer 7."""

    def _cases(self) -> Refusal | None:
        return super()._cases() or self._silent()

    def _silent(self) -> Refusal | None:
        """Refuse a unit that could be other than 0 where there is no rule; see above."""
        neurons, flags = self._neurons, self._columns(*FOUND)
        out = self._columns(*self._directions("out"))
        most: dict[int, Rational] = {}
        for columns, gather in ((out, sum), (flags, max)):
            found: dict[int, list[Rational]] = {}
            for column in columns:
                for unit, weight in neurons.readers.get(column, ()):
                    found.setdefault(unit, [0]).append(max(weight, 0))
            for unit, weights in found.items():
                most[unit] = most.get(unit, 0) + gather(weights)
        loud = [unit for unit in most if neurons.writes.get(unit)]
        read = {column for column, units in neurons.readers.items() if any(unit in most for unit, _ in units)}
        known: set[frozenset[tuple[int, Rational]]] = set()
        seen = self._seen()
        for question in self._domain.questions():
            if question.rule is not None:
                continue
            shared = self._sparse(self._domain.context(question))
            for token, stream in seen[question.token, question.state]:
                there = {n: x for n, x in {**shared, **stream}.items() if n in read}
                if (key := frozenset(there.items())) in known:
                    continue
                known.add(key)
                for unit in loud:
                    value = neurons.bias[unit] + most[unit]
                    value += sum(w * there[c] for c, w in self._rows[unit] if c in there)
                    if value > 0:
                        what = f"unit {self._unit(unit)!r} must be 0 where there is no rule"
                        text = f"for {self._domain.asked(question, token)} it can be {nearest(value):g}"
                        return self._refuse(what, text)
        return None

    @cached_property
    def _rows(self) -> dict[int, list[tuple[int, Rational]]]:
        """Unit -> the coordinates that it reads, with their weights."""
        found: dict[int, list[tuple[int, Rational]]] = {}
        for column, units in self._neurons.readers.items():
            for unit, weight in units:
                found.setdefault(unit, []).append((column, weight))
        return found


def class_feed_forwards(decoder: Decoder, domain: ClassDomain) -> Iterator[FeedForwardProof]:
    """Yield the proofs of all layers, two of layer 2."""
    for layer in range(1, len(decoder.layers) + 1):
        yield from of_layer(decoder, domain, layer)


def of_layer(decoder: Decoder, domain: ClassDomain, layer: int) -> Iterator[FeedForwardProof]:
    """Yield the proofs of one layer, from 1."""
    if layer == SECOND:
        yield from _second(decoder, domain)
    else:
        yield (AnswerProof if layer == domain.layers else FeedForwardProof)(decoder, domain, layer)


def _second(decoder: Decoder, domain: ClassDomain) -> Iterator[FeedForwardProof]:
    part = decoder.layers[SECOND - 1].feed_forward
    if part is None:
        yield FeedForwardProof(decoder, domain, SECOND)
        return
    scaled = [decoder.layout.index(name) for name in (V, MV, HV)]
    moving = np.zeros(len(part.units), dtype=bool)
    moving[part.input.rows[np.isin(part.input.columns, scaled)]] = True
    for chosen, of in ((~moving, domain), (moving, domain.of_moves)):
        layers = list(decoder.layers)
        layers[SECOND - 1] = replace(layers[SECOND - 1], feed_forward=_some(part, chosen, offset=of is domain))
        yield FeedForwardProof(replace(decoder, layers=tuple(layers)), of, SECOND)


def _some(part: FeedForward, chosen: NDArray[np.bool_], *, offset: bool) -> FeedForward:
    """Return the layer with these units alone; chosen: (hidden,)."""
    number = np.cumsum(chosen) - 1
    size = int(chosen.sum())

    def rows(matrix: Matrix) -> Matrix:
        keep = chosen[matrix.rows]
        return Matrix((size, matrix.shape[1]), number[matrix.rows[keep]], matrix.columns[keep], matrix.values[keep])

    return FeedForward(
        input=rows(part.input),
        input_bias=rows(part.input_bias),
        output=rows(part.output.transposed).transposed,
        output_bias=part.output_bias if offset else Matrix.from_entries(part.output_bias.shape, {}),
        units=tuple(name for name, kept in zip(part.units, chosen.tolist(), strict=True) if kept),
    )
