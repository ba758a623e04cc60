"""The building blocks of JFLAP 7: states that contain machines of their own, made into the states of one flat machine.

A run that enters a block is in the initial state of the block's machine, at once and without a step. Where that machine has
no transition for the symbol under the head, the transitions of the block itself apply, and so on outwards; a run halts
where none applies at any level. Final states count at the outermost level alone, and there on entry, before the machine
of the block. So each step of JFLAP's is one step of the flat machine.
Source: https://www.jflap.org/tutorial/turing/buildingblocks/buildingblocks.htm, "Updates in Version 7.0".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from tm2tfr.base.text.nodes import Node
from tm2tfr.sources.turing.formats.lossless import fresh
from tm2tfr.sources.turing.spec import Rule

if TYPE_CHECKING:
    from tm2tfr.base.text import xml

DEEPEST = 50
"""More blocks within blocks than in any machine."""
_LOOKS = frozenset({"x", "y", "controlx", "controly", "note", "label"})


class Move(NamedTuple):
    """What a transition does on one symbol; its target is in its level, and `negated` says that it reads ``!x``."""

    target: str
    write: str
    move: int
    node: Node
    negated: bool


@dataclass
class Level:
    """One machine of a file: the outermost one, or that of a block; its states are known by their ids.

    `moves` has the transitions for each symbol: ``moves[state][symbol]``.
    """

    names: dict[str, str] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    inner: dict[str, Level] = field(default_factory=dict)
    initial: str = ""
    final: tuple[str, ...] = ()
    transitions: list[tuple[xml.Element, str, str, str, str, int]] = field(default_factory=list)
    moves: dict[str, dict[str, Move]] = field(default_factory=dict)

    def levels(self) -> Iterator[Level]:
        """Yield this level and all within it, each once."""
        seen, queue = {id(self)}, [self]
        while queue:
            level = queue.pop()
            yield level
            for other in level.inner.values():
                if id(other) not in seen:
                    seen.add(id(other))
                    queue.append(other)

    def size(self, known: dict[int, int] | None = None) -> int:
        """Return the number of states of the flat machine, without making it: blocks that share a machine count each."""
        known = {} if known is None else known
        if id(self) not in known:
            known[id(self)] = sum(self.inner[q].size(known) if q in self.inner else 1 for q in self.names)
        return known[id(self)]


class Place(NamedTuple):
    """A state of a level, in the blocks with these ids, the outermost first."""

    within: tuple[str, ...]
    level: Level
    state: str


@dataclass
class Flat:
    """The flat machine of a level: its states, and its rules with their places in the text."""

    top: Level
    names: dict[tuple[str, ...], str] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    rules: dict[tuple[str, str], tuple[Rule, Node]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        leaves = list(self.leaves())
        for chain in leaves:
            self.name(chain)
        for chain in leaves:
            self.add(chain)

    def leaves(self) -> Iterator[tuple[Place, ...]]:
        """Yield the states without a machine of their own, each with the blocks that it is in, the innermost first."""
        queue: list[tuple[Place, ...]] = [(Place((), self.top, q),) for q in reversed(self.top.names)]
        while queue:
            chain = queue.pop()
            within, level, state = chain[0]
            inner = level.inner.get(state)
            if inner is None or (level is self.top and state in level.final):
                yield chain
            else:
                queue += [(Place((*within, state), inner, q), *chain) for q in reversed(inner.names)]

    def name(self, chain: tuple[Place, ...]) -> None:
        """Give a state a name of its own: those of its blocks and its own, with points between."""
        name = ".".join(place.level.names[place.state] for place in reversed(chain))
        path = (*chain[0].within, chain[0].state)
        if name in self.nodes:
            name = f"{name} ({'.'.join(path)})"
        if name in self.nodes:
            name = fresh(name, self.nodes)
        self.names[path] = name
        self.nodes[name] = chain[0].level.nodes[chain[0].state]

    def entered(self, place: Place) -> str:
        """Return the name of the state that a run is in which enters a state or a block."""
        within, level, state = place
        while state in level.inner and not (level is self.top and state in level.final):
            within, level = (*within, state), level.inner[state]
            state = level.initial
        return self.names[*within, state]

    def add(self, chain: tuple[Place, ...]) -> None:
        """Add the rules of a state: its own transitions come before those of the blocks that it is in."""
        name = self.names[*chain[0].within, chain[0].state]
        if len(chain) == 1 and chain[0].state in self.top.final:
            return
        for within, level, state in chain:
            for symbol, (target, write, move, node, _) in level.moves.get(state, {}).items():
                if (name, symbol) not in self.rules:
                    rule = Rule(self.entered(Place(within, level, target)), write, move)
                    self.rules[name, symbol] = (rule, node)

    @property
    def start(self) -> str:
        """The state in which a run starts."""
        return self.entered(Place((), self.top, self.top.initial))


def by_tag(root: xml.Element) -> dict[str, list[xml.Element]]:
    """Return the elements of a document by their tags, in the order of the text."""
    found: dict[str, list[xml.Element]] = {}
    queue = [root]
    while queue:
        element = queue.pop()
        found.setdefault(element.tag, []).append(element)
        queue += reversed(element.children)
    return found


def machine_within(
    block: xml.Element, body: xml.Element, tagged: Mapping[str, list[xml.Element]]
) -> tuple[xml.Element, ...]:
    """Return the elements that may be the machine of a block: none, one, or two that differ.

    JFLAP writes it beside the block, and reads the first with that tag in the whole file.
    """
    tag = block.first("tag")
    name = "" if tag is None else tag.text.strip()
    first = next(iter(tagged.get(name, ())), None)
    beside = body.first(name) or first
    if first is None or beside is None:
        return ()
    return (beside,) if beside is first or _meant(beside) == _meant(first) else (beside, first)


def _meant(element: xml.Element) -> tuple[object, ...]:
    """Return the content of an element, without its drawing and the order of its parts."""
    inside = sorted((_meant(child) for child in element.children if child.tag not in _LOOKS), key=repr)
    return (element.tag, tuple(sorted(element.attributes.items())), element.text.strip(), *inside)
