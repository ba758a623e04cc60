"""What the weights of a formula or program answer: every node, by name. Compiler and truth have this in common."""

from __future__ import annotations

from tm2tfr.sources.logic.nodes import Always, Input, Node, Sum, Text
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.write import texts_of


def output_names(program: LogicProgram) -> dict[Node, str]:
    """Return the name of each node: of the one that is compiled first, then of the others by their numbers.

    A node is called as its definition is, the first one of several, otherwise as it is written in ASCII. No two names are
    equal: where they would be, the later one has the number of its node behind it.
    """
    defined, texts = _defined(program), texts_of(program)
    names, taken = dict[Node, str](), set(defined.values())
    for node in (program.root, *(each for each in program.nodes if each is not program.root)):
        name = defined.get(node)
        if name is None:
            name, again = texts[node], node.number
            while name in taken:
                name, again = f"{texts[node]} #{again}", again + 1
            taken.add(name)
        names[node] = name
    return names


def answered_names(program: LogicProgram, *, defined: bool = False) -> dict[Node, str]:
    """Return the name of each node that weights answer: all but constants, the token, and sums of one term.

    What is compiled, or has a definition, is answered whatever it is; with `defined`, nothing else.
    """
    known, names = _defined(program), output_names(program)
    return {n: name for n, name in names.items() if n is program.root or n in known or not (defined or _plain(n))}


def _plain(node: Node) -> bool:
    """Return whether a node is the token, a constant, or a sum that is one number or bit alone."""
    if isinstance(node, Sum):
        return not node.terms or (len(node.terms) == 1 and node.terms[0][0] == 1 and not node.constant)
    return isinstance(node, Input | Text | Always)


def _defined(program: LogicProgram) -> dict[Node, str]:
    """Return the nodes that have names, each with its first; the name that is compiled comes before all others."""
    found = {program.root: program.chosen} if program.chosen else dict[Node, str]()
    for name, node in program.definitions.items():
        if name:
            found.setdefault(node, name)
    return found
