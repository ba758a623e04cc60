"""The certificate: "from the bits of any input, this engine in this dtype generates the bits of every gate".

By induction over positions. The tokens up to position i are right: those of the input are given, the others were shown
before. Keys and values are linear forms of the embedding, so they are known for every position; scores do not depend on
bits, so it is known where every head looks, whatever the input (`attention`). What it brings are then bits of nets, and
eight cases (four for a pair) cover all inputs: each goes through the units and the logits (`gates`), in intervals that
contain what rounding and stray attention can do (`spans`). If the right token has the larger logit in each case of each
gate, every answer from the last input on is right. It is the weights that are read, and the circuit; nothing of a compiler.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from tm2tfr.base.errors import EngineError, counted, did_you_mean, visible
from tm2tfr.base.text.shown import aligned
from tm2tfr.engines.overflow import reach
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.sources.circuit.proof import stream as bounds
from tm2tfr.sources.circuit.proof.attention import looks
from tm2tfr.sources.circuit.proof.gates import answers, expected, margin, wrong_gates
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.parts import AHEAD, OUTPUTS, parts
from tm2tfr.transformer.weights import Decoder, digest, matrices, norms

RUNS: Mapping[str, tuple[str, ...]] = {"dense": ("float32", "float64"), "fast": ("float64",), "exact": ("rational",)}
"""Engine -> the dtypes for which there are certificates."""
SMALLEST: Mapping[str, float] = {"float32": 2.0**-12, "float64": 2.0**-100}
"""dtype -> the least absolute value that a weight may have, other than 0."""


@dataclass(frozen=True, kw_only=True)
class CircuitCertificate:
    """What is proved about some weights on one engine in one dtype, for all inputs.

    Args:
        circuit, gates, positions: its name, and how many gates and positions there are.
        weights: their digest.
        refusals: why it is not granted; none if it is.
        most_positions: up to how many positions the scores of heads that look by position are exact; None: no limit.
        stray: the most attention that goes astray, 0 for average-hard heads.
        margin: the least lead of the right token's logit; up to a positive factor where a norm precedes the logits.
    """

    circuit: str
    gates: int
    positions: int
    weights: str
    engine: str
    dtype: str
    refusals: tuple[bounds.CircuitRefusal, ...] = ()
    most_positions: int | None = None
    stray: float = 0.0
    margin: float = 0.0

    @property
    def granted(self) -> bool:
        """Whether every answer is proved right."""
        return not self.refusals

    def __str__(self) -> str:
        """Return the statement, or the refusals, one in a line."""
        where = f"{visible(self.circuit)} on {self.engine} in {self.dtype}"
        if self.refusals:
            return "\n".join([f"{where}: NOT certified", *(f"  {refusal}" for refusal in self.refusals)])
        what = f"the bits of all {counted(self.gates, 'gate')} are right for every input"
        return f"{where}: certified: {what}, at {counted(self.positions, 'position')}"

    def as_dict(self) -> dict[str, Any]:
        """Return the certificate as plain data."""
        return {**asdict(self), "refusals": [refusal.as_dict() for refusal in self.refusals], "granted": self.granted}


@dataclass(frozen=True)
class CircuitProof:
    """The proof for one decoder and the circuit that it was compiled from."""

    decoder: Decoder
    circuit: Circuit

    def certificate(self, engine: str = "dense", dtype: str | None = None) -> CircuitCertificate:
        """Return what is proved for an engine and a dtype, by default its widest.

        Raises:
            EngineError: for an unknown engine, or a dtype that it does not have.
        """
        if engine not in RUNS:
            raise EngineError(f"unknown engine {engine!r}{did_you_mean(engine, RUNS)}: use {', '.join(RUNS)}")
        dtype = dtype or RUNS[engine][-1]
        if dtype not in RUNS[engine]:
            raise EngineError(f"there is no certificate for {engine} in {dtype}: use {' or '.join(RUNS[engine])}")
        plain = CircuitCertificate(
            circuit=self.circuit.name,
            gates=len(self.circuit.gates),
            positions=len(self.circuit.inputs) + len(self.circuit.gates) - 1,
            weights=digest(self.decoder),
            engine=engine,
            dtype=dtype,
        )
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                return self._proved(plain)
        except bounds.Refused as refused:
            return replace(plain, refusals=(refused.refusal,))

    def certificates(self) -> tuple[CircuitCertificate, ...]:
        """Return the certificates of all engines and dtypes."""
        return tuple(self.certificate(engine, dtype) for engine, dtypes in RUNS.items() for dtype in dtypes)

    def _proved(self, plain: CircuitCertificate) -> CircuitCertificate:
        decoder, circuit = self.decoder, self.circuit
        table = _shape(decoder, circuit)
        if plain.engine != "dense" and (decoder.soft or decoder.normed):
            raise bounds.Refused("shape", f"the {plain.engine} engine runs no softmax and no norms", "use the dense engine")
        _refuse_sizes(decoder, plain.dtype)
        stream, digits, quantum = bounds.Embedded(decoder, table), bounds.DIGITS[plain.dtype], _quantum(decoder)
        rounding = bounds.Rounding(digits, 0.0 if decoder.soft or decoder.normed else quantum)
        exact = rounding if decoder.normed else bounds.Rounding(digits, quantum)  # scores come before any softmax
        first, nets = len(circuit.inputs) - 1, [gate.net for gate in circuit.gates]
        normed = _attention_norm(decoder, stream, rounding)
        found = [looks(stream, head, normed, first, nets, exact) for head in decoder.layers[0].heads]
        limits = [each.limit for each in found if each.limit is not None]
        most, stray = min(limits) if limits else None, max((each.stray for each in found), default=0.0)
        if most is not None and stream.positions > most:
            witness = f"{stream.positions:,} positions; {plain.dtype} has exact scores for {most:,}"
            raise bounds.Refused(
                "rounding", "scores of heads that look by position are rounded", f"{witness}: use a wider dtype"
            )
        want = expected(circuit, found)
        answered = answers(decoder, stream, found, normed, want, rounding)
        wrong = tuple(wrong_gates(circuit, want, answered))
        lead = 0.0 if wrong else margin(want, answered)
        return replace(plain, refusals=wrong, most_positions=most, stray=stray, margin=lead)


def prove(decoder: Decoder, circuit: Circuit) -> CircuitProof:
    """Return the proof that `decoder` generates the bits of `circuit` for every input; nothing is computed yet."""
    return CircuitProof(decoder, circuit)


def _shape(decoder: Decoder, circuit: Circuit) -> Matrix:
    """Return the position table of a decoder that the proof can speak of.

    Raises:
        Refused: for any other.
    """
    foreign = [part for part in parts(decoder) if part in (AHEAD, OUTPUTS)]
    if foreign:
        raise bounds.Refused("shape", "the construction has no such part", f"these weights have {' and '.join(foreign)}")
    positions, table = len(circuit.inputs) + len(circuit.gates) - 1, decoder.position_table
    if table is None or decoder.positions != positions:
        there = "none" if table is None else f"{decoder.positions:,}"
        raise bounds.Refused("shape", f"the position table must have {positions:,} positions", there)
    if decoder.vocabulary != ("0", "1") or decoder.bos is not None or decoder.stop:
        raise bounds.Refused("shape", "the tokens must be 0 and 1, without BOS and stop tokens", repr(decoder.vocabulary))
    if len(decoder.layers) != 1 or not decoder.layers[0].heads:
        raise bounds.Refused("shape", "there must be one layer, with heads", counted(len(decoder.layers), "layer"))
    return table


def _quantum(decoder: Decoder) -> float:
    """Return a power of two of which half of every product of up to six weights is a multiple; 0 if there is none.

    Half, since a head may take the mean of two values.
    """
    return bounds.quantum_of(*(matrix.values for matrix in matrices(decoder).values())) ** 6 / 2


def _refuse_sizes(decoder: Decoder, dtype: str) -> None:
    """Refuse numbers that may get too large or too small for `dtype`, or for the proof of what rationals do.

    A product of six weights of at least `SMALLEST` is a normal number, and so is the rounding of it; what is lost where
    norms divide by large numbers is part of the bounds, see `Rounding.lost`.
    """
    floats, where = (dtype, dtype) if dtype in SMALLEST else ("float64", "float64, in which the proof computes")
    largest = max([decoder.largest, *(norm.epsilon for _, norm in norms(decoder))])
    if largest > np.finfo(floats).max or not reach(decoder, floats).everything:
        raise bounds.Refused("rounding", f"numbers may get too large for {where}", f"a weight or epsilon is {largest:.3g}")
    values = np.abs(np.concatenate([matrix.values for matrix in matrices(decoder).values()]))
    smallest = float(values.min(initial=np.inf))
    if smallest < SMALLEST[floats]:
        raise bounds.Refused("rounding", f"numbers may get too small for {where}", f"a weight is {smallest:.3g}")


def _attention_norm(decoder: Decoder, stream: bounds.Embedded, rounding: bounds.Rounding) -> bounds.Normed | None:
    norms = (decoder.layers[0].attention_norm, decoder.layers[0].feed_forward_norm, decoder.norm)
    if any(norm is not None for norm in norms) and decoder.features:
        raise bounds.Refused(
            "shape", "the proof knows norms of streams without position features", ", ".join(decoder.features)
        )
    norm = norms[0]
    if norm is None:
        return None
    if (stream.total[:, :1] != stream.total).any() or (stream.squares[:, :1] != stream.squares).any():
        raise bounds.Refused("embedding", "mean and variance before attention depend on the bit", "0 and 1 differ")
    size = stream.forms(Matrix.from_dense(np.ones((1, stream.width))), sizes=True)[0]
    total, squares = bounds.Interval.exactly(stream.total), bounds.Interval.exactly(stream.squares)
    return bounds.Normed.of(norm, stream.width, stream.terms, total, squares, size, rounding)


# ── The certificates of a circuit's weights in words and as JSON.
_MOST_REFUSALS = 5
_NOT_RUN = "engine runs no softmax and no norms"


@dataclass(frozen=True)
class CircuitReport:
    """What ``certify`` prints of a circuit.

    Args:
        certificates: those asked for, one for each engine and dtype.
        asked: whether an engine or a dtype was named; otherwise the claim is that of the widest dtypes.
        inputs: the number of inputs.
    """

    certificates: tuple[CircuitCertificate, ...]
    asked: bool
    inputs: int

    @property
    def granted(self) -> bool:
        """Whether what is asked for is proved; where nothing is named, on the dense engine in float64."""
        if self.asked:
            return all(each.granted for each in self.certificates)
        return any(each.granted for each in self.certificates if (each.engine, each.dtype) == ("dense", "float64"))

    def text(self) -> str:
        """Return the report for people."""
        first = self.certificates[0]
        what = f"all {counted(first.gates, 'gate')}" if first.gates > 1 else "the gate"
        lines = [f"{visible(first.circuit)}, weights {first.weights[:16]}"]
        lines += [f"claim: for all 2^{self.inputs} inputs the engine generates the bits of {what}, at every position", ""]
        table = [("engine", "dtype", "certified", "margin", "stray attention")]
        table += [(c.engine, c.dtype, *_cells(c)) for c in self.certificates]
        lines += [line.rstrip() for line in aligned(table, {3, 4})]
        for each in self.certificates:
            if each.refusals and _cells(each)[0] == "no":
                lines += ["", f"{each.engine} in {each.dtype}: NOT certified"]
                lines += [f"  {refusal}" for refusal in each.refusals[:_MOST_REFUSALS]]
                more = len(each.refusals) - _MOST_REFUSALS
                lines += [f"  and {counted(more, 'more refusal')}"] if more > 0 else []
        return "\n".join(lines) + "\n"

    def json(self) -> str:
        """Return the report as JSON: what all certificates share, once, then each of them."""
        first = self.certificates[0]
        shared = ("circuit", "weights", "gates", "positions")
        rows = [{k: v for k, v in c.as_dict().items() if k not in shared} for c in self.certificates]
        about: dict[str, Any] = {name: getattr(first, name) for name in shared}
        whole = {**about, "inputs": self.inputs, "granted": self.granted, "certificates": rows}
        return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


def circuit_report(proof: CircuitProof, *, engine: str | None = None, dtype: str | None = None) -> CircuitReport:
    """Return the certificates of an engine and a dtype, of all that there are where none is named.

    Raises:
        EngineError: for an unknown engine, or a dtype that no engine asked for has.
    """
    engines = RUNS if engine is None else {engine: RUNS.get(engine, ())}
    pairs = [(name, each) for name, dtypes in engines.items() for each in dtypes if dtype in (None, each)]
    if not pairs:
        raise EngineError(f"there is no certificate for {engine or 'any engine'} in {dtype}: omit one of them")
    asked = engine is not None or dtype is not None
    certificates = tuple(proof.certificate(*pair) for pair in pairs)
    return CircuitReport(certificates, asked, len(proof.circuit.inputs))


def _cells(found: CircuitCertificate) -> tuple[str, str, str]:
    if not found.granted:
        runs = any(refusal.what.endswith(_NOT_RUN) for refusal in found.refusals)
        return "cannot run it" if runs else "no", "", ""
    return "yes", f"{found.margin:.3g}", "none" if found.stray == 0 else f"{found.stray:.2g}"
