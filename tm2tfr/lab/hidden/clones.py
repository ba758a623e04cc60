"""Decoy heads are clones: each has the matrices of a head of the original, and writes to other directions.

A clone attends as its head does, carries the same number of components of the same sizes, and writes them to directions
that only silent units read. All that orthogonal maps leave as it is, such as norms and singular values of queries, keys,
values, outputs and their products, is therefore distributed among decoys as among the heads that matter.

Floats decide where a clone may be. A head that attends to one position carries numbers that floats hold exactly, and its
clone writes them to exact directions; so it must attend to one position too. It does wherever its queries and keys read the
same numbers: in the layers between which nothing writes to the directions that they read. A head that takes means, or has
ties, writes to inexact directions, and a clone of it may be anywhere.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tm2tfr.lab.hidden.dead_code import Profile
from tm2tfr.lab.hidden.dyadic import Dyadic
from tm2tfr.lab.hidden.wide import Room, WideHead, WideLayer

Flags = NDArray[np.bool_]


def merged(values: Dyadic, outputs: Dyadic) -> tuple[Dyadic, Dyadic]:
    """Return what a head carries with components that read the same as one: (components, width) each."""
    found: dict[bytes, list[Dyadic]] = {}
    for value, output in zip(values, outputs, strict=True):
        if value.any():
            found.setdefault((value + 0.0).tobytes(), [value, np.zeros_like(output)])[1] += output
    if not found:
        return values[:0], outputs[:0]
    return np.array([value for value, _ in found.values()]), np.array([output for _, output in found.values()])


class Clones:
    """The clones of the heads of a decoder in its wide stream.

    Args:
        layers: those of the original, and empty ones between them, without decoys.
    """

    def __init__(self, layers: Sequence[WideLayer], room: Room, seen: Profile, chance: random.Random) -> None:
        self._room, self._seen, self._chance = room, seen, chance
        self._heads = [(number, head) for number, layer in enumerate(layers) for head in layer.heads]
        self._touched = [_written(layer) for layer in layers]

    def assigned(self, slots: Sequence[int]) -> list[list[tuple[WideHead, bool]]]:
        """Return for each layer the heads to be cloned there, and whether exactly; each head about as often as any other.

        Args:
            slots: how many clones each layer needs.
        """
        every_head = range(len(self._heads))
        exactly = [[n for n in every_head if self._may_be(n, layer)] for layer in range(len(slots))]
        usable = [heads or list(every_head) for heads in exactly]
        every = [layer for layer, many in enumerate(slots) for _ in range(many) if usable[layer]]
        self._chance.shuffle(every)
        counts = [0] * len(self._heads)
        found: list[list[tuple[WideHead, bool]]] = [[] for _ in slots]
        for layer in sorted(every, key=lambda layer: len(usable[layer])):  # where there is little choice first
            least = min(counts[n] for n in usable[layer])
            chosen = self._chance.choice([n for n in usable[layer] if counts[n] == least])
            counts[chosen] += 1
            found[layer].append((self._heads[chosen][1], bool(exactly[layer])))
        return found

    def _may_be(self, number: int, layer: int) -> bool:
        """Return whether a head may be cloned in a layer: it has ties, or reads the same numbers there."""
        own, head = self._heads[number]
        if head.of in self._seen.ties:
            return True
        read = (
            (head.query.any(axis=0) | head.key.any(axis=0)) if len(head.query) else np.zeros(self._room.width, dtype=bool)
        )
        return not any((self._touched[between] & read).any() for between in range(min(own, layer), max(own, layer)))

    def clone(
        self, like: WideHead, near: Sequence[int], near_loose: Sequence[int], *, exactly: bool
    ) -> tuple[WideHead, dict[int, int]]:
        """Return a clone of a head, and direction that the head writes to -> the one that the clone does.

        Args:
            near, near_loose: the directions that a clone may read, for what is written exactly and for the rest.
            exactly: whether it may write to exact directions.
        """
        values, outputs = merged(like.value, like.output.T)
        exact: Flags = np.isin(np.arange(self._room.width), self._room.exact)
        if not exactly:
            exact[:] = False
            values, outputs = values[: self._room.carried[1] - 1], outputs[: self._room.carried[1] - 1]
        targets = self._targets(outputs, exact)
        written = np.zeros_like(outputs)
        for direction, target in targets.items():
            written[:, target] = outputs[:, direction]
        certain = outputs[:, exact].any(axis=1)
        read = np.zeros_like(values)
        for part, places in ((certain, near), (~certain, near_loose)):
            read[part] = self._moved(values[part], places)
        return WideHead(None, like.query.copy(), like.key.copy(), read, written.T, like.mask, like.soft), targets

    def _targets(self, outputs: Dyadic, exact: Flags) -> dict[int, int]:
        """Return direction -> the one that a clone writes to in its place."""
        found: dict[int, int] = {}
        for part, places in ((exact, self._room.heard[0]), (~exact, self._room.heard[1])):
            rows = np.flatnonzero(outputs.any(axis=0) & part).tolist() if len(outputs) else []
            drawn = self._chance.sample(places, min(len(places), len(rows)))
            found |= dict(zip(rows, drawn, strict=False))
        return found

    def _moved(self, values: Dyadic, places: Sequence[int]) -> Dyadic:
        """Return values that read only `places`: what they read there, and others in the place of the rest."""
        columns = np.flatnonzero(values.any(axis=0)).tolist() if len(values) else []
        stay = [d for d in columns if d in set(places)]
        free = [d for d in places if d not in stay]
        leave = [d for d in columns if d not in stay]
        drawn = self._chance.sample(free, min(len(free), len(leave)))
        found = np.zeros_like(values)
        for direction, target in (*zip(stay, stay, strict=True), *zip(leave, drawn, strict=False)):
            found[:, target] = values[:, direction]
        return found


def _written(layer: WideLayer) -> Flags:
    """Return for each direction whether a layer writes to it."""
    found: Flags = layer.offset != 0
    for head in layer.heads:
        found = found | head.output.any(axis=1)
    for unit in layer.units or ():
        found = found | (unit.writes != 0)
    return found
