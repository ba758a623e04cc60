"""Whatever is certified is right on every input, whatever was done to the weights."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from tests.sources.circuit.proof.mutants import is_right, mutant
from tests.sources.circuit.running import PAPER, random_of
from tests.strategies import tries
from tm2tfr.sources.circuit.compiler import compile_circuit
from tm2tfr.sources.circuit.netlist import Circuit, Gate
from tm2tfr.sources.circuit.proof.certificate import CircuitProof

VARIANTS = ("lookup", "paper-hard", "paper")
ENGINES = (("dense", "float32"), ("dense", "float64"), ("fast", "float64"), ("exact", "rational"))


def circuit_of(number: int) -> Circuit:
    """Every other one has gates of one input alone, so that a head must look at one position, and some at none."""
    circuit = random_of(PAPER, inputs=1 + number % 3, gates=1 + number % 5, seed=number)
    if number % 2:
        return circuit
    chance = random.Random(number)
    alone = [Gate(gate.net, gate.table, (chance.choice(circuit.inputs),) * 2) for gate in circuit.gates]
    return replace(circuit, gates=tuple(alone))


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_no_changed_weights_are_certified_and_wrong(variant: str) -> None:
    """A third of 1,000 mutants for each variant; every engine and dtype that is certified is run on every input."""
    found, unsound = Counter[tuple[bool, bool]](), []
    many = tries(334)
    for number in range(many):
        circuit = circuit_of(number)
        what, decoder = mutant(compile_circuit(circuit, variant), number)
        for name, dtype in ENGINES:
            granted = CircuitProof(decoder, circuit).certificate(name, dtype).granted
            if granted or name == "dense":
                right = is_right(decoder, circuit, name, dtype)
                found[granted, right] += 1
                unsound += [f"{what} on {name} in {dtype}"] if granted and not right else []
    assert unsound == []
    assert found[True, True] > many / 3
    assert found[False, False] > many / 3
