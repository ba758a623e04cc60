"""All eleven circuits of ISCAS-85, through every format and back, bit by bit against an evaluation of their own."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.sources.circuit.formats.iscas85 import PORTS, netlist
from tm2tfr.sources.circuit.evaluate import evaluate_words
from tm2tfr.sources.circuit.formats import registry
from tm2tfr.sources.circuit.formats.registry import CIRCUIT_READABLE
from tm2tfr.sources.circuit.netlist import Circuit

CASES = 256
ONES = 2**CASES - 1

GATES = {
    "c17": (6,),
    "c432": (160,),
    "c499": (202,),
    "c880": (383,),
    "c1355": (546,),
    "c1908": (880,),
    "c2670": (1193, 1269),
    "c3540": (1669,),
    "c5315": (2307,),
    "c6288": (2406, 2416),
    "c7552": (3512, 3513),
}
"""Of the original netlists, whatever the number of operands of a gate: as published, and as they go round as .bench."""


def outputs(circuit: Circuit, inputs: list[int]) -> list[int]:
    words = evaluate_words(circuit, inputs, ones=ONES)
    return [words[circuit.numbers[net]] for _, net in circuit.outputs]


@pytest.mark.parametrize("name", PORTS)
def test_the_circuit_is_what_it_should_be(name: str) -> None:
    source = netlist(name)
    loaded = registry.read(source.bench(), file=f"{name}.bench")
    circuit = loaded.circuit
    assert (len(circuit.inputs), len(circuit.outputs)) == PORTS[name]
    assert len(circuit.gates) == sum(max(1, len(operands) // 2) for *_, operands in source.gates)  # at most three a gate
    inputs = [random.Random(name + net).getrandbits(CASES) for net in circuit.inputs]
    want = source.evaluate(dict(zip(circuit.inputs, inputs, strict=True)), ONES)
    assert outputs(circuit, inputs) == want


@pytest.mark.similar
@pytest.mark.slow
@pytest.mark.parametrize("format", [format for format in CIRCUIT_READABLE if format not in ("truth-table", "pla")])
@pytest.mark.parametrize("name", PORTS)
def test_it_comes_back(name: str, format: str) -> None:
    source = netlist(name)
    circuit = registry.read(source.bench(), file=f"{name}.bench").circuit
    other = registry.read(registry.write(circuit, format), file="f", format=format).circuit
    assert other.inputs == circuit.inputs
    assert [output for output, _ in other.outputs] == [output for output, _ in circuit.outputs]
    inputs = [random.Random(name + net).getrandbits(CASES) for net in circuit.inputs]
    assert outputs(other, inputs) == source.evaluate(dict(zip(circuit.inputs, inputs, strict=True)), ONES)


@pytest.mark.parametrize("name", GATES)
def test_the_original_netlists(name: str) -> None:
    folder = os.environ.get("TM2TFR_ISCAS85")
    if not folder:
        pytest.skip(
            "the original netlists are not shipped: set TM2TFR_ISCAS85=FOLDER with c17.bench, c432.bench and the others"
        )
    text = (Path(folder) / f"{name}.bench").read_text(encoding="utf-8")
    circuit = registry.read(text, file=f"{name}.bench").circuit
    assert (len(circuit.inputs), len(circuit.outputs)) == PORTS[name]
    assert sum("=" in line.partition("#")[0] for line in text.splitlines()) in GATES[name]
