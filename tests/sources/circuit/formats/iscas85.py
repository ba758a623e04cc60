"""The ISCAS-85 circuits, from the netlists in circuitgraph's package: gates in Verilog, one a line.

They are the circuits of Brglez and Fujiwara (1985), synthesised again: same inputs and outputs, other gates.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import reduce
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

PORTS: Mapping[str, tuple[int, int]] = {
    "c17": (5, 2),
    "c432": (36, 7),
    "c499": (41, 32),
    "c880": (60, 26),
    "c1355": (41, 32),
    "c1908": (33, 25),
    "c2670": (233, 140),
    "c3540": (50, 22),
    "c5315": (178, 123),
    "c6288": (32, 32),
    "c7552": (207, 108),
}
"""Name -> the numbers of inputs and outputs."""

_GATE = re.compile(r"^\s*(and|or|nand|nor|not|buf|xor|xnor) \w+\s*\(([^)]*)\);", re.MULTILINE)
_ASSIGNED = re.compile(r"^\s*assign (\S+) = ([^\s;]+);", re.MULTILINE)


class Netlist(NamedTuple):
    """A circuit as gates of any number of operands: (net, kind, operands)."""

    inputs: list[str]
    outputs: list[str]
    gates: list[tuple[str, str, list[str]]]

    def bench(self) -> str:
        """Return it as .bench."""
        ports = [f"INPUT({net})" for net in self.inputs] + [f"OUTPUT({net})" for net in self.outputs]
        gates = (f"{net} = {kind.upper()}({', '.join(operands)})" for net, kind, operands in self.gates)
        return "\n".join([*ports, *gates, ""]).replace("GND()", "gnd")

    def evaluate(self, values: Mapping[str, int], ones: int) -> list[int]:
        """Return the words of the outputs; each is found by following the gates back to the inputs."""
        known, defined = dict(values), {net: (kind, operands) for net, kind, operands in self.gates}
        waiting = list(self.outputs)
        while waiting:
            missing = [net for net in defined.get(waiting[-1], ("", []))[1] if net not in known]
            if missing:
                waiting.extend(missing)
            elif (net := waiting.pop()) not in known:
                known[net] = _value(defined[net][0], [known[operand] for operand in defined[net][1]], ones)
        return [known[net] for net in self.outputs]


def _value(kind: str, operands: Sequence[int], ones: int) -> int:
    if kind == "gnd":
        return 0
    if kind in ("and", "nand"):
        value = reduce(int.__and__, operands)
    elif kind in ("or", "nor"):
        value = reduce(int.__or__, operands)
    else:
        value = reduce(int.__xor__, operands)
    return value ^ ones if kind in ("nand", "nor", "xnor", "not") else value


def netlist(name: str) -> Netlist:
    """Return one of the circuits; the test is skipped where the package is missing."""
    found = find_spec("circuitgraph")
    if found is None or not found.submodule_search_locations:
        pytest.skip("circuitgraph, which has the netlists of ISCAS-85, is not installed: pip install circuitgraph")
    text = (Path(found.submodule_search_locations[0]) / "netlists" / f"{name}.v").read_text(encoding="utf-8")
    gates = [(kind, re.split(r"[\s,]+", nets.strip())) for kind, nets in _GATE.findall(text)]
    for net, operand in _ASSIGNED.findall(text):
        gates.append(("gnd", [net]) if operand == "1'b0" else ("buf", [net, operand]))
    return Netlist(_declared(text, "input"), _declared(text, "output"), [(n[0], kind, n[1:]) for kind, n in gates])


def _declared(text: str, word: str) -> list[str]:
    return [
        net
        for names in re.findall(rf"^\s*{word} ([^;]*);", text, re.MULTILINE)
        for net in re.split(r"[\s,]+", names.strip())
    ]
