"""Decoys whose sum is 0: each of them writes to what parts that matter read, and together they write nothing.

Taking out what nothing reads, from the unembedding backwards, finds none of these: a product of matrices cannot tell that
what one of them adds another one takes away. Heads of a group have the same scores but for what is the same for all keys of
a position, so that they attend alike for every input, and their outputs times values add up to 0. Units of a group are the
same ReLU(a), read at different scales and with constants that add up to 0, and their writes add up to 0. To take out one of
a group changes answers; to take out all of them does not.

Floats keep the sum 0 if a mean over attended positions is not rounded. So these heads attend to one position alone, the
first or last one, as bits of the stream may say, or carry constants.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise
from typing import Any

import numpy as np

from tm2tfr.lab.hidden.dead_code import Profile
from tm2tfr.lab.hidden.dyadic import Dyadic
from tm2tfr.lab.hidden.wide import Room, Wide, WideHead, WideLayer, WideUnit
from tm2tfr.transformer.weights import Decoder, Mask

MOST_CARRIED = 2
"""Components of the value of such a head, at most."""
SHARP = 0.5
"""The share of groups that attend to one position; the others take means, as some heads of the original do."""


@dataclass
class Cancelling:
    """What groups are drawn from.

    Args:
        place: (width,) a form that is another number at every position, in every layer; None: there is none.
        bits: directions that are 0 or 1.
        answers: what the unembedding reads.
    """

    room: Room
    chance: random.Random
    place: Dyadic | None
    bits: tuple[int, ...]
    answers: frozenset[int]
    _groups: Any = field(default_factory=count)

    @classmethod
    def of(cls, wide: Wide, room: Room, seen: Profile, decoder: Decoder, chance: random.Random) -> Cancelling:
        """Return it for a decoder, before anything is added to its wide stream but constants."""
        bits = tuple(d for d in range(room.own) if seen.bits[d])
        answers = frozenset(np.flatnonzero(wide.unembedding.any(axis=0)).tolist())
        return cls(room, chance, _place(wide, room, decoder, chance), bits, answers)

    def heads(self, many: int, behind: Sequence[WideLayer], mask: Mask, *, soft: bool) -> list[WideHead]:
        """Return a group of heads; behind: the layers from theirs on."""
        chance, room, group = self.chance, self.room, next(self._groups)
        query, key = np.zeros((2, 0, room.width))
        carried = list(room.constants)
        if self.place is not None and chance.random() < SHARP:
            query, key = np.zeros((1, room.width)), self.place[None, :]
            query[0, chance.choice(room.constants)] = sign = chance.choice((-1.0, 1.0))
            if self.bits and chance.random() < SHARP:
                query[0, chance.choice(self.bits)] = -2.0 * sign
            carried = list(self.bits or room.constants)
        targets = self._read(behind, own=True)
        size = min(MOST_CARRIED, room.carried[0] - 1, len(carried), len(targets))
        values = np.zeros((size, room.width))
        for component, direction in enumerate(chance.sample(carried, size)):
            values[component, direction] = chance.choice((-1.0, 1.0))
        outputs = [np.zeros((size, room.width)) for _ in range(many)]
        for component in range(size):
            for (first, second), (direction, sign) in zip(pairwise(outputs), self._steps(targets), strict=False):
                first[component, direction] += sign
                second[component, direction] -= sign
        return [WideHead(None, query.copy(), key.copy(), values.copy(), o.T, mask, soft, group) for o in outputs]

    def units(self, many: int, behind: Sequence[WideLayer]) -> list[WideUnit]:
        """Return a group of units; behind: the layers after theirs."""
        chance, room, group = self.chance, self.room, next(self._groups)
        reads, bias = np.zeros(room.width), float(chance.randint(-2, 1))
        fill(reads, room.bounded, 3, chance)
        targets, found = self._read(behind, own=False), []
        for _ in range(many):
            scale, own = 2.0 ** chance.randint(-1, 1), np.zeros(room.width)
            fill(own, room.constants, 2, chance)
            found.append(
                WideUnit(None, reads * scale + own, bias * scale - own.sum(), np.zeros(room.width), scale, group=group)
            )
        for (first, second), (direction, sign) in zip(pairwise(found), self._steps(targets), strict=False):
            first.writes[direction] += sign / first.scale
            second.writes[direction] -= sign / second.scale
        return found

    def _steps(self, targets: Sequence[int]) -> Iterator[tuple[int, float]]:
        """Yield directions with signs: what one part adds there, the next one takes away, and no step undoes the last."""
        last = None
        while True:
            step = self.chance.choice(targets), self.chance.choice((-1.0, 1.0))
            if step != last:
                yield step
                last = step

    def _read(self, behind: Sequence[WideLayer], *, own: bool) -> list[int]:
        """Return what is read by parts that matter: of these layers, and by the unembedding.

        Args:
            own: whether the heads of the first of these layers come too early.
        """
        found = set(self.answers)
        for number, layer in enumerate(behind):
            for head in layer.heads if number or not own else ():
                if head.of is not None:
                    forms = [m for m in (head.query, head.key, head.value) if len(m)]
                    found.update(int(d) for form in forms for d in np.flatnonzero(form.any(axis=0)))
            for unit in layer.units or ():
                if unit.of is not None:
                    found.update(int(d) for d in np.flatnonzero(unit.reads))
        there = sorted(d for d in found if d < self.room.own)
        exact = set(self.room.exact)
        return [d for d in there if d in exact] or there or list(self.room.constants)


def _place(wide: Wide, room: Room, decoder: Decoder, chance: random.Random) -> Dyadic | None:
    """Return a form, (width,), that is another number at every position, of directions that only positions write to."""
    found = np.zeros(wide.width)
    fixed = [d for d in room.exact if d < room.own and not _written(wide, d)]
    table = np.zeros((wide.width, 0)) if wide.table is None else wide.table
    if "i" in decoder.features:
        column = decoder.features.index("i")
        for direction in fixed:
            if np.flatnonzero(wide.position[direction]).tolist() == [column] and not table[direction].any():
                found[direction] = 1.0
                return found
    fixed = [d for d in fixed if table[d].any() and not wide.position[d].any()]
    found[fixed] = np.array(chance.sample(range(1, len(fixed) + 1), len(fixed))) / 4
    told = found @ table
    return found if len(told) and len(set(told.tolist())) == len(told) else None


def _written(wide: Wide, direction: int) -> bool:
    """Return whether a token or a layer writes to a direction."""
    if wide.token[direction].any():
        return True
    return any(
        bool(layer.offset[direction])
        or any(head.output[direction].any() for head in layer.heads)
        or any(unit.writes[direction] for unit in layer.units or ())
        for layer in wide.layers
    )


def fill(form: Dyadic, directions: Iterable[int], many: int, chance: random.Random) -> None:
    """Set entries of a form, (width,), in some of these directions, at most so many, to 1 or -1."""
    places = list(directions)
    for place in chance.sample(places, min(many, len(places))):
        form[place] = chance.choice((-1.0, 1.0))
