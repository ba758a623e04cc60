"""The flow of a computation: what a drawing of a program shows, layer by layer, and how each thing in it is called.

Layers and heads are those of the analysis. As in the drawings of the authors' interpreter, constants have no box of their
own, nor has an s-op without a name that is used once: it is written out where it is used. A variable of the program goes by
its own name; an s-op without one that is used more often is called ``_1``, ``_2``, …, which no variable of a program is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tm2tfr.sources.rasp import sops as rasp
from tm2tfr.sources.rasp.analyse import Analysis, SamePlace, analyse
from tm2tfr.sources.rasp.program import Program
from tm2tfr.sources.rasp.values import shown
from tm2tfr.sources.rasp.write import CALLED, applied, literal

# ── How an s-op or a selector is made, as RASP text that refers to what is drawn by name.
MOST_ENTRIES = 4
"""Of a table that is written out."""


def expression(sop: rasp.SOp, names: Mapping[int, str]) -> str:  # noqa: PLR0911  # noqa: PLR0911
    """Return how an s-op is made.

    Args:
        names: the numbers of those s-ops that are referred to by name; the others are written out.
    """
    if isinstance(sop, rasp.Constant):
        return shown(sop.value)
    if isinstance(sop, rasp.Tokens):
        return f"tokens_{sop.conversion}"
    if isinstance(sop, rasp.Indices):
        return "indices"
    if isinstance(sop, rasp.Aggregate):
        usual = type(sop.default) is int and sop.default == 0
        default = "" if usual else f", {literal(sop.default)}"
        return f"aggregate({selector_named(sop.selector, names)}, {named(sop.values, names)}{default})"
    if isinstance(sop, rasp.Elementwise):
        return _elementwise(sop, names)
    if isinstance(sop, rasp.State):
        return f"{named(sop.initial, names)}, then what the pass before has made"
    if isinstance(sop, rasp.Looped):
        return f"{named(sop.value, names)} in the last pass"
    raise TypeError(f"{type(sop).__name__} is not an s-op of a program")


def named(sop: rasp.SOp, names: Mapping[int, str]) -> str:
    """Return an s-op as it is referred to: by its name, or written out."""
    return names.get(sop.number) or expression(sop, names)


def selector_named(selector: rasp.Selector, names: Mapping[int, str]) -> str:
    """Return a selector as it is referred to: by its name, or written out."""
    return names.get(selector.number) or selector.name or selector_text(selector, names)


def selector_text(selector: rasp.Selector, names: Mapping[int, str]) -> str:
    """Return how a selector is made: of other selectors by their names, of s-ops as `named` has them."""
    if isinstance(selector, rasp.Select):
        return f"select({named(selector.key, names)}, {named(selector.query, names)}, {selector.relation})"
    if not isinstance(selector, rasp.Combined):
        raise TypeError(f"{type(selector).__name__} is not a selector of a program")
    parts = [_part(part, names) for part in selector.parts]
    return f"not {parts[0]}" if selector.operator == "not" else f" {selector.operator} ".join(parts)


def _part(selector: rasp.Selector, names: Mapping[int, str]) -> str:
    text = selector_named(selector, names)
    return f"({text})" if isinstance(selector, rasp.Combined) and text == selector_text(selector, names) else text


def _elementwise(sop: rasp.Elementwise, names: Mapping[int, str]) -> str:
    word = named if sop.operator in (*CALLED, "table") else operand
    entries = [shown(k) + (f": {shown(v)}" if sop.operator == "table" else "") for k, v in sop.entries]
    return applied(sop, [word(argument, names) for argument in sop.arguments], _cut(entries))


def operand(sop: rasp.SOp, names: Mapping[int, str]) -> str:
    """Return an operand, in brackets if it is written out and is not a call: few readers know RASP's precedences."""
    text = named(sop, names)
    return (
        f"({text})"
        if isinstance(sop, rasp.Elementwise) and sop.number not in names and sop.operator not in CALLED
        else text
    )


def _cut(entries: Sequence[str]) -> Sequence[str]:
    """Return entries, only the first ones if there are many."""
    shortened = [*entries[:MOST_ENTRIES], f"… {len(entries) - MOST_ENTRIES} more"]
    return entries if len(entries) <= MOST_ENTRIES + 1 else shortened


LONGEST = 60
"""An expression with more characters than this is not written into another one."""


@dataclass(frozen=True)
class Averaged:
    """What a head averages: the name of its result, its values as text, and the default as text."""

    result: rasp.Aggregate
    name: str
    values: str
    default: str


@dataclass(frozen=True)
class FlowHead:
    """A head of the flow.

    Args:
        selector: what it computes.
        name: the variable that has the selector, empty if there is none.
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
        return named(sop, self.names)

    def expression(self, sop: rasp.SOp) -> str:
        """Return how an s-op is made of what is drawn."""
        return expression(sop, self.names)

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
    names = _names(nodes, sop, program.chosen if isinstance(program, Program) else "")
    layers = tuple(
        FlowLayer(
            tuple(_head(head.selector, head.aggregates, names) for head in layer.heads),
            tuple(node for node in layer.elementwise if node.number in names),
        )
        for layer in analysis.layers
    )
    return Flow(
        program=program.name if isinstance(program, Program) else name,
        sop=sop,
        names=names,
        base=tuple(node for node in nodes if isinstance(node, rasp.Tokens | rasp.Indices)),
        embedding=tuple(node for node in analysis.embedding if node.number in names),
        layers=layers,
        analysis=analysis,
        places=places or {},
    )


def _head(selector: rasp.Selector, aggregates: Iterable[rasp.Aggregate], names: Mapping[int, str]) -> FlowHead:
    leaves = [node for node in needed_selectors(selector) if isinstance(node, rasp.Select)]
    parts = [node for node in needed_selectors(selector) if node.name and node is not selector]
    return FlowHead(
        selector=selector,
        name=selector.name,
        text=selector_text(selector, names),
        parts=tuple((node.name, selector_text(node, names)) for node in parts),
        keys=_each_once(leaf.key for leaf in leaves),
        queries=_each_once(leaf.query for leaf in leaves),
        carried=tuple(
            Averaged(made, names[made.number], named(made.values, names), shown(made.default)) for made in aggregates
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


# ── names ───────────────────────────────────────────────────────────────────────────────────────────────────
def _names(nodes: tuple[rasp.Node, ...], sop: rasp.SOp, chosen: str) -> dict[int, str]:
    """Return the name of each s-op that is not written out where it is used."""
    uses = Counter(part.number for node in nodes for part in rasp.made_of(node))
    found: dict[int, str] = {}
    taken: set[str] = {chosen}
    private = 0
    for node in nodes:
        if not isinstance(node, rasp.SOp) or isinstance(node, rasp.Constant):
            continue
        name = chosen if node is sop and chosen else base_name(node)
        once = isinstance(node, rasp.Elementwise) and uses[node.number] < 2 and node is not sop
        if not name and (not once or len(expression(node, found)) > LONGEST):
            private += 1
            name = f"_{private}"
        if name:
            found[node.number] = _fresh(name, taken if node is not sop or not chosen else set())
            taken.add(found[node.number])
    return found


def base_name(sop: rasp.SOp) -> str:
    """Return the name of an s-op: that of its variable, and ``tokens`` where it is the plain input."""
    if isinstance(sop, rasp.Tokens) and sop.conversion == "str" and sop.name in ("", "tokens_str"):
        return "tokens"
    return sop.name


def _fresh(name: str, taken: set[str]) -> str:
    """Return a name that is not taken: two calls of a function give two s-ops of one name, and ``length (2)`` is one."""
    number = 2
    found = name
    while found in taken:
        found, number = f"{name} ({number})", number + 1
    return found
