"""Weights of formulas, changed at random: by terms that cancel, which exact arithmetic does not see, and by other ones."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from tests.mutations import Aim, cancelling_scores, cancelling_units, direction, one_entry, scaled_unit
from tests.mutations import scaled_values as scaled_carried
from tests.mutations.weights import BIASES, READERS, widened, with_head, with_layer
from tests.mutations.weights import scaled as times
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder, FeedForward, Head, matrices, replaced

Row = Mapping[int, float]
"""Column -> weight."""
Unit = tuple[Row, float, Row]
"""What a unit reads, its bias, and what it writes."""
Element = TypeVar("Element")


def size(chance: random.Random) -> float:
    """Return a positive weight of any size that float32 has."""
    low, high = chance.choice([(0, 12), (16, 30), (16, 30), (44, 56), (-30, 60)])
    return 2.0 ** chance.randint(low, high) * chance.choice([1, 1, 1, 1.5, 1 + 2**-20])


@dataclass(frozen=True)
class Draw:
    """What a random change of a decoder is made of."""

    decoder: Decoder
    random: random.Random

    @property
    def width(self) -> int:
        return self.decoder.layout.width

    def size(self) -> float:
        return size(self.random)

    def aim(self, written: Iterable[Matrix]) -> Aim:
        """Return what added parts are made of: they mostly read what all words have, and write what these matrices do."""
        names = [name for name in ("1", "1", "i", "i^2") if name in self.decoder.layout]
        return Aim(size, list(map(self.decoder.layout.index, names)), [row for m in written for row in m.rows.tolist()])

    def scoring(self) -> tuple[int, int]:
        """Return a head that is not uniform: the number of its layer, and its own."""
        layers = enumerate(self.decoder.layers)
        return self.random.choice([(n, k) for n, layer in layers for k, h in enumerate(layer.heads) if not h.uniform])

    def path(self, ends: tuple[str, ...]) -> str:
        """Return the path of a matrix that has weights, and ends so."""
        return self.random.choice([p for p, m in matrices(self.decoder).items() if p.endswith(ends) and m.nonzero])

    def around(self, many: Sequence[Element], first: Element, last: Element) -> list[Element]:
        """Return a list with two more elements, anywhere, but mostly around all others."""
        found = list(many)
        start = self.random.choice([0, 0, self.random.randint(0, len(found))])
        found.insert(start, first)
        found.insert(self.random.choice([len(found), len(found), self.random.randint(start + 1, len(found))]), last)
        return found

    def shuffled(self, many: Sequence[Element]) -> list[Element]:
        return self.random.sample(many, len(many))

    def with_layer(self, n: int, **changed: Any) -> Decoder:
        return with_layer(self.decoder, n, **changed)

    def with_head(self, n: int, k: int, head: Head) -> Decoder:
        return with_head(self.decoder, n, k, head)

    def compared(self, head: Head, pairs: Sequence[tuple[Row, Row]]) -> Head:
        """Return a head with these rows of the query and the key."""
        query, key = (Matrix.from_rows([pair[side] for pair in pairs], self.width) for side in (0, 1))
        return replace(head, query=query, key=key)

    def part(self, units: Sequence[Unit]) -> FeedForward:
        """Return a feed-forward part with these units."""
        return FeedForward(
            input=Matrix.from_rows([reads for reads, _, _ in units], self.width),
            input_bias=Matrix.from_entries((len(units), 1), {(n, 0): bias for n, (_, bias, _) in enumerate(units)}),
            output=Matrix.from_columns([writes for _, _, writes in units], self.width),
            output_bias=Matrix.from_entries((self.width, 1), {}),
            units=tuple(map(str, range(len(units)))),
        )


def pairs_of(head: Head) -> list[tuple[Row, Row]]:
    return list(zip(head.query.by_row(), head.key.by_row(), strict=True))


def units_of(part: FeedForward) -> list[Unit]:
    biases = part.input_bias.dense()[:, 0].tolist()
    return list(zip(part.input.by_row(), biases, part.output.transposed.by_row(), strict=True))


# ── changes that exact arithmetic does not see ──────────────────────────────────────────────────────────────
def heads(draw: Draw) -> Decoder:
    """Two heads that look at the same positions, of which one writes W and the other -W, mostly where others write."""
    n = draw.random.choice([n for n, layer in enumerate(draw.decoder.layers) if layer.heads])
    own, one = draw.decoder.layers[n].heads, [draw.decoder.layout.index("1")]
    target = direction(draw.decoder, draw.random, [row for head in own for row in head.output.rows.tolist()])
    model, read, inside = draw.random.choice(own), direction(draw.decoder, draw.random, one), draw.random.random() < 0.7
    size = draw.size()

    def head(sign: int) -> Head:
        values = Matrix.from_entries((1, draw.width), {(0, read): sign * size if inside else sign})
        return replace(
            model, value=values, output=Matrix.from_entries((draw.width, 1), {(target, 0): 1 if inside else size})
        )

    return draw.with_layer(n, heads=tuple(draw.around(own, head(1), head(-1))))


def scores(draw: Draw) -> Decoder:
    """Terms of a score."""
    return cancelling_scores(draw.decoder, draw.random, draw.aim(()))


def units(draw: Draw) -> Decoder:
    """Equal units, whose outputs have the sum 0."""
    written = [layer.feed_forward.output for layer in draw.decoder.layers if layer.feed_forward is not None]
    return cancelling_units(draw.decoder, draw.random, draw.aim(written))


def rows(draw: Draw) -> Decoder:
    """Terms of a row: W for each token, of which one is 1, and -W for 1."""
    path, layout, size = draw.path(READERS), draw.decoder.layout, draw.size()
    tokens = layout["token"]
    matrix = matrices(draw.decoder)[path]
    found = matrix.by_row()
    row = draw.random.choice([row for row in found if row])
    for at, weight in (*((at, size) for at in range(tokens.start, tokens.stop)), (layout.index("1"), -size)):
        row[at] = row.get(at, 0.0) + weight
    return replaced(draw.decoder, {path: Matrix.from_rows(found, draw.width)})


def embeddings(draw: Draw) -> Decoder:
    """A position feature that is there twice, or 1 and what all tokens have."""
    decoder, size, target = draw.decoder, draw.size(), draw.random.randrange(draw.width)
    place = list(zip(decoder.features, decoder.position_embedding.transposed.by_row(), strict=True))
    tokens = decoder.token_embedding.by_row()
    name = draw.random.choice(["1", "1", "i", "i^2", "1/(i+1)"])
    if name == "1" and draw.random.random() < 0.7:
        tokens[target] = {n: tokens[target].get(n, 0.0) + size for n in range(len(decoder.vocabulary))}
        place.append(("1", {target: -size}))
    else:
        place = draw.around(place, (name, {target: size}), (name, {target: -size}))
    return replace(
        decoder,
        features=tuple(name for name, _ in place),
        token_embedding=Matrix.from_rows(tokens, len(decoder.vocabulary)),
        position_embedding=Matrix.from_columns([row for _, row in place], draw.width),
    )


def biases(draw: Draw) -> Decoder:
    """A bias of a unit or of an answer, and minus it read from 1."""
    path, found = draw.path(("unembedding", "feed_forward.input")), matrices(draw.decoder)
    size = draw.size() * draw.random.choice([1, -1])
    row, one = draw.random.randrange(found[path].shape[0]), draw.decoder.layout.index("1")
    changed = {}
    for where, at, weight in ((path, one, size), (f"{path}_bias", 0, -size)):
        changed[where] = found[where].with_entry(row, at, found[where].by_row()[row].get(at, 0.0) + weight)
    return replaced(draw.decoder, changed)


def scaled_scores(draw: Draw) -> Decoder:
    """The queries and keys of a head, and its gap, times powers of two."""
    n, k = draw.scoring()
    head, most = draw.decoder.layers[n].heads[k], draw.random.choice([2, 20, 130])
    a, b = (2.0 ** draw.random.randint(-most, most) for _ in range(2))
    claim = replace(head.claim, gap=head.claim.gap * a * b)  # type: ignore[type-var, union-attr, operator]
    return draw.with_head(n, k, replace(head, query=times(head.query, a), key=times(head.key, b), claim=claim))


def scaled_values(draw: Draw) -> Decoder:
    """What a head carries, or units compute, times a power of two, and mostly divided by it where it is written."""
    return draw.random.choice((scaled_carried, scaled_unit))(draw.decoder, draw.random)


def twins(draw: Draw) -> Decoder:
    """A second subspace that holds the same, and a row that reads W more of the one, and -W of the other."""
    decoder, size = draw.decoder, draw.size()
    path = draw.path(READERS)
    at, column, _ = draw.random.choice(list(matrices(decoder)[path].entries()))
    old = next(s for s in decoder.layout.subspaces if column in range(*decoder.layout[s.name].indices(draw.width)))
    wide, twin = doubled(decoder, old), column - decoder.layout[old.name].start + draw.width
    matrix = matrices(wide)[path]
    weight = matrix.by_row()[at][column]
    return replaced(wide, {path: matrix.with_entry(at, column, weight + size).with_entry(at, twin, -size)})


def reordered(draw: Draw) -> Decoder:
    """Components, heads and units in another order."""
    layers = []
    for layer in draw.decoder.layers:
        own = [draw.compared(head, draw.shuffled(pairs_of(head))) for head in draw.shuffled(layer.heads)]
        part = layer.feed_forward and draw.part(draw.shuffled(units_of(layer.feed_forward)))
        layers.append(replace(layer, heads=tuple(own), feed_forward=part))
    return replace(draw.decoder, layers=tuple(layers))


# ── others ──────────────────────────────────────────────────────────────────────────────────────────────────
def weights(draw: Draw) -> Decoder:
    """A weight that is another one."""
    return one_entry(draw.decoder, draw.random)


def doubled(decoder: Decoder, subspace: Subspace) -> Decoder:
    """Return a decoder with a twin of a subspace behind all others, with the same claim, that is written as it is."""
    own, width = decoder.layout[subspace.name], decoder.layout.width
    wide = widened(decoder, Residual((*decoder.layout.subspaces, replace(subspace, name=f"{subspace.name} twin"))))
    found = matrices(wide)
    for path in (path for path in found if not path.endswith((*READERS, *BIASES))):
        for row, column, weight in list(found[path].entries()):
            if own.start <= row < own.stop:
                found[path] = found[path].with_entry(row - own.start + width, column, weight)
    return replaced(wide, found)
