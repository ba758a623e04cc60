"""Gates by name, over any number of operands, as gates of at most three."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tm2tfr.sources.circuit.netlist import MOST_OPERANDS, NAMED, Gate

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
