"""The columns of the table of a circuit's run: their contents, and the subspaces they are read from."""

from __future__ import annotations

from itertools import product

from tm2tfr.contract.source import Column
from tm2tfr.sources.circuit.netlist import NAMED, Circuit, Gate

OPERANDS = ("a", "b", "c")
"""What holds the addresses of the operands; the bits found there are held by x_a, x_b and x_c."""
TRUTH = tuple("t" + "".join(bits) for bits in product("01", repeat=len(OPERANDS)))
"""What holds the bits of the gate's truth table, as one of three operands."""


def widened(gate: Gate) -> str:
    """Return the truth table of a gate as one of three operands, of which it ignores those that it lacks: 8 bits."""
    return "".join(bit * (len(TRUTH) // len(gate.table)) for bit in gate.table)


def gate_at(circuit: Circuit, i: int) -> Gate | None:
    """Return the gate whose bit position `i` answers; None before the last input."""
    number = i + 1 - len(circuit.inputs)
    return circuit.gates[number] if number >= 0 else None


def operand_positions(circuit: Circuit, i: int) -> tuple[int, ...]:
    """Return the positions of the operands at `i`: the last one in place of any that the gate lacks, 0 without a gate."""
    gate = gate_at(circuit, i)
    found = [circuit.numbers[net] for net in gate.operands] if gate is not None else []
    found = found or [0]
    return (*found, *[found[-1]] * (len(OPERANDS) - len(found)))


def _names() -> dict[str, str]:
    """Return the name of each truth table of three operands that has one: that for the fewest operands."""
    found = dict(NAMED[3])
    for k in (2, 1):
        gates = (Gate("", "".join(bits), ("",) * k) for bits in product("01", repeat=2**k))
        found.update({widened(gate): gate.kind for gate in gates})
    return found


GATE_NAMES = _names()
"""Truth table of three operands -> how the gate is called."""

_POSITION = Column(name="i", kind="position", meaning="the position", tex="$i$")
_FED = Column(name="x", kind="fed", meaning="the bit at this position", tex="$x_i$")
_ANSWER = Column(name="y", kind="answered", meaning="the bit that the model answers at this position", tex="$y_i$")

LOOKUP_COLUMNS: tuple[Column, ...] = (
    _POSITION,
    _FED,
    Column(name="gate", kind="bits", bits=TRUTH, names=tuple(GATE_NAMES.items()), meaning="the gate of the next bit"),
    *(Column(name=p, kind="number", holds=p, meaning=f"the position of operand {p}", tex=f"${p}_i$") for p in OPERANDS),
    *(
        Column(name=f"x_{p}", kind="number", holds=f"x_{p}", meaning=f"the bit at operand {p}", tex=f"$x_{{{p}}}$")
        for p in OPERANDS
    ),
    _ANSWER,
)
"""The columns of ``lookup``."""

PAPER_COLUMNS: tuple[Column, ...] = (
    _POSITION,
    _FED,
    Column(name="mean", kind="number", holds="mean", meaning="the mean of both signs", signed=True, tex=r"$\mu_i$"),
    _ANSWER,
)
"""The columns of ``paper`` and ``paper-hard``."""


def columns(variant: str) -> tuple[Column, ...]:
    """Return the columns of the table of a decoder of this variant."""
    return LOOKUP_COLUMNS if variant == "lookup" else PAPER_COLUMNS
