"""Circuits over NOR alone, or the paper's NOR, AND and XOR: the same function, few gates, the same names."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.sources.circuit.random_circuits import circuits
from tests.strategies import tries
from tm2tfr.base.choices import BASES
from tm2tfr.sources.circuit.building import BasisName, to_basis, to_nor, to_paper
from tm2tfr.sources.circuit.evaluate import evaluate, evaluate_cases
from tm2tfr.sources.circuit.inputs import all_cases, read_input
from tm2tfr.sources.circuit.library import load
from tm2tfr.sources.circuit.netlist import NAMED, Circuit, Gate

KINDS = {"nor": {"NOR"}, "paper": {"NOR", "AND", "XOR"}}


def outputs(circuit: Circuit) -> list[list[int]]:
    return evaluate_cases(circuit, all_cases(circuit))[:, [circuit.numbers[net] for _, net in circuit.outputs]].tolist()


def one(table: str, operands: str = "abc") -> Circuit:
    k = len(table).bit_length() - 1
    return Circuit(name="one", inputs=tuple("abc"), gates=(Gate("y", table, tuple(operands[:k])),), outputs=(("y", "y"),))


@pytest.mark.slow
@pytest.mark.parametrize("basis", BASES)
@settings(max_examples=tries(300))
@given(circuit=circuits())
def test_the_function_is_the_same(basis: BasisName, circuit: Circuit) -> None:
    found = to_basis(circuit, basis)
    assert set(found.kinds) <= KINDS[basis]
    assert {len(gate.operands) for gate in found.gates} == {2}
    assert (found.name, found.inputs) == (circuit.name, circuit.inputs)
    assert [name for name, _ in found.outputs] == [name for name, _ in circuit.outputs]
    assert outputs(found) == outputs(circuit)
    assert to_basis(found, basis) is found


@pytest.mark.parametrize("basis", BASES)
def test_every_table_of_three_operands(basis: BasisName) -> None:
    for number in range(256):
        circuit = one(f"{number:08b}")
        found = to_basis(circuit, basis)
        assert outputs(found) == outputs(circuit)
        assert found.outputs[0][0] == "y"


def sizes(basis: BasisName) -> dict[str, int]:
    named = {f"{kind}{k}": table for k in (2, 3) for table, kind in NAMED[k].items()}
    named |= {"NOT": "10", "0010": "0010", "1101": "1101", "BUF": "01", "CONST0": "0", "CONST1": "1"}
    return {kind: len(to_basis(one(table), basis).gates) for kind, table in named.items()}


def test_a_full_adder_shares() -> None:
    """Nine NOR gates, the textbook's number; and the paper's five."""
    assert [gate.net for gate in to_nor(load("full-adder")).gates][-1] == "carry"
    assert len(to_nor(load("full-adder")).gates) == 9
    assert to_paper(load("full-adder")).gates == (
        Gate("sum_1", "0110", ("a", "b")),
        Gate("sum", "0110", ("sum_1", "c")),
        Gate("carry_1", "0001", ("a", "b")),
        Gate("carry_3", "0001", ("sum_1", "c")),
        Gate("carry", "0110", ("carry_1", "carry_3")),
    )


def test_what_is_in_the_basis_stays() -> None:
    adder = load("binary-adder", bits=3)
    assert to_paper(adder) is adder
    nors = load("random", kinds="nor")
    assert to_nor(nors) is nors
    assert to_paper(nors) is nors


def test_constants_are_folded_and_names_kept() -> None:
    """c1 = XOR(a1, a1) is 0, so that the first place is a half adder."""
    found = to_nor(load("binary-adder", bits=1))
    assert [gate.net for gate in found.gates] == ["d1_1", "d1_2", "d1_3", "d1_4", "d1"]
    assert dict(found.outputs) == {"e1": "d1", "c2": "d1_4"}


@pytest.mark.parametrize("basis", BASES)
def test_outputs_that_are_inputs_or_constants(basis: BasisName) -> None:
    gates = (Gate("zero", "0"), Gate("one", "11", ("a",)), Gate("same", "01", ("a",)), Gate("again", "00", ("a",)))
    driven = (("p", "zero"), ("q", "one"), ("a", "same"), ("r", "again"), ("s", "b"))
    circuit = Circuit(name="c", inputs=("a", "b"), gates=gates, outputs=driven)
    found = to_basis(circuit, basis)
    assert outputs(found) == outputs(circuit)
    assert dict(found.outputs)["p"] == dict(found.outputs)["r"]
    alone = Circuit(name="c", inputs=("a", "b"), gates=gates[2:3], outputs=driven[2:3])
    assert to_basis(alone, basis).gates == (
        Gate("same_1_1", "1000", ("a", "a")),
        Gate("same_1", "1000", ("same_1_1", "same_1_1")),
    )
    assert to_basis(alone, basis).outputs == (("a", "same_1"),)
    nothing = Circuit(name="c", inputs=("a", "b"), gates=gates[2:3], outputs=())
    assert len(to_basis(nothing, basis).gates) == 2


def test_names_of_new_nets_are_free() -> None:
    gates = (Gate("y", "0001", ("a", "y_1")),)
    found = to_nor(Circuit(name="c", inputs=("a", "y_1"), gates=gates, outputs=(("y", "y"), ("z", "y"))))
    assert [gate.net for gate in found.gates] == ["y_2", "y_3", "y"]


@pytest.mark.slow
def test_sha256_is_the_same_function_in_both() -> None:
    circuit = load("sha256")
    bits = read_input(circuit, "abc")
    want = evaluate(circuit, bits).outputs
    gates = []
    for basis in BASES:
        found = to_basis(circuit, basis)
        assert evaluate(found, bits).outputs == want
        gates.append(len(found.gates))
    assert gates == [230_422, 113_619]
