"""The flow of a computation: the contents of a program's drawing, layer by layer, and their names.

Layers and heads are those of the analysis. As in the drawings of the authors' interpreter, constants have no box of their
own, nor has an s-op without a name that is used once: it is written out where it is used. Names are those of
`tm2tfr.sources.rasp.naming`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tm2tfr.sources.rasp import sops as rasp
from tm2tfr.sources.rasp.analyse import Analysis, SamePlace, analyse
from tm2tfr.sources.rasp.naming import RaspNames
from tm2tfr.sources.rasp.program import Program
from tm2tfr.sources.rasp.values import shown


@dataclass(frozen=True)
class Averaged:
    """The aggregate of a head: the name of its result, its values as text, and the default as text."""

    result: rasp.Aggregate
    name: str
    values: str
    default: str


@dataclass(frozen=True)
class FlowHead:
    """A head of the flow.

    Args:
        selector: what it computes.
        name: its name; empty if that is its text.
        text: the selector as RASP text, what it is made of by name.
        parts: further selectors that the text names, each with its own text.
        keys, queries: the s-ops that are compared, in the order in which they are written, each once; no constants.
        carried: what is averaged, in the order of creation.
    """

    selector: rasp.Selector
    name: str
    text: str
    parts: tuple[tuple[str, str], ...]
    keys: tuple[rasp.SOp, ...]
    queries: tuple[rasp.SOp, ...]
    carried: tuple[Averaged, ...]


@dataclass(frozen=True)
class FlowLayer:
    """A layer of the flow: its heads, and the s-ops behind them that have a box of their own."""

    heads: tuple[FlowHead, ...]
    elementwise: tuple[SamePlace, ...]


@dataclass(frozen=True, kw_only=True)
class Flow:
    """The flow of a computation.

    Args:
        program: the name of the program.
        sop: the s-op that is computed.
        called: the names of all s-ops and selectors; by_name: the numbers of those that texts refer to by them.
        names: the number of every s-op with a box of its own, or a row in that of a head -> its name.
        base: tokens and indices, as far as they are used.
        embedding: s-ops before the first layer.
        layers: the first one first.
        analysis: whose layers and depths these are.
        places: (layer, head), both from 0 -> layer and head of compiled weights, from 1, by which they are called then;
            without them, they are called by the depth at which RASP's analysis has them.
    """

    program: str
    sop: rasp.SOp
    called: RaspNames
    by_name: Collection[int]
    names: Mapping[int, str]
    base: tuple[rasp.SOp, ...]
    embedding: tuple[SamePlace, ...]
    layers: tuple[FlowLayer, ...]
    analysis: Analysis
    places: Mapping[tuple[int, int], tuple[int, int]] = field(default_factory=dict)

    @cached_property
    def title(self) -> str:
        """What is drawn, in a line."""
        return f"{self.program}: {self.names[self.sop.number]}" if self.program else self.names[self.sop.number]

    def layer(self, depth: int) -> str:
        """Return where the heads of a depth, from 1, are: ``layer 4`` of the weights, or ``depth 2``."""
        return f"layer {self.places[depth - 1, 0][0]}" if self.places else f"depth {depth}"

    def heading(self, depth: int) -> str:
        """Return the title of the box of a depth: ``layer 4 (depth 2)``, or ``depth 2``."""
        return self.layer(depth) + (f" (depth {depth})" if self.places else "")

    def head(self, depth: int, number: int) -> int:
        """Return the number of a head of a layer as people see it; both count from 1."""
        return self.places.get((depth - 1, number - 1), (depth, number))[1]

    def depth(self, sop: rasp.SOp) -> int:
        """Return the layer of an s-op, from 1; 0: before the first."""
        return self.analysis.depths[sop.number]

    def named(self, sop: rasp.SOp) -> str:
        """Return an s-op as it is referred to: by its name, or written out."""
        return self.called.reference(sop, self.by_name)

    def expression(self, sop: rasp.SOp) -> str:
        """Return how an s-op is made of what is drawn."""
        return self.called.text(sop, self.by_name)

    def sources(self, node: rasp.Node) -> tuple[rasp.SOp, ...]:
        """Return the s-ops with a name of their own that `node` is made of, each once, in the order of creation."""
        found: dict[int, rasp.SOp] = {}
        waiting = list(_drawn_of(node))
        while waiting:
            part = waiting.pop()
            if isinstance(part, rasp.SOp) and part.number in self.names:
                found[part.number] = part
            else:
                waiting.extend(_drawn_of(part))
        return tuple(found[number] for number in sorted(found))

    def behind(self, sop: rasp.SOp) -> tuple[rasp.SOp, ...]:
        """Return `sop` itself if it has a name of its own, otherwise what it is made of."""
        return (sop,) if sop.number in self.names else self.sources(sop)


def _drawn_of(node: rasp.Node) -> tuple[rasp.Node, ...]:
    """Return what `node` is made of; of the end of a loop, its value alone."""
    return (node.value,) if isinstance(node, rasp.Looped) else rasp.made_of(node)


def flow(
    program: Program | rasp.SOp, *, name: str = "", places: Mapping[tuple[int, int], tuple[int, int]] | None = None
) -> Flow:
    """Return the flow of a program's chosen s-op, or of an s-op of a program called `name`; places: see `Flow`."""
    sop = program.sop if isinstance(program, Program) else program
    analysis = analyse(sop)
    nodes = rasp.needed([sop])
    called = RaspNames(program)
    by_name = called.referred(nodes, boxed(nodes, [sop]))
    names = {node.number: called[node] for node in nodes if isinstance(node, rasp.SOp) and node.number in by_name}
    layers = tuple(
        FlowLayer(
            tuple(_head(head.selector, head.aggregates, called, by_name) for head in layer.heads),
            tuple(node for node in layer.elementwise if node.number in names),
        )
        for layer in analysis.layers
    )
    return Flow(
        program=program.name if isinstance(program, Program) else name,
        sop=sop,
        called=called,
        by_name=by_name,
        names=names,
        base=tuple(node for node in nodes if isinstance(node, rasp.Tokens | rasp.Indices)),
        embedding=tuple(node for node in analysis.embedding if node.number in names),
        layers=layers,
        analysis=analysis,
        places=places or {},
    )


def boxed(nodes: Iterable[rasp.Node], computed: Iterable[rasp.SOp]) -> set[int]:
    """Return the numbers of the nodes that have a box of their own whatever they are called.

    Args:
        nodes: each after those that it is made of.
        computed: the s-ops that are asked for.
    """
    nodes = tuple(nodes)
    uses = Counter(part.number for node in nodes for part in rasp.made_of(node))
    found = {sop.number for sop in computed} | {node.number for node in nodes if isinstance(node, rasp.Aggregate)}
    return found | {node.number for node in nodes if isinstance(node, rasp.SOp) and uses[node.number] > 1}


def _head(
    selector: rasp.Selector, aggregates: Iterable[rasp.Aggregate], names: RaspNames, by_name: Collection[int]
) -> FlowHead:
    leaves = [node for node in needed_selectors(selector) if isinstance(node, rasp.Select)]
    parts = [node for node in needed_selectors(selector) if node.number in by_name and node is not selector]
    text = names.text(selector, by_name)
    return FlowHead(
        selector=selector,
        name=names[selector] if names[selector] != text else "",
        text=text,
        parts=tuple((names[node], names.text(node, by_name)) for node in parts),
        keys=_each_once(leaf.key for leaf in leaves),
        queries=_each_once(leaf.query for leaf in leaves),
        carried=tuple(
            Averaged(made, names[made], names.reference(made.values, by_name), shown(made.default)) for made in aggregates
        ),
    )


def needed_selectors(selector: rasp.Selector) -> tuple[rasp.Selector, ...]:
    """Return a selector and those that it is made of, in the order of creation."""
    found, waiting = {selector.number: selector}, [selector]
    while waiting:
        for part in rasp.made_of(waiting.pop()):
            if isinstance(part, rasp.Selector) and part.number not in found:
                found[part.number] = part
                waiting.append(part)
    return tuple(found[number] for number in sorted(found))


def _each_once(sops: Iterable[rasp.SOp]) -> tuple[rasp.SOp, ...]:
    """Return s-ops, each once and without constants."""
    return tuple(dict.fromkeys(sop for sop in sops if not isinstance(sop, rasp.Constant)))
