"""Decoders that look up bits of their own sequence, at places that only the position table knows; made by hand."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from itertools import product

import numpy as np

from tests.handmade import decoder
from tm2tfr.transformer.gadgets import Unit, feed_forward, head
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Residual, Subspace, at
from tm2tfr.transformer.weights import Decoder, Layer

Look = tuple[tuple[int, int, int], str]
"""The places of the three bits that are looked up, and the truth table of the answer: eight bits as text."""
TOKENS = ("0", "1")
OPERANDS, CASES = ("a", "b", "c"), tuple("".join(bits) for bits in product("01", repeat=3))


def random_looks(positions: int, seed: int = 0) -> list[Look]:
    """One for each position, of places up to it; a few repeat a place or read the position itself."""
    chance = random.Random(seed)
    return [
        (tuple(chance.randrange(i + 1) for _ in OPERANDS), "".join(chance.choices("01", k=8)))  # type: ignore[misc]
        for i in range(positions)
    ]


def looking(looks: Sequence[Look]) -> Decoder:
    """Answers at position i with the bit of ``looks[i]``, by three heads with the scores ``2pj - j²``, and eight units."""
    spaces = (
        Subspace("bit"),
        *map(Subspace, ("one", "place", "square", "out")),
        Subspace("at", OPERANDS),
        Subspace("table", CASES),
        Subspace("operand", OPERANDS),
    )
    layout = Residual(spaces)
    heads = tuple(
        head(
            layout,
            f"read {name}",
            "",
            query=[{at("at", name): 2.0}, {"one": -1.0}],
            key=[{"place": 1.0}, {"square": 1.0}],
            carries=[({"bit": 1.0}, {at("operand", name): 1.0})],
        )
        for name in OPERANDS
    )
    units = []
    for case in CASES:
        signs = {at("operand", name): 1.0 if bit == "1" else -1.0 for name, bit in zip(OPERANDS, case, strict=True)}
        reads = {**signs, at("table", case): 1.0}
        units.append(Unit(case, reads, {"out": 1.0}, bias=-float(case.count("1"))))
    layer = Layer(name="gate", meaning="", source="", heads=heads, feed_forward=feed_forward(layout, units))
    made = decoder(
        layout,
        [{}, {"bit": 1.0}],
        [layer],
        [{}, {"out": 2.0}],
        vocabulary=TOKENS,
        bias=(1.0, 0.0),
        places={"1": {"one": 1.0}, "i": {"place": 1.0}, "i^2": {"square": 1.0}},
    )
    first, width = layout["at"].start, layout.width
    places = np.array([look[0] for look in looks], dtype=np.float64).reshape(-1, 3)
    bits = np.array([[float(bit) for bit in look[1]] for look in looks], dtype=np.float64).reshape(-1, 8)
    columns, rows = np.meshgrid(np.arange(len(looks)), first + np.arange(11), indexing="ij")
    table = Matrix((width, len(looks)), rows.ravel(), columns.ravel(), np.concatenate([places, bits], axis=1).ravel())
    return dataclasses.replace(made, position_table=table)


def looked(looks: Sequence[Look], prompt: Sequence[int]) -> list[int]:
    """Return what `looking` answers at each position, worked out from the looks alone."""
    bits: list[int] = []
    answers: list[int] = []
    for i, (places, table) in enumerate(looks):
        bits.append(prompt[i] if i < len(prompt) else answers[-1])
        answers.append(int(table[int("".join(str(bits[place]) for place in places), 2)]))
    return answers
