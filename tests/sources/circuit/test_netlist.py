"""Circuits: everything that is wrong with one, at once and with its place; order, kinds, buses."""

from __future__ import annotations

import random

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sources.circuit.running import circuits
from tm2tfr.base.errors import SpecError
from tm2tfr.sources.circuit.netlist import NAMED, Bus, Circuit, CircuitError, Fault, Gate, buses_of, faults, ordered
from tm2tfr.sources.circuit.order import cycles, topological

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
    assert dict(HALF.numbers) == {"a": 0, "b": 1, "s": 2, "c": 3}
    assert HALF.warnings == ()


def kinds() -> list[tuple[int, str]]:
    return [(n, table) for n, named in NAMED.items() for table in named]


@pytest.mark.parametrize(
    ("gate", "kind"), [(Gate("g", "0010", ("a", "b")), "0010"), (Gate("g", "0" * 16, tuple("abcd")), "0" * 16)]
)
def test_a_gate_without_a_name_is_its_table(gate: Gate, kind: str) -> None:
    assert gate.kind == kind


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


# ── topological order and cycles, against networkx
needs = st.integers(1, 8).flatmap(lambda n: st.lists(st.lists(st.integers(0, n - 1), max_size=3), min_size=n, max_size=n))


def graph_of(needed: list[list[int]]) -> nx.DiGraph[int]:
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(needed)))
    graph.add_edges_from((other, part) for part, others in enumerate(needed) for other in others)
    return graph


@given(needs)
def test_an_order_or_else_a_cycle(needed: list[list[int]]) -> None:
    order = topological(needed)
    assert (order is None) == (not nx.is_directed_acyclic_graph(graph_of(needed)))
    assert bool(cycles(needed)) == (order is None)
    if order is not None:
        assert sorted(order) == list(range(len(needed)))
        place = {part: n for n, part in enumerate(order)}
        assert all(place[other] < place[part] for part, others in enumerate(needed) for other in others)


@given(needs)
def test_cycles_are_shortest_and_one_of_each_component(needed: list[list[int]]) -> None:
    graph = graph_of(needed)
    shortest: dict[frozenset[int], int] = {}
    for cycle in nx.simple_cycles(graph):
        component = frozenset(x for x in graph if nx.has_path(graph, x, cycle[0]) and nx.has_path(graph, cycle[0], x))
        if min(component) in cycle:
            shortest[component] = min(len(cycle), shortest.get(component, len(cycle)))
    found = cycles(needed)
    assert {min(component): length for component, length in shortest.items()} == {cycle[0]: len(cycle) for cycle in found}
    assert all(graph.has_edge(a, b) for cycle in found for a, b in zip(cycle, [*cycle[1:], cycle[0]], strict=True))


def test_the_order_given_is_kept_where_it_can_be() -> None:
    assert topological([[], [3], [], [], [1, 0]]) == [0, 3, 1, 2, 4]
    assert topological([[4], [], [], [], [3]]) == [3, 4, 0, 1, 2]
