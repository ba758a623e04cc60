"""Writes s-ops as RASP text that reads back to an equal graph, one variable for each node that has a name or is used twice.

Nodes that are not variables of the program get names that begin with an underscore, which `Program.sops` leaves out. Calls
of the library remain, so that its parts have the same names again; without the library, and in programs with loops, they
are written out. Other functions and ``for`` are gone, since they are of the meta level; what is left is the object level,
node by node.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

from tm2tfr.base.errors import CompileError
from tm2tfr.sources.rasp import sops as rasp
from tm2tfr.sources.rasp.language.lexemes import words
from tm2tfr.sources.rasp.language.scope import RESERVED, is_atom
from tm2tfr.sources.rasp.program import Example, Program, Word
from tm2tfr.sources.rasp.read import library_names
from tm2tfr.sources.rasp.values import shown

LONGEST = 70
"""An expression with more characters than this gets a variable of its own."""
_NAME = re.compile("[a-zA-Z_][a-zA-Z_0-9]*")


def write(program: Program) -> str:
    """Return the text of a program, with its headers.

    Raises:
        CompileError: if a value cannot be written, such as a text with quotes in it.
    """
    lines = [f"# title: {' '.join(program.title.split())}"] if program.title else []
    if program.alphabet:
        lines.append(f"# alphabet: {_word(program.alphabet)}")
    body = written(program.sops, program.selectors, library=True)
    if program.chosen and program.chosen != next(reversed([*program.sops]), ""):
        lines.append(f"# sop: {program.chosen}")
    lines += [f"# example: {_example(example, program.chosen)}" for example in program.examples]
    return "\n".join([*lines, *([""] if lines else []), body])


def written(
    sops: Mapping[str, rasp.SOp], selectors: Mapping[str, rasp.Selector] | None = None, *, library: bool = False
) -> str:
    """Return the text that assigns these s-ops to variables of these names, in this order.

    Args:
        library: whether the text uses the library.

    Raises:
        CompileError: if a value cannot be written, such as a text with quotes in it.
    """
    wanted: dict[str, rasp.Node] = {**(selectors or {}), **sops}
    nodes = rasp.needed(wanted.values())
    library = library and not any(isinstance(node, rasp.Repeat) for node in nodes)
    if library:
        nodes = rasp.needed(wanted.values(), _parts_with_library)
    writer = _Writer(nodes, wanted, library=library)
    for node in nodes:
        writer.take(node)
    before = -1  # nodes are written in the order of their creation, and those that come out of order once more
    for name, node in wanted.items():
        late = isinstance(node, rasp.SOp) and node.number < before
        if late or writer.names.get(node.number) != name:
            writer.lines.append(f"{name} = {writer.text[node.number]};")
            before = nodes[-1].number + 1
        elif isinstance(node, rasp.SOp):
            before = node.number
    return "\n".join([*writer.lines, ""])


class Loops:
    """The blocks of the loops of a program: each node that is computed in every pass has a variable there."""

    def __init__(self, nodes: Sequence[rasp.Node]) -> None:
        loops = [node for node in nodes if isinstance(node, rasp.Repeat)]
        self.around = {node.number: loop for loop in loops for node in rasp.repeated(loop, nodes)}
        self._lines: dict[rasp.Repeat, list[str]] = {loop: [] for loop in loops}
        self._kept = {
            (node.loop, node.value)
            for node in nodes
            if isinstance(node, rasp.Looped) and isinstance(node.value, rasp.State)
        }

    def add(self, loop: rasp.Repeat, line: str) -> None:
        """Add a line to the block of a loop."""
        self._lines[loop].append(line)

    def block(self, loop: rasp.Repeat, text: dict[int, str], numbered: Callable[[], str]) -> list[str]:
        """Return the lines of a loop; `text` then says how its values are referred to behind it."""
        states, lines = [text[state.number] for state in loop.states], self._lines[loop]
        handed = [text[following.number] for following in loop.nexts]
        until = None if loop.until is None else loop.until.number
        for state in loop.states:
            if (loop, state) in self._kept or state.number == until:  # what it was in the pass, once it is assigned
                name = numbered()
                lines.append(f"{name} = {text[state.number]};")
                text[state.number] = name
        if states:
            lines.append(f"{', '.join(states)} = {', '.join(handed)};")
        condition = "" if until is None else f" until {text[until]}"
        count = "" if loop.times is None else f" {loop.times}"
        return [f"repeat{count}{condition} {{", *(f"    {line}" for line in lines), "}"]


class _Writer:
    """The lines that have been written, and how each node is referred to."""

    def __init__(self, nodes: tuple[rasp.Node, ...], wanted: Mapping[str, rasp.Node], *, library: bool) -> None:
        self.lines: list[str] = []
        self.library = library
        parts = _parts_with_library if library else rasp.made_of
        self.numbers = 0
        self.text: dict[int, str] = {}
        self.uses = Counter(part.number for node in nodes for part in parts(node))
        self.taken = RESERVED | library_names() | words() | set(wanted)
        self.names: dict[int, str] = {
            node.number: name
            for name, node in wanted.items()
            if not (isinstance(node, rasp.Tokens | rasp.Indices | rasp.Constant) or self.shared(node))
        }
        self.used = set(self.taken)
        self.loops = Loops(nodes)

    def take(self, node: rasp.Node) -> None:
        """Write the line of a node, unless it is written where it is used."""
        if isinstance(node, rasp.State):
            self.text[node.number] = self.fresh(node) or self.numbered()
            self.lines.append(f"{self.text[node.number]} = {self.text[node.initial.number]};")
        elif isinstance(node, rasp.Repeat):
            self.lines += self.loops.block(node, self.text, self.numbered)
        elif isinstance(node, rasp.Looped) and node.number not in self.names:
            self.text[node.number] = self.text[node.value.number]
        elif isinstance(node, rasp.Tokens):
            self.text[node.number] = f"tokens_{node.conversion}"
        elif isinstance(node, rasp.Indices):
            self.text[node.number] = "indices"
        elif isinstance(node, rasp.Constant):
            self.text[node.number] = literal(node.value)
        elif self.shared(node):
            self.text[node.number] = node.name
        else:
            expression = self.expression(node)
            loop = self.loops.around.get(node.number)
            name = ("" if loop else self.names.get(node.number)) or self.fresh(node)
            if loop:
                name = name or self.numbered()
                self.loops.add(loop, f"{name} = {expression};")
                self.text[node.number] = name
            elif name or self.uses[node.number] != 1 or len(expression) > LONGEST:
                name = name or self.numbered()
                self.lines.append(f"{name} = {expression};")
                self.text[node.number] = name
            else:
                whole = _is_call(node) or (self.library and _library_call(node) is not None)
                self.text[node.number] = expression if whole else f"({expression})"

    def shared(self, node: rasp.Node) -> bool:
        """Return whether the text has a node as a variable of the library."""
        return self.library and _is_of_library(node)

    def fresh(self, node: rasp.Node) -> str:
        """Return a private name made of the node's own, or the empty string if it has none or another node has that."""
        name = f"_{node.name.removeprefix('_')}"
        if not _NAME.fullmatch(node.name) or name in self.used:
            return ""
        self.used.add(name)
        return name

    def numbered(self) -> str:
        """Return a name for a node that has none."""
        self.numbers += 1
        while f"_{self.numbers}" in self.used:
            self.numbers += 1
        self.used.add(f"_{self.numbers}")
        return f"_{self.numbers}"

    def expression(self, node: rasp.Node) -> str:
        """Return the expression that makes a node."""
        if isinstance(node, rasp.Looped):
            return self.text[node.value.number]
        if self.library and (call := _library_call(node)) is not None:
            arguments = (
                self.text[value.number] if isinstance(value, rasp.Node) else literal(value)  # type: ignore[arg-type]
                for value in call.arguments
            )
            return f"{call.function}({', '.join(arguments)})"
        parts = [self.text[part.number] for part in rasp.made_of(node)]
        if isinstance(node, rasp.Aggregate):
            usual = isinstance(node.default, int) and not isinstance(node.default, bool) and node.default == 0
            return f"aggregate({', '.join(parts)}{'' if usual else ', ' + literal(node.default)})"
        if isinstance(node, rasp.Select):
            return f"select({', '.join(parts)}, {node.relation})"
        if isinstance(node, rasp.Combined):
            return f"not {parts[0]}" if node.operator == "not" else f" {node.operator} ".join(parts)
        if isinstance(node, rasp.Elementwise):
            return _elementwise(node, parts)
        raise TypeError(f"{type(node).__name__} is not a node of a program")


def _is_of_library(node: rasp.Node) -> bool:
    """Return whether a node is a variable of the library; a variable of a function may have the same name."""
    return node.name == node.statement and node.name in library_names()


def _library_call(node: rasp.Node) -> rasp.Call | None:
    """Return the call of the library that returned a node; None if there is none, or if it has no text."""
    call = node.returned
    if call is None or call.function not in library_names():
        return None
    return call if all(isinstance(value, rasp.Node) or is_atom(value) for value in call.arguments) else None


def _parts_with_library(node: rasp.Node) -> Iterable[rasp.Node]:
    """Return the nodes to which the text of a node refers where the text uses the library."""
    if _is_of_library(node):
        return ()
    call = _library_call(node)
    return rasp.made_of(node) if call is None else [each for each in call.arguments if isinstance(each, rasp.Node)]


def _is_call(node: rasp.Node) -> bool:
    """Return whether a node is written as a call, which needs no brackets around it."""
    return isinstance(node, rasp.Select | rasp.Aggregate) or (
        isinstance(node, rasp.Elementwise) and node.operator in CALLED
    )


def _elementwise(node: rasp.Elementwise, parts: list[str]) -> str:
    if all(isinstance(argument, rasp.Constant) for argument in node.arguments):
        raise CompileError(f"'{node.operator}' of constants alone cannot be written as RASP: use its value")
    table = node.operator == "table"
    return applied(node, parts, [literal(k) + (f": {literal(v)}" if table else "") for k, v in node.entries])


CALLED = ("round", "indicator")
"""The operators that are written like functions."""


def applied(node: rasp.Elementwise, parts: Sequence[str], entries: Sequence[str]) -> str:
    """Return the text of an operator that is applied to these texts; `entries`: those of a table, and what is in a list."""
    if node.operator == "if":
        return f"{parts[0]} if {parts[1]} else {parts[2]}"
    if node.operator == "in":
        return f"{parts[0]} in [{', '.join(entries)}]"
    if node.operator == "table":
        return f"{{{', '.join(entries)}}}[{parts[0]}]"
    if node.operator in CALLED:
        return f"{node.operator}({parts[0]})"
    if len(parts) == 1:
        return {"not": "not ", "neg": "-", "pos": "+"}[node.operator] + parts[0]
    return f"{parts[0]} {node.operator} {parts[1]}"


def literal(value: rasp.Atom) -> str:
    """Return an atom as RASP text.

    Raises:
        CompileError: if it is a text with a quote or a line break.
    """
    if isinstance(value, str) and re.search('["\r\n]', value):
        raise CompileError(f"the text {value!r} cannot be written in RASP, which has no escapes: use another token")
    if isinstance(value, Fraction) and "/" in shown(value):
        return f"({value.numerator} / {value.denominator})"
    return f"({shown(value)})" if not isinstance(value, str | bool) and value < 0 else shown(value)


def _word(word: Iterable[rasp.Atom]) -> str:
    """Return tokens as headers have them: characters, or a JSON list."""
    tokens = list(word)
    plain = all(isinstance(token, str) and len(token) == 1 and not token.isspace() for token in tokens)
    if plain and tokens[0] != "[":
        return "".join(map(str, tokens))
    return json.dumps([str(token) if isinstance(token, Fraction) else token for token in tokens], ensure_ascii=False)


def _example(example: Example, chosen: str) -> str:
    given: Word = example.input
    left = _word(given) if example.sop == chosen else f"{example.sop}({_word(given)})"
    return f"{left} -> {'error' if example.error else _word(example.output)}"
