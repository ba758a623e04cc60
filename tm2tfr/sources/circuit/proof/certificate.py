"""The certificate: "from the bits of any input, this engine in this dtype generates the bits of every gate".

By induction over positions. The tokens up to position i are right: those of the input are given, the others were shown
before. Keys and values are linear forms of the embedding, so they are known for every position; scores do not depend on
bits, so it is known where every head looks, whatever the input (`attention`). What it brings are then bits of nets, and
eight cases (four for a pair) cover all inputs: each goes through the units and the logits (`gates`), in intervals that
contain what rounding and stray attention can do (`spans`). If the right token has the larger logit in each case of each
gate, every answer from the last input on is right. It is the weights that are read, and the circuit; nothing of a compiler.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import exp, floor, log
from typing import ClassVar

import numpy as np

from tm2tfr.base.errors import counted
from tm2tfr.base.text.shown import aligned
from tm2tfr.certificates.intervals import Interval, Rounding, quantum_of
from tm2tfr.certificates.kit import (
    DIGITS,
    Certificate,
    Proof,
    Questions,
    Refused,
    Report,
    attempted,
    checked,
    not_certified,
)
from tm2tfr.engines.overflow import reach
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.sources.circuit.proof.gates import GateProof, expected, margin, wrong_gates
from tm2tfr.sources.circuit.proof.stream import Embedded, Normed, looks
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.parts import AHEAD, OUTPUTS, UNIQUE, parts
from tm2tfr.transformer.weights import Decoder, digest, matrices, norms

SMALLEST: Mapping[str, float] = {"float32": 2.0**-12, "float64": 2.0**-100}
"""dtype -> the least absolute value that a weight may have, other than 0."""
_PLAIN_DIGITS = 3
"""A probability that differs from 1 by less than a thousandth is shown by this difference."""
_NOT_RUN = "engine runs no softmax and no norms"


@dataclass(frozen=True, kw_only=True)
class CircuitCertificate(Certificate):
    """The proved statement about weights on one engine in one dtype, for all inputs.

    Args:
        circuit, gates, positions: the name of the circuit, and the numbers of gates and positions.
        most_positions: the most positions with exact scores of heads that look by position; None: no limit.
        stray: the most attention that goes astray, 0 for average-hard heads.
        margin: the least lead of the right token's logit; up to a positive factor where a norm precedes the logits.
        lead: the same without the factor: of these two tokens, the right one has the probability 1/(1 + e^-lead) at least.
    """

    subject: ClassVar = "circuit"
    place: ClassVar = ("part", "net")

    circuit: str
    gates: int
    positions: int
    most_positions: int | None = None
    stray: float = 0.0
    margin: float = 0.0
    lead: float = 0.0

    @property
    def statement(self) -> str:
        """The proved statement, as text."""
        problem = f"the bits of all {counted(self.gates, 'gate')} are right for every input"
        return f"{problem}, at {counted(self.positions, 'position')}"

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """The last cells of its row in a report: whether it is granted, margin, stray attention, and least probability."""
        if not self.granted:
            runs = any(refusal.what.endswith(_NOT_RUN) for refusal in self.refusals)
            return "cannot run it" if runs else "no", "", "", ""
        return "yes", f"{self.margin:.3g}", "none" if self.stray == 0 else f"{self.stray:.2g}", self.probability

    @property
    def probability(self) -> str:
        """The lower bound on the probability of each right token, by softmax of the logits: ``0.731``, ``1 - 10^-404``."""
        digits = floor(self.lead / log(10))
        return f"{floor(1000 / (1 + exp(-self.lead))) / 1000:.3f}" if digits < _PLAIN_DIGITS else f"1 - 10^-{digits:,}"


@dataclass(frozen=True, kw_only=True)
class CircuitReport(Report[CircuitCertificate]):
    """What ``certify`` prints of a circuit; inputs: the number of inputs."""

    inputs: int

    def lines(self) -> list[str]:
        """Return the report for people, without its heading."""
        gates = self.certificates[0].gates
        problem = f"all {counted(gates, 'gate')}" if gates > 1 else "the gate"
        table = [("engine", "dtype", "certified", "margin", "stray attention", "probability")]
        table += [(c.engine, c.dtype, *c.cells) for c in self.certificates]
        refused = [line for c in self.certificates if c.cells[0] == "no" for line in not_certified(c)]
        claim = f"claim: for all 2^{self.inputs} inputs the engine generates the bits of {problem}, at every position"
        return [claim, "", *aligned(table, {3, 4, 5}), *refused]

    def shared(self) -> dict[str, object]:
        """Return the common fields of the certificates as plain data, in the order of the JSON, with ``granted``."""
        about = {name: getattr(self.certificates[0], name) for name in ("circuit", "weights", "gates", "positions")}
        return {**about, "inputs": self.inputs, "granted": self.granted}


@dataclass(frozen=True)
class CircuitProof(Proof[CircuitCertificate]):
    """The proof that `decoder` generates the bits of `circuit` for every input; it is carried out on first use."""

    circuit: Circuit

    def certificate(self, engine: str = "dense", dtype: str | None = None) -> CircuitCertificate:
        """Return the certificate for an engine and a dtype, by default its widest.

        Raises:
            EngineError: for an unknown engine, or a dtype that it does not compute in.
        """
        plain = CircuitCertificate(
            circuit=self.circuit.name,
            gates=len(self.circuit.gates),
            positions=len(self.circuit.inputs) + len(self.circuit.gates) - 1,
            weights=digest(self.decoder),
            engine=engine,
            dtype=checked(engine, dtype),
        )
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return attempted(plain, self._proved)

    def report(self, questions: Questions) -> CircuitReport:
        """Return the requested certificates.

        Raises:
            EngineError: for an unknown engine or dtype.
        """
        inputs = len(self.circuit.inputs)
        return CircuitReport(certificates=self.certificates(questions), questions=questions, inputs=inputs)

    def _proved(self, plain: CircuitCertificate) -> CircuitCertificate:
        decoder, circuit = self.decoder, self.circuit
        table = _shape(decoder, circuit)
        if plain.engine != "dense" and (decoder.soft or decoder.normed):
            raise Refused("shape", f"the {plain.engine} engine runs no softmax and no norms", "use the dense engine")
        _refuse_sizes(decoder, plain.dtype)
        stream, digits, quantum = Embedded(decoder, table), DIGITS.get(plain.dtype), _quantum(decoder)
        rounding = Rounding(digits, 0.0 if decoder.soft or decoder.normed else quantum)
        exact = rounding if decoder.normed else Rounding(digits, quantum)  # scores come before any softmax
        first, nets = len(circuit.inputs) - 1, [gate.net for gate in circuit.gates]
        normed = _attention_norm(decoder, stream, rounding)
        found = [looks(stream, head, normed, first, nets, exact) for head in decoder.layers[0].heads]
        limits = [each.limit for each in found if each.limit is not None]
        most, stray = min(limits) if limits else None, max((each.stray for each in found), default=0.0)
        if most is not None and stream.positions > most:
            witness = f"{stream.positions:,} positions; {plain.dtype} has exact scores for {most:,}"
            raise Refused("rounding", "scores of heads that look by position are rounded", f"{witness}: use a wider dtype")
        want = expected(circuit, found)
        answered = GateProof(stream, found, normed, rounding).answers(want)
        wrong = tuple(wrong_gates(circuit, want, answered.span))
        least = 0.0 if wrong else margin(want, answered.span)
        lead = least * answered.scale
        return replace(plain, refusals=wrong, most_positions=most, stray=stray, margin=least, lead=lead)


def _shape(decoder: Decoder, circuit: Circuit) -> Matrix:
    """Return the position table of a decoder that the proof can speak of.

    Raises:
        Refused: for any other.
    """
    foreign = [part for part in parts(decoder) if part in (AHEAD, OUTPUTS, UNIQUE)]
    if foreign:
        raise Refused("shape", "the construction has no such part", f"these weights have {' and '.join(foreign)}")
    positions, table = len(circuit.inputs) + len(circuit.gates) - 1, decoder.position_table
    if table is None or decoder.positions != positions:
        length = "none" if table is None else f"{decoder.positions:,}"
        raise Refused("shape", f"the position table must have {positions:,} positions", length)
    if decoder.vocabulary != ("0", "1") or decoder.bos is not None or decoder.stop:
        raise Refused("shape", "the tokens must be 0 and 1, without BOS and stop tokens", repr(decoder.vocabulary))
    if len(decoder.layers) != 1 or not decoder.layers[0].heads:
        raise Refused("shape", "there must be one layer, with heads", counted(len(decoder.layers), "layer"))
    return table


def _quantum(decoder: Decoder) -> float:
    """Return a power of two of which half of every product of up to six weights is a multiple; 0 if there is none.

    Half, since a head may take the mean of two values.
    """
    return quantum_of(*(matrix.values for matrix in matrices(decoder).values())) ** 6 / 2


def _refuse_sizes(decoder: Decoder, dtype: str) -> None:
    """Refuse numbers that may get too large or too small for `dtype`, or for the proof of what rationals do.

    A product of six weights of at least `SMALLEST` is a normal number, and so is the rounding of it; what is lost where
    norms divide by large numbers is part of the bounds, see `Rounding.lost`.
    """
    floats, where = (dtype, dtype) if dtype in SMALLEST else ("float64", "float64, in which the proof computes")
    largest = max([decoder.largest, *(norm.epsilon for _, norm in norms(decoder))])
    if largest > np.finfo(floats).max or not reach(decoder, floats).everything:
        raise Refused("rounding", f"numbers may get too large for {where}", f"a weight or epsilon is {largest:.3g}")
    values = np.abs(np.concatenate([matrix.values for matrix in matrices(decoder).values()]))
    smallest = float(values.min(initial=np.inf))
    if smallest < SMALLEST[floats]:
        raise Refused("rounding", f"numbers may get too small for {where}", f"a weight is {smallest:.3g}")


def _attention_norm(decoder: Decoder, stream: Embedded, rounding: Rounding) -> Normed | None:
    norms = (decoder.layers[0].attention_norm, decoder.layers[0].feed_forward_norm, decoder.norm)
    if any(norm is not None for norm in norms) and decoder.features:
        raise Refused("shape", "the proof knows norms of streams without position features", ", ".join(decoder.features))
    norm = norms[0]
    if norm is None:
        return None
    if (stream.total[:, :1] != stream.total).any() or (stream.squares[:, :1] != stream.squares).any():
        raise Refused("embedding", "mean and variance before attention depend on the bit", "0 and 1 differ")
    total, squares = Interval.exactly(stream.total), Interval.exactly(stream.squares)
    return Normed.of(norm, stream.width, stream.terms, total, squares, stream.entry_sizes, rounding)
