"""The analysis of a program as the authors' interpreter has it: attention layers, and the heads of each.

Base s-ops are of depth 0; an elementwise s-op is as deep as its deepest argument, a selector one deeper than its queries
and keys, an aggregate as deep as its selector and one deeper than its values. The layers are the depth of the s-op, and
each layer has a head for each selector of its aggregates. Selectors that say the same are two heads there and one in
weights; both numbers are counted.

Loops are an extension: what is before a loop, what it computes in a pass, and what is behind it have layers of their own,
in this order, and those of a pass are counted once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tm2tfr.sources.rasp import sops as rasp
from tm2tfr.sources.rasp.program import Program

SamePlace = rasp.Elementwise | rasp.State | rasp.Looped
"""An s-op that is made of others at the same position."""


@dataclass(frozen=True)
class RaspHead:
    """A head of the analysis: a selector, with the aggregates that use it in this layer, in the order of creation."""

    selector: rasp.Selector
    aggregates: tuple[rasp.Aggregate, ...]


@dataclass(frozen=True)
class RaspLayer:
    """An attention layer of the analysis.

    Args:
        heads: as the authors' interpreter counts them, in the order in which their first aggregates were made.
        merged: the same, with one head for all selectors that say the same, as in weights.
        elementwise: the values computed after its attention, at the same depth.
    """

    heads: tuple[RaspHead, ...]
    merged: tuple[RaspHead, ...]
    elementwise: tuple[SamePlace, ...] = ()


@dataclass(frozen=True)
class RaspPasses:
    """A loop of the analysis: its layers, from `first` to `last`, counted from 1; `first` is greater where it has none."""

    first: int
    last: int
    loop: rasp.Repeat

    @property
    def said(self) -> str:
        """It in words."""
        times, until = self.loop.times, self.loop.until is not None
        how = "" if times is None else f" {times:,} time{'s' * (times > 1)}"
        how = f"{' at most' if until and how else ''}{how}{' until its condition holds' if until else ''}"
        if self.first > self.last:
            return f"a loop without attention is run{how}"
        block = f"depth {self.first} is" if self.first == self.last else f"depths {self.first} to {self.last} are"
        return f"{block} run{how}"


@dataclass(frozen=True)
class Analysis:
    """The analysis of an s-op.

    Args:
        sop: the s-op.
        layers: its attention layers, the first one first.
        embedding: elementwise s-ops that the analysis puts before the first layer, though a function of both token and
            position is not an embedding.
        depths: the number of each node that the s-op needs -> its depth.
        loops: its loops, in their order.
    """

    sop: rasp.SOp
    layers: tuple[RaspLayer, ...]
    embedding: tuple[SamePlace, ...]
    depths: dict[int, int]
    loops: tuple[RaspPasses, ...] = ()

    @property
    def heads(self) -> tuple[int, ...]:
        """The number of heads in each layer, as the authors' interpreter counts them."""
        return tuple(len(layer.heads) for layer in self.layers)

    @property
    def repeated(self) -> str:
        """Which layers are run again, as text to go on with; empty if none are."""
        return "".join(f"; {loop.said}" for loop in self.loops)

    @property
    def merged_heads(self) -> tuple[int, ...]:
        """The number of heads in each layer, with one for all selectors that say the same."""
        return tuple(len(layer.merged) for layer in self.layers)


def analyse(program: Program | rasp.SOp) -> Analysis:
    """Return the analysis of a program's chosen s-op, or of an s-op."""
    sop = program.sop if isinstance(program, Program) else program
    nodes = rasp.needed([sop])
    depths = depths_of(nodes)
    alike = rasp.made_alike(nodes)
    aggregates = [node for node in nodes if isinstance(node, rasp.Aggregate)]
    elementwise = [node for node in nodes if isinstance(node, SamePlace)]
    by_depth: dict[int, list[rasp.Aggregate]] = {}
    for aggregate in aggregates:
        by_depth.setdefault(depths[aggregate.number], []).append(aggregate)
    behind: dict[int, list[SamePlace]] = {}
    for one in elementwise:
        behind.setdefault(depths[one.number], []).append(one)
    layers = []
    for depth in range(1, depths[sop.number] + 1):
        found = by_depth.get(depth, [])
        heads = _heads(found, {a.selector.number: a.selector.number for a in found})
        merged = _heads(found, {a.selector.number: alike[a.selector].number for a in found})
        layers.append(RaspLayer(heads, merged, tuple(behind.get(depth, ()))))
    loops = tuple(_passes(node, nodes, depths) for node in nodes if isinstance(node, rasp.Repeat))
    return Analysis(sop, tuple(layers), tuple(behind.get(0, ())), depths, loops)


def _passes(loop: rasp.Repeat, nodes: tuple[rasp.Node, ...], depths: dict[int, int]) -> RaspPasses:
    before = max((depths[state.number] for state in loop.states), default=0)
    return RaspPasses(before + 1, max([before, *(depths[node.number] for node in rasp.repeated(loop, nodes))]), loop)


def _heads(aggregates: Iterable[rasp.Aggregate], key: dict[int, int]) -> tuple[RaspHead, ...]:
    found: dict[int, list[rasp.Aggregate]] = {}
    for aggregate in aggregates:
        found.setdefault(key[aggregate.selector.number], []).append(aggregate)
    return tuple(RaspHead(group[0].selector, tuple(group)) for group in found.values())


def depths_of(nodes: Iterable[rasp.Node]) -> dict[int, int]:
    """Return the depth of each node, by its number; `nodes` are in the order of creation, with all that they need."""
    nodes, depths = tuple(nodes), dict[int, int]()
    sections = rasp.sections(nodes)
    within: dict[int, int] = {}
    for node in nodes:
        here = sections[node.number]
        deep = {part.number: within[part.number] if sections[part.number] == here else 0 for part in rasp.made_of(node)}
        if isinstance(node, rasp.Aggregate):
            within[node.number] = max(deep[node.selector.number], deep[node.values.number] + 1)
        elif isinstance(node, rasp.State | rasp.Repeat | rasp.Looped):
            within[node.number] = 0  # a section begins
        else:
            within[node.number] = max(deep.values(), default=0) + isinstance(node, rasp.Select)
    size = [0] * (1 + max(sections.values(), default=0))
    for node in nodes:
        if isinstance(node, rasp.SOp):  # a selector alone makes no layer
            size[sections[node.number]] = max(size[sections[node.number]], within[node.number])
    before = [sum(size[:section]) for section in range(len(size))]
    for node in nodes:
        depths[node.number] = before[sections[node.number]] + within[node.number]
    return depths
