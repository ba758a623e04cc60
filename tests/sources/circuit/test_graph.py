"""The graph for networkx, and the part that an output depends on."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given

from tests.sources.circuit.random_circuits import circuits
from tm2tfr.sources.circuit.drawing import cone, to_graph
from tm2tfr.sources.circuit.evaluate import evaluate_cases
from tm2tfr.sources.circuit.inputs import all_cases
from tm2tfr.sources.circuit.library import load
from tm2tfr.sources.circuit.netlist import Circuit, Gate


def test_the_graph() -> None:
    gates = (Gate("m", "00110101", ("a", "b", "a")), Gate("n", "10", ("m",)))
    graph = to_graph(Circuit(name="g", inputs=("a", "b"), gates=gates, outputs=(("y", "n"), ("z", "n"), ("b", "b"))))
    assert graph.name == "g"
    assert sorted(graph.edges(keys=True)) == [("a", "m", 0), ("a", "m", 2), ("b", "m", 1), ("m", "n", 0)]


@pytest.mark.slow
@given(circuits())
def test_a_cone_is_what_networkx_says_and_computes_the_same(circuit: Circuit) -> None:
    graph = to_graph(circuit)
    assert nx.is_directed_acyclic_graph(graph)
    for name, net in circuit.outputs:
        if net in circuit.inputs:
            continue
        part = cone(circuit, name)
        needed = nx.ancestors(graph, net) | {net}
        assert [gate for gate in circuit.gates if gate.net in needed] == list(part.gates)
        assert part.inputs == (tuple(x for x in circuit.inputs if x in needed) or circuit.inputs[:1])
        cases = all_cases(circuit)
        places = [circuit.numbers[x] for x in part.inputs]
        found = evaluate_cases(part, cases[:, places])[:, part.numbers[net]]
        assert found.tolist() == evaluate_cases(circuit, cases)[:, circuit.numbers[net]].tolist()


def test_the_cone_of_an_adders_first_carry() -> None:
    part = cone(load("binary-adder", bits=8, order="paper-1"), "e2")
    assert [gate.net for gate in part.gates] == ["c1", "d1", "f1", "g1", "c2", "d2", "e2"]
    assert part.outputs == (("e2", "e2"),)


@pytest.mark.slow
def test_a_part_of_sha256_takes_bits() -> None:
    part = cone(load("sha256"), "h7[0]")
    assert part.encoding == ""
    assert len(part.gates) < 48_221
