"""The reference evaluator: one case by the tables themselves, many at once by words, one against the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sources.circuit.random_circuits import circuits
from tm2tfr.sources.circuit.evaluate import Evaluation, evaluate, evaluate_cases, evaluate_words
from tm2tfr.sources.circuit.netlist import NAMED, Circuit, Gate

FULL = Circuit(
    name="full",
    inputs=("a", "b", "c"),
    gates=(Gate("s", "01101001", ("a", "b", "c")), Gate("m", "00010111", ("a", "b", "c"))),
    outputs=(("sum", "s"), ("carry", "m"), ("first", "a")),
)
MEANING = {
    "CONST0": lambda: 0,
    "CONST1": lambda: 1,
    "BUF": lambda a: a,
    "NOT": lambda a: 1 - a,
    "AND": lambda *bits: min(bits),
    "OR": lambda *bits: max(bits),
    "NAND": lambda *bits: 1 - min(bits),
    "NOR": lambda *bits: 1 - max(bits),
    "XOR": lambda *bits: sum(bits) % 2,
    "XNOR": lambda *bits: 1 - sum(bits) % 2,
    "MAJ": lambda *bits: int(sum(bits) > 1),
    "MUX": lambda a, b, c: c if a else b,
}


@pytest.mark.parametrize(
    ("bits", "symbols", "outputs"),
    [
        ("000", "00000", "000"), ("001", "00110", "100"), ("010", "01010", "100"), ("011", "01101", "010"),
        ("100", "10010", "101"), ("101", "10101", "011"), ("110", "11001", "011"), ("111", "11111", "111"),
    ],
)  # fmt: skip
def test_a_full_adder(bits: str, symbols: str, outputs: str) -> None:
    found = evaluate(FULL, bits)
    assert found == Evaluation(symbols, dict(zip(("sum", "carry", "first"), map(int, outputs), strict=True)))
    assert found.output_bits == outputs


@pytest.mark.parametrize(("k", "table"), [(k, table) for k, named in NAMED.items() for table in named])
def test_every_named_gate_is_what_its_name_says(k: int, table: str) -> None:
    gate = Gate("y", table, ("a", "b", "c")[:k])
    circuit = Circuit(name="one", inputs=("a", "b", "c"), gates=(gate,), outputs=(("y", "y"),))
    for case in range(8):
        bits = f"{case:03b}"
        want = MEANING[gate.kind](*map(int, bits[: 0 if gate.kind.startswith("CONST") else k]))
        assert evaluate(circuit, bits).outputs == {"y": want}
    words = evaluate_words(circuit, [0b11110000, 0b11001100, 0b10101010], ones=0b11111111)
    assert [words[3] >> case & 1 for case in range(8)] == [
        evaluate(circuit, f"{case:03b}").outputs["y"] for case in range(8)
    ]


@pytest.mark.slow
@given(circuits(), st.data())
def test_many_cases_at_once_are_each_case(circuit: Circuit, data: st.DataObject) -> None:
    bits = st.text(st.sampled_from("01"), min_size=len(circuit.inputs), max_size=len(circuit.inputs))
    cases = data.draw(st.lists(bits, min_size=1, max_size=70))
    found = evaluate_cases(circuit, np.array([[int(bit) for bit in case] for case in cases], dtype=np.uint8))
    assert found.dtype == np.uint8
    assert found.shape == (len(cases), len(circuit.numbers))
    assert ["".join(map(str, row)) for row in found.tolist()] == [evaluate(circuit, case).symbols for case in cases]
