"""What the weights of a formula or program answer: every node, by name. Compiler and truth have this in common."""

from __future__ import annotations

from collections.abc import Callable

from tm2tfr.sources.logic.nodes import Node
from tm2tfr.sources.logic.program import LogicProgram


def output_names(program: LogicProgram, *, text: Callable[[Node], str] | None = None) -> dict[Node, str]:
    """Return the name of each node: of the one that is compiled first, then of the others by their numbers.

    A node is called as its definition is, the first one of several, otherwise as it is written in ASCII. No two names are
    equal: where they would be, the later one has the number of its node behind it.

    Args:
        text: how a node is written; None: its number.
    """
    shown = text or (lambda node: f"s{node.number}")
    defined = _defined(program)
    names, taken = dict[Node, str](), set(defined.values())
    for node in (program.root, *(each for each in program.nodes if each is not program.root)):
        name = defined.get(node)
        if name is None:
            written = name = shown(node)
            again = node.number
            while name in taken:
                name, again = f"{written} #{again}", again + 1
            taken.add(name)
        names[node] = name
    return names


def _defined(program: LogicProgram) -> dict[Node, str]:
    """Return the nodes that have names, each with its first; the name that is compiled comes before all others."""
    found = {program.root: program.chosen} if program.chosen else dict[Node, str]()
    for name, node in program.definitions.items():
        if name:
            found.setdefault(node, name)
    return found
