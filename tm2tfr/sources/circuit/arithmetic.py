"""Adders, a multiplier and a comparator."""

from __future__ import annotations

import random

from tm2tfr.base.choices import AdderOrder, GateKinds
from tm2tfr.sources.circuit.building import TABLES, Builder, FreshNames, Signal, gate, split
from tm2tfr.sources.circuit.netlist import Circuit, Gate


def half_adder() -> Circuit:
    """Return the sum and the carry of two bits: two gates."""
    return Circuit(
        name="half-adder",
        inputs=("a", "b"),
        gates=(gate("sum", "XOR", "a", "b"), gate("carry", "AND", "a", "b")),
        outputs=(("sum", "sum"), ("carry", "carry")),
    )


def full_adder() -> Circuit:
    """Return the sum and the carry of three bits: two gates over three operands."""
    return Circuit(
        name="full-adder",
        inputs=("a", "b", "c"),
        gates=(gate("sum", "XOR", "a", "b", "c"), gate("carry", "MAJ", "a", "b", "c")),
        outputs=(("sum", "sum"), ("carry", "carry")),
    )


def binary_adder(*, bits: int, order: AdderOrder) -> Circuit:
    """Return the ripple-carry adder of the paper's Section 4, with its names: e is the sum, c the carry into each place.

    Args:
        bits: of each number, the least significant first: ``a1``, ``a2``, ….
        order: the paper's representation 1 or 2.
    """
    d, e, f, g, c = (
        {i: gate(f"{net}{i}", kind, *(f"{operand}{i}" for operand in operands)) for i in range(1, bits + 1)}
        for net, kind, operands in (
            ("d", "XOR", "ab"),
            ("e", "XOR", "cd"),
            ("f", "AND", "ab"),
            ("g", "AND", "cd"),
            ("c", "XOR", "aa"),
        )
    )
    c |= {i + 1: gate(f"c{i + 1}", "XOR", f"f{i}", f"g{i}") for i in range(1, bits + 1)}
    places = range(1, bits + 1)
    if order == "paper-1":
        gates = [c[1], *(one for i in places for one in (d[i], e[i], f[i], g[i], c[i + 1]))]
    else:
        carries = (one for i in places for one in (g[i], c[i + 1]))
        gates = [*d.values(), *f.values(), c[1], *carries, *e.values()]
    return Circuit(
        name="binary-adder",
        inputs=tuple(f"{number}{i}" for number in "ab" for i in places),
        gates=tuple(gates),
        outputs=tuple((net, net) for net in (*(f"e{i}" for i in places), f"c{bits + 1}")),
    )


def multiplier(*, bits: int) -> Circuit:
    """Return the array multiplier: all products of two bits, added row by row. p is the product of a and b."""
    inputs = tuple(f"{number}[{i}]" for number in "ab" for i in range(bits))
    build = Builder(inputs)
    row: list[Signal] = [build.gate(f"a{i}b0", "AND", f"a[{i}]", "b[0]") for i in range(bits)]
    product: dict[str, Signal] = {}
    for j in range(1, bits):
        product[f"p[{j - 1}]"], *rest = row
        rest += [0] * (bits - len(rest))
        carry: Signal = 0
        row = []
        for i, above in enumerate(rest):
            part = build.gate(f"a{i}b{j}", "AND", f"a[{i}]", f"b[{j}]")
            row.append(build.gate(f"s{j}_{i}", "XOR", above, part, carry))
            carry = build.gate(f"c{j}_{i}", "MAJ", above, part, carry)
        row.append(carry)
    row += [0] * (bits + 1 - len(row))
    product |= {f"p[{bits - 1 + k}]": net for k, net in enumerate(row)}
    gates, outputs = build.finished(product)
    return Circuit(name="multiplier", inputs=inputs, gates=gates, outputs=outputs)


def comparator(*, bits: int) -> Circuit:
    """Return whether a is less than, equal to or greater than b."""
    gates: list[Gate] = []
    less = ""
    for i in range(bits):
        a, b, differ = f"a[{i}]", f"b[{i}]", f"differ[{i}]"
        gates.append(gate(differ, "XOR", a, b))
        net = "less" if i == bits - 1 else f"less[{i}]"
        gates.append(gate(net, "MUX", differ, less, b) if less else gate(net, "AND", differ, b))
        less = net
    inputs = tuple(f"{number}[{i}]" for number in "ab" for i in range(bits))
    fresh = FreshNames([*inputs, *(one.net for one in gates)])
    gates += split("equal", "NOR", [f"differ[{i}]" for i in range(bits)], fresh)
    gates.append(gate("greater", "NOR", "less", "equal"))
    outputs = tuple((net, net) for net in ("less", "equal", "greater"))
    return Circuit(name="comparator", inputs=inputs, gates=tuple(gates), outputs=outputs)


# ── A multiplexer, parity, majority, and the smallest of the ISCAS-85 benchmarks.
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


# ── Random circuits, the same for the same seed.
_PAPER = ("NOR", "AND", "XOR")


def random_circuit(*, inputs: int, gates: int, seed: int, kinds: GateKinds) -> Circuit:
    """Return gates that each read random nets before them; those that no gate reads are the outputs."""
    chance = random.Random(seed)
    nets = [f"x{k}" for k in range(inputs)]
    made: list[Gate] = []
    unread: dict[str, None] = {}
    for number in range(gates):
        operands = tuple(nets[chance.randrange(len(nets))] for _ in range(chance.randint(1, 3) if kinds == "any" else 2))
        made.append(Gate(f"n{number}", _table(chance, kinds, len(operands)), operands))
        for net in operands:
            unread.pop(net, None)
        unread[f"n{number}"] = None
        nets.append(f"n{number}")
    outputs = tuple((net, net) for net in unread)
    return Circuit(name="random", inputs=tuple(nets[:inputs]), gates=tuple(made), outputs=outputs)


def _table(chance: random.Random, kinds: GateKinds, operands: int) -> str:
    match kinds:
        case "nor":
            return TABLES["NOR", 2]
        case "paper":
            return TABLES[_PAPER[chance.randrange(3)], 2]
        case _:
            return f"{chance.getrandbits(2**operands):0{2**operands}b}"
