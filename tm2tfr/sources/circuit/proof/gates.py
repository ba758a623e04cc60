"""From the bits that the heads bring to the answer: every case of the operands of every gate, through units and logits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.certificates.intervals import Interval, Rounding, applied
from tm2tfr.certificates.kit import Refusal, Refused
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.sources.circuit.proof.stream import Embedded, Looks, Normed, NormedMatrix
from tm2tfr.transformer.matrix import Floats, Ints, Matrix
from tm2tfr.transformer.weights import Decoder, FeedForward

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
    """Return the right answers of the gates of `circuit`, given the attention of the heads.

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
    for many in {len(weights) for weights in numbers}:
        own = np.array([n for n, weights in enumerate(numbers) if len(weights) == many])
        index = np.zeros((len(cases), len(own)), dtype=np.int64)
        for k in range(many):
            operands = np.array([numbers[n][k] for n in own])
            here = places[own] == operands[:, None]
            if not here.any(axis=1).all():
                at = int(own[np.flatnonzero(~here.any(axis=1))[0]])
                gate, first = circuit.gates[at], len(circuit.inputs) - 1
                looked = ", ".join(map(str, sorted(set(places[at].tolist()))))
                witness = f"position {first + at} looks at {looked}; {gate.operands[k]} is at {numbers[at][k]}"
                raise Refused("attention", f"no head looks at operand {gate.operands[k]}", witness, net=gate.net)
            index = 2 * index + cases[:, here.argmax(axis=1)]
        tables = np.array([[bit == "1" for bit in circuit.gates[n].table] for n in own])
        bits[:, own] = tables[np.arange(len(own))[None, :], index]
    return Wanted(cases, possible, bits)


@dataclass(frozen=True)
class Brought:
    """The output of the heads, case by case.

    Args:
        rows: (directions,) the directions that they write to.
        span: (directions, cases) what they add there, all together.
        size: (directions, cases) the sum of the absolute values that each of them adds: heads may cancel, roundings do not.
    """

    rows: Ints
    span: Interval
    size: Floats


@dataclass(frozen=True)
class Through:
    """What becomes of a stream after attention, at some positions.

    Args:
        hidden: (units, positions, bit fed, cases) the hidden units after ReLU.
        output: (width, units) the matrix that they are written by.
        fixed: (width,) the bias of the feed-forward part.
        last: the norm before the unembedding.
    """

    hidden: Interval
    output: Floats
    fixed: Floats
    last: Normed | None


class GateAnswers(NamedTuple):
    """The answers at each gate.

    Args:
        span: the logit of 1 less that of 0, divided by what a last norm multiplies by: (gates, bit fed, cases).
        scale: the least that it multiplies by; 1 without one.
    """

    span: Interval
    scale: float


@dataclass(frozen=True)
class GateProof:
    """From where the heads look to the logits.

    Args:
        stream: the stream after the embedding.
        looks: where each head looks.
        normed: the stream through the norm before attention, if there is one.
    """

    stream: Embedded
    looks: Sequence[Looks]
    normed: Normed | None
    rounding: Rounding

    def answers(self, want: Wanted) -> GateAnswers:
        """Return the logit of 1 less that of 0, up to a positive factor where a norm comes before.

        Raises:
            Refused: where a part is beyond the proof, or a norm may divide by 0 at any position.
        """
        stream, rounding, decoder = self.stream, self.rounding, self.stream.decoder
        first = stream.positions - want.bits.shape[1]
        if decoder.layers[0].feed_forward_norm or decoder.norm:  # those before the first answer are run as well
            self._through(self._brought(None), slice(0, first))
        added = self._brought(want.cases)
        after = self._through(added, slice(first, None))
        hidden, output, fixed = after.hidden, after.output, after.fixed
        change, weights, biases = _logits(decoder)
        bias = float(biases[1] - biases[0])
        forms, sizes = stream.forms(change)[0, first:], stream.forms(weights, sizes=True)[0, first:]
        dense, sized = change.dense(), weights.dense()
        base = Interval.exactly(forms[:, :, None]) + applied(dense[:, added.rows], added.span)[0][None, None, :]
        whole = base + applied(dense @ output, hidden)[0] + Interval.exactly(float((dense @ fixed)[0]) + bias)
        size = sizes[:, :, None] + (sized[:, added.rows] @ added.size)[0][None, None, :]
        size = size + np.tensordot((sized @ np.abs(output))[0], hidden.size, axes=1)
        size = size + float((sized @ np.abs(fixed))[0]) + float(np.abs(biases).sum())
        terms = stream.terms + output.shape[1]
        weight = float(sized.sum())
        lost = rounding.lost(output.shape[1]) * weight  # what underflow takes from the products of units is multiplied
        if after.last is None:
            return GateAnswers(whole.widened(rounding.error(terms, size) + lost), 1.0)
        plain = float(np.abs(decoder.unembedding.values).sum())
        normed_lost = rounding.lost(terms) * (1 + plain + weight) / after.last.scale.lo
        off = after.last.off * weight + rounding.gamma(terms) * size + lost + normed_lost
        span = (whole - Interval.exactly(dense.sum()) * after.last.mean).widened(off)
        return GateAnswers(span, float(after.last.scale.lo.min()) * (1 - rounding.gamma(4)))

    def _brought(self, cases: NDArray[np.int64] | None) -> Brought:
        """Return the values that heads fetch in each case: (cases, slots); None: for any attention, in one case."""
        rows, slot = np.unique(np.concatenate([looks.head.output.rows for looks in self.looks])), 0
        added = []
        for looks in self.looks:
            many = looks.places.shape[1]
            bits = None if cases is None else cases[:, slot : slot + many]
            output = looks.head.output.dense()[rows]
            carried = self._carried(looks, bits)
            off = self.rounding.error(output.shape[1], np.abs(output) @ carried.size)
            added.append(applied(output, carried).widened(off))
            slot += many
        whole = sum(added[1:], added[0])
        return Brought(rows, whole, np.sum([part.size for part in added], axis=0))

    def _carried(self, looks: Looks, cases: NDArray[np.int64] | None) -> Interval:
        """Return the weighted mean of a head's values, (d_v, cases), see `_brought`."""
        stream, rounding, head = self.stream, self.rounding, looks.head
        values = stream.forms(head.value)
        if (values != values[:, :1]).any():
            raise Refused(
                "attention", f"the value of head {head.name!r} depends on the position", "another than position 0"
            )
        if self.normed is None:
            off = rounding.error(stream.terms, stream.forms(head.value, sizes=True).max(axis=1))
            span = Interval.exactly(values[:, 0]).widened(off)
        else:
            span = self.normed.read_embedded(stream, head.value, rounding).hull(axis=1)
        whole = span.hull(axis=1)[:, None]
        most = float(span.size.max(initial=0.0))
        summed = rounding.gamma(3 * stream.positions) * most + rounding.lost(stream.positions) * (1 + most)
        if cases is None:
            return whole.widened(summed)
        each = span[:, cases]  # (d_v, cases, slots)
        right = Interval(each.lo.mean(axis=2), each.hi.mean(axis=2))
        uneven = looks.tilt * (each.hi.max(axis=2) - each.lo.min(axis=2))
        stray = Interval(
            right.lo + looks.stray * np.minimum(whole.lo - right.lo, 0) - uneven,
            right.hi + looks.stray * np.maximum(whole.hi - right.hi, 0) + uneven,
        )
        return stray.widened(summed if head.weighting == "softmax" else rounding.error(2, right.size))

    def _through(self, added: Brought, where: slice) -> Through:
        """Return what becomes of the stream at the positions `where`.

        Raises:
            Refused: where a part is beyond the proof, or a norm may divide by 0.
        """
        stream, rounding, last = self.stream, self.rounding, self.stream.decoder.norm
        layer = stream.decoder.layers[0]
        if layer.feed_forward is None:
            raise Refused("gate", "there is no feed-forward part", "the layer only has heads")
        output, fixed = layer.feed_forward.output.dense(), layer.feed_forward.output_bias.dense()[:, 0]
        span = added.span[:, None, None, :]
        normed = None
        if layer.feed_forward_norm is not None:
            total = Interval.exactly(stream.total[where, :, None]) + span.summed()
            squares, size = self._squares(where, added.rows, span), self._everything(added, where)
            normed = Normed.of(layer.feed_forward_norm, stream.width, stream.terms, total, squares, size, rounding)
        hidden = self._hidden(layer.feed_forward, added, where, normed)
        if last is None:
            return Through(hidden, output, fixed, None)
        rows = np.union1d(added.rows, np.flatnonzero(output.any(axis=1) | (fixed != 0)))
        written = applied(output[rows], hidden) + Interval.exactly(fixed[rows][:, None, None, None])
        own = np.searchsorted(rows, added.rows)
        written.lo[own] += span.lo
        written.hi[own] += span.hi
        moved = applied(output.sum(axis=0)[None, :], hidden)[0] + Interval.exactly(fixed.sum())
        total = Interval.exactly(stream.total[where, :, None]) + span.summed() + moved
        size = self._everything(added, where) + float(np.abs(fixed).sum())
        size = size + np.tensordot(np.abs(output).sum(axis=0), hidden.size, axes=1)
        terms, squares = stream.terms + output.shape[1], self._squares(where, rows, written)
        return Through(hidden, output, fixed, Normed.of(last, stream.width, terms, total, squares, size, rounding))

    def _everything(self, added: Brought, where: slice) -> Floats:
        """Return the sum of the absolute values of all terms of the stream after attention: (positions, bit fed, cases)."""
        whole: Floats = self.stream.entry_sizes[where, :, None] + added.size.sum(axis=0)[None, None, :]
        return whole

    def _squares(self, where: slice, rows: Ints, span: Interval) -> Interval:
        """Return the sum of the squares of the entries after `span` is added in `rows`: (positions, bit fed, cases)."""
        stream = self.stream
        chosen = {(n, int(row)): 1.0 for n, row in enumerate(rows)}
        before = stream.forms(Matrix.from_entries((len(rows), stream.width), chosen))[:, where, :, None]
        after = (Interval.exactly(before) + span).squared().summed()
        return Interval.exactly(stream.squares[where, :, None] - (before**2).sum(axis=0)) + after

    def _hidden(self, layer: FeedForward, added: Brought, where: slice, normed: Normed | None) -> Interval:
        """Return the hidden units after ReLU: (units, positions, bit fed, cases)."""
        stream, rounding = self.stream, self.rounding
        reads, biases = layer.input, layer.input_bias.dense()[:, 0][:, None, None, None]
        reading = None if normed is None else NormedMatrix.of(reads, normed.norm)
        scaled = reads if reading is None else reading.matrix
        own = scaled.dense()[:, added.rows]
        brought = applied(own, added.span)
        forms = Interval.exactly(stream.forms(scaled)[:, where, :, None])
        whole = forms + brought[:, None, None, :]
        sizes = stream.forms(scaled, sizes=True)[:, where, :, None] + (np.abs(own) @ added.size)[:, None, None, :]
        if normed is None or reading is None:
            terms = int(np.bincount(reads.rows, minlength=1).max()) + 1 + len(stream.decoder.features)
            off = rounding.error(terms, sizes + np.abs(biases))
        else:
            whole = normed.read(reading, whole, sizes, stream.terms, rounding)
            off = rounding.gamma(stream.terms) * (np.abs(biases) + sizes * normed.scale.hi)
        return (whole + Interval.exactly(biases)).widened(off).rectified()


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
    return (
        NormedMatrix.of(change, decoder.norm).matrix,
        _sum_of_sizes(NormedMatrix.of(decoder.unembedding, decoder.norm).matrix),
        biases,
    )


def _sum_of_sizes(matrix: Matrix) -> Matrix:
    return Matrix.from_dense(np.abs(matrix.dense()).sum(axis=0, keepdims=True))


def wrong_gates(circuit: Circuit, want: Wanted, found: Interval) -> list[Refusal]:
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
            Refusal(
                part="gate",
                net=gate.net,
                what=f"{gate.kind}({', '.join(gate.operands)}) must be {wanted} where the heads bring {bits}",
                witness=f"logit of 1 minus logit of 0: {between}",
            )
        )
    return refusals


def margin(want: Wanted, found: Interval) -> float:
    """Return the least lead of the right token's logit, as `GateAnswers.span` has it."""
    lo, hi = (a.transpose(2, 0, 1) for a in (found.lo, found.hi))
    least = np.where(want.bits[:, :, None], lo, -hi).min(axis=2)
    return float(least[want.possible].min())
