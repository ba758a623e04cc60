"""Grade 3: decoy heads, silent units and layers that do nothing, and heads that look alike.

What decoy heads write is read by silent units alone: units whose bias is so low that no input activates them, which
intervals show (`tm2tfr.lab.hidden.bounds`). These would write to what parts that matter read. So nothing is dead code, no
two decoys cancel, each attends in its own way and writes what it finds there; and it decides nothing.

Every head gets as many components as any other one: queries with keys that read a constant alone, which adds the same to
all scores, and values that are written to directions which nothing reads that matters. They are filled up until all heads
have the same norms. Units read constants, until their biases say nothing.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle

import numpy as np

from tm2tfr.lab.hidden.bounds import StreamBounds
from tm2tfr.lab.hidden.dead_code import BOUNDED, Profile
from tm2tfr.lab.hidden.dyadic import Dyadic
from tm2tfr.lab.hidden.wide import Room, Wide, WideHead, WideLayer, WideUnit
from tm2tfr.transformer.weights import Decoder

PER_COMPONENT = 4
"""The least number of entries of a component that is added."""
CLEAR = 0.5
"""By how much the interval of what a silent unit reads ends below 0, at the least: floats do not round it above."""
BIASES = (-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0)
"""What units have as their bias once they read constants."""
MOST_NORM, PARTS = 64.0, 8
"""The largest norm that units are given; what they read of constants is a multiple of 1/8."""


class Decoys:
    """What is added to a decoder in its wide stream, in place."""

    def __init__(self, wide: Wide, room: Room, seen: Profile, decoder: Decoder, chance: random.Random) -> None:
        self._wide, self._room, self._seen, self._chance = wide, room, seen, chance
        heads = [head for layer in wide.layers for head in layer.heads]
        self._masks = [head.mask for head in heads] or ["future"]
        self._soft = any(head.soft for head in heads)
        self._features = decoder.features
        self._bits = tuple(d for d in range(room.own) if seen.bits[d])
        self._answers = frozenset(np.flatnonzero(wide.unembedding.any(axis=0)).tolist())
        self._place = _place(wide, room, decoder, chance)

    def add(self) -> None:
        """Add them all."""
        layers = self._wide.layers
        self._junk()
        for _ in range(self._chance.randint(1, 2)):
            at = self._chance.randint(0, len(layers))
            while at and layers[at - 1].moved:  # what is to be rounded is rounded in the next layer
                at -= 1
            layers.insert(at, WideLayer(None, [], None, np.zeros(self._room.width)))
        most = max((len(layer.heads) for layer in layers), default=0)
        units = max((len(layer.units or ()) for layer in layers), default=0)
        bounds = StreamBounds.embedded(self._wide, self._features)
        for number, layer in enumerate(layers):
            many = most + self._chance.randint(0, 1) - len(layer.heads)
            layer.heads += [self._head(layers[: number + 1], bounds) for _ in range(many)]
            bounds = bounds.after_heads(layer.heads).after_units(layer.units or (), layer.offset)
        self._alike([head for layer in layers for head in layer.heads])
        bounds = StreamBounds.embedded(self._wide, self._features)
        every: list[WideUnit | None] = [unit for layer in layers for unit in layer.units or () if unit.of is not None]
        for number, layer in enumerate(layers):
            bounds = bounds.after_heads(layer.heads)
            many = max(2, units // 8 + self._chance.randint(0, 2))
            heard: list[list[int]] = [[] for _ in range(many)]
            for k, head in enumerate(head for head in layer.heads if head.of is None):  # or it would be dead code
                carried = (head.output @ head.value).any(axis=1)
                heard[k % many].append(self._chance.choice(np.flatnonzero(carried).tolist()))
            likes: list[WideUnit | None] = [u for u in layer.units or () if u.of is not None] or every or [None]
            silent = [self._silent(bounds, layers[number + 1 :], each, self._chance.choice(likes)) for each in heard]
            bounds = bounds.after_units(layer.units or (), layer.offset)
            layer.units = [*(layer.units or ()), *silent]
        self._units_alike([unit for layer in layers for unit in layer.units or () if unit.pair is None])

    def _junk(self) -> None:
        """Write something to the directions that nothing reads: what a token, and a constant, add."""
        for direction in self._room.junk:
            for token in range(self._wide.token.shape[1]):
                self._wide.token[direction, token] = self._chance.choice((-1.0, 0.0, 1.0))

    # ── decoy heads and silent units ────────────────────────────────────────────────────────────────────────
    def _head(self, layers: Sequence[WideLayer], bounds: StreamBounds) -> WideHead:
        """Return a decoy for the last of these layers: it attends to all, by position, or as a head of the original does.

        Args:
            bounds: of what it reads.
        """
        chance, room, mask, exactly = self._chance, self._room, self._chance.choice(self._masks), False
        query, key = np.zeros((2, 0, room.width))
        own = [head for layer in layers for head in layer.heads if head.of is not None and head.scores]
        way = chance.choice(("all", "position", "original", "original"))
        if way == "original" and own:
            like = chance.choice(own)
            query, key, mask = like.query * chance.choice((1.0, 2.0)), like.key.copy(), like.mask
            exactly = like.of not in self._seen.ties and any(like is head for head in layers[-1].heads)
        elif way != "all" and self._place is not None:
            query, key = np.zeros((1, room.width)), self._place[None, :]
            query[0, chance.choice(room.constants)] = sign = chance.choice((-1.0, 1.0))
            if self._bits and chance.random() < 0.5:
                query[0, chance.choice(self._bits)] = -2.0 * sign
            exactly = True
        # a mean is no exact number, and must not be mixed with those that are
        read, write, most = self._bounded(bounds), room.junk if exactly else room.noise, room.carried[0 if exactly else 1]
        size = min(chance.randint(1, max(1, most - 1)), len(read), len(write))
        values, outputs = np.zeros((2, size, room.width))
        columns = zip(chance.sample(read, size), chance.sample(write, size), strict=True)
        for component, (source, target) in enumerate(columns):
            values[component, source] = chance.choice((-1.0, 1.0))
            outputs[component, target] = chance.choice((-1.0, 1.0))
        return WideHead(None, query, key, values, outputs.T, mask, self._soft)

    def _silent(
        self, bounds: StreamBounds, behind: Sequence[WideLayer], heard: Sequence[int], like: WideUnit | None
    ) -> WideUnit:
        """Return a unit that no input activates; it reads what decoys write, and would write to what matters.

        Args:
            bounds: of what it reads.
            behind: the layers after its own.
            heard: directions to be read, since decoys write there.
            like: a unit of the original, whose entries it has elsewhere.
        """
        chance, room, reads, writes = self._chance, self._room, *np.zeros((2, self._room.width))
        sizes = [1.0, 1.0] if like is None else np.abs(like.reads[like.reads != 0]).tolist() or [1.0]
        heard = [d for d in heard if bounds.finite[d]]
        others = [d for d in (*self._bounded(bounds), *room.junk, *room.noise) if bounds.finite[d] and d not in heard]
        more = chance.sample(others, min(len(others), max(0, len(sizes) - len(heard))))
        for direction, size in zip((*heard, *more), cycle(chance.sample(sizes, len(sizes))), strict=False):
            below = (
                bounds.low[direction] >= 0 and chance.random() < 0.75
            )  # most read a bit, and 0 is the most that -1 makes
            reads[direction] = -size if below else size * chance.choice((-1.0, 1.0))
        sizes = [1.0] if like is None else np.abs(like.writes[like.writes != 0]).tolist() or [1.0]
        targets = self._read(behind)
        for direction, size in zip(chance.sample(targets, min(len(targets), len(sizes))), sizes, strict=False):
            writes[direction] = size * chance.choice((-1.0, 1.0))
        unit = WideUnit(None, reads, 0.0, writes)
        unit.bias = -(float(np.ceil(2 * (bounds.read(unit)[1] - CLEAR / 4))) / 2 + CLEAR)
        return unit

    def _bounded(self, bounds: StreamBounds) -> list[int]:
        """Return exact directions of the original, and constants, that stay near 0 on every input."""
        exact = set(self._room.exact)
        near = bounds.finite & (np.maximum(-bounds.low, bounds.high) <= BOUNDED)
        return [d for d in (*range(self._room.own), *self._room.constants) if near[d] and d in exact]

    def _units_alike(self, units: Sequence[WideUnit]) -> None:
        """Let units read two constants more: it changes their biases, and gives all the same norm, reads times writes."""
        biases = [self._chance.choice(BIASES) for _ in units]
        reads = [float(np.linalg.norm(unit.reads)) for unit in units]
        writes = [max(float(np.linalg.norm(unit.writes)), 1 / PARTS) for unit in units]
        changes = [unit.bias - bias for unit, bias in zip(units, biases, strict=True)]
        least = [w * (r**2 + c**2 / 2) ** 0.5 for r, w, c in zip(reads, writes, changes, strict=True)]
        target = min(MOST_NORM, max(least, default=0.0))
        for unit, bias, read, write, change in zip(units, biases, reads, writes, changes, strict=True):
            one, other = self._chance.sample(self._room.constants, 2)
            missing = (target / write) ** 2 - read**2  # a + b = change, and a² + b² is what is missing
            root = max(0.0, 2 * missing - change**2) ** 0.5 * self._chance.choice((-1.0, 1.0))
            part = round((change + root) / 2 * PARTS) / PARTS
            unit.reads[one] += change - part
            unit.reads[other] += part
            unit.bias = bias

    def _read(self, behind: Sequence[WideLayer]) -> list[int]:
        """Return what is read by parts that matter: of these layers, and by the unembedding."""
        found = set(self._answers)
        for layer in behind:
            for head in layer.heads:
                if head.of is not None:
                    forms = [m for m in (head.query, head.key, head.value) if len(m)]
                    found.update(int(d) for form in forms for d in np.flatnonzero(form.any(axis=0)))
            for unit in layer.units or ():
                if unit.of is not None:
                    found.update(int(d) for d in np.flatnonzero(unit.reads))
        there = sorted(d for d in found if d < self._room.own)
        exact = set(self._room.exact)
        return [d for d in there if d in exact] or there or list(self._room.constants)

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
