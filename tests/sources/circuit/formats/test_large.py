"""Texts of twenty megabytes, or of the share of it that `tries` says."""

from __future__ import annotations

import random
import tracemalloc

import pytest

from tests.strategies import tries
from tm2tfr.api.subject import Subject
from tm2tfr.sources.circuit.evaluate import evaluate_words
from tm2tfr.sources.circuit.formats import registry
from tm2tfr.sources.circuit.netlist import Circuit, Gate
from tm2tfr.transformer import provenance
from tm2tfr.transformer.storage import dumps, loads

pytestmark = pytest.mark.slow

INPUTS = 64
GATES = tries(250_000)
TABLES = ("0001", "0110", "0111", "1110")


@pytest.fixture(scope="module")
def large() -> Circuit:
    chance = random.Random(0)
    nets = [f"in{k}" for k in range(INPUTS)]
    gates = []
    for number in range(GATES):
        operands = nets[chance.randrange(max(0, number - 5000), len(nets))], nets[-1]
        nets.append(f"top.unit[{number // 100}].net{number}")
        gates.append(Gate(nets[-1], chance.choice(TABLES), operands))
    outputs = tuple((net, net) for net in nets[-100:])
    return Circuit(name="large", inputs=tuple(nets[:INPUTS]), gates=tuple(gates), outputs=outputs)


@pytest.mark.similar
@pytest.mark.parametrize(("format", "size"), [("bench", 20), ("blif", 20), ("aag", 7), ("aig", 1)])
def test_a_large_circuit_comes_back(format: str, size: int, large: Circuit) -> None:
    text = registry.write(large, format)
    assert len(text) > 3.7 * size * GATES
    other = registry.read(text, file="f", format=format).circuit
    assert other.inputs == large.inputs
    inputs = [random.Random(net).getrandbits(64) for net in large.inputs]
    words, others = (evaluate_words(circuit, inputs, ones=2**64 - 1) for circuit in (large, other))
    want = {name: words[large.numbers[net]] for name, net in large.outputs}
    assert {name: others[other.numbers[net]] for name, net in other.outputs} == want


def test_gates_in_reverse_order_are_sorted_without_recursion(large: Circuit) -> None:
    lines = str(registry.write(large, "bench")).splitlines()
    circuit = registry.read("\n".join(reversed(lines)), file="f", format="bench").circuit
    assert set(circuit.gates) == set(large.gates)


def test_weights_state_a_circuit_of_more_than_16_mib_that_is_read_again() -> None:
    stem = "unit." * 60  # long names, so that few gates are enough
    gates, nets = [], ["a", "b"]
    for number in range(20_000):
        gates.append(Gate(f"{stem}{number}", TABLES[number % 4], (nets[-1], nets[-2])))
        nets.append(gates[-1].net)
    circuit = Circuit(name="long", inputs=("a", "b"), gates=tuple(gates), outputs=(("s", nets[-1]),))
    subject = Subject.of(loads(dumps(Subject.of(circuit).decoder)))
    assert len(provenance.source(subject.decoder.provenance) or "") > 16 << 20
    assert subject.program == circuit


def test_memory_is_bounded_by_the_size_of_the_text() -> None:
    last = tries(100_000)
    gates = "".join(f"g{k} = NAND(a, g{k - 1})\n" for k in range(1, last + 1))
    text = f"INPUT(a)\nOUTPUT(g{last})\ng0 = NOT(a)\n{gates}"
    tracemalloc.start()
    try:
        registry.read(text, file="f", format="bench")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 50 * len(text)
