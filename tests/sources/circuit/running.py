"""Circuits to run, and runs of their decoders beside what the evaluator says."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tm2tfr.engines import Engine, engine, generate
from tm2tfr.engines.decode import Observation
from tm2tfr.sources.circuit.evaluate import evaluate_cases
from tm2tfr.sources.circuit.netlist import Circuit, Gate
from tm2tfr.sources.circuit.truth import CircuitTruth
from tm2tfr.transformer.weights import Decoder

DENSE = engine("dense")
PAPER = ("1000", "0001", "0110")


def random_of(tables: Sequence[str], inputs: int, gates: int, seed: int) -> Circuit:
    """A circuit whose gates have two operands, equal ones too, and the tables named."""
    chance = random.Random(seed)
    names = tuple(f"x{k}" for k in range(inputs))
    nets = list(names)
    made = []
    for number in range(gates):
        made.append(Gate(f"g{number}", chance.choice(tables), (chance.choice(nets), chance.choice(nets))))
        nets.append(f"g{number}")
    return Circuit(name="random", inputs=names, gates=tuple(made), outputs=(("y", nets[-1]),))


def all_inputs(circuit: Circuit) -> list[str]:
    return ["".join(bits) for bits in product("01", repeat=len(circuit.inputs))]


def some_inputs(circuit: Circuit, number: int, seed: int = 0) -> list[str]:
    chance = random.Random(seed)
    return ["".join(chance.choice("01") for _ in circuit.inputs) for _ in range(number)]


def wrong_bits(decoder: Decoder, circuit: Circuit, inputs: Sequence[str], engine: Engine = DENSE) -> int:
    """The number of symbols that a decoder generates and that are not the circuit's."""
    first, wrong = len(circuit.inputs) - 1, 0
    for bits in inputs:
        symbols = CircuitTruth(circuit, bits).symbols
        answered = [step.output for step in generate(decoder, bits, engine=engine)][first:]
        assert len(answered) == len(circuit.gates)
        wrong += sum(a != str(s) for a, s in zip(answered, symbols[first + 1 :], strict=True))
    return wrong


def watched(decoder: Decoder, circuit: Circuit, bits: str, engine: Engine = DENSE) -> list[Observation]:
    """What is seen inside at every position, fed the right bits."""
    session, seen = engine.start(decoder), []
    for symbol in CircuitTruth(circuit, bits).symbols[:-1]:
        seen.append(Observation())
        session.feed(symbol, seen[-1])
    return seen


def generated(decoder: Decoder, bits: str, engine: Engine) -> list[Any]:
    return [step.output for step in generate(decoder, bits, engine=engine)]


def wrong_bits_fast(decoder: Decoder, circuit: Circuit, inputs: Sequence[str]) -> int:
    """`wrong_bits` by the fast engine, in one session."""
    session, first, wrong = engine("fast").start(decoder), len(circuit.inputs) - 1, 0
    cases = np.array([[int(bit) for bit in bits] for bits in inputs], dtype=np.uint8)
    symbols = evaluate_cases(circuit, cases)
    for case, right in zip(cases, symbols, strict=True):
        session.restart()
        session.prompt(case.tolist())
        answers = session.extend(len(right)).answers
        assert len(answers) == len(right) - 1
        wrong += int((answers[first:] != right[first + 1 :]).sum())
    return wrong


# ── random circuits for property tests
@st.composite
def circuits(draw: st.DrawFn, *, most_inputs: int = 5, most_gates: int = 12) -> Circuit:
    """Any tables over 0 to 3 operands, which may be equal; any nets as outputs, inputs among them."""
    inputs = tuple(f"x{k}" for k in range(draw(st.integers(1, most_inputs))))
    nets, gates = list(inputs), []
    for number in range(draw(st.integers(1, most_gates))):
        operands = tuple(draw(st.lists(st.sampled_from(nets), max_size=3)))
        table = format(draw(st.integers(0, 2**2 ** len(operands) - 1)), f"0{2 ** len(operands)}b")
        gates.append(Gate(f"n{number}", table, operands))
        nets.append(f"n{number}")
    driven = draw(st.lists(st.sampled_from(nets), min_size=1, max_size=4))
    outputs = tuple((f"y{number}", net) for number, net in enumerate(driven))
    return Circuit(name="random", inputs=inputs, gates=tuple(gates), outputs=outputs)
