"""What is written in a format and read back has the same function, inputs and output names."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sources.circuit.running import circuits
from tm2tfr.sources.circuit.evaluate import evaluate
from tm2tfr.sources.circuit.formats import registry
from tm2tfr.sources.circuit.formats.draft import CircuitExample
from tm2tfr.sources.circuit.formats.registry import CIRCUIT_READABLE
from tm2tfr.sources.circuit.netlist import Circuit, Gate

AWKWARD = [
    *"abs",
    "a[0]",
    "a b",
    "#",
    "=",
    "é",
    "0",
    "01",
    "vdd",
    "and",
    "True",
    "module",
    "a\nb",
    " x ",
    "'",
    '"',
    "-",
    "(",
    "|",
    "\\",
]
AWKWARD += [
    "CONST0",
    "XOR",
    "out",
    "i0",
    "o0",
    "n3",
    "s_1",
    "net a is",
    ".names",
    "\x07",
    "~",
    "😀",
    "\u2028",
    "{",
    "x" * 1100,
]


@st.composite
def awkward(draw: st.DrawFn) -> Circuit:
    """A random circuit whose nets and outputs have names that mean something in some format."""
    circuit = draw(circuits())
    names = dict(zip(circuit.numbers, draw(st.permutations(AWKWARD)), strict=False))
    outputs = draw(st.permutations(AWKWARD))
    return Circuit(
        name=draw(st.sampled_from(AWKWARD)),
        inputs=tuple(names[net] for net in circuit.inputs),
        gates=tuple(Gate(names[g.net], g.table, tuple(names[net] for net in g.operands)) for g in circuit.gates),
        outputs=tuple((name, names[net]) for name, (_, net) in zip(outputs, circuit.outputs, strict=False)),
    )


def same(circuit: Circuit, other: Circuit) -> None:
    """Check that two circuits have the same inputs, output names and values."""
    assert other.inputs == circuit.inputs
    assert [name for name, _ in other.outputs] == [name for name, _ in circuit.outputs]
    for bits in map("".join, product("01", repeat=len(circuit.inputs))):
        assert evaluate(other, bits).outputs == evaluate(circuit, bits).outputs


def again(circuit: Circuit, format: str) -> Circuit:
    return registry.read(registry.write(circuit, format), file="f", format=format).circuit


@pytest.mark.similar
@pytest.mark.slow
@pytest.mark.parametrize("format", CIRCUIT_READABLE)
@given(circuit=circuits())
def test_a_random_circuit_comes_back(format: str, circuit: Circuit) -> None:
    other = again(circuit, format)
    same(circuit, other)
    assert other.name == circuit.name
    assert again(other, format) == other or format in ("aag", "aig")  # these name their ANDs by number


@pytest.mark.similar
@pytest.mark.slow
@pytest.mark.parametrize("format", CIRCUIT_READABLE)
@given(circuit=awkward())
def test_a_circuit_with_awkward_names_comes_back(format: str, circuit: Circuit) -> None:
    other = again(circuit, format)
    same(circuit, other)
    assert other.name == circuit.name


@pytest.mark.slow
@given(circuit=circuits())
def test_our_yaml_keeps_everything(circuit: Circuit) -> None:
    whole = replace(circuit, description="What it does.\nIn two lines.", source="nobody")
    inputs = "01" * len(circuit.inputs)
    outputs = dict.fromkeys((name for name, _ in circuit.outputs), "1")
    examples = (CircuitExample(input=inputs[: len(circuit.inputs)], outputs=outputs),)
    loaded = registry.read(registry.write(whole, "yaml", examples), file="f", format="yaml")
    assert loaded.circuit == whole
    assert loaded.examples == examples


def document(second: str) -> str:
    """Return a document whose first and last gates are simple."""
    return f"inputs: [a, b, 'c d']\ngates:\n  x: XOR a b\n{second}  y: [AND, x, 'c d']\noutputs: [x, y]\n"


@pytest.mark.parametrize(
    "second",
    [
        "",
        "  z: x & a\n",
        "  # a comment\n",
        "# a comment\n",
        "\n",
        "  z: 'AND a b'\n",
        '  "z": AND a b\n',
        "  z: [AND, a,\n    b]\n",
        "  z: AND  a b\n",
    ],
)
def test_gates_that_are_simple_lines_mean_the_same_beside_others(second: str) -> None:
    circuit = registry.read(document(second), file="f", format="yaml").circuit
    assert circuit.inputs == ("a", "b", "c d")
    assert {gate.net: (gate.table, gate.operands) for gate in circuit.gates if gate.net != "z"} == {
        "x": ("0110", ("a", "b")),
        "y": ("0001", ("x", "c d")),
    }


def test_simple_lines_within_a_text_are_no_gates() -> None:
    text = 'description: "\ngates:\n  x: XOR a b\n"\ninputs: [a, b]\n"gates": {s: AND a b}\noutputs: [s]\n'
    assert [gate.net for gate in registry.read(text, file="f", format="yaml").circuit.gates] == ["s"]


def test_our_yaml_keeps_the_encoding_of_texts() -> None:
    inputs, outputs = tuple(f"m{k}" for k in range(512)), tuple((f"d{k}", "g") for k in range(256))
    circuit = Circuit(name="c", inputs=inputs, gates=(Gate("g", "01", ("m0",)),), outputs=outputs, encoding="sha-256")
    assert "\nencoding: sha-256\n" in str(registry.write(circuit, "yaml"))
    assert again(circuit, "yaml") == circuit
    assert again(circuit, "bench").encoding == ""


@pytest.mark.slow
@given(circuit=awkward())
def test_our_yaml_keeps_awkward_names(circuit: Circuit) -> None:
    assert again(circuit, "yaml") == circuit


@pytest.mark.slow
@given(table=st.text("01", min_size=1, max_size=1), k=st.integers(1, 8), data=st.data())
def test_a_table_of_many_operands_is_split(table: str, k: int, data: st.DataObject) -> None:
    bits = data.draw(st.text("01", min_size=2**k, max_size=2**k))
    for text in (bits, f"{' '.join(f'x{n}' for n in range(1, k + 1))} | f\nf = {bits}\n"):
        circuit = registry.from_table(text).circuit
        inputs = map("".join, product("01", repeat=k))
        assert "".join(evaluate(circuit, point).output_bits for point in inputs) == bits
        assert max(len(gate.operands) for gate in circuit.gates) <= 3


WIDE: dict[str, Callable[[int, int], bool]] = {
    "AND": lambda ones, count: ones == count,
    "OR": lambda ones, count: ones > 0,
    "XOR": lambda ones, count: ones % 2 == 1,
    "NAND": lambda ones, count: ones < count,
    "NOR": lambda ones, count: ones == 0,
    "XNOR": lambda ones, count: ones % 2 == 0,
}


@pytest.mark.similar
@pytest.mark.parametrize("kind", WIDE)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 10])
def test_a_wide_gate_of_a_netlist_is_split(kind: str, count: int) -> None:
    names = [f"x{k}" for k in range(count)]
    text = "".join(f"INPUT({name})\n" for name in names) + f"OUTPUT(s)\ns = {kind}({', '.join(names)})\n"
    circuit = registry.read(text, file="f.bench").circuit
    for bits in map("".join, product("01", repeat=count)):
        ones = bits.count("1")
        want = WIDE[kind](ones, count)
        assert evaluate(circuit, bits).output_bits == str(int(want))


@pytest.mark.slow
@given(data=st.data())
def test_a_cover_of_many_operands_is_split(data: st.DataObject) -> None:
    k = data.draw(st.integers(0, 7))
    cubes = data.draw(st.lists(st.text("01-", min_size=k, max_size=k), max_size=5))
    value = data.draw(st.sampled_from("01"))
    names = " ".join(f"x{n}" for n in range(max(k, 1)))
    cover = "".join(f"{cube} {value}\n".lstrip() for cube in cubes)
    text = f".inputs {names}\n.outputs s\n.names {names if k else ''} s\n{cover}.end\n"
    circuit = registry.read(text, file="f.blif").circuit
    for bits in map("".join, product("01", repeat=max(k, 1))):
        met = any(all(sign in ("-", bit) for sign, bit in zip(cube, bits, strict=False)) for cube in cubes)
        want = value if met else "01"[value == "0" and bool(cubes)]
        assert evaluate(circuit, bits).output_bits == want


@pytest.mark.slow
@given(circuit=circuits())
def test_verilog_says_the_same_in_its_own_operators(circuit: Circuit) -> None:
    text = str(registry.write(circuit, "verilog"))
    lines = re.findall(r"assign (.*) = (.*);", text)
    ports = re.findall(r"(?:input|output) wire (\w+)", text)
    assert ports[: len(circuit.inputs)] == list(circuit.inputs)
    for bits in map("".join, product("01", repeat=len(circuit.inputs))):
        values = dict(zip(circuit.inputs, map(int, bits), strict=True))
        for net, expression in lines:
            python = re.sub(r"^(\w+) \? (\w+) : (\w+)$", r"\3 if not \1 else \2", expression).replace("1'b", "")
            values[net] = eval(python, {}, values) & 1
        assert [values[name] for name in ports[len(circuit.inputs) :]] == list(evaluate(circuit, bits).outputs.values())
