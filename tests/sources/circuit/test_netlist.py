"""Circuits: everything that is wrong with one, at once and with its place; order, kinds, buses."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sources.circuit.random_circuits import circuits
from tm2tfr.base.errors import SpecError
from tm2tfr.sources.circuit.netlist import NAMED, Bus, Circuit, CircuitError, Fault, Gate, buses_of, faults, ordered

AND, XOR = "0001", "0110"
HALF = Circuit(
    name="half",
    inputs=("a", "b"),
    gates=(Gate("s", XOR, ("a", "b")), Gate("c", AND, ("a", "b"))),
    outputs=(("sum", "s"), ("carry", "c")),
)


def complaints(inputs: str, gates: list[Gate], outputs: list[tuple[str, str]]) -> list[str]:
    """Return what a circuit of these parts is refused with."""
    with pytest.raises(CircuitError) as caught:
        Circuit(name="bad", inputs=tuple(inputs.split()), gates=tuple(gates), outputs=tuple(outputs))
    return str(caught.value).splitlines()


def test_a_circuit_shows_itself_and_counts() -> None:
    assert repr(HALF) == "<Circuit half: 2 inputs, 2 gates, 2 outputs>"
    assert dict(HALF.numbers) == {"a": 0, "b": 1, "s": 2, "c": 3}
    assert HALF.warnings == ()
    gates = [Gate(f"g{k}", table, ("a", "b", "a")[:n]) for k, (n, table) in enumerate(kinds())]
    assert dict(Circuit(name="k", inputs=("a", "b"), gates=tuple(gates), outputs=()).kinds) == {
        "CONST0": 2, "CONST1": 2, "BUF": 1, "NOT": 1, "AND": 1, "OR": 1, "NOR": 1, "NAND": 1, "XOR": 1, "XNOR": 1,
        "AND3": 1, "OR3": 1, "NOR3": 1, "NAND3": 1, "XOR3": 1, "XNOR3": 1, "MAJ": 1, "MUX": 1,
    }  # fmt: skip


def kinds() -> list[tuple[int, str]]:
    return [(n, table) for n, named in NAMED.items() for table in named]


@pytest.mark.parametrize(
    ("gate", "kind"), [(Gate("g", "0010", ("a", "b")), "0010"), (Gate("g", "0" * 16, tuple("abcd")), "0" * 16)]
)
def test_a_gate_without_a_name_is_its_table(gate: Gate, kind: str) -> None:
    assert gate.kind == kind


def test_all_complaints_come_at_once_in_order() -> None:
    gates = [
        Gate("a", AND, ("a", "b")),
        Gate("g", AND, ("a", "carrry")),
        Gate("g", "011", ("a", "b")),
        Gate("h", "01x0", ("a", "b")),
        Gate("i", "0" * 16, ("a", "b", "a", "b")),
        Gate("", "01", ("a",)),
        Gate("long", "01" * 20, ("a",)),
        Gate("self", "10", ("self",)),
    ]
    outputs = [("y", "g"), ("y", "h"), ("z", "nowhere"), ("q", "q"), ("", "a")]
    assert complaints("a b a carry", gates, outputs) == [
        "bad: the input 'a' is named twice: name each input once",
        "bad: the net 'a' is an input and also driven by a gate: rename or remove one of the two",
        "bad: the net 'g' is driven by two gates: rename or remove one of the two",
        "bad: the net of a gate has an empty name: name the net of every gate",
        "bad: the gate 'g' reads 'carrry', which nothing drives (did you mean 'carry'?): make it an input or add its gate",
        "bad: the gate 'g' has the table '011': write 4 bits, 0 or 1, one for each case of 2 operands",
        "bad: the gate 'h' has the table '01x0': write 4 bits, 0 or 1, one for each case of 2 operands",
        "bad: the gate 'i' has 4 operands: split it into gates of at most 3",
        "bad: the gate 'long' has the table '01010101010101010101…': write 2 bits, 0 or 1, one for each case of 1 operand",
        "bad: the output 'y' is named twice: name each output once",
        "bad: the output 'z', of the net 'nowhere', is driven by nothing: name an input or the net of a gate",
        "bad: the output 'q' is driven by nothing: name an input or the net of a gate",
        "bad: an output has an empty name: name every output",
        "bad: there is a cycle: self -> self: cut it: a circuit has no memory",
    ]


def test_an_empty_circuit_is_none() -> None:
    assert complaints("", [], []) == [
        "bad: the circuit has no inputs: add one: a decoder continues from the bits of the inputs",
        "bad: the circuit has no gates: add one, for example a BUF of an input",
    ]


def test_gates_out_of_order_are_refused_with_the_remedy() -> None:
    gates = [Gate("g", AND, ("h", "a")), Gate("h", "01", ("a",))]
    assert complaints("a", gates, []) == [
        "bad: the gate 'g' reads 'h', which a later gate drives: sort the gates with 'ordered'"
    ]


def test_a_complaint_says_to_which_part_it_belongs() -> None:
    with pytest.raises(CircuitError) as caught:
        Circuit(name="bad", inputs=("a",), gates=(Gate("g", AND, ("a", "x")),), outputs=(("y", "z"),))
    assert isinstance(caught.value, SpecError)
    assert [fault[:4] for fault in caught.value.faults] == [("gate", 0, 1, "x"), ("output", 0, None, "z")]
    assert caught.value.faults[0].diagnostic("f", "warning").severity == "warning"


def test_a_file_of_faults_is_cut_short() -> None:
    assert len(complaints("a", [Gate(f"g{k}", "0", ("a",)) for k in range(1000)], [])) == 100


def test_a_cycle_comes_with_its_shortest_path() -> None:
    """Both loops: a of three gates, within which the way back from d is longer, and one of another component."""
    gates = [Gate("a", AND, ("c", "x")), Gate("b", AND, ("a", "d")), Gate("c", "01", ("b",)), Gate("d", "01", ("c",))]
    gates += [Gate("e", AND, ("f", "d")), Gate("f", "01", ("e",))]
    what = "cut it: a circuit has no memory"
    want = [
        Fault("gate", 0, None, "a", "there is a cycle: a -> b -> c -> a", what),
        Fault("gate", 4, None, "e", "there is a cycle: e -> f -> e", what),
    ]
    assert list(faults(["x"], gates, [])) == want
    with pytest.raises(CircuitError, match=r"^f\.bench: there is a cycle: a -> b -> c -> a: cut it") as caught:
        ordered(["x"], gates, name="f.bench")
    assert list(caught.value.faults) == want


def test_a_long_cycle_is_shown_by_its_ends() -> None:
    gates = [Gate(f"g{k}", "01", (f"g{(k - 1) % 5000}",)) for k in range(5000)]
    path = "g0 -> g1 -> g2 -> g3 -> g4 -> g5 -> … 4,989 more … -> g4995 -> g4996 -> g4997 -> g4998 -> g4999 -> g0"
    assert [fault.what for fault in faults(["x"], gates, [])] == [f"there is a cycle: {path}"]


def test_names_of_strangers_break_no_line() -> None:
    gates = [Gate("a\n\x1b", "01", ("a\n\x1b",))]
    (line,) = complaints("x", gates, [])
    assert "a\\n\\x1b -> a\\n\\x1b" in line


# ── order ───────────────────────────────────────────────────────────────────────────────────────────────
def test_a_gate_moves_only_to_stand_before_its_first_reader() -> None:
    a, b, c, d = Gate("a", "01", ("d",)), Gate("b", "01", ("x",)), Gate("c", AND, ("a", "b")), Gate("d", "01", ("x",))
    assert ordered(["x"], [a, b, c, d]) == (d, a, b, c)
    assert ordered(["x"], [d, b, a, c]) == (d, b, a, c)


def test_what_nothing_drives_is_no_matter_of_order() -> None:
    gates = [Gate("b", "01", ("a",)), Gate("a", "01", ("nowhere",))]
    assert ordered(["x"], gates) == (gates[1], gates[0])


def test_an_input_that_a_gate_drives_too_is_no_cycle() -> None:
    gates = [Gate("x", "01", ("g",)), Gate("g", "01", ("x",))]
    assert ordered(["x"], gates) == (gates[1], gates[0])
    assert [fault.what for fault in faults(["x"], gates, [])] == ["the net 'x' is an input and also driven by a gate"]


@pytest.mark.slow
@given(circuits(), st.integers())
def test_shuffled_gates_are_a_circuit_again(circuit: Circuit, seed: int) -> None:
    shuffled = list(circuit.gates)
    random.Random(seed).shuffle(shuffled)
    again = Circuit(name="again", inputs=circuit.inputs, gates=ordered(circuit.inputs, shuffled), outputs=circuit.outputs)
    assert sorted(again.gates, key=lambda gate: gate.net) == sorted(circuit.gates, key=lambda gate: gate.net)
    assert ordered(circuit.inputs, circuit.gates) == circuit.gates


def test_a_chain_of_any_length_needs_no_recursion() -> None:
    chain = [Gate(f"g{k}", "01", (f"g{k - 1}" if k else "x",)) for k in range(20_000)]
    assert ordered(["x"], chain[::-1]) == tuple(chain)


# ── warnings ────────────────────────────────────────────────────────────────────────────────────────────
def test_warnings() -> None:
    gates = (Gate("g", "01", ("a",)), Gate("h", "01", ("g",)), Gate("i", "01", ("a",)), Gate("j", AND, ("c", "i")))
    circuit = Circuit(name="w", inputs=("a", "b", "c", "d"), gates=gates, outputs=(("y", "i"), ("z", "d")))
    assert circuit.warnings == (
        Fault("input", 1, None, "b", "the input 'b' is not used", "remove it, if that is not meant"),
        *(
            Fault("gate", n, None, net, f"the gate {net!r} reaches no output", "remove it, or add an output")
            for n, net in ((0, "g"), (1, "h"), (3, "j"))
        ),
    )  # fmt: skip


def test_a_circuit_without_outputs_warns() -> None:
    circuit = Circuit(name="w", inputs=("a",), gates=(Gate("g", "01", ("a",)),), outputs=())
    what = [f"{fault.what}: {fault.remedy}" for fault in circuit.warnings]
    assert what[0] == "the circuit has no outputs: name the nets that are its result"
    assert len(what) == 2


# ── buses ───────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("names", "want"),
    [
        ("a[1] a[0] cin b[0] b[1]", [("a", "a[0] a[1]"), ("cin", "cin"), ("b", "b[0] b[1]")]),
        ("a[7] a[6] x", [("a", "a[6] a[7]"), ("x", "x")]),
        ("a[0] a[2]", [("a[0]", "a[0]"), ("a[2]", "a[2]")]),
        ("a[0] a[00]", [("a[0]", "a[0]"), ("a[00]", "a[00]")]),
        ("a[0]", [("a", "a[0]")]),
        ("a a[0] a[1]", [("a", "a"), ("a[0]", "a[0]"), ("a[1]", "a[1]")]),
        ("a1 a2 a3 b1 b2 b3 c1", [("a", "a1 a2 a3"), ("b", "b1 b2 b3"), ("c1", "c1")]),
        ("a1 a0", [("a", "a0 a1")]),
        ("N1 N2 N3 N6 N7", [("N1", "N1"), ("N2", "N2"), ("N3", "N3"), ("N6", "N6"), ("N7", "N7")]),
        ("a2 a3", [("a2", "a2"), ("a3", "a3")]),
        ("a1 a2 a[0] a[1]", [("a1", "a1"), ("a2", "a2"), ("a", "a[0] a[1]")]),
        ("1 2 3", [("1", "1"), ("2", "2"), ("3", "3")]),
        ("x10[0] x10[1]", [("x10", "x10[0] x10[1]")]),
    ],
)
def test_buses(names: str, want: list[tuple[str, str]]) -> None:
    assert buses_of(names.split()) == tuple(Bus(name, tuple(nets.split())) for name, nets in want)


def test_buses_of_inputs_and_outputs() -> None:
    gates = tuple(Gate(f"g{k}", "01", ("a1",)) for k in range(2))
    circuit = Circuit(name="b", inputs=("a1", "a2"), gates=gates, outputs=(("y[1]", "g1"), ("y[0]", "g0")))
    assert circuit.buses == (Bus("a", ("a1", "a2")),)
    assert circuit.output_buses == (Bus("y", ("y[0]", "y[1]")),)
