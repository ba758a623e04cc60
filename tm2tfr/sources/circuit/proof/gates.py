"""From the bits that the heads bring to the answer: every case of the operands of every gate, through units and logits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.sources.circuit.proof.attention import Looks
from tm2tfr.sources.circuit.proof.refused import CircuitRefusal, Refused
from tm2tfr.sources.circuit.proof.spans import Interval, Rounding, applied
from tm2tfr.sources.circuit.proof.stream import Embedded, Normed, gained
from tm2tfr.transformer.matrix import Floats, Matrix
from tm2tfr.transformer.weights import Decoder, Layer

MOST_REFUSALS = 20
_MOST_SLOTS = 6
"""The most operands at which the heads may look together: there are 2^6 cases of them."""
_Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Wanted:
    """What every gate must answer, case by case, and which cases there are.

    Args:
        cases: (cases, slots): the bits at the positions that the heads look at.
        possible: (cases, gates): whether slots with one position have one bit.
        bits: (cases, gates): the gate's value.
    """

    cases: NDArray[np.int64]
    possible: _Bools
    bits: _Bools


def expected(circuit: Circuit, found: Sequence[Looks]) -> Wanted:
    """Return what the gates of `circuit` must answer, given where the heads look.

    Raises:
        Refused: if no head looks at an operand, or heads look at more than six.
    """
    places = np.concatenate([looks.places for looks in found], axis=1)
    if places.shape[1] > _MOST_SLOTS:
        witness = f"{places.shape[1]} at a time"
        raise Refused("attention", f"the proof knows heads that look at {_MOST_SLOTS} operands", witness)
    cases = np.array(list(product((0, 1), repeat=places.shape[1])), dtype=np.int64)
    same = places[:, :, None] == places[:, None, :]  # (gates, slots, slots)
    differ = cases[:, :, None] != cases[:, None, :]
    possible = ~(same[None] & differ[:, None]).any(axis=(2, 3))
    bits = np.zeros(possible.shape, dtype=bool)
    numbers = [[circuit.numbers[net] for net in gate.operands] for gate in circuit.gates]
    for many in {len(each) for each in numbers}:
        own = np.array([n for n, each in enumerate(numbers) if len(each) == many])
        index = np.zeros((len(cases), len(own)), dtype=np.int64)
        for k in range(many):
            operands = np.array([numbers[n][k] for n in own])
            here = places[own] == operands[:, None]
            if not here.any(axis=1).all():
                at = int(own[np.flatnonzero(~here.any(axis=1))[0]])
                gate, first = circuit.gates[at], len(circuit.inputs) - 1
                looked = ", ".join(map(str, sorted(set(places[at].tolist()))))
                witness = f"position {first + at} looks at {looked}; {gate.operands[k]} is at {numbers[at][k]}"
                raise Refused("attention", f"no head looks at operand {gate.operands[k]}", witness, gate.net)
            index = 2 * index + cases[:, here.argmax(axis=1)]
        tables = np.array([[bit == "1" for bit in circuit.gates[n].table] for n in own])
        bits[:, own] = tables[np.arange(len(own))[None, :], index]
    return Wanted(cases, possible, bits)


class Brought:
    """What the heads add to the stream, by case: (directions, cases), for the directions that they write to."""

    def __init__(
        self, stream: Embedded, found: Sequence[Looks], normed: Normed | None, cases: NDArray[np.int64], r: Rounding
    ):
        self.rows = np.unique(np.concatenate([looks.head.output.rows for looks in found]))
        self.span = Interval(*(np.zeros((len(self.rows), len(cases))) for _ in range(2)))
        slot = 0
        for looks in found:
            many = looks.places.shape[1]
            self.span = self.span + self._added(stream, looks, normed, cases[:, slot : slot + many], r)
            slot += many

    def _added(
        self, stream: Embedded, looks: Looks, normed: Normed | None, cases: NDArray[np.int64], rounding: Rounding
    ) -> Interval:
        head = looks.head
        values = stream.forms(head.value)
        if (values != values[:, :1]).any():
            raise Refused(
                "attention", f"the value of head {head.name!r} depends on the position", "another than position 0"
            )
        off = rounding.error(stream.width, stream.forms(head.value, sizes=True).max(axis=1))
        span = Interval.exactly(values[:, 0]).widened(off)
        if normed is not None:
            scaled, sums, weights, constants = gained(head.value, normed.norm)
            forms, sizes = stream.forms(scaled), stream.forms(scaled, sizes=True)
            read = normed.read(Interval.exactly(forms), sums, constants, weights, sizes, rounding.gamma(stream.width))
            span = Interval(read.lo.min(axis=1), read.hi.max(axis=1))
        low, high = span.lo.min(axis=1)[:, None], span.hi.max(axis=1)[:, None]
        each = Interval(span.lo[:, cases], span.hi[:, cases])  # (d_v, cases, slots)
        right = Interval(each.lo.mean(axis=2), each.hi.mean(axis=2))
        uneven = looks.tilt * (each.hi.max(axis=2) - each.lo.min(axis=2))
        stray = Interval(
            right.lo + looks.stray * np.minimum(low - right.lo, 0) - uneven,
            right.hi + looks.stray * np.maximum(high - right.hi, 0) + uneven,
        )
        if head.weighting == "softmax":
            stray = stray.widened(rounding.gamma(3 * stream.positions) * right.size.max(initial=0.0))
        else:
            stray = stray.widened(rounding.error(2, right.size))
        output = head.output.dense()[self.rows]
        written = applied(output, stray)
        return written.widened(rounding.error(output.shape[1], np.abs(output) @ stray.size))


def answers(
    decoder: Decoder, stream: Embedded, found: Sequence[Looks], normed: Normed | None, want: Wanted, rounding: Rounding
) -> Interval:
    """Return the logit of 1 less that of 0, up to a positive factor where a norm comes before: (gates, bit fed, cases).

    Raises:
        Refused: where a part is beyond the proof.
    """
    layer, first = decoder.layers[0], stream.positions - want.bits.shape[1]
    added = Brought(stream, found, normed, want.cases, rounding)
    total, squares = _moments(stream, added, first) if layer.feed_forward_norm or decoder.norm else (None, None)
    hidden, output = _hidden(stream, layer, added, first, (total, squares), rounding)
    change, weights, biases = _logits(decoder)
    bias = float(biases[1] - biases[0])
    fixed = _bias(layer, stream.width)
    forms, sizes = stream.forms(change)[0, first:], stream.forms(weights, sizes=True)[0, first:]
    dense, sized = change.dense(), weights.dense()
    base = Interval.exactly(forms[:, :, None]) + applied(dense[:, added.rows], added.span)[0][None, None, :]
    whole = base + applied(dense @ output, hidden)[0] + Interval.exactly(float((dense @ fixed)[0]) + bias)
    size = sizes[:, :, None] + (sized[:, added.rows] @ added.span.size)[0][None, None, :]
    size = size + np.tensordot((sized @ np.abs(output))[0], hidden.size, axes=1)
    size = size + float((sized @ np.abs(fixed))[0]) + float(np.abs(biases).sum())
    if decoder.norm is None or total is None:
        return whole.widened(rounding.error(output.shape[1] + stream.width, size))
    moved = applied(output.sum(axis=0)[None, :], hidden)[0] + Interval.exactly(fixed.sum())
    mean = Interval((total.lo + moved.lo) / stream.width, (total.hi + moved.hi) / stream.width)
    everything = _everything(stream, added, first) + float(np.abs(fixed).sum())
    everything = everything + np.tensordot(np.abs(output).sum(axis=0), hidden.size, axes=1)
    off = rounding.gamma(stream.width) * (everything / stream.width * float(sized.sum()) + size)
    return (whole - Interval.exactly(dense.sum()) * mean).widened(off)


def _logits(decoder: Decoder) -> tuple[Matrix, Matrix, Floats]:
    """Return the difference of the two rows of the unembedding, the sum of their absolute values, and the two biases.

    A last norm is part of them but for the positive factor by which it multiplies.
    """
    biases: Floats = decoder.unembedding_bias.dense()[:, 0]
    change = Matrix.from_dense(np.diff(decoder.unembedding.dense(), axis=0))
    if decoder.norm is None:
        return change, _sum_of_sizes(decoder.unembedding), biases
    if decoder.unembedding_bias.nonzero or decoder.norm.bias.nonzero:
        raise Refused("gate", "the proof knows a last norm without biases", "a bias of the norm or the unembedding")
    return gained(change, decoder.norm)[0], _sum_of_sizes(gained(decoder.unembedding, decoder.norm)[0]), biases


def _bias(layer: Layer, width: int) -> Floats:
    return np.zeros(width) if layer.feed_forward is None else layer.feed_forward.output_bias.dense()[:, 0]


def _sum_of_sizes(matrix: Matrix) -> Matrix:
    return Matrix.from_dense(np.abs(matrix.dense()).sum(axis=0, keepdims=True))


def _everything(stream: Embedded, added: Brought, first: int) -> Floats:
    """Return the sum of the absolute values of the entries: (gates, bit fed, cases)."""
    ones = Matrix.from_dense(np.ones((1, stream.width)))
    whole: Floats = stream.forms(ones, sizes=True)[0, first:, :, None] + added.span.size.sum(axis=0)[None, None, :]
    return whole


def _moments(stream: Embedded, added: Brought, first: int) -> tuple[Interval, Interval]:
    """Return the sum of the entries after attention and that of their squares: (gates, bit fed, cases)."""
    total = Interval.exactly(stream.total[first:, :, None]) + Interval(
        added.span.lo.sum(axis=0)[None, None, :], added.span.hi.sum(axis=0)[None, None, :]
    )
    chosen = {(n, int(row)): 1.0 for n, row in enumerate(added.rows)}
    before = stream.forms(Matrix.from_entries((len(added.rows), stream.width), chosen))[:, first:, :, None]
    span = Interval(added.span.lo[:, None, None, :], added.span.hi[:, None, None, :])
    after = (Interval.exactly(before) + span).squared()
    rest = stream.squares[first:, :, None] - (before**2).sum(axis=0)
    return total, Interval(rest + after.lo.sum(axis=0), rest + after.hi.sum(axis=0))


def _hidden(
    stream: Embedded,
    layer: Layer,
    added: Brought,
    first: int,
    moments: tuple[Interval | None, Interval | None],
    rounding: Rounding,
) -> tuple[Interval, Floats]:
    """Return the hidden units after ReLU, (units, gates, bit fed, cases), and the output matrix, (width, units)."""
    if layer.feed_forward is None:
        raise Refused("gate", "there is no feed-forward part", "the layer only has heads")
    reads, biases = layer.feed_forward.input, layer.feed_forward.input_bias.dense()[:, 0]
    norm, (total, squares) = layer.feed_forward_norm, moments
    scaled, sums, weights, constants = (reads, biases, biases, biases) if norm is None else gained(reads, norm)
    forms, sizes = stream.forms(scaled)[:, first:, :, None], stream.forms(scaled, sizes=True)[:, first:, :, None]
    own = scaled.dense()[:, added.rows]
    brought = applied(own, added.span)
    whole = Interval.exactly(forms) + Interval(brought.lo[:, None, None, :], brought.hi[:, None, None, :])
    sizes = sizes + (np.abs(own) @ added.span.size)[:, None, None, :]
    wide = biases[:, None, None, None]
    if norm is None or total is None or squares is None:
        terms = int(np.bincount(reads.rows, minlength=1).max()) + 1
        off = rounding.error(terms, sizes + np.abs(wide))
    else:
        normed = Normed.of(norm, stream.width, total, squares, _everything(stream, added, first), rounding)
        gamma = rounding.gamma(stream.width)
        whole = normed.read(whole, sums, constants, weights, sizes, gamma)
        off = gamma * (np.abs(wide) + sizes * normed.scale.hi)
    sum_ = (whole + Interval.exactly(wide)).widened(off)
    return sum_.rectified(), layer.feed_forward.output.dense()


def wrong_gates(circuit: Circuit, want: Wanted, found: Interval) -> list[CircuitRefusal]:
    """Return a refusal for each gate with a case whose answer is wrong, or not shown to be right; at most 20."""
    lo, hi = (a.transpose(2, 0, 1) for a in (found.lo, found.hi))  # (cases, gates, bit fed)
    right = np.where(want.bits[:, :, None], lo > 0, hi < 0).all(axis=2) | ~want.possible
    refusals = []
    for gate_number in np.flatnonzero(~right.all(axis=0)).tolist()[:MOST_REFUSALS]:
        gate = circuit.gates[gate_number]
        case = int(np.flatnonzero(~right[:, gate_number])[0])
        low, high = float(lo[case, gate_number].min()), float(hi[case, gate_number].max())
        wanted = int(want.bits[case, gate_number])
        bits = "".join(map(str, want.cases[case].tolist()))
        between = f"{low:.6g}" if low == high else f"{low:.6g} to {high:.6g}"
        refusals.append(
            CircuitRefusal(
                part="gate",
                net=gate.net,
                what=f"{gate.kind}({', '.join(gate.operands)}) must be {wanted} where the heads bring {bits}",
                witness=f"logit of 1 minus logit of 0: {between}",
            )
        )
    return refusals


def margin(want: Wanted, found: Interval) -> float:
    """Return the least lead of the right token's logit, as `answers` scales it."""
    lo, hi = (a.transpose(2, 0, 1) for a in (found.lo, found.hi))
    least = np.where(want.bits[:, :, None], lo, -hi).min(axis=2)
    return float(least[want.possible].min())
