"""What pages and exports show of a circuit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

from tm2tfr.base.errors import counted
from tm2tfr.base.text.dot import shown
from tm2tfr.base.text.shown import code
from tm2tfr.base.text.words import LONGEST_SHORT
from tm2tfr.contract.exported import ExportReference
from tm2tfr.contract.shown import Packer, Page, PlainData, Show
from tm2tfr.sources.circuit.drawing import MOST_GATES_DRAWN, function_of, svg_or_none, to_dot
from tm2tfr.sources.circuit.inputs import MOST_INPUTS_OF_ALL, all_cases, random_cases
from tm2tfr.sources.circuit.netlist import MOST_OPERANDS, Bus, Circuit

NO_OPERAND = -1


def page(circuit: Circuit) -> Page:
    """Return the data of the explorer's page about a circuit."""
    nets = len(circuit.inputs) + len(circuit.gates)
    return Page(
        about=circuit.description,
        views=partial(_views, circuit),
        inputs={"circuit": _buses(circuit)},
        reference=lambda _: {"kind": "circuit", "nets": nets},
    )


def nets(circuit: Circuit) -> Sequence[tuple[str, int]]:
    """Return each net, in the order of their positions, and the number of operands that its gate has; 0 of an input."""
    operands = (*(0 for _ in circuit.inputs), *(len(gate.operands) for gate in circuit.gates))
    return tuple(zip(circuit.numbers, operands, strict=True))


def tried(circuit: Circuit, examples: Sequence[Any]) -> Iterable[str]:
    """Return inputs to try: those of the examples, otherwise short ones."""
    return [example.input for example in examples] or _short(circuit)


def _short(circuit: Circuit) -> Iterator[str]:
    if circuit.encoding:
        yield "abc"
        return
    width = len(circuit.inputs)
    if width <= LONGEST_SHORT:
        yield from map("".join, product("01", repeat=width))
    yield from ("1" * width, ("01" * width)[:width], ("10" * width)[:width])


def _buses(circuit: Circuit) -> PlainData:
    """Return a circuit's buses: of its inputs, and of its outputs with the numbers of their nets."""
    inputs = {net: n for n, net in enumerate(circuit.inputs)}
    outputs = {name: n for n, (name, _) in enumerate(circuit.outputs)}
    return {
        "inputs": len(circuit.inputs),
        "encoding": circuit.encoding,
        "buses": [_bus(bus, inputs) for bus in circuit.buses],
        "outputs": [_bus(bus, outputs) for bus in circuit.output_buses],
    }


def _bus(bus: Bus, numbers: dict[str, int]) -> PlainData:
    """Return a bus with the places of its bits, the least significant one first."""
    return {"name": bus.name, "bits": [numbers[net] for net in bus.nets]}


def _views(circuit: Circuit, show: Show, columns: Packer, drawn: bool, _: object) -> PlainData:
    """Return a circuit's nets in the order of their bits, its gates, its outputs and its graph.

    A gate has the index of its function in ``functions``, and its operands as numbers of nets, -1 for those it lacks.
    """
    functions: dict[tuple[str, str], int] = {}
    numbers = circuit.numbers
    kinds = [functions.setdefault((function_of(gate), gate.table), len(functions)) for gate in circuit.gates]
    padding = (NO_OPERAND,) * MOST_OPERANDS
    operands = [(*(numbers[net] for net in gate.operands), *padding)[:MOST_OPERANDS] for gate in circuit.gates]
    return {
        "circuit": {
            "name": shown(circuit.name),
            "inputs": len(circuit.inputs),
            "nets": list(map(shown, numbers)),
            "functions": [{"name": name, "table": table} for name, table in functions],
            "kinds": columns.add(kinds),
            "operands": [columns.add(place) for place in zip(*operands, strict=True)],
            "outputs": [[shown(name), numbers[net]] for name, net in circuit.outputs],
            "graph": _graph(circuit, columns, drawn=drawn),
        }
    }


def _graph(circuit: Circuit, columns: Packer, *, drawn: bool) -> PlainData:
    """Return the drawing, or the DOT text that the page draws itself, or the reason why there is no drawing."""
    if len(circuit.gates) > MOST_GATES_DRAWN:
        return {"none": f"a drawing of {len(circuit.gates):,} gates would be unreadable, so here is what this gate reads"}
    svg = svg_or_none(circuit) if drawn else None
    return {"dot": to_dot(circuit)} if svg is None else {"svg": columns.add_text(svg[svg.index("<svg") :])}


SHOWN = 24
"""The most outputs that a model card names."""


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
    def data(self) -> PlainData:
        """The nets of inputs and gates, in the order of the symbols, and for each output the number of its symbol."""
        return {
            "inputs": list(self.program.inputs),
            "gates": [gate.net for gate in self.program.gates],
            "outputs": {name: self.program.numbers[net] for name, net in self.program.outputs},
        }

    @property
    def about(self) -> str:
        """The input and output of a model of the circuit."""
        return paragraph(self.program)


def paragraph(circuit: Circuit) -> str:
    """Return the input and output of a model of `circuit`, as Markdown."""
    bits = f"{counted(len(circuit.inputs), 'input bit')} (`tm2tfr.json` names them, in order)"
    outputs = [f"{code(name)}: {circuit.numbers[net]}" for name, net in circuit.outputs[:SHOWN]]
    more = len(circuit.outputs) - len(outputs)
    rest = f" and {more} more, see `tm2tfr.json`" if more else ""
    gates = counted(len(circuit.gates), "gate")
    return (
        f"Given the {bits}\nit generates the bit of each of {gates}, one token each, `0` or `1`. "
        f"Symbols count from 0, inputs first;\nthe outputs are symbols {', '.join(outputs)}{rest}."
    )
