"""Random circuits, the same for the same seed."""

from __future__ import annotations

import random
from typing import Literal, get_args

from tm2tfr.sources.circuit.netlist import Circuit, Gate
from tm2tfr.sources.circuit.splitting import TABLES

Kinds = Literal["any", "two", "paper", "nor"]
KINDS: tuple[Kinds, ...] = get_args(Kinds)
"""Any table over one to three operands; any over two; NOR, AND and XOR over two; NOR alone."""
_PAPER = ("NOR", "AND", "XOR")


def random_circuit(*, inputs: int, gates: int, seed: int, kinds: Kinds) -> Circuit:
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


def _table(chance: random.Random, kinds: Kinds, operands: int) -> str:
    match kinds:
        case "nor":
            return TABLES["NOR", 2]
        case "paper":
            return TABLES[_PAPER[chance.randrange(3)], 2]
        case _:
            return f"{chance.getrandbits(2**operands):0{2**operands}b}"
