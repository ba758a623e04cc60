"""What a decoder was compiled from, as plain data for the page: a machine's rules, a circuit's gates, and the drawing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tm2tfr.explorer.weights_data import PackedColumns
from tm2tfr.sources.circuit import drawing as circuit_drawing
from tm2tfr.sources.circuit.drawing import MOST_GATES_DRAWN, function_of
from tm2tfr.sources.circuit.netlist import MOST_OPERANDS, Circuit
from tm2tfr.sources.turing.drawing import rule_lines, svg_or_none, to_dot
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.text.dot import shown

MOST_STATES = 100
"""The largest graph that is drawn: a larger one is unreadable, and takes Graphviz minutes."""
NO_OPERAND = -1

Show = Callable[[str], str]


def machine_data(machine: Machine, show: Show, columns: PackedColumns, *, drawn: bool = True) -> dict[str, Any]:
    """Return a machine's states, its rules and its graph; unless it is `drawn`, that is left to the page."""
    lines = rule_lines(machine)
    states = {q: n for n, q in enumerate(machine.states)}
    rules = [[states[q], show(a), states[r], show(b), m, lines[q, a]] for (q, a), (r, b, m) in machine.transitions.items()]
    return {
        "name": show(machine.name),
        "description": machine.description,
        "tape": machine.tape,
        "blank": show(machine.blank),
        "states": [{"name": show(q), "end": machine.outcome_of(q)} for q in machine.states],
        "rules": rules,
        "graph": _state_graph(machine, columns, drawn),
    }


def _state_graph(machine: Machine, columns: PackedColumns, drawn: bool) -> dict[str, Any]:
    """Return the drawing, or the DOT text that the page draws itself, or the reason why there is no drawing."""
    if len(machine.states) > MOST_STATES:
        return {"none": f"a drawing of {len(machine.states):,} states would be unreadable"}
    svg = svg_or_none(machine, large=True) if drawn else None
    return {"dot": to_dot(machine, large=True)} if svg is None else _svg(svg, columns)


def circuit_data(circuit: Circuit, columns: PackedColumns, *, drawn: bool = True) -> dict[str, Any]:
    """Return a circuit's nets in the order of their bits, its gates, its outputs and its graph, see `machine_data`.

    A gate has the index of its function in ``functions``, and its operands as numbers of nets, -1 for those it lacks.
    """
    functions: dict[tuple[str, str], int] = {}
    numbers = circuit.numbers
    kinds = [functions.setdefault((function_of(gate), gate.table), len(functions)) for gate in circuit.gates]
    padding = (NO_OPERAND,) * MOST_OPERANDS
    operands = [(*(numbers[net] for net in gate.operands), *padding)[:MOST_OPERANDS] for gate in circuit.gates]
    return {
        "name": shown(circuit.name),
        "inputs": len(circuit.inputs),
        "nets": list(map(shown, numbers)),
        "functions": [{"name": name, "table": table} for name, table in functions],
        "kinds": columns.add(kinds),
        "operands": [columns.add(place) for place in zip(*operands, strict=True)],
        "outputs": [[shown(name), numbers[net]] for name, net in circuit.outputs],
        "graph": _circuit_graph(circuit, columns, drawn),
    }


def _circuit_graph(circuit: Circuit, columns: PackedColumns, drawn: bool) -> dict[str, Any]:
    """Return the same as `_state_graph`, of a circuit."""
    if len(circuit.gates) > MOST_GATES_DRAWN:
        return {"none": f"a drawing of {len(circuit.gates):,} gates would be unreadable, so here is what this gate reads"}
    svg = circuit_drawing.svg_or_none(circuit) if drawn else None
    return {"dot": circuit_drawing.to_dot(circuit)} if svg is None else _svg(svg, columns)


def _svg(svg: str, columns: PackedColumns) -> dict[str, Any]:
    return {"svg": columns.add_text(svg[svg.index("<svg") :])}  # without the address of a document type
