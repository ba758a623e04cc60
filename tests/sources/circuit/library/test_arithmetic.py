"""Adders, multipliers, comparators, selectors and counters: what they compute, how many gates, and the paper's order."""

from __future__ import annotations

import hashlib
import random

import numpy as np
import pytest

from tm2tfr.sources.circuit.evaluate import evaluate, evaluate_cases
from tm2tfr.sources.circuit.inputs import all_cases, numbers_of, random_cases, read_input, shown_outputs
from tm2tfr.sources.circuit.library import GENERATORS, load
from tm2tfr.sources.circuit.netlist import Circuit, Gate
from tm2tfr.sources.circuit.sha256 import digest, sha256

SMALL, LARGE = (1, 2, 3, 4), (5, 16, 48)


def results(circuit: Circuit) -> list[tuple[dict[str, int], dict[str, int]]]:
    """The numbers of the input and of the output buses: in all cases of a small circuit, in 1,000 of a large one."""
    cases = all_cases(circuit) if len(circuit.inputs) <= 10 else random_cases(circuit, 1000, seed=0)
    places = [circuit.numbers[net] for _, net in circuit.outputs]
    names = [name for name, _ in circuit.outputs]
    found = []
    for row in evaluate_cases(circuit, cases).tolist():
        given = numbers_of(circuit.buses, dict(zip(circuit.inputs, row, strict=False)))
        found.append((given, numbers_of(circuit.output_buses, {n: row[k] for n, k in zip(names, places, strict=True)})))
    return found


@pytest.mark.parametrize("order", ["paper-1", "paper-2"])
@pytest.mark.parametrize("bits", [*SMALL, *LARGE])
def test_the_adder_adds(bits: int, order: str) -> None:
    circuit = load("binary-adder", bits=bits, order=order)
    assert len(circuit.gates) == 5 * bits + 1
    first, second, total, carry = ("a", "b", "e", f"c{bits + 1}") if bits > 1 else ("a1", "b1", "e1", "c2")
    for given, found in results(circuit):
        assert found[total] + (found[carry] << bits) == given[first] + given[second]


@pytest.mark.parametrize(
    ("order", "nets"),
    [
        ("paper-1", "c1 d1 e1 f1 g1 c2 d2 e2 f2 g2 c3 d3 e3 f3 g3 c4"),
        ("paper-2", "d1 d2 d3 f1 f2 f3 c1 g1 c2 g2 c3 g3 c4 e1 e2 e3"),
    ],
)
def test_the_order_is_the_papers(order: str, nets: str) -> None:
    circuit = load("binary-adder", bits=3, order=order)
    assert circuit.inputs == ("a1", "a2", "a3", "b1", "b2", "b3")
    assert [gate.net for gate in circuit.gates] == nets.split()
    assert circuit.outputs == tuple((net, net) for net in ("e1", "e2", "e3", "c4"))
    gates = {gate.net: gate for gate in circuit.gates}
    assert [gates[net] for net in ("c1", "d2", "e2", "f2", "g2", "c3")] == [
        Gate("c1", "0110", ("a1", "a1")),
        Gate("d2", "0110", ("a2", "b2")),
        Gate("e2", "0110", ("c2", "d2")),
        Gate("f2", "0001", ("a2", "b2")),
        Gate("g2", "0001", ("c2", "d2")),
        Gate("c3", "0110", ("f2", "g2")),
    ]


def test_numbers_go_in() -> None:
    circuit = load("binary-adder")
    assert evaluate(circuit, read_input(circuit, "0x3A+0x17")) == evaluate(circuit, "0101110011101000")
    assert numbers_of(circuit.output_buses, evaluate(circuit, read_input(circuit, "200+100")).outputs) == {"e": 44, "c9": 1}


@pytest.mark.parametrize(("bits", "gates"), [(2, 8), (3, 21), (4, 40), (8, 176), (32, 3008)])
def test_the_multiplier_multiplies(bits: int, gates: int) -> None:
    circuit = load("multiplier", bits=bits)
    assert len(circuit.gates) == gates
    assert all(found["p"] == given["a"] * given["b"] for given, found in results(circuit))


@pytest.mark.parametrize(("bits", "gates"), [(1, 4), (2, 6), (3, 8), (4, 11), (5, 13), (64, 161)])
def test_the_comparator_compares(bits: int, gates: int) -> None:
    circuit = load("comparator", bits=bits)
    assert len(circuit.gates) == gates
    for given, found in results(circuit):
        a, b = given["a"], given["b"]
        assert found == {"less": a < b, "equal": a == b, "greater": a > b}


@pytest.mark.parametrize("name", ["half-adder", "full-adder"])
def test_small_adders(name: str) -> None:
    for given, found in results(load(name)):
        assert found["sum"] + 2 * found["carry"] == sum(given.values())


@pytest.mark.parametrize("select", [1, 2, 3, 6])
def test_the_multiplexer_selects(select: int) -> None:
    circuit = load("multiplexer", select=select)
    assert len(circuit.gates) == 2**select - 1
    assert all(found["y"] == given["d"] >> given["s"] & 1 for given, found in results(circuit))


@pytest.mark.parametrize("bits", [2, 3, 4, 9, 100])
def test_parity(bits: int) -> None:
    circuit = load("parity", bits=bits)
    assert len(circuit.gates) == bits // 2
    assert all(found["odd"] == given["x"].bit_count() % 2 for given, found in results(circuit))


@pytest.mark.parametrize(("bits", "gates"), [(2, 1), (3, 1), (4, 8), (5, 8), (6, 6), (7, 6), (8, 17), (9, 17), (100, 200)])
def test_majority(bits: int, gates: int) -> None:
    circuit = load("majority", bits=bits)
    assert len(circuit.gates) == gates
    assert all(found["majority"] == (given["x"].bit_count() > bits / 2) for given, found in results(circuit))


def test_c17() -> None:
    circuit = load("c17")
    assert circuit.kinds == {"NAND": 6}
    for case in all_cases(circuit).tolist():
        one, two, three, six, seven = map(bool, case)
        ten, eleven = not (one and three), not (three and six)
        sixteen, nineteen = not (two and eleven), not (eleven and seven)
        want = {"22": not (ten and sixteen), "23": not (sixteen and nineteen)}
        assert evaluate(circuit, "".join(map(str, case))).outputs == want


# ── random circuits ─────────────────────────────────────────────────────────────────────────────────────
def test_a_random_circuit_is_that_of_its_seed() -> None:
    first = load("random", inputs=3, gates=4, seed=1)
    assert first == load("random", inputs="3", gates="4", seed="1")
    assert first != load("random", inputs=3, gates=4, seed=2)
    assert first.gates == (
        Gate("n0", "11", ("x2",)),
        Gate("n1", "00", ("x2",)),
        Gate("n2", "1010", ("n0", "n0")),
        Gate("n3", "0111", ("x1", "x0")),
    )


@pytest.mark.parametrize(("kinds", "found"), [("nor", {"NOR"}), ("paper", {"NOR", "AND", "XOR"})])
def test_the_kinds_of_a_random_circuit(kinds: str, found: set[str]) -> None:
    circuit = load("random", inputs=5, gates=2000, kinds=kinds)
    assert set(circuit.kinds) == found
    assert len(circuit.gates) == 2000
    assert all(fault.part == "input" for fault in circuit.warnings)


@pytest.mark.slow
def test_random_tables_over_two_and_any_number_of_operands() -> None:
    two = load("random", inputs=5, gates=500, kinds="two").gates
    assert {gate.table for gate in two} == {f"{table:04b}" for table in range(16)}
    assert {len(gate.operands) for gate in load("random", gates=100).gates} == {1, 2, 3}
    words = evaluate_cases(load("random", gates=500), np.zeros((1, 8), dtype=np.uint8))
    assert 0.3 < words.mean() < 0.7


# ── the shipped circuits by name, their parameters, and the words of each refusal
@pytest.mark.slow
@pytest.mark.parametrize("name", GENERATORS)
def test_every_circuit_is_built_with_its_defaults(name: str) -> None:
    circuit, generator = load(name), GENERATORS[name]
    assert (circuit.name, circuit.description, circuit.source) == (name, generator.description, generator.source)
    assert generator.description
    assert circuit.warnings == ()
    defaults = {parameter.name: str(parameter.default) for parameter in generator.parameters}
    assert load(name, **defaults) == circuit


def bounds() -> list[tuple[str, str, int]]:
    numbers = ((g.name, p) for g in GENERATORS.values() for p in g.parameters if not p.choices)
    return [(name, p.name, bound) for name, p in numbers for bound in (p.least, min(p.most, 70))]


@pytest.mark.parametrize(("name", "parameter", "bound"), bounds())
def test_bounds_are_possible(name: str, parameter: str, bound: int) -> None:
    assert load(name, **{parameter: bound}).gates


# ── sHA-256 as a circuit: digests equal to hashlib's, the round equal to the standard's formulas, and how many gates
MESSAGES = ["", "abc", "x" * 55, "The quick brown fox jumps over the lazy dog", "Zwölf Boxkämpfer"]
MASK = 2**32 - 1


@pytest.mark.slow
def test_digests_are_those_of_hashlib() -> None:
    """The messages above, and 59 random ones of all lengths up to 55 bytes, all at once."""
    chance = random.Random(0)
    texts = MESSAGES + ["".join(chr(chance.randrange(128)) for _ in range(55 * k // 58)) for k in range(59)]
    circuit = sha256()
    cases = np.array([[int(bit) for bit in read_input(circuit, text)] for text in texts], dtype=np.uint8)
    outputs = evaluate_cases(circuit, cases)[:, [circuit.numbers[net] for _, net in circuit.outputs]]
    found = [digest("".join(map(str, row))) for row in outputs.tolist()]
    assert len(found) == 64
    assert found == [hashlib.sha256(text.encode()).hexdigest() for text in texts]


@pytest.mark.slow
def test_one_text_goes_in_and_its_digest_comes_out() -> None:
    circuit = load("sha256")
    found = evaluate(circuit, read_input(circuit, "abc"))
    assert shown_outputs(circuit, found.outputs) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert numbers_of(circuit.output_buses, found.outputs)["h0"] == 0xBA7816BF


@pytest.mark.slow
def test_how_many_gates() -> None:
    circuit = sha256()
    assert (len(circuit.inputs), len(circuit.gates), len(circuit.outputs)) == (512, 48_221, 256)
    assert circuit.kinds == {
        "XOR3": 22445,
        "MAJ": 17401,
        "XOR": 2339,
        "MUX": 1952,
        "AND": 1706,
        "XNOR": 1149,
        "OR": 1129,
        "NOT": 84,
        "1101": 16,
    }
    assert circuit.warnings == ()
    assert [bus.name for bus in circuit.buses] == [f"w{t}" for t in range(16)]
    assert circuit.outputs[0] == ("h0[31]", "h0[31]")


def rotated(word: int, places: int) -> int:
    return (word >> places | word << 32 - places) & MASK


def test_a_round_is_that_of_the_standard() -> None:
    """Section 6.2.2, step 3, with the constants of Section 4.2.2 as printed there."""
    for number, constant in ((0, 0x428A2F98), (1, 0x71374491), (31, 0x14292967), (63, 0xC67178F2)):
        circuit = load("sha256-round", number=number)
        assert circuit.warnings == ()
        rows = evaluate_cases(circuit, random_cases(circuit, 50, seed=number)).tolist()
        for row in rows:
            a, b, c, d, e, f, g, h, w = numbers_of(circuit.buses, dict(zip(circuit.inputs, row, strict=False))).values()
            upper1, upper0 = (
                (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)),
                (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)),
            )
            first = h + upper1 + (e & f ^ ~e & g) + constant + w & MASK
            second = upper0 + (a & b ^ a & c ^ b & c) & MASK
            want = (first + second & MASK, a, b, c, d + first & MASK, e, f, g)
            bits = {name: row[circuit.numbers[net]] for name, net in circuit.outputs}
            assert numbers_of(circuit.output_buses, bits) == dict(zip([f"next_{x}" for x in "abcdefgh"], want, strict=True))
    assert len(load("sha256-round").gates) == 562
