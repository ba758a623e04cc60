"""What formats define in one piece, as gates of at most three operands: wide gates, wide tables, covers of cubes.

Nothing recurses deeper than a table has operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tm2tfr.sources.circuit.building import TABLES, FreshNames, split
from tm2tfr.sources.circuit.netlist import MOST_OPERANDS, Gate

MOST_TABLE_OPERANDS = 16
"""The widest function that is written down as a table."""
_COMPLEMENT = str.maketrans("01", "10")


def complement(table: str) -> str:
    """Return the table of the complement."""
    return table.translate(_COMPLEMENT)


def halves(table: str) -> tuple[str, str]:
    """Return a table where its first operand is 0, and where it is 1."""
    return table[: len(table) // 2], table[len(table) // 2 :]


@dataclass(frozen=True)
class Cover:
    """A sum of products, or its complement, over any number of operands.

    Args:
        cubes: for each product a sign for each operand: 0, 1, or - where it does not matter.
        value: the bit of the net where a product is 1.
    """

    cubes: tuple[str, ...]
    value: str

    def table(self, operands: int) -> str:
        """Return the table, 2^operands bits."""
        rows = 2**operands
        every = 2**rows - 1
        ones = [every // (2 ** (rows >> place) + 1) for place in range(1, operands + 1)]  # where each operand is 1
        met = 0
        for cube in self.cubes:
            point = every
            for sign, one in zip(cube, ones, strict=True):
                if sign != "-":
                    point &= one if sign == "1" else every ^ one
            met |= point
        return f"{met if self.value == '1' else every ^ met:0{rows}b}"


NetFunction = str | Cover
"""A table over any number of operands, the name of a gate that `split` knows, or a cover."""


def gates_of(net: str, function: NetFunction, operands: Sequence[str], fresh: FreshNames) -> list[Gate]:
    """Return what drives `net` as gates in topological order, of which it is the last; the others have fresh names."""
    if isinstance(function, Cover):
        if len(operands) > MOST_OPERANDS and _fewer_as_sum(net, function, operands):
            return _renamed(net, _sum(net, function, operands, fresh))
        function = function.table(len(operands))
    if function[0] not in "01":
        return split(net, function, operands, fresh)
    if len(operands) > MOST_OPERANDS:
        return _renamed(net, _shannon(net, function, operands, fresh))
    return [Gate(net, function, tuple(operands))]


def _fewer_as_sum(net: str, cover: Cover, operands: Sequence[str]) -> bool:
    """Return whether a cover takes fewer gates as a sum of products than as a table, or is too wide for a table."""
    if len(operands) > MOST_TABLE_OPERANDS:
        return True
    products = len(_sum(net, cover, operands, FreshNames(())))
    return products < len(_shannon(net, cover.table(len(operands)), operands, FreshNames(())))


def _renamed(net: str, gates: list[Gate]) -> list[Gate]:
    last = gates.pop()
    return [*gates, Gate(net, last.table, last.operands)]


def _sum(net: str, cover: Cover, operands: Sequence[str], fresh: FreshNames) -> list[Gate]:
    """Return an OR, or a NOR, of ANDs whose first rank takes each operand as its sign has it."""
    gates: list[Gate] = []
    products = []
    for cube in cover.cubes:
        literals = [(operand, sign) for operand, sign in zip(operands, cube, strict=True) if sign != "-"]
        if not literals:
            return [Gate(net, cover.value)]
        factors = []
        for first in range(0, len(literals), MOST_OPERANDS):
            some = literals[first : first + MOST_OPERANDS]
            point = int("".join(sign for _, sign in some), 2)
            table = "".join("01"[value == point] for value in range(2 ** len(some)))
            if table == "01":
                factors.append(some[0][0])
                continue
            gates.append(Gate(fresh(net), table, tuple(operand for operand, _ in some)))
            factors.append(gates[-1].net)
        if len(factors) > 1:
            gates += split(fresh(net), "AND", factors, fresh)
        products.append(gates[-1].net if len(factors) > 1 else factors[0])
    return [*gates, *split(net, "OR" if cover.value == "1" else "NOR", products, fresh)]


def _shannon(net: str, table: str, operands: Sequence[str], fresh: FreshNames) -> list[Gate]:
    """Return a table by halves, where the first operand is 0 and where it is 1; equal tables are made once."""
    gates: list[Gate] = []
    known: dict[str, str] = {}

    def net_of(table: str) -> str:
        while len(table) > 1 and len(set(halves(table))) == 1:
            table = halves(table)[0]
        rest = tuple(operands[len(operands) - (len(table).bit_length() - 1) :])
        if table == "01":
            return rest[0]
        if table not in known:
            made = table, rest
            if len(rest) > MOST_OPERANDS:
                low, high = halves(table)
                made = TABLES["MUX", 3], (rest[0], net_of(low), net_of(high))
            gates.append(Gate(fresh(net), *made))
            known[table] = gates[-1].net
        return known[table]

    top = net_of(table)
    return gates if gates and gates[-1].net == top else [*gates, Gate(net, "01", (top,))]
