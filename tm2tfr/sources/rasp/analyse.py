"""The analysis of a program as the authors' interpreter has it: attention layers, and the heads of each.

Base s-ops are of depth 0; an elementwise s-op is as deep as its deepest argument, a selector one deeper than its queries
and keys, an aggregate as deep as its selector and one deeper than its values. The layers are the depth of the s-op, and
each layer has a head for each selector of its aggregates. Selectors that say the same are two heads there; here they are
also counted after merging.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tm2tfr.sources.rasp import sops as rasp
from tm2tfr.sources.rasp.program import Program

Shape = tuple[object, ...]
"""What a node says, apart from the names and numbers of nodes."""


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
        merged: the same, with one head for all selectors that say the same.
        elementwise: what is computed behind its attention, at the same depth.
    """

    heads: tuple[RaspHead, ...]
    merged: tuple[RaspHead, ...]
    elementwise: tuple[rasp.Elementwise, ...] = ()


@dataclass(frozen=True)
class Analysis:
    """The analysis of an s-op.

    Args:
        sop: the s-op.
        layers: its attention layers, the first one first.
        embedding: elementwise s-ops that the analysis puts before the first layer, though a function of both token and
            position is not an embedding.
        depths: the number of each node that the s-op needs -> its depth.
    """

    sop: rasp.SOp
    layers: tuple[RaspLayer, ...]
    embedding: tuple[rasp.Elementwise, ...]
    depths: dict[int, int]

    @property
    def heads(self) -> tuple[int, ...]:
        """The number of heads in each layer, as the authors' interpreter counts them."""
        return tuple(len(layer.heads) for layer in self.layers)

    @property
    def merged_heads(self) -> tuple[int, ...]:
        """The number of heads in each layer, with one for all selectors that say the same."""
        return tuple(len(layer.merged) for layer in self.layers)


def analyse(program: Program | rasp.SOp) -> Analysis:
    """Return the analysis of a program's chosen s-op, or of an s-op."""
    sop = program.sop if isinstance(program, Program) else program
    nodes = rasp.needed([sop])
    depths = depths_of(nodes)
    shapes = shapes_of(nodes)
    aggregates = [node for node in nodes if isinstance(node, rasp.Aggregate)]
    elementwise = [node for node in nodes if isinstance(node, rasp.Elementwise)]
    by_depth: dict[int, list[rasp.Aggregate]] = {}
    for aggregate in aggregates:
        by_depth.setdefault(depths[aggregate.number], []).append(aggregate)
    behind: dict[int, list[rasp.Elementwise]] = {}
    for one in elementwise:
        behind.setdefault(depths[one.number], []).append(one)
    layers = []
    for depth in range(1, depths[sop.number] + 1):
        found = by_depth.get(depth, [])
        heads = _heads(found, {a.selector.number: a.selector.number for a in found})
        merged = _heads(found, {a.selector.number: shapes[a.selector.number] for a in found})
        layers.append(RaspLayer(heads, merged, tuple(behind.get(depth, ()))))
    return Analysis(sop, tuple(layers), tuple(behind.get(0, ())), depths)


def _heads(aggregates: Iterable[rasp.Aggregate], key: dict[int, int]) -> tuple[RaspHead, ...]:
    found: dict[int, list[rasp.Aggregate]] = {}
    for aggregate in aggregates:
        found.setdefault(key[aggregate.selector.number], []).append(aggregate)
    return tuple(RaspHead(group[0].selector, tuple(group)) for group in found.values())


def depths_of(nodes: Iterable[rasp.Node]) -> dict[int, int]:
    """Return the depth of each node, by its number; `nodes` are in the order of creation, with all that they need."""
    depths: dict[int, int] = {}
    for node in nodes:
        if isinstance(node, rasp.Aggregate):
            depths[node.number] = max(depths[node.selector.number], depths[node.values.number] + 1)
        else:
            deepest = max((depths[part.number] for part in rasp.made_of(node)), default=0)
            depths[node.number] = deepest + isinstance(node, rasp.Select)
    return depths


def shapes_of(nodes: Iterable[rasp.Node]) -> dict[int, int]:
    """Return a number for each node, by its own, that is equal for two nodes that say the same.

    `nodes` are in the order of creation, with all that they need.
    """
    known: dict[Shape, int] = {}
    found: dict[int, int] = {}
    for node in nodes:
        shape: Shape = (type(node), *(found[part.number] for part in rasp.made_of(node)))
        if isinstance(node, rasp.Tokens):
            shape = (*shape, node.conversion)
        elif isinstance(node, rasp.Constant):
            shape = (*shape, type(node.value), node.value)
        elif isinstance(node, rasp.Elementwise):
            shape = (*shape, node.operator, tuple((type(k), k, type(v), v) for k, v in node.entries))
        elif isinstance(node, rasp.Select):
            shape = (*shape, node.relation)
        elif isinstance(node, rasp.Combined):
            shape = (*shape, node.operator)
        elif isinstance(node, rasp.Aggregate):
            shape = (*shape, type(node.default), node.default)
        found[node.number] = known.setdefault(shape, len(known))
    return found
