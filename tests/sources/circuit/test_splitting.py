"""Gates of any number of operands as trees of small ones."""

from __future__ import annotations

from itertools import product

import pytest

from tm2tfr.sources.circuit.building import ASSOCIATIVE, FreshNames, gate, split
from tm2tfr.sources.circuit.netlist import Gate

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
