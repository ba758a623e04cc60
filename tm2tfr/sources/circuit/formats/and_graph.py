"""A circuit as ANDs and negations, each AND made once: what the AIGER formats write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tm2tfr.sources.circuit.formats.pieces import halves
from tm2tfr.sources.circuit.netlist import Circuit


@dataclass
class AndGraph:
    """ANDs of literals: twice the number of a variable, plus 1 if it is negated; 0 and 1 are the constants.

    Args:
        inputs: the number of inputs, which are the variables from 1 on; the ANDs follow.
    """

    inputs: int
    ands: dict[tuple[int, int], int] = field(default_factory=dict)
    """The two literals, the larger one first -> the literal of the AND, in topological order."""

    def conjunction(self, left: int, right: int) -> int:
        """Return the literal of an AND."""
        left, right = max(left, right), min(left, right)
        if right == 0 or left == right ^ 1:
            return 0
        if right in (1, left):
            return left
        return self.ands.setdefault((left, right), 2 * (self.inputs + len(self.ands) + 1))

    def table(self, table: str, operands: Sequence[int]) -> int:
        """Return the literal of a table over literals, by halves."""
        if len(set(table)) == 1:
            return int(table[0])
        low, high = halves(table)
        if low == high:
            return self.table(low, operands[1:])
        first, zero, one = operands[0], self.table(low, operands[1:]), self.table(high, operands[1:])
        if 0 in (zero, one):
            return self.conjunction(first if zero == 0 else first ^ 1, zero | one)
        if 1 in (zero, one):  # the OR of two literals
            return self.conjunction(first if zero == 1 else first ^ 1, (zero if one == 1 else one) ^ 1) ^ 1
        return self.conjunction(self.conjunction(first, one) ^ 1, self.conjunction(first ^ 1, zero) ^ 1) ^ 1


def and_graph(circuit: Circuit) -> tuple[AndGraph, list[int]]:
    """Return `circuit` as ANDs, and the literals of its outputs."""
    graph = AndGraph(len(circuit.inputs))
    literals = {net: 2 * number for number, net in enumerate(circuit.inputs, 1)}
    for gate in circuit.gates:
        literals[gate.net] = graph.table(gate.table, [literals[net] for net in gate.operands])
    return graph, [literals[net] for _, net in circuit.outputs]
