"""Boolean circuits as checked, frozen data: inputs, gates over at most three operands, outputs by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

NAMED: Mapping[int, Mapping[str, str]] = {
    0: {"0": "CONST0", "1": "CONST1"},
    1: {"01": "BUF", "10": "NOT", "00": "CONST0", "11": "CONST1"},
    2: {"0001": "AND", "0111": "OR", "1000": "NOR", "1110": "NAND", "0110": "XOR", "1001": "XNOR"},
    3: {
        "00000001": "AND",
        "01111111": "OR",
        "10000000": "NOR",
        "11111110": "NAND",
        "01101001": "XOR",
        "10010110": "XNOR",
        "00010111": "MAJ",
        "00110101": "MUX",
    },
}
"""Number of operands -> table -> the name of the gate. MUX is ``b if a = 0 else c``, of operands (a, b, c)."""


@dataclass(frozen=True)
class Gate:
    """One gate: the net that it drives, as a function of other nets.

    Args:
        net: the name of the net.
        table: its 2^k bits as text, for the values of the k operands counted in binary, the first operand most
            significant: ``0110`` is XOR, ``0010`` is a AND NOT b.
        operands: the nets it reads, at most three; the same net may occur twice.
    """

    net: str
    table: str
    operands: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """Its usual name, otherwise its table."""
        return NAMED[len(self.operands)].get(self.table, self.table)


@dataclass(frozen=True, kw_only=True)
class Circuit:
    """A circuit, in topological order: every gate reads inputs and nets of gates before it.

    Args:
        name: for people.
        inputs: the names of the input nets.
        gates: in the order in which a decoder generates their bits.
        outputs: pairs of the name of an output and the net that drives it, which may be an input.
    """

    name: str
    inputs: tuple[str, ...]
    gates: tuple[Gate, ...]
    outputs: tuple[tuple[str, str], ...]
    description: str = ""
    source: str = ""

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The position of each net's symbol in the sequence: inputs from 0, then gates, in order."""
        nets = (*self.inputs, *(gate.net for gate in self.gates))
        return {net: number for number, net in enumerate(nets)}
