"""Circuits built gate by gate, without needless gates: constants are folded, equal gates shared, useless ones left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache

from tm2tfr.sources.circuit.netlist import MOST_OPERANDS, NAMED, Gate

# ── Gates by name, over any number of operands, as gates of at most three.
TABLES: Mapping[tuple[str, int], str] = {
    **{(kind, k): table for k, named in NAMED.items() for table, kind in named.items()},
    **{(kind, 1): "01" for kind in ("AND", "OR", "XOR")},
    **{(kind, 1): "10" for kind in ("NAND", "NOR", "XNOR")},
    **{(kind, 0): "0" for kind in ("OR", "XOR", "NAND")},
    **{(kind, 0): "1" for kind in ("AND", "NOR", "XNOR")},
}
"""The name of a gate and the number of its operands -> its table. Over one operand AND is BUF, NAND is NOT."""
ASSOCIATIVE: Mapping[str, str] = {"AND": "AND", "OR": "OR", "XOR": "XOR", "NAND": "AND", "NOR": "OR", "XNOR": "XOR"}
"""A gate of any number of operands -> the one that combines some of them. XNOR of many is the negation of their XOR."""


class FreshNames:
    """Names that nothing has yet: ``n_1``, ``n_2``, … for the stem ``n``.

    Args:
        taken: the names that exist.
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._last: dict[str, int] = {}

    def __call__(self, stem: str) -> str:
        """Return a name that starts with `stem`, and take it."""
        number = self._last.get(stem, 0) + 1
        while (name := f"{stem}_{number}") in self._taken:
            number += 1
        self._last[stem] = number
        self._taken.add(name)
        return name


def gate(net: str, kind: str, *operands: str) -> Gate:
    """Return the gate called `kind` over at most three operands; a KeyError if `TABLES` has no such gate."""
    return Gate(net, TABLES[kind, len(operands)], operands)


def split(net: str, kind: str, operands: Sequence[str], fresh: FreshNames) -> list[Gate]:
    """Return the gate called `kind` over any number of operands as a balanced tree of gates of at most three.

    The last gate is the one that drives `net`; the others have fresh names after it.

    Args:
        net: the net to drive.
        kind: a key of `ASSOCIATIVE`; with at most three operands, the name of any gate.
        operands: the nets it reads.
        fresh: the names that can be used.
    """
    found: list[Gate] = []
    waiting, first = list(operands), 0
    while len(waiting) - first > MOST_OPERANDS:
        found.append(gate(fresh(net), ASSOCIATIVE[kind], *waiting[first : first + MOST_OPERANDS]))
        waiting.append(found[-1].net)
        first += MOST_OPERANDS
    return [*found, gate(net, kind, *waiting[first:])]


Signal = str | int
"""A net by its name, or a constant, 0 or 1."""

TableOver = tuple[str, tuple[str, ...]]
"""A table and the nets it is over."""


class Builder:
    """The gates of a circuit so far, in topological order.

    Args:
        inputs: the names of its inputs.
    """

    def __init__(self, inputs: Iterable[str]) -> None:
        self._inputs = tuple(inputs)
        self._gates: list[Gate] = []
        self._drivers: dict[TableOver, str] = {}

    def gate(self, net: str, kind: str, *operands: Signal) -> Signal:
        """Return the signal of a gate by its name; see `add`."""
        return self.add(net, TABLES[kind, len(operands)], *operands)

    def add(self, net: str, table: str, *operands: Signal) -> Signal:
        """Return the signal of a gate: a constant or another net if no gate is needed, otherwise `net`, newly driven.

        Args:
            net: a name that no net has yet.
            table: as for `Gate`.
            operands: signals that this builder returned, or inputs.
        """
        table, nets = folded(table, operands)
        if not nets:
            return int(table)
        if table == "01":
            return nets[0]
        known = self._drivers.setdefault((table, tuple(sorted(nets)) if symmetric(table) else nets), net)
        if known == net:
            self._gates.append(Gate(net, table, nets))
        return known

    def finished(self, outputs: Mapping[str, Signal]) -> tuple[tuple[Gate, ...], tuple[tuple[str, str], ...]]:
        """Return the gates that `outputs` need, and the outputs with their nets; a constant has a gate of its name."""
        gates = needed(self._gates, (net for net in outputs.values() if isinstance(net, str)))
        taken = {*self._inputs, *(gate.net for gate in gates)}
        constants: dict[int, str] = {}
        for name, net in outputs.items():
            if isinstance(net, int) and net not in constants:
                constants[net] = FreshNames(taken)(name) if name in taken else name
                taken.add(constants[net])
        gates += (Gate(net, str(bit)) for bit, net in constants.items())
        return tuple(gates), tuple((name, net if isinstance(net, str) else constants[net]) for name, net in outputs.items())


def needed(gates: Sequence[Gate], nets: Iterable[str]) -> list[Gate]:
    """Return those of `gates`, in topological order, that `nets` depend on."""
    reached, found = set(nets), []
    for gate in reversed(gates):
        if gate.net in reached:
            reached.update(gate.operands)
            found.append(gate)
    return found[::-1]


def folded(table: str, operands: Sequence[Signal]) -> TableOver:
    """Return the same function over distinct nets, each of which matters: ``XOR(a, 1)`` is ``NOT(a)``."""
    nets = list(dict.fromkeys(operand for operand in operands if isinstance(operand, str)))
    pattern = tuple(nets.index(operand) if isinstance(operand, str) else operand - 2 for operand in operands)
    table, kept = _folded(table, pattern, len(nets))
    return table, tuple(nets[place] for place in kept)


@cache
def symmetric(table: str) -> bool:
    """Return whether the order of the operands does not matter."""
    ones = [case.bit_count() for case in range(len(table))]
    return all(len({bit for bit, n in zip(table, ones, strict=True) if n == number}) == 1 for number in set(ones))


@lru_cache(maxsize=100_000)
def _folded(table: str, pattern: tuple[int, ...], nets: int) -> tuple[str, tuple[int, ...]]:
    """Return the table over the nets that matter, and their places.

    Args:
        pattern: for each operand the place of its net, or a constant less 2.
        nets: how many nets there are.
    """
    bits = []
    for case in range(2**nets):
        row = 0
        for place in pattern:
            row = 2 * row + (case >> (nets - 1 - place) & 1 if place >= 0 else place + 2)
        bits.append(table[row])
    kept = list(range(nets))
    for place in range(nets):
        low = [bits[case] for case in range(len(bits)) if not case >> (len(kept) - 1 - kept.index(place)) & 1]
        high = [bits[case] for case in range(len(bits)) if case >> (len(kept) - 1 - kept.index(place)) & 1]
        if low == high:
            bits = low
            kept.remove(place)
    return "".join(bits), tuple(kept)
