"""Writes nodes and programs as text that reads back to equal nodes."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import count

from tm2tfr.base.text.source import SourceText
from tm2tfr.base.text.words import written
from tm2tfr.sources.logic.language.lexemes import THETA, head, lexemes
from tm2tfr.sources.logic.nodes import (
    Always,
    Choose,
    Input,
    Node,
    OneOf,
    Predicate,
    Retrieve,
    Same,
    Sum,
    Text,
    needed,
    parents,
)
from tm2tfr.sources.logic.printer import STYLES, Printer, StyleName, short
from tm2tfr.sources.logic.program import Language, LogicProgram, WordExample
from tm2tfr.sources.sequence.naming import unique

REPEATED = 30
"""A part without a name that is written more than once, with more characters than this, gets one in a program's text."""


def text_of(node: Node, style: StyleName = "ascii", *, named: bool = True, language: Language | None = None) -> str:
    """Return a node as text, on one line: always the same for the same node.

    Args:
        style: ``ascii``, ``paper`` (its signs) or ``latex`` (for maths).
        named: whether parts that have a name are written by it; the node itself never is.
        language: ``srasp`` writes positions, ``x(i)``; None: where the node is one that only programs have.

    What is longer than 300 characters within another text, and what no expression can say, such as an attention at j, is
    shortened, in brackets.
    """
    nodes = needed([node])
    names = {each: each.name for each in nodes if each.name} if named else {}
    positions = language == "srasp" if language else any(map(_of_programs, nodes))
    return Printer(STYLES[style], positions, names).text(node)


def texts_of(program: LogicProgram, style: StyleName = "ascii") -> dict[Node, str]:
    """Return the name of each node of a program, or its text in terms of named parts."""
    nodes = program.nodes
    names = {each: each.name for each in nodes if each.name}
    positions = program.language == "srasp" or any(isinstance(node, Retrieve) for node in nodes)
    printer = Printer(STYLES[style], positions, names)
    return {node: printer.style.word(node.name) if node.name else printer.text(node) for node in nodes}


def write(program: LogicProgram) -> str:
    """Return the text of a program from its nodes, with its headers: ``.tl`` or ``.srasp``, as its language is.

    Macros are gone; what is repeated and has no name gets one that begins with an underscore.
    """
    names: dict[Node, str] = {}
    for name, node in program.definitions.items():
        if name and not isinstance(node, Input | Text):
            names.setdefault(node, name)
    _name_parts(program, names)
    printer = Printer(STYLES["ascii"], program.language == "srasp", names, abbreviate=False)
    behind = "(i)" if program.language == "srasp" else ""
    lines = [
        f"{names[node]}{behind} = {printer.text(node)}" for node in needed([*program.definitions.values()]) if node in names
    ]
    rules = {n.theta: n.rule for n in needed([*program.definitions.values()]) if isinstance(n, Predicate) and n.theta}
    lines = [*(f"{THETA}({name}) = {text}" for name, text in rules.items()), *lines]
    for name, node in program.definitions.items():
        if name and names.get(node) != name:
            lines.append(f"{name}{behind} = {names[node] + behind if node in names else printer.text(node)}")
    if "" in program.definitions:
        text = printer.text(program.definitions[""])
        joins = text.startswith("-") or head(
            lexemes(SourceText(text, ""))
        )  # it would go on with the line before, or define
        lines.append(f"({text})" if joins else text)
    return "\n".join([*_headers(program, lines), *lines, ""])


def _of_programs(node: Node) -> bool:
    """Return whether only programs can have a node."""
    if isinstance(node, OneOf):
        return len(node.values) != 1 or not isinstance(node.of, Input)
    return isinstance(node, Text | Choose | Same | Retrieve)


def _name_parts(program: LogicProgram, names: dict[Node, str]) -> None:
    """Name every node that is written more than once, and every attention, since it cannot be at j."""
    nodes = needed([*program.definitions.values()])
    uses = Counter(part for node in nodes for part in dict.fromkeys(parents(node)))
    taken = {*names.values(), *program.definitions}
    printer = Printer(STYLES["ascii"], program.language == "srasp", names)
    unnamed, number = program.definitions.get(""), 0
    for node in nodes:
        attention = isinstance(node, Retrieve) and uses[node] > 0
        repeated = uses[node] > 1 and len(printer.text(node)) > REPEATED
        if node not in names and node is not unnamed and (attention or repeated):
            number = next(n for n in count(number + 1) if f"_{n}" not in taken)
            names[node] = f"_{number}"
            taken.add(names[node])
            printer.forget(node)


def _headers(program: LogicProgram, lines: list[str]) -> Iterable[str]:
    found = [f"# title: {program.title}"] if program.title else []
    if program.alphabet:
        found.append(f"# alphabet: {_word(program.alphabet)}")
    last = [name for name in program.definitions if not name.startswith("_")][-1:]
    final = re.match(r"\w+", lines[-1]) if lines and "" not in program.definitions else None
    if program.chosen and (last != [program.chosen] or (final and final[0] != program.chosen)):
        found.append(f"# define: {program.chosen}")
    found += [f"# example: {_example(example, program.definitions)}" for example in program.examples]
    return [*found, *([""] if found else [])]


def _example(example: WordExample, definitions: Mapping[str, Node]) -> str:
    word = _word(example.word)
    call = re.fullmatch(r"(\w+)\(.*\)", word)
    if not example.of and call is not None and call[1] in definitions:
        word = json.dumps(list(example.word), ensure_ascii=False)
    return f"{f'{example.of}({word})' if example.of else word} -> {_word(example.values)}"


def _word(tokens: tuple[str, ...]) -> str:
    """Return tokens as headers have them: characters, or a JSON list."""
    return json.dumps(list(tokens), ensure_ascii=False) if any(map(str.isspace, tokens)) else written(tokens)


# ── the outputs of the weights of a formula or program: every node, by name. Compiler and truth share this
def output_names(program: LogicProgram) -> dict[Node, str]:
    """Return the name of each node: of the one that is compiled first, then of the others by their numbers.

    A node is called as its definition is, the first one of several, otherwise as it is written in ASCII, shortened to 40
    characters. No two names are equal: where they would be, the later one has a mark behind it.
    """
    defined, texts = _defined(program), texts_of(program)
    taken, names = set[str](), dict[Node, str]()
    for known in (defined, texts):
        for node in (program.root, *(each for each in program.nodes if each is not program.root)):
            if node in known and node not in names:
                names[node] = unique(short(known[node]), taken)
                taken.add(names[node])
    return {node: names[node] for node in dict.fromkeys((program.root, *program.nodes))}


def former_names(program: LogicProgram) -> dict[Node, str]:
    """Return the names that weights of the first versions have: of any length, some with the number of a node behind it."""
    defined, texts = _defined(program), texts_of(program)
    names, taken = dict[Node, str](), set(defined.values())
    for node in dict.fromkeys((program.root, *program.nodes)):
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
