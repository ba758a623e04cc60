"""The graph of a circuit for networkx, and the part of a circuit that one output depends on."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx

from tm2tfr.errors import UsageError, did_you_mean, listing
from tm2tfr.sources.circuit.building import needed
from tm2tfr.sources.circuit.netlist import Circuit


def to_graph(circuit: Circuit) -> nx.MultiDiGraph[str]:
    """Return the graph: a node for each net, inputs first, and an edge from each operand to the net of its gate.

    A node has the attributes ``kind`` (``INPUT`` or the kind of its gate), ``table`` (empty for an input) and ``outputs``
    (the names of the outputs that it drives). The key of an edge is the operand's place in the gate, from 0.
    """
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph(name=circuit.name)
    outputs: dict[str, tuple[str, ...]] = {}
    for name, net in circuit.outputs:
        outputs[net] = (*outputs.get(net, ()), name)
    graph.add_nodes_from((net, {"kind": "INPUT", "table": ""}) for net in circuit.inputs)
    graph.add_nodes_from((gate.net, {"kind": gate.kind, "table": gate.table}) for gate in circuit.gates)
    nx.set_node_attributes(graph, {net: outputs.get(net, ()) for net in graph}, "outputs")
    for gate in circuit.gates:
        for place, net in enumerate(gate.operands):
            graph.add_edge(net, gate.net, key=place)
    return graph


def cone(circuit: Circuit, output: str) -> Circuit:
    """Return the part of `circuit` that `output` depends on, in the same order, with this output alone.

    Raises:
        UsageError: if there is no such output, or no gate drives it.
    """
    driver = dict(circuit.outputs).get(output)
    if driver is None:
        known = [name for name, _ in circuit.outputs]
        raise UsageError(
            f"{circuit.name} has no output {output!r}{did_you_mean(output, known)}: use one of {listing(known)}"
        )
    if driver in circuit.inputs:
        raise UsageError(f"the output {output!r} of {circuit.name} is an input: name an output that a gate drives")
    gates = tuple(needed(circuit.gates, [driver]))
    read = {net for gate in gates for net in gate.operands}
    inputs = tuple(net for net in circuit.inputs if net in read) or circuit.inputs[:1]
    name = f"{circuit.name}, {output}"
    return replace(circuit, name=name, inputs=inputs, gates=gates, outputs=((output, driver),), encoding="")
