"""Circuits without needless gates."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sources.circuit.running import circuits
from tests.strategies import tries
from tm2tfr.base.choices import BASES
from tm2tfr.sources.circuit.building import (
    ASSOCIATIVE,
    BasisName,
    Builder,
    FreshNames,
    Signal,
    folded,
    gate,
    split,
    to_basis,
    to_nor,
    to_paper,
)
from tm2tfr.sources.circuit.evaluate import evaluate, evaluate_cases
from tm2tfr.sources.circuit.inputs import all_cases, read_input
from tm2tfr.sources.circuit.library import load
from tm2tfr.sources.circuit.netlist import NAMED, Circuit, Gate


@pytest.mark.parametrize(
    ("table", "operands", "want"),
    [
        ("0110", ("a", "b"), ("0110", ("a", "b"))),
        ("0110", ("a", 1), ("10", ("a",))),
        ("0110", ("a", "a"), ("0", ())),
        ("0001", (0, "a"), ("0", ())),
        ("00010111", ("a", "b", 0), ("0001", ("a", "b"))),
        ("00010111", ("a", "b", "a"), ("01", ("a",))),
        ("00110101", (1, "b", "c"), ("01", ("c",))),
        ("0011", ("a", "b"), ("01", ("a",))),
        ("01010101", ("a", "b", "c"), ("01", ("c",))),
        ("1", (), ("1", ())),
    ],
)
def test_a_function_of_what_matters(table: str, operands: tuple[Signal, ...], want: tuple[str, tuple[str, ...]]) -> None:
    assert folded(table, operands) == want


@pytest.mark.slow
@given(st.data())
def test_folding_keeps_the_function_and_every_net_left_matters(data: st.DataObject) -> None:
    operands = data.draw(st.lists(st.sampled_from(["a", "b", "c", 0, 1]), max_size=3))
    table = "".join(data.draw(st.lists(st.sampled_from("01"), min_size=2 ** len(operands), max_size=2 ** len(operands))))
    small, nets = folded(table, operands)

    def value(of: str, over: list[Signal], bits: dict[str, int]) -> str:
        return of[int("0" + "".join(str(bits[x] if isinstance(x, str) else x) for x in over), 2)]

    cases = [dict(zip("abc", case, strict=True)) for case in product((0, 1), repeat=3)]
    assert [value(small, list(nets), bits) for bits in cases] == [value(table, operands, bits) for bits in cases]
    for net in nets:
        assert any(
            value(small, list(nets), bits) != value(small, list(nets), {**bits, net: 1 - bits[net]}) for bits in cases
        )


def test_a_builder_shares_folds_and_leaves_out() -> None:
    build = Builder(["a", "b", "q"])
    a_and_b = build.gate("x", "AND", "a", "b")
    again = build.gate("y", "AND", "b", "a")
    useless = build.gate("z", "OR", "a", "b")
    negated = build.gate("n", "XOR", again, 1)
    assert (a_and_b, again, useless, negated) == ("x", "x", "z", "n")
    assert build.gate("c", "AND", "a", 0) == 0
    assert build.gate("c", "OR", "a", 0) == "a"
    assert build.finished({"p": negated, "q": 1, "r": "a", "s": negated}) == (
        (Gate("x", "0001", ("a", "b")), Gate("n", "10", ("x",)), Gate("q_1", "1")),
        (("p", "n"), ("q", "q_1"), ("r", "a"), ("s", "n")),
    )


# ── gates of any number of operands as trees of small ones
MEANING = {"AND": all, "OR": any, "XOR": lambda bits: sum(bits) % 2 == 1}


def value(gates: list[Gate], bits: dict[str, int]) -> int:
    for one in gates:
        bits[one.net] = int(one.table[int("0" + "".join(str(bits[net]) for net in one.operands), 2)])
    return bits[gates[-1].net]


@pytest.mark.parametrize("kind", ASSOCIATIVE)
@pytest.mark.parametrize("width", range(10))
def test_a_tree_is_the_gate(kind: str, width: int) -> None:
    names = [f"x{k}" for k in range(width)]
    gates = split("y", kind, names, FreshNames(names))
    assert gates[-1].net == "y"
    assert len(gates) == max(1, width // 2)
    for case in product((0, 1), repeat=width):
        plain = MEANING[ASSOCIATIVE[kind]](case)
        assert value(gates, dict(zip(names, case, strict=True))) == plain ^ (kind != ASSOCIATIVE[kind])


def test_a_tree_is_balanced_and_its_names_are_fresh() -> None:
    fresh = FreshNames(["y", "y_2", *"abcdefghi"])
    three = ("AND", "00000001", 3)
    assert split("y", "NAND", "abcdefghi", fresh) == [
        Gate("y_1", three[1], ("a", "b", "c")),
        Gate("y_3", three[1], ("d", "e", "f")),
        Gate("y_4", three[1], ("g", "h", "i")),
        Gate("y", "11111110", ("y_1", "y_3", "y_4")),
    ]
    assert [fresh("y"), fresh("z"), fresh("y")] == ["y_5", "z_1", "y_6"]


def test_other_gates_by_name() -> None:
    assert split("y", "MUX", ("s", "a", "b"), FreshNames(())) == [Gate("y", "00110101", ("s", "a", "b"))]
    assert [gate("g", kind, "a") for kind in ("AND", "NOR", "BUF", "NOT")] == [
        Gate("g", t, ("a",)) for t in ("01", "10", "01", "10")
    ]
    assert gate("g", "CONST1") == Gate("g", "1")


# ── circuits over NOR alone, or the paper's NOR, AND and XOR: the same function, few gates, the same names
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
