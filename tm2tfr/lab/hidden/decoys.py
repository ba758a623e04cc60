"""Grade 3: decoy heads, dead units and layers that do nothing, and heads that look alike.

Decoys write to what is read by parts that matter, and their sum is 0: see `tm2tfr.lab.hidden.cancelling`. Every head gets
as many components as any other one: queries with keys that read a constant alone, which adds the same to all scores, and
values that are written to directions which nothing reads that matters. They are filled up until all heads have the same
norms.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

import numpy as np

from tm2tfr.lab.hidden.cancelling import Cancelling, fill
from tm2tfr.lab.hidden.dead_code import Profile
from tm2tfr.lab.hidden.dyadic import Dyadic
from tm2tfr.lab.hidden.wide import Room, Wide, WideHead, WideLayer, WideUnit

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
        """Return at most so many powers of two whose squares add up to `square`, none above 1 if there is room."""
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
