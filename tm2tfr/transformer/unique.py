"""Unique-hard attention without ties: average-hard weights that compute the same, and that softmax can stand in for.

Ties are broken by a term in the scores (Lemma 8 of Yang et al.). Let γ be the smallest difference of a head's best score to
a lower one. The score of position j is raised by ``(γ/2)·j/D`` for the rightmost maximum, and lowered by it for the
leftmost, where D is i + 1 for a head that looks back from position i, and otherwise the length n. With u = γ/(2D) the best
score is ahead of an equal one at the distance m by m·u, and of a lower one by (2D ± m)·u: all these are different multiples
of u. So the weight elsewhere is at most e^(-u/τ), by the sum of a geometric series.

What a head carries is then rounded to the values that it can have (Lemma 9, once for each two neighbours among them), by
hidden units of a layer between the head's and the next: errors do not add up, and each head has a local bound of its own,
see `tm2tfr.transformer.soft`. If neighbours are at least Δ apart, and all values at most R, it is right where the weight
elsewhere is at most Δ/(4R): the head's margin is 4R/Δ.

Which scores and values there are is derived in exact arithmetic from all streams that can occur, see
`tm2tfr.transformer.occurring`. Where γ is given instead, it is taken on trust, and nothing is rounded: then
Theorem 26 gives a temperature for a length.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from tm2tfr.base.errors import CompileError
from tm2tfr.transformer import provenance
from tm2tfr.transformer.claims import Claim, Over
from tm2tfr.transformer.gadgets import Unit, feed_forward
from tm2tfr.transformer.matrix import Matrix, Rational
from tm2tfr.transformer.occurring import HeadRange, Occurring, occurring
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.soft import refuse_loops
from tm2tfr.transformer.weights import Decoder, FeedForward, Head, Layer

BIT = 4.0
"""The margin of a number with two values, or one: a quarter of their distance is allowed to go astray."""


@dataclass(frozen=True)
class Tieless:
    """Average-hard weights with one best score everywhere, and how that is known.

    Args:
        decoder: the weights.
        occurring: what can occur in each layer of the equivalent weights; None: the gap was given.
        positions: the length of the longest word; None: any length.
        gap: the gap that was given.
    """

    decoder: Decoder
    occurring: tuple[Occurring, ...] | None
    positions: int | None
    gap: float | None


def tieless(decoder: Decoder, *, positions: int | None = None, gap: float | None = None) -> Tieless:
    """Return average-hard weights that compute the same as `decoder`, whose heads are leftmost or rightmost.

    Args:
        positions: the length of the longest word for which they are right; None: any length.
        gap: the smallest difference of a head's best score to a lower one, for all heads; None: it is derived.

    Raises:
        CompileError: if the gap cannot be derived, or is not a positive number; for weights with loops or layer norms.
    """
    refuse_loops(decoder)
    if decoder.normed:
        what = "these weights have layer norms, whose mean and variance would be others with the directions that break ties"
        raise CompileError(f"{what}: use weights without them")
    if gap is not None and not 0 < gap < float("inf"):
        raise CompileError(f"the gap of scores must be a positive number, not {gap:g}: use for example 1")
    found = None if gap is not None else tuple(occurring(decoder, positions))
    wide = _Widened(decoder, found)
    layers: list[Layer] = []
    for n, layer in enumerate(decoder.layers):
        layers += wide.layer(n, layer, gap)
    said = decoder.provenance
    if gap is not None:
        trusted = f"ties of leftmost and rightmost heads are broken for a gap of {gap:g}, as given: nothing is proved of it"
        said = provenance.noted(said, [*provenance.notes(said), trusted])
    made = dataclasses.replace(
        decoder,
        layout=wide.layout,
        features=wide.features,
        token_embedding=wide.taller(decoder.token_embedding),
        position_embedding=wide.places(),
        position_table=decoder.position_table and wide.taller(decoder.position_table),
        layers=tuple(layers),
        unembedding=wide.wider(decoder.unembedding),
        loops=(),
        provenance=said,
    )
    return Tieless(made, found, positions, gap)


class _Widened:
    """The stream with what ties are broken by, and what heads carry."""

    def __init__(self, decoder: Decoder, found: Sequence[Occurring] | None) -> None:
        self._old = decoder.layout
        heads = [head for layer in decoder.layers for head in layer.heads if head.unique]
        self._terms = {"i": "j of ties"}
        if any(head.mask == "future" for head in heads):
            self._terms["1/(i+1)"] = "1/(i+1) of ties"
        if any(head.mask != "future" for head in heads):
            self._terms["1/n"] = "1/n of ties"
        self._scratch: dict[tuple[int, int], str] = {}
        spaces = list(self._remapped(decoder, found))
        names = {space.name for space in spaces} | {name for space in spaces for name in space.directions}
        self._terms = {feature: _new(name, names) for feature, name in self._terms.items()}
        spaces += [Subspace(name) for name in self._terms.values()]
        for n, each in enumerate(found or ()):
            for k, compared in enumerate(each.heads):
                if compared.carried:
                    self._scratch[n, k] = _new(f"carried {n + 1}.{k + 1}", names)
                    spaces.append(Subspace(self._scratch[n, k], tuple(map(str, compared.carried))))
        self.layout = Residual(tuple(spaces))
        self.features = (*decoder.features, *(name for name in self._terms if name not in decoder.features))
        self._decoder, self._found = decoder, found

    def _remapped(self, decoder: Decoder, found: Sequence[Occurring] | None) -> Iterator[Subspace]:
        """Yield the subspaces of before, which hold their values since the layers that layers have become."""
        number, stages = -1, {(-1, "embedding"): (-1, "embedding")}
        for n, layer in enumerate(decoder.layers):
            number += 1
            stages[n, "attention"] = (number, "attention" if found is None else "feed_forward")
            number += found is not None and bool(layer.heads) and layer.feed_forward is not None
            stages[n, "feed_forward"] = (number, "feed_forward")
        for space in decoder.layout.subspaces:
            yield space if space.since is None else dataclasses.replace(space, since=stages.get(space.since, space.since))

    # ── matrices ────────────────────────────────────────────────────────────────────────────────────────────
    def wider(self, matrix: Matrix) -> Matrix:
        """Return a matrix that reads the stream: (rows, width)."""
        return Matrix((matrix.shape[0], self.layout.width), matrix.rows, matrix.columns, matrix.values)

    def taller(self, matrix: Matrix) -> Matrix:
        """Return a matrix that writes to the stream: (width, columns)."""
        return Matrix((self.layout.width, matrix.shape[1]), matrix.rows, matrix.columns, matrix.values)

    def places(self) -> Matrix:
        """Return the position embedding."""
        entries = {(row, column): value for row, column, value in self._decoder.position_embedding.entries()}
        entries |= {(self.layout.index(name), self.features.index(term)): 1.0 for term, name in self._terms.items()}
        return Matrix.from_entries((self.layout.width, len(self.features)), entries)

    # ── layers ──────────────────────────────────────────────────────────────────────────────────────────────
    def layer(self, n: int, layer: Layer, gap: float | None) -> Iterator[Layer]:
        """Yield the layers that layer n, from 0, becomes."""
        if self._found is None:
            heads = tuple(
                self._with_term(head, gap or 1.0, None) if head.unique else self._plain(head) for head in layer.heads
            )
            yield dataclasses.replace(layer, heads=heads, feed_forward=self._widened(layer.feed_forward))
            return
        if layer.heads:
            compared = self._found[n].heads
            made = [self._head(n, k, head, each) for k, (head, each) in enumerate(zip(layer.heads, compared, strict=True))]
            yield dataclasses.replace(layer, heads=tuple(made), feed_forward=self._rounding(n, layer.heads, compared))
        if layer.feed_forward is not None or not layer.heads:
            name = f"{layer.name}, feed-forward" if layer.heads else layer.name
            yield dataclasses.replace(layer, name=name, heads=(), feed_forward=self._widened(layer.feed_forward))

    def _plain(self, head: Head) -> Head:
        reads: dict[str, Any] = {name: self.wider(getattr(head, name)) for name in ("query", "key", "value")}
        return dataclasses.replace(head, output=self.taller(head.output), **reads)

    def _widened(self, part: FeedForward | None) -> FeedForward | None:
        if part is None:
            return None
        writes: dict[str, Any] = {name: self.taller(getattr(part, name)) for name in ("output", "output_bias")}
        return dataclasses.replace(part, input=self.wider(part.input), **writes)

    def _head(self, n: int, k: int, head: Head, compared: HeadRange) -> Head:
        """Return a head with broken ties, which carries values that are rounded later."""
        margin = max([BIT, *(_margin(values) for values in compared.carried.values())])
        made = self._with_term(head, float(compared.gap or 1), margin)
        if not compared.carried:
            return made
        start = self.layout[self._scratch[n, k]].start
        writes = {(start + place, c): 1.0 for place, c in enumerate(compared.carried)}
        return dataclasses.replace(made, output=Matrix.from_entries(made.output.shape, writes))

    def _with_term(self, head: Head, gap: float, margin: float | None) -> Head:
        """Return an average-hard head with one best score, by a term for ties."""
        over: Over = "position" if head.mask == "future" else "length"
        divisor = self.layout.index(self._terms["1/(i+1)" if over == "position" else "1/n"])
        plain, components = self._plain(head), head.query.shape[0]
        half = gap / 2 if head.weighting == "rightmost" else -gap / 2
        term = {"query": (divisor, half), "key": (self.layout.index(self._terms["i"]), 1.0)}
        longer: dict[str, Any] = {}
        for name, (column, value) in term.items():
            entries = {(r, c): v for r, c, v in getattr(plain, name).entries()} | {(components, column): value}
            longer[name] = Matrix.from_entries((components + 1, self.layout.width), entries)
        attends = head.claim.attends if head.claim is not None else head.name
        claim = Claim(attends=attends, gap=gap / 2, over=over, margin=margin)
        return dataclasses.replace(plain, weighting="average-hard", claim=claim, **longer)

    def _rounding(self, n: int, heads: Sequence[Head], compared: Sequence[HeadRange]) -> FeedForward:
        """Return the hidden units that round what heads carry to the values that it can have, and add it to the stream."""
        units: list[Unit] = []
        least: dict[int, float] = {}
        for k, (head, each) in enumerate(zip(heads, compared, strict=True)):
            columns = head.output.transposed.by_row()
            for c, values in each.carried.items():
                for row, value in columns[c].items():
                    least[row] = least.get(row, 0.0) + value * float(values[0])
                reads = f"{self._scratch[n, k]}[{c}]"
                units += _steps(reads, values, {self._old.directions[row]: value for row, value in columns[c].items()})
        made = feed_forward(self.layout, units)
        bias = Matrix.from_entries((self.layout.width, 1), {(row, 0): value for row, value in least.items()})
        return dataclasses.replace(made, output_bias=bias)


def _steps(direction: str, values: Sequence[Rational], writes: Mapping[str, float]) -> Iterator[Unit]:
    """Yield the units that add ``writes · (r - values[0])``, where r is the value that `direction` is nearest to."""
    for low, high in pairwise(values):
        for share, factor in ((Fraction(1, 4), 2.0), (Fraction(3, 4), -2.0)):  # Lemma 9, from `low` to `high`
            edge = low + share * (high - low)
            yield Unit(
                f"{direction} > {float(edge):g}",
                {direction: 1.0},
                {name: factor * value for name, value in writes.items()},
                bias=-float(edge),
            )


def _margin(values: Sequence[Rational]) -> float:
    """Return 4R/Δ of the values that a number can have, see the module."""
    if len(values) < 2:
        return BIT
    return float(4 * Fraction(values[-1] - values[0]) / min(high - low for low, high in pairwise(values)))


def _new(name: str, names: set[str]) -> str:
    """Return `name`, or one like it that there is not yet, and add it to the names."""
    while name in names:
        name += "'"
    names.add(name)
    return name
