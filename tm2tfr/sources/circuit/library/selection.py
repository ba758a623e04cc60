"""A multiplexer, parity, majority, and the smallest of the ISCAS-85 benchmarks."""

from __future__ import annotations

from tm2tfr.sources.circuit.building import Builder, Signal
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.sources.circuit.splitting import FreshNames, gate, split


def multiplexer(*, select: int) -> Circuit:
    """Return the bit of d that s selects: a tree of MUX gates over 2^`select` bits."""
    level = [f"d[{k}]" for k in range(2**select)]
    inputs = (*level, *(f"s[{k}]" for k in range(select)))
    gates = []
    for bit in range(select):
        pairs = zip(level[::2], level[1::2], strict=True)
        nets = [f"m{bit}[{k}]" for k in range(len(level) // 2)] if bit < select - 1 else ["y"]
        gates += [gate(net, "MUX", f"s[{bit}]", low, high) for net, (low, high) in zip(nets, pairs, strict=True)]
        level = nets
    return Circuit(name="multiplexer", inputs=inputs, gates=tuple(gates), outputs=(("y", "y"),))


def parity(*, bits: int) -> Circuit:
    """Return whether the number of ones is odd: a tree of XOR gates."""
    inputs = tuple(f"x[{k}]" for k in range(bits))
    return Circuit(
        name="parity",
        inputs=inputs,
        gates=tuple(split("odd", "XOR", inputs, FreshNames(inputs))),
        outputs=(("odd", "odd"),),
    )


def majority(*, bits: int) -> Circuit:
    """Return whether more than half of the bits are ones: full adders count them, and the count is compared."""
    inputs = tuple(f"x[{k}]" for k in range(bits))
    build = Builder(inputs)
    columns: list[list[Signal]] = [list(inputs)]
    for weight, column in enumerate(columns):
        while len(column) > 1:
            three = column[:3]
            del column[:3]
            names = (f"s{weight}_{len(column)}", f"c{weight}_{len(column)}")
            if weight + 1 == len(columns):
                columns.append([])
            column.append(build.gate(names[0], "XOR", *three))
            columns[weight + 1].append(build.gate(names[1], "MAJ" if len(three) == 3 else "AND", *three))
    carry: Signal = 0
    complement = 2 ** len(columns) - (bits // 2 + 1)
    for weight, (count,) in enumerate(columns):
        net = "majority" if weight == len(columns) - 1 else f"more{weight}"
        carry = build.gate(net, "MAJ", count, complement >> weight & 1, carry)
    gates, outputs = build.finished({"majority": carry})
    return Circuit(name="majority", inputs=inputs, gates=gates, outputs=outputs)


def c17() -> Circuit:
    """Return c17 of ISCAS-85: six NAND gates."""
    nands = (
        ("10", "1", "3"),
        ("11", "3", "6"),
        ("16", "2", "11"),
        ("19", "11", "7"),
        ("22", "10", "16"),
        ("23", "16", "19"),
    )
    return Circuit(
        name="c17",
        inputs=("1", "2", "3", "6", "7"),
        gates=tuple(gate(net, "NAND", a, b) for net, a, b in nands),
        outputs=(("22", "22"), ("23", "23")),
    )
