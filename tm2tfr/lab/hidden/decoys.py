"""Grade 3: decoy heads, silent units and layers that do nothing, and heads that look alike.

Decoy heads are clones of the original's heads (`tm2tfr.lab.hidden.clones`). What they write is read by *silent units*
alone: units whose bias is so low that no input activates them, which intervals show (`tm2tfr.lab.hidden.bounds`). Silent
units are modelled on units of the original in the same way: they read what decoys write where their model reads what heads
write, with entries of the same sizes, and would write to what parts that matter read. So no decoy is dead code, no two
decoys cancel, and their weights have the sizes that the original's weights have.

Every head gets as many components as any other one: queries with keys that read a constant alone, which adds the same to
all scores, and values that are written to directions which nothing reads. They are filled up until all heads have the same
norms. Units read constants, until their biases say nothing.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from tm2tfr.lab.hidden.bounds import StreamBounds
from tm2tfr.lab.hidden.clones import Clones, merged
from tm2tfr.lab.hidden.dead_code import BOUNDED, Profile
from tm2tfr.lab.hidden.dyadic import Dyadic
from tm2tfr.lab.hidden.wide import Room, Wide, WideHead, WideLayer, WideUnit
from tm2tfr.transformer.weights import Decoder

SHARE = 8
"""The number of units of the largest layer for each silent unit that a layer gets at least."""
PER_COMPONENT = 4
"""The least number of entries of a component that is added."""
CLEAR = 0.5
"""The least distance below 0 at which the interval of a silent unit's input ends: floats do not round it above 0."""
BIASES = (-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0)
"""What units have as their bias once they read constants."""
MOST_NORM, PARTS = 64.0, 8
"""The largest norm that units are given; what they read of constants is a multiple of 1/8."""


class Decoys:
    """What is added to a decoder in its wide stream, in place."""

    def __init__(self, wide: Wide, room: Room, seen: Profile, decoder: Decoder, chance: random.Random) -> None:
        self._wide, self._room, self._seen, self._chance = wide, room, seen, chance
        self._features = decoder.features
        self._answers = frozenset(np.flatnonzero(wide.unembedding.any(axis=0)).tolist())
        self._like: dict[int, WideHead] = {}
        self._targets: dict[int, dict[int, int]] = {}

    def add(self) -> None:
        """Add them all."""
        layers = self._wide.layers
        self._junk()
        for _ in range(self._chance.randint(1, 2)):
            at = self._chance.choice(_balancing(layers))
            while at and layers[at - 1].moved:  # what is to be rounded is rounded in the next layer
                at -= 1
            layers.insert(at, WideLayer(None, [], None, np.zeros(self._room.width)))
        most = max((len(layer.heads) for layer in layers), default=0)
        units = max((len(layer.units or ()) for layer in layers), default=0)
        bounds = StreamBounds.embedded(self._wide, self._features)
        clones = Clones(layers, self._room, self._seen, self._chance)
        slots = [most + self._chance.randint(0, 1) - len(layer.heads) for layer in layers]
        for layer, likes in zip(layers, clones.assigned(slots), strict=True):
            for like, exactly in likes:
                head, targets = clones.clone(like, *self._bounded(bounds), exactly=exactly)
                layer.heads.append(head)
                self._like[id(head)], self._targets[id(head)] = like, targets
            bounds = bounds.after_heads(layer.heads).after_units(layer.units or (), layer.offset)
        self._alike([head for layer in layers for head in layer.heads])
        bounds = StreamBounds.embedded(self._wide, self._features)
        every = [unit for layer in layers for unit in layer.units or () if unit.of is not None and unit.reads.any()]
        moved: dict[int, list[int]] = {}
        for number, layer in enumerate(layers):
            bounds = bounds.after_heads(layer.heads)
            decoys = [head for head in layer.heads if head.of is None]
            for head in decoys:
                for direction, target in self._targets[id(head)].items():
                    moved.setdefault(direction, []).append(target)
            many = max(2, len(decoys), units // SHARE + self._chance.randint(0, 2), (units - len(layer.units or ())) // 2)
            silent = []
            for k in range(many):
                targets = self._targets[id(decoys[k % len(decoys)])] if decoys else {}
                readers = [unit for unit in every if unit.reads[list(targets)].any()] or every
                unit = self._chance.choice(readers) if readers else None
                silent.append(self._silent(bounds, layers[number + 1 :], targets, moved, unit))
            bounds = bounds.after_units(layer.units or (), layer.offset)
            layer.units = [*(layer.units or ()), *silent]
        self._units_alike([[unit for unit in layer.units or () if unit.pair is None] for layer in layers])

    def _junk(self) -> None:
        """Let tokens write to each added direction what they write to one of the original, in another order of tokens."""
        own, chance = self._wide.token[: self._room.own], self._chance
        rows = [row.tolist() for row, exact in zip(own, self._seen.exact, strict=True) if exact]
        for direction in self._room.junk:
            row = chance.choice(rows)
            self._wide.token[direction] = chance.sample(row, len(row))

    # ── silent units ────────────────────────────────────────────────────────────────────────────────────────
    def _silent(
        self,
        bounds: StreamBounds,
        behind: Sequence[WideLayer],
        targets: Mapping[int, int],
        moved: Mapping[int, Sequence[int]],
        like: WideUnit | None,
    ) -> WideUnit:
        """Return a unit that no input activates; it reads what decoys write, and would write to what matters.

        Args:
            bounds: of what it reads.
            behind: the layers after its own.
            targets: direction -> where a decoy writes in its place, one of which is read.
            moved: the same, of all decoys before.
            like: a unit of the original, whose entries it has elsewhere.
        """
        chance, (reads, writes) = self._chance, np.zeros((2, self._room.width))
        near = self._bounded(bounds)[0]
        like_reads = (
            {0: 1.0, 1: 1.0} if like is None else {int(d): float(like.reads[d]) for d in np.flatnonzero(like.reads)}
        )
        heard = [d for d in targets.values() if bounds.finite[d]]
        for direction, entry in like_reads.items():
            own = targets.get(direction)
            others = [d for d in (() if own is None else (own,)) if bounds.finite[d]]
            if not others and direction in moved and chance.random() < 0.5:
                others = [d for d in moved[direction] if bounds.finite[d]]
            if not others and direction in near:
                others = [direction]
            others = [d for d in others or near if not reads[d]]
            if others:
                reads[chance.choice(others)] = abs(entry)
        if heard and not reads[heard].any():
            taken = chance.choice(np.flatnonzero(reads).tolist() or heard)
            size, reads[taken] = reads[taken] or 1.0, 0.0
            reads[chance.choice(heard)] = size
        for direction in np.flatnonzero(reads).tolist():
            # most read a bit, and 0 is the most that -1 makes
            below = bounds.low[direction] >= 0 and chance.random() < 0.75
            reads[direction] *= -1.0 if below else chance.choice((-1.0, 1.0))
        like_writes = {} if like is None else {int(d): abs(float(like.writes[d])) for d in np.flatnonzero(like.writes)}
        there = self._read(behind)
        stay = [d for d in like_writes if d in set(there)]
        others = [d for d in there if d not in stay]
        sizes = [like_writes[d] for d in like_writes if d not in stay] if like_writes else [1.0]
        drawn = chance.sample(others, min(len(others), len(sizes)))
        for direction, size in (*((d, like_writes[d]) for d in stay), *zip(drawn, sizes, strict=False)):
            writes[direction] = size * chance.choice((-1.0, 1.0))
        unit = WideUnit(None, reads, 0.0, writes)
        unit.bias = -(float(np.ceil(2 * (bounds.read(unit)[1] - CLEAR / 4))) / 2 + CLEAR)
        return unit

    def _bounded(self, bounds: StreamBounds) -> tuple[list[int], list[int]]:
        """Return directions that stay near 0 on every input: exact ones, then all; none to which heads are filled up."""
        exact = set(self._room.exact)
        near = bounds.finite & (np.maximum(-bounds.low, bounds.high) <= BOUNDED)
        every = [
            d
            for d in (*range(self._room.own), *self._room.constants, *self._room.heard[0], *self._room.heard[1])
            if near[d]
        ]
        return [d for d in every if d in exact], every

    def _units_alike(self, layers: Sequence[Sequence[WideUnit]]) -> None:
        """Let units read two constants more: it changes their biases, and gives all the same norm, reads times writes.

        In a layer these are two of three: what its units read is spanned by few constants, and by what decoys write.
        """
        units = [unit for layer in layers for unit in layer]
        drawn = [self._chance.sample(self._room.constants, min(3, len(self._room.constants))) for _ in layers]
        constants = [few for few, layer in zip(drawn, layers, strict=True) for _ in layer]
        biases = [self._chance.choice(BIASES) for _ in units]
        reads = [float(np.linalg.norm(unit.reads)) for unit in units]
        writes = [max(float(np.linalg.norm(unit.writes)), 1 / PARTS) for unit in units]
        changes = [unit.bias - bias for unit, bias in zip(units, biases, strict=True)]
        least = [w * (r**2 + c**2 / 2) ** 0.5 for r, w, c in zip(reads, writes, changes, strict=True)]
        target = min(MOST_NORM, max(least, default=0.0))
        for unit, few, bias, read, write, change in zip(units, constants, biases, reads, writes, changes, strict=True):
            one, other = self._chance.sample(few, 2)
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
        return there or list(self._room.constants)

    # ── heads that look alike ───────────────────────────────────────────────────────────────────────────────
    def _alike(self, heads: list[WideHead]) -> None:
        room, exact = self._room, set(self._room.exact)
        forms = [self._parts(head) for head in heads]
        most = [max((_square(form[n]) for form in forms), default=0.0) for n in range(6)]
        extra = [
            *(size * PER_COMPONENT for size in (room.components, room.components)),
            *(c for c in room.carried for _ in (0, 1)),
        ]
        targets = [float(np.ceil(square)) + more for square, more in zip(most, extra, strict=True)]
        loose, asked = list(room.loose), [form[0] for head, form in zip(heads, forms, strict=True) if self._plain(head)]
        loosest = max((_square(query[:, loose]) for query in asked), default=0.0)
        loosest += PER_COMPONENT if loosest else 0.0
        targets[0] += loosest
        for head, (asking, key, *carried) in zip(heads, forms, strict=True):
            own = self._like.get(id(head), head)
            unlike = own.of in self._seen.ties and own.scores
            more = 0.0 if unlike else max(0.0, loosest - _square(asking[:, loose]))
            query, added = self._grown(asking, room.components, _square(asking) + more, room.noise, few=True)
            query = self._grown(query, room.components, targets[0], (*room.bounded, *room.junk), only=added)[0]
            head.query, head.key = query, self._grown(key, room.components, targets[1], room.constants, only=added)[0]
            values, outputs = [], []
            for part, size in enumerate(room.carried):
                value, output = carried[2 * part], carried[2 * part + 1]
                read = room.constants if part == 0 else [d for d in (*room.bounded, *room.junk) if d in exact]
                write = room.unheard[part]
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


def _balancing(layers: Sequence[WideLayer]) -> range:
    """Return where a layer may be inserted so that heads come to be neither early nor late among the layers."""
    places = [number for number, layer in enumerate(layers) for _ in layer.heads]
    middle = (len(layers) - 1) / 2
    if not places or sum(places) == middle * len(places):
        return range(len(layers) + 1)
    early = sum(places) < middle * len(places)
    return range(min(places) + 1) if early else range(max(places) + 1, len(layers) + 1)


def _square(forms: Dyadic) -> float:
    return float((forms * forms).sum())
