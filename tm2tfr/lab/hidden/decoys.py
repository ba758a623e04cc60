"""Grade 3: decoy heads, dead units and layers that do nothing, and heads that look alike.

Decoys write to what is read by parts that matter, and their sum is 0: see `tm2tfr.lab.hidden.decoys`. Every head gets
as many components as any other one: queries with keys that read a constant alone, which adds the same to all scores, and
values that are written to directions which nothing reads that matters. They are filled up until all heads have the same
norms.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise

import numpy as np

from tm2tfr.lab.hidden.dead_code import Profile
from tm2tfr.lab.hidden.dyadic import Dyadic
from tm2tfr.lab.hidden.wide import Room, Wide, WideHead, WideLayer, WideUnit
from tm2tfr.transformer.weights import Decoder, Mask

PER_COMPONENT = 4
"""The least number of entries of a component that is added."""


class Decoys:
    """What is added to a decoder in its wide stream, in place."""

    def __init__(self, wide: Wide, room: Room, seen: Profile, chance: random.Random) -> None:
        self._wide, self._room, self._seen, self._chance = wide, room, seen, chance
        heads = [head for layer in wide.layers for head in layer.heads]
        self._masks = [head.mask for head in heads] or ["future"]
        self._soft = any(head.soft for head in heads)

    def add(self, cancelling: Cancelling) -> None:
        """Add them all; cancelling: draws those whose sum is 0."""
        self._junk()
        for _ in range(self._chance.randint(1, 2)):
            layers = self._wide.layers
            at = self._chance.randint(0, len(layers))
            while at and layers[at - 1].moved:  # what is to be rounded is rounded in the next layer
                at -= 1
            layers.insert(at, WideLayer(None, [], None, np.zeros(self._room.width)))
        most = max((len(layer.heads) for layer in self._wide.layers), default=0)
        units = max((len(layer.units or ()) for layer in self._wide.layers), default=0)
        for number, layer in enumerate(self._wide.layers):
            for many in _shares(most + self._chance.randint(0, 1) - len(layer.heads), self._chance):
                mask = self._chance.choice(self._masks)
                layer.heads += cancelling.heads(many, self._wide.layers[number:], mask, soft=self._soft)
            dead: list[WideUnit] = []
            for many in _shares(max(2, units // 8 + self._chance.randint(0, 2)), self._chance):
                dead += cancelling.units(many, self._wide.layers[number + 1 :])
            for unit in dead:
                fill(unit.writes, self._room.noise, 1, self._chance)
            layer.units = [*(layer.units or ()), *dead]
        self._alike([head for layer in self._wide.layers for head in layer.heads])

    def _junk(self) -> None:
        """Write something to the directions that nothing reads: what a token, and a constant, add."""
        for direction in self._room.junk:
            for token in range(self._wide.token.shape[1]):
                self._wide.token[direction, token] = self._chance.choice((-1.0, 0.0, 1.0))

    # ── heads that look alike ───────────────────────────────────────────────────────────────────────────────
    def _alike(self, heads: list[WideHead]) -> None:
        room, exact = self._room, set(self._room.exact)
        forms = [self._parts(head) for head in heads]
        most = [max((_square(form[n]) for form in forms), default=0.0) for n in range(6)]
        extra = [
            size * PER_COMPONENT for size in (room.components, room.components, *(c for c in room.carried for _ in (0, 1)))
        ]
        targets = [float(np.ceil(square)) + more for square, more in zip(most, extra, strict=True)]
        loose, asked = list(room.loose), [form[0] for head, form in zip(heads, forms, strict=True) if self._plain(head)]
        loosest = max((_square(query[:, loose]) for query in asked), default=0.0)
        loosest += PER_COMPONENT if loosest else 0.0
        targets[0] += loosest
        for head, (asking, key, *carried) in zip(heads, forms, strict=True):
            ties = head.of in self._seen.ties
            unlike = head.of is not None and ties and head.scores
            more = 0.0 if unlike else max(0.0, loosest - _square(asking[:, loose]))
            query, added = self._grown(asking, room.components, _square(asking) + more, room.noise, few=True)
            query = self._grown(query, room.components, targets[0], room.bounded, only=added)[0]
            head.query, head.key = query, self._grown(key, room.components, targets[1], room.constants, only=added)[0]
            values, outputs = [], []
            for part, size in enumerate(room.carried):
                value, output = carried[2 * part], carried[2 * part + 1]
                read = room.constants if part == 0 else [d for d in room.bounded if d in exact]
                write = room.junk if part == 0 else room.noise
                value, added = self._grown(value, size, targets[2 + 2 * part], read)
                values.append(value)
                outputs.append(self._grown(output, size, targets[3 + 2 * part], write, only=added)[0])
            head.value, head.output = np.concatenate(values), np.concatenate(outputs).T

    def _plain(self, head: WideHead) -> bool:
        """Return whether it is a head of the original that never has a tie."""
        return head.of is not None and head.of not in self._seen.ties

    def _parts(self, head: WideHead) -> tuple[Dyadic, ...]:
        """Return queries, keys, and the values and outputs of the components that write exactly, and of the others."""
        values, outputs = merged(head.value, head.output.T)
        exactly = outputs[:, list(self._room.exact)].any(axis=1) if len(outputs) else np.zeros(0, dtype=bool)
        query, key = head.query, head.key
        if not head.scores:
            query, key = query[:0], key[:0]
        return query, key, values[exactly], outputs[exactly], values[~exactly], outputs[~exactly]

    def _grown(
        self,
        forms: Dyadic,
        size: int,
        target: float,
        directions: Iterable[int],
        only: range | None = None,
        *,
        few: bool = False,
    ) -> tuple[Dyadic, range]:
        """Return linear forms with more of them behind, until there are `size` and their squares add up to `target`.

        Args:
            only: which are added to; None: those that are new.
            few: whether few large entries are added, and not many small ones.
        """
        start, places = len(forms), list(directions)
        found = np.concatenate([forms, np.zeros((size - start, self._room.width))])
        new = range(start, size) if only is None else only
        free = [(row, column) for row in new for column in places if not found[row, column]]
        self._chance.shuffle(free)
        first = list(self._one_each(new, places, free))
        free = [*first, *(each for each in free if each not in set(first))]  # no row stays empty
        for (row, column), entry in zip(
            free, self._entries(target - _square(found), 0 if few else len(free)), strict=False
        ):
            found[row, column] = entry * self._chance.choice((-1.0, 1.0))
        return found, new

    def _one_each(self, rows: Iterable[int], places: list[int], free: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """Yield a free place in each row, in columns of their own as far as there are enough: forms are independent."""
        columns = self._chance.sample(places, len(places))
        for n, row in enumerate(rows):
            if columns and (row, columns[n % len(columns)]) in free:
                yield row, columns[n % len(columns)]

    def _entries(self, square: float, most: int) -> list[float]:
        """Return at most `most` powers of two whose squares add up to `square`, none above 1 if there is room."""
        quarters, sizes = max(0, round(4 * square)), [0] * 40
        for power in range(len(sizes)):
            quarters, sizes[power] = divmod(quarters, 4)
        while (largest := max((n for n, many in enumerate(sizes) if many), default=0)) > 1 and sum(sizes) + 3 <= most:
            sizes[largest], sizes[largest - 1] = sizes[largest] - 1, sizes[largest - 1] + 4
        found = [2.0 ** (power - 1) for power, many in enumerate(sizes) for _ in range(many)]
        self._chance.shuffle(found)
        return found


def _shares(many: int, chance: random.Random) -> list[int]:
    """Return groups of 2 or 3 that are `many` together; of 1 there are 2."""
    found: list[int] = []
    while many > 0:
        found.append(3 if many == 3 or (many > 4 and chance.random() < 0.3) else 2)
        many -= found[-1]
    return found


def merged(values: Dyadic, outputs: Dyadic) -> tuple[Dyadic, Dyadic]:
    """Return what a head carries with components that read the same as one: (components, width) each."""
    found: dict[bytes, list[Dyadic]] = {}
    for value, output in zip(values, outputs, strict=True):
        if value.any():
            found.setdefault((value + 0.0).tobytes(), [value, np.zeros_like(output)])[1] += output
    if not found:
        return values[:0], outputs[:0]
    return np.array([value for value, _ in found.values()]), np.array([output for _, output in found.values()])


def _square(forms: Dyadic) -> float:
    return float((forms * forms).sum())


# ── Decoys whose sum is 0: each of them writes to what parts that matter read, and together they write nothing.
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
    _groups: Iterator[int] = field(default_factory=count)

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
