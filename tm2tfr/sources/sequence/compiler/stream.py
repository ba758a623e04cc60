"""The residual stream, the heads and the hidden units that a program needs, collected; in the end they are made weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from tm2tfr.base.choices import Weighting
from tm2tfr.sources.sequence.compiler.codes import BitForm, Code, Time, boxes, of_bits, ways
from tm2tfr.sources.sequence.compiler.loops import SECTION, LoopPlan, beginning, begins
from tm2tfr.sources.sequence.functions import Tuple
from tm2tfr.sources.sequence.graph import Item, Operation, plainly, text_of
from tm2tfr.sources.sequence.naming import ended, unique
from tm2tfr.transformer.claims import Claim, Output
from tm2tfr.transformer.gadgets import Unit, feed_forward, head, ramp, stacked
from tm2tfr.transformer.layers import LayerLoop
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Residual, Subspace, at
from tm2tfr.transformer.weights import Decoder, Head, Layer, Mask

TOKEN, POSITION = "token", "position"
"""The subspaces of the embedding that hold one-hot vectors."""
FEATURES = ("1", "i", "i^2", "1/(i+1)")
"""Those that hold numbers, the position features of their names; `StreamPlan.embedded` takes any other feature as well."""


@dataclass
class Looking:
    """A head on its way: what it compares, and what it carries.

    Args:
        name: its purpose.
        attends: its claim: see `tm2tfr.sources.sequence.clusters`.
        scores: pairs of linear forms, of the query and of the key: the score is the sum of their products.
        carries: pairs of linear forms: what is read where it attends, and the directions that it is added to.
        mask: to which positions it attends; None: as the other heads of the plan.
        claim: what is claimed of it; None: that the best score is ahead by 1, or that it has none.
        source: where its scores are explained.
        weighting: how its scores become weights.
    """

    name: str
    attends: str
    scores: list[tuple[BitForm, BitForm]]
    carries: list[tuple[BitForm, BitForm]] = field(default_factory=list)
    mask: Mask | None = None
    claim: Claim | None = None
    source: str = "Lemmas 1 and 2"
    weighting: Weighting = "average-hard"


@dataclass(frozen=True)
class _Space:
    subspace: Subspace
    time: Time


class StreamPlan:
    """What is needed so far; `weights` makes a decoder of it."""

    def __init__(
        self,
        alphabet: Sequence[Item],
        positions: int | None,
        mask: Mask,
        *,
        source: str = "rasp.compile",
        shown: Callable[[str], str] = str,
    ) -> None:
        self._alphabet, self._positions, self._mask = tuple(map(text_of, alphabet)), positions, mask
        self._source, self._features, self._shown = source, dict.fromkeys(FEATURES), shown
        self._spaces: dict[str, _Space] = {}
        self._heads: dict[int, list[Looking]] = {}
        self._units: dict[Time, list[Unit]] = {}
        self._named, self._numbers = set[str](), dict[str, int]()

    def space(
        self,
        name: str,
        *,
        holds: str,
        time: Time,
        labels: Sequence[str] | None = None,
        groups: tuple[tuple[str, str], ...] = (),
    ) -> str:
        """Add a subspace, written at `time`, and return its name: `name`, or that with a mark if it is taken."""
        own = self._shown(name)
        if own in self._spaces:
            own = unique(own, self._spaces)
        subspace = Subspace(own, None if labels is None else tuple(labels), holds=holds, groups=groups)
        self._spaces[own] = _Space(subspace, time)
        return own

    def embedded(self, what: str) -> str:
        """Return the subspace of the embedding that holds `what`: `TOKEN`, `POSITION`, or a position feature."""
        if what not in (TOKEN, POSITION):
            self._features.setdefault(what)
        if what not in self._spaces:
            labels = {TOKEN: self._alphabet, POSITION: tuple(map(str, range(self._positions or 0)))}.get(what)
            self._spaces[what] = _Space(Subspace(what, labels, holds=what), Time())
        return what

    def head(self, depth: int, looking: Looking) -> None:
        """Add a head to attention layer `depth`, from 1 on."""
        self._heads.setdefault(depth, []).append(looking)

    def unit(self, time: Time, name: str, forms: Sequence[BitForm], writes: BitForm, *, bias: float = 0.0) -> None:
        """Add a hidden unit to the feed-forward sublayer that ends at `time`: ``writes · ReLU(sum of the forms + bias)``.

        Several that are called the same get numbers.
        """
        reads: dict[str, float] = {}
        for form in forms:
            for direction, coefficient in form.items():
                reads[direction] = reads.get(direction, 0.0) + coefficient
        number = self._numbers[name] = self._numbers.get(name, 0) + 1
        name = unique(name if number == 1 else ended(name, f" #{number}"), self._named)
        self._named.add(name)
        unit = Unit(name, {d: c for d, c in reads.items() if c}, {d: float(c) for d, c in writes.items()}, bias=bias)
        self._units.setdefault(time, []).append(unit)

    def found(self, name: str, holds: str, depth: int, rows: Sequence[Sequence[tuple[BitForm, BitForm]]]) -> str:
        """Add the bit that says whether the head selects anything, right after attention layer `depth` (Lemma 3).

        Each combination of kinds of queries has a unit pair that is 1 where the query is of these kinds and the shares of
        what satisfies them are all 1: a step from 1/2 to 3/4 of a sum that is whole but for rounding.

        Args:
            rows: for each cluster, for each kind of query, its bit and the share of the attended positions that satisfy it.
        """
        time = Time(depth, 1)
        space = self.space(name, holds=holds, time=time)
        for n, chosen in enumerate(product(*rows)):
            forms = [form for pair in chosen for form in pair]
            for edge, factor in ramp(0.5, 0.75):
                bias = 1.0 - 2 * len(chosen) - edge
                self.unit(time, ended(space, f": {n + 1}, {edge}"), forms, {space: factor}, bias=bias)
        return space

    def table(
        self,
        node: Operation,
        sources: Sequence[Code],
        table: Mapping[Tuple, Item],
        labels: Mapping[Item, str],
        groups: tuple[tuple[str, str], ...] = (),
    ) -> Code:
        """Add the hidden units of a table, and return the code that they write (Lemma 5).

        Args:
            table: the value of `node` for each combination of values of the sources.
            labels: the label of each value that is written.
        """
        last = max(source.time for source in sources)
        time = Time(last.depth, last.slot + 1)
        shown = list(labels.values())
        space = self.space(plainly(node), holds=f"value {node.key}", time=time, labels=shown, groups=groups)
        every = [frozenset(values) for values in zip(*table, strict=True)]
        for classes, result in boxes(table):
            for way in ways(sources, classes, every) if result in labels else ():
                writes = {at(space, labels[result]): 1}
                self.unit(time, ended(space, f" = {labels[result]}"), way, writes, bias=1.0 - len(way))
        return of_bits({result: {at(space, label): 1} for result, label in labels.items()}, time)

    def slots(self, depth: int) -> int:
        """Return the number of feed-forward sublayers after attention layer `depth`."""
        return max((time.slot for time in self._units if time.depth == depth), default=0)

    def weights(
        self,
        outputs: Sequence[tuple[Output, Sequence[BitForm]]],
        provenance: Mapping[str, str],
        *,
        loops: Sequence[LoopPlan] = (),
    ) -> Decoder:
        """Return the decoder with these outputs, each with the linear form of every row of its unembedding."""
        for loop in loops:
            self._replace(loop)
        for form in (*(f for _, forms in outputs for f in forms), *(f for loop in loops for f in loop.forms)):
            self._constant(form)
        for looking in (each for heads in self._heads.values() for each in heads):
            for form in (f for pair in (*looking.scores, *looking.carries) for f in pair):
                self._constant(form)
        for unit in (each for units in self._units.values() for each in units):
            self._constant(unit.reads)
        depths = sorted({*self._heads, *(time.depth for time in self._units)})
        first = self._first_layers(depths)
        layout = Residual(tuple(self._dated(space, first) for space in self._spaces.values()))
        layers = [layer for depth in depths for layer in self._layers(layout, depth)]
        rows = [form for _, forms in outputs for form in forms]
        features = tuple(name for name in self._features if name in layout)
        return Decoder(
            layout=layout,
            vocabulary=self._alphabet,
            bos=None,
            stop=(),
            features=features,
            token_embedding=self._tokens(layout),
            position_embedding=stacked(layout, [{name: 1.0} for name in features]).transposed,
            position_table=None if self._positions is None else self._table(layout, self._positions),
            layers=tuple(layers),
            loops=tuple(self._looped(layout, loop, first) for loop in loops if loop.section * SECTION in first),
            unembedding=stacked(layout, [{d: float(c) for d, c in form.items()} for form in rows]),
            unembedding_bias=Matrix.from_entries((len(rows), 1), {}),
            outputs=tuple(output for output, _ in outputs),
            provenance=provenance,
        )

    def _constant(self, form: Mapping[str, float]) -> None:
        for name in self._features:
            if name in form:
                self.embedded(name)

    def _replace(self, loop: LoopPlan) -> None:
        """Add the hidden units with which each pass of a loop begins."""
        states, time = {state.space for state in loop.states}, beginning(loop.section, 1)
        spaces = [space for name, space in self._spaces.items() if name not in states]
        inside = [space.subspace for space in spaces if space.time.depth // SECTION == loop.section]
        units = loop.replacing([direction for subspace in inside for direction in subspace.directions])
        if units:
            self._units.setdefault(time, []).extend(units)

    def _looped(self, layout: Residual, loop: LoopPlan, first: Mapping[int, int]) -> LayerLoop:
        inside = [depth for depth in first if depth // SECTION == loop.section]
        last = first[max(inside)] + self._layers_at(max(inside))
        until = None if loop.until is None else stacked(layout, [{d: float(c) for d, c in loop.until.items()}])
        return LayerLoop(first=first[min(inside)] + 1, last=last, times=loop.times, until=until)

    def _layers_at(self, depth: int) -> int:
        return self.slots(depth) if begins(depth) else max(1, self.slots(depth))

    def _first_layers(self, depths: Sequence[int]) -> dict[int, int]:
        """Return the number of the first layer of each depth, from 0."""
        first, number = {}, 0
        for depth in depths:
            first[depth] = number
            number += self._layers_at(depth)
        return first

    def _dated(self, space: _Space, first: Mapping[int, int]) -> Subspace:
        """Return the subspace with the stage after which it holds its value."""
        depth, slot = space.time
        if slot:
            since = (first[depth] + slot - 1, "feed_forward")
        else:
            since = (-1, "embedding") if begins(depth) else (first[depth], "attention")
        own = space.subspace
        return Subspace(own.name, own.labels, holds=own.holds, since=since, groups=own.groups)

    def _tokens(self, layout: Residual) -> Matrix:
        forms = [{at(TOKEN, text): 1.0} if TOKEN in layout else {} for text in self._alphabet]
        return stacked(layout, forms).transposed

    def _table(self, layout: Residual, positions: int) -> Matrix:
        forms = [{at(POSITION, str(i)): 1.0} if POSITION in layout else {} for i in range(positions)]
        return stacked(layout, forms).transposed

    def _layers(self, layout: Residual, depth: int) -> list[Layer]:
        heads = tuple(self._built(layout, looking) for looking in self._heads.get(depth, []))
        sublayers = [self._units.get(Time(depth, slot), []) for slot in range(1, self.slots(depth) + 1)]
        if not begins(depth) and not sublayers:
            sublayers = [[]]
        layers = []
        for n, units in enumerate(sublayers):
            here = heads if n == 0 else ()
            layers.append(
                Layer(
                    name="attention" if here else "feed-forward",
                    meaning=_meaning(here, units),
                    source=self._source,
                    heads=here,
                    feed_forward=feed_forward(layout, units) if units else None,
                )
            )
        return layers

    def _built(self, layout: Residual, looking: Looking) -> Head:
        scores = looking.scores
        if (claim := looking.claim) is None:
            claim = Claim(attends=looking.attends, gap=None)
            if scores:
                claim = Claim(attends=looking.attends, gap=1.0, over="constant")
        made = head(
            layout,
            self._shown(looking.name),
            looking.source,
            query=[query for query, _ in scores],
            key=[key for _, key in scores],
            carries=looking.carries,
            claim=claim,
            mask=looking.mask or self._mask,
        )
        return replace(made, weighting=looking.weighting)


def _meaning(heads: Sequence[Head], units: Sequence[Unit]) -> str:
    attention = f"attend by {', '.join(head.name for head in heads)}" if heads else ""
    after = "tables of values" if units else ""
    return "; ".join(part for part in (attention, after) if part) or "nothing"
