"""NOR, AND and XOR as ReLU units on the mean of two signs, each shut at the positions of gates of another kind.

Appendix A has NOR alone: its two units read one number only, so nothing there can depend on the position (repair 15). Here
h is half the value that the mean 1 has; of the mean a of two signs,

    NOR: one = ReLU(-a - h), zero = ReLU(a + h);   AND: one = ReLU(a - h), zero = ReLU(h - a);
    XOR: one = ReLU(h) - ReLU(a) - ReLU(-a), zero = ReLU(a - h) + ReLU(-a - h).

The right flag is at least h, the other one at most 0. No unit is above 3h, and the one-hot direction of a position is worth
at least 2h; so -2 times that of any other position shuts it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from tm2tfr.errors import CompileError, visible
from tm2tfr.sources.circuit.netlist import Circuit, Gate
from tm2tfr.transformer.gadgets import Unit
from tm2tfr.transformer.residual import Linear, at

KINDS: Mapping[str, str] = {"1000": "NOR", "0001": "AND", "0110": "XOR"}
"""Truth table of two operands -> the kind of the gate."""
SHUT = -2.0

Flag = Callable[[float], Linear]
"""What a unit adds: the flag named, times a number, in all the directions that it has."""


def refuse_others(circuit: Circuit, variant: str) -> None:
    """Check that every gate is one of `KINDS`.

    Raises:
        CompileError: that names the first gate that is not.
    """
    wrong = [gate for gate in circuit.gates if len(gate.operands) != 2 or gate.table not in KINDS]
    if wrong:
        first, more = wrong[0], f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        what = f"{visible(circuit.name)}: gate {visible(first.net)} is {_words(first)}{more}"
        remedy = "convert the circuit to the basis paper, or use the variant lookup"
        raise CompileError(f"{what}; variant {variant} has NOR, AND and XOR of two operands: {remedy}")


def _words(gate: Gate) -> str:
    many = len(gate.operands)
    return f"{gate.kind} of {many} operand{'' if many == 1 else 's'}"


def gate_units(circuit: Circuit, half: float, one: Flag, zero: Flag) -> Iterator[Unit]:
    """Yield the units of every kind of gate that `circuit` has.

    Args:
        half: h, see the module.
        one, zero: the flags for the answers 1 and 0.
    """
    first = len(circuit.inputs) - 1
    positions = range(first + len(circuit.gates))
    for table, kind in KINDS.items():
        own = {first + n for n, gate in enumerate(circuit.gates) if gate.table == table}
        shut = {at("here", str(i)): SHUT for i in positions if i not in own}
        for name, reads, bias, writes in _units(kind, half, one, zero) if own else ():
            yield Unit(f"{kind}: {name}", {**reads, **shut}, writes, bias=bias)


def _units(kind: str, h: float, one: Flag, zero: Flag) -> Sequence[tuple[str, Linear, float, Linear]]:
    up: Linear = {"mean": 1.0}
    down: Linear = {"mean": -1.0}
    if kind == "NOR":
        return ("-a - h", down, -h, one(1.0)), ("a + h", up, h, zero(1.0))
    if kind == "AND":
        return ("a - h", up, -h, one(1.0)), ("h - a", down, h, zero(1.0))
    return (
        ("h", {}, h, one(1.0)),
        ("a", up, 0.0, one(-1.0)),
        ("-a", down, 0.0, one(-1.0)),
        ("a - h", up, -h, zero(1.0)),
        ("-a - h", down, -h, zero(1.0)),
    )
