"""What an export says of a circuit: its nets and outputs, what it is given; and the inputs that it is tried on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tm2tfr.base.errors import counted
from tm2tfr.base.text.shown import code
from tm2tfr.contract.exported import ExportReference
from tm2tfr.sources.circuit.inputs import MOST_INPUTS_OF_ALL, all_cases, random_cases
from tm2tfr.sources.circuit.netlist import Circuit

SHOWN = 24
"""How many outputs a model card names."""


def cases(circuit: Circuit, most: int) -> tuple[Sequence[str], bool]:
    """Return at most `most` inputs, as bits, and whether they are all that there are; otherwise they are random ones."""
    inputs = len(circuit.inputs)
    every = inputs <= MOST_INPUTS_OF_ALL and 2**inputs <= most
    found = all_cases(circuit) if every else random_cases(circuit, most, seed=0)
    return ["".join(map(str, row)) for row in found.tolist()], every


@dataclass(frozen=True)
class ExportedCircuit(ExportReference):
    """A circuit as an export is compared with it."""

    @property
    def number_of_inputs(self) -> int:
        """The number of all inputs."""
        return int(2 ** len(self.program.inputs))

    @property
    def data(self) -> dict[str, Any]:
        """The nets of inputs and gates, in the order of the symbols, and for each output the number of its symbol."""
        return {
            "inputs": list(self.program.inputs),
            "gates": [gate.net for gate in self.program.gates],
            "outputs": {name: self.program.numbers[net] for name, net in self.program.outputs},
        }

    @property
    def about(self) -> str:
        """What a model of the circuit is given and generates."""
        return paragraph(self.program)


def paragraph(circuit: Circuit) -> str:
    """Return what a model of `circuit` is given and generates, as Markdown."""
    bits = f"{counted(len(circuit.inputs), 'input bit')} (`tm2tfr.json` names them, in order)"
    outputs = [f"{code(name)}: {circuit.numbers[net]}" for name, net in circuit.outputs[:SHOWN]]
    more = len(circuit.outputs) - len(outputs)
    rest = f" and {more} more, see `tm2tfr.json`" if more else ""
    gates = counted(len(circuit.gates), "gate")
    return (
        f"Given the {bits}\nit generates the bit of each of {gates}, one token each, `0` or `1`. "
        f"Symbols count from 0, inputs first;\nthe outputs are symbols {', '.join(outputs)}{rest}."
    )
