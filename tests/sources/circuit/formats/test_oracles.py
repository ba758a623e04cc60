"""The readers, on random texts that other programs read too: py-aiger, pyrtl and cirbo have to agree, bit by bit."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.strategies import tries
from tm2tfr.sources.circuit.evaluate import evaluate
from tm2tfr.sources.circuit.formats import registry
from tm2tfr.sources.circuit.netlist import Circuit

CIRCUITS = tries(500)
CASES = 8

pytestmark = pytest.mark.slow


def points(chance: random.Random, inputs: int) -> Iterator[str]:
    """Yield some inputs, or all if there are few."""
    if 2**inputs <= CASES:
        yield from map("".join, product("01", repeat=inputs))
    else:
        yield from (f"{chance.getrandbits(inputs):0{inputs}b}" for _ in range(CASES))


def answers(circuit: Circuit, bits: str) -> dict[str, bool]:
    return {name: bool(bit) for name, bit in evaluate(circuit, bits).outputs.items()}


def random_aiger(chance: random.Random) -> str:
    """An ASCII AIGER file: negations, constants, gates that are not needed, definitions in any order, symbols."""
    inputs, ands, outputs = chance.randint(1, 6), chance.randint(0, 20), chance.randint(1, 5)
    variables = chance.sample(range(1, inputs + ands + 4), inputs + ands)
    known = [0]
    lines = []
    for number, variable in enumerate(variables):
        if number >= inputs:
            left, right = (2 * chance.choice(known) + chance.getrandbits(1) for _ in range(2))
            lines.append(f"{2 * variable} {left} {right}")
        known.append(variable)
    chance.shuffle(lines)
    heads = [str(2 * variable) for variable in variables[:inputs]]
    heads += [str(2 * chance.choice(known) + chance.getrandbits(1)) for _ in range(outputs)]
    symbols = [f"i{k} in_{k}" for k in range(inputs)] + [f"o{k} out_{k}" for k in range(outputs)]
    header = f"aag {inputs + ands + 3} {inputs} 0 {outputs} {ands}"
    return "\n".join([header, *heads, *lines, *symbols, "c", "random", ""])


def as_aiger_says(path: Path, circuit: Circuit, chance: random.Random) -> None:
    aiger: Any = pytest.importorskip("aiger", reason="py-aiger is not installed: pip install py-aiger")
    other = aiger.load(str(path))
    assert set(other.outputs) == {name for name, _ in circuit.outputs}
    for bits in points(chance, len(circuit.inputs)):
        values = {name: bit == "1" for name, bit in zip(circuit.inputs, bits, strict=True) if name in other.inputs}
        assert other(values)[0] == answers(circuit, bits)


@pytest.mark.parametrize("seed", range(5))
def test_aiger_texts_as_py_aiger_reads_them(seed: int, tmp_path: Path) -> None:
    chance, path = random.Random(seed), tmp_path / "x.aag"
    for _ in range(CIRCUITS // 5):
        text = random_aiger(chance)
        path.write_text(text, encoding="utf-8")
        as_aiger_says(path, registry.read(text, file="x.aag").circuit, chance)


@pytest.mark.parametrize("format", ["aag", "aig"])
def test_aiger_files_that_we_write_as_py_aiger_reads_them(format: str, tmp_path: Path) -> None:
    chance, path = random.Random(format), tmp_path / f"x.{format}"
    for _ in range(CIRCUITS // 5):
        circuit = registry.read(random_netlist(chance, ("AND", "OR", "XOR", "NAND", "NOR", "XNOR")), file="x.bench").circuit
        written = registry.write(circuit, format)
        path.write_bytes(written if isinstance(written, bytes) else written.encode())
        as_aiger_says(path, registry.load_with_warnings(path).circuit, chance)
        as_aiger_says(path, circuit, chance)


def random_netlist(chance: random.Random, kinds: tuple[str, ...]) -> str:
    """A .bench netlist: gates of up to five operands, in any order."""
    nets = [f"x{k}" for k in range(chance.randint(1, 6))]
    inputs, lines = list(nets), []
    for number in range(chance.randint(1, 20)):
        kind = chance.choice([*kinds, "NOT", "BUFF"])
        count = 1 if kind in ("NOT", "BUFF") else chance.randint(2, 5)
        lines.append(f"g{number} = {kind}({', '.join(chance.choices(nets, k=count))})")
        nets.append(f"g{number}")
    outputs = chance.sample(nets[len(inputs) :], chance.randint(1, min(4, len(nets) - len(inputs))))
    chance.shuffle(lines)
    return "\n".join([*(f"INPUT({net})" for net in inputs), *(f"OUTPUT({net})" for net in outputs), *lines, ""])


@pytest.mark.parametrize("seed", range(5))
def test_netlists_as_cirbo_reads_them(seed: int) -> None:
    cirbo: Any = pytest.importorskip("cirbo.core.circuit", reason="cirbo is not installed: pip install cirbo")
    chance = random.Random(seed)
    for _ in range(CIRCUITS // 5):
        text = random_netlist(chance, ("AND", "OR", "XOR", "NAND", "NOR"))
        circuit = registry.read(text, file="x.bench").circuit
        for netlist in (text, registry.write(circuit, "bench")):
            other = cirbo.Circuit.from_bench_string(netlist)
            assert tuple(other.inputs) == circuit.inputs
            assert list(other.outputs) == [name for name, _ in circuit.outputs]
            for bits in points(chance, len(circuit.inputs)):
                assert [bool(bit) for bit in other.evaluate([bit == "1" for bit in bits])] == [
                    *answers(circuit, bits).values()
                ]


def random_blif(chance: random.Random) -> str:
    """A BLIF model: covers of up to five operands with don't-cares, and constants."""
    nets = [f"x{k}" for k in range(chance.randint(1, 6))]
    inputs, blocks = list(nets), []
    for number in range(chance.randint(1, 12)):
        operands = chance.sample(nets, chance.randint(0, min(5, len(nets))))
        cubes = {"".join(chance.choices("01-", k=len(operands))) for _ in range(chance.randint(1, 4))}
        rows = [f"{cube} 1".strip() for cube in sorted(cubes)]
        blocks.append("\n".join([f".names {' '.join([*operands, f'g{number}'])}", *rows]))
        nets.append(f"g{number}")
    outputs = chance.sample(nets[len(inputs) :], chance.randint(1, min(4, len(nets) - len(inputs))))
    head = [".model random", f".inputs {' '.join(inputs)}", f".outputs {' '.join(outputs)}"]
    return "\n".join([*head, *blocks, ".end", ""])


def as_pyrtl_says(text: str, circuit: Circuit, chance: random.Random) -> None:
    pytest.importorskip("pyparsing", reason="pyparsing is not installed: pip install pyparsing")
    pyrtl: Any = pytest.importorskip("pyrtl", reason="pyrtl is not installed: pip install pyrtl")
    pyrtl.reset_working_block()
    pyrtl.input_from_blif(text)
    simulation = pyrtl.Simulation(tracer=None)
    for bits in points(chance, len(circuit.inputs)):
        simulation.step(dict(zip(circuit.inputs, map(int, bits), strict=True)))
        assert {name: bool(simulation.inspect(name)) for name, _ in circuit.outputs} == answers(circuit, bits)


@pytest.mark.parametrize("seed", range(5))
def test_blif_models_as_pyrtl_reads_them(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(CIRCUITS // 5):
        text = random_blif(chance)
        circuit = registry.read(text, file="x.blif").circuit
        as_pyrtl_says(text, circuit, chance)
        as_pyrtl_says(str(registry.write(circuit, "blif")), circuit, chance)
