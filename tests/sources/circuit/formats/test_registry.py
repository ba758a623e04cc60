"""Which format a text is in, and where circuits come from."""

from __future__ import annotations

import io
import sys
from itertools import pairwise
from pathlib import Path
from typing import cast

import pytest

from tm2tfr.api.subject import Subject
from tm2tfr.base.errors import CompileError, NotFoundError, ReadError
from tm2tfr.sources.circuit import library
from tm2tfr.sources.circuit.formats import registry
from tm2tfr.sources.circuit.formats.registry import CIRCUIT_FORMATS, CIRCUIT_READABLE, CIRCUIT_WRITABLE, CircuitFormat
from tm2tfr.sources.circuit.netlist import Circuit, Gate
from tm2tfr.sources.turing.library import shipped, shipped_text

FULL_ADDER = library.load("full-adder")


def test_the_names_of_the_formats() -> None:
    assert CIRCUIT_READABLE == ("yaml", "bench", "aag", "aig", "blif", "pla", "truth-table", "expression")
    assert (*CIRCUIT_READABLE, "verilog") == CIRCUIT_WRITABLE


@pytest.mark.parametrize("format", CIRCUIT_READABLE)
def test_a_text_is_recognised_by_its_content(format: str) -> None:
    found = registry.recognised(registry.write(FULL_ADDER, format))
    assert found is not None
    assert found.name == format


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("# a comment\n\nINPUT(a)\n", "bench"),
        ("s = NAND(a, b)\n", "bench"),
        ("\n.inputs a b\n", "blif"),
        ("0110\n", "truth-table"),
        ("a b | s\n00 | 1\n", "truth-table"),
        ("0 0 | 1\n", "truth-table"),
        ("s = 0110\n", "truth-table"),
        ("a ^ b\n", "expression"),
        ("s = a and b\n", "expression"),
        ("gates:\n  s: a ^ b\ninputs: [a, b]\n", "yaml"),
        ("hello\n", None),
        ("", None),
        ("0 _ 1 r 0\n", None),
        ("1RB1LB_1LA1RZ", None),
    ],
)
def test_what_is_recognised(text: str, format: str | None) -> None:
    found = registry.recognised(text)
    assert (found and found.name) == format
    assert registry.recognised(b"\xef\xbb\xbf" + text.encode()) == found


@pytest.mark.parametrize("name", shipped())
def test_no_machine_is_taken_for_a_circuit(name: str) -> None:
    assert registry.recognised(shipped_text(name)) is None


@pytest.mark.parametrize("format", CIRCUIT_READABLE)
def test_a_file_is_read_by_its_ending_and_from_standard_input(
    format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = registry.write(FULL_ADDER, format)
    data = written if isinstance(written, bytes) else written.encode()
    path = tmp_path / f"x{CIRCUIT_FORMATS[format].endings[0].upper()}"
    path.write_bytes(data)
    circuit = registry.load_with_warnings(path).circuit
    assert (circuit.name, circuit.inputs) == ("full-adder", FULL_ADDER.inputs)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert registry.load_with_warnings("-").circuit == circuit


def test_the_ending_decides() -> None:
    assert registry.read("INPUT(a)\nOUTPUT(s)\ns = NOT(a)\n", file="x.blif", format="bench").circuit.inputs == ("a",)


def test_a_circuit_that_weights_cannot_state_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    yaml = CIRCUIT_FORMATS["yaml"]._replace(most=1)
    monkeypatch.setitem(cast("dict[str, CircuitFormat]", CIRCUIT_FORMATS), "yaml", yaml)
    nets = ["a", *("n" * 300_000 + str(k) for k in range(4))]
    gates = tuple(Gate(net, "10", (before,)) for before, net in pairwise(nets))
    circuit = Circuit(name="long", inputs=("a",), gates=gates, outputs=(("s", nets[-1]),))
    words = "long: 4 gates are 2 MiB as YAML, and weights state the circuit of at most 1 MiB: give its nets shorter names"
    with pytest.raises(CompileError, match=words):
        _ = Subject.of(circuit).decoder


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"no\.bench: there is no such file: name the file of a circuit"):
        registry.load_with_warnings(tmp_path / "no.bench")
    with pytest.raises(ReadError, match="this is a folder: name a file in it"):
        registry.load_with_warnings(tmp_path)


def test_standard_input_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ReadError, match="standard input is closed: name a file"):
        registry.load_with_warnings("-")


def test_expressions_and_tables_of_the_command_line() -> None:
    circuit = registry.from_expression("s = a ^ b ^ cin; carry = a & b | cin & (a ^ b)").circuit
    assert (circuit.inputs, circuit.outputs) == (("a", "b", "cin"), (("s", "s"), ("carry", "carry")))
    assert registry.from_expression("a ^ b & ~c").circuit.outputs == (("out", "out"),)
    assert registry.from_table("s = 0110; c = 0001").circuit.outputs == (("s", "s"), ("c", "c"))
