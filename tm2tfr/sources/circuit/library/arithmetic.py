"""Adders, a multiplier and a comparator."""

from __future__ import annotations

from typing import Literal, get_args

from tm2tfr.sources.circuit.building import Builder, Signal
from tm2tfr.sources.circuit.netlist import Circuit, Gate
from tm2tfr.sources.circuit.splitting import FreshNames, gate, split

Order = Literal["paper-1", "paper-2"]
ORDERS: tuple[Order, ...] = get_args(Order)
"""The two representations of Section 4: one place after the other, or all intermediates before the sum."""


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


def binary_adder(*, bits: int, order: Order) -> Circuit:
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
