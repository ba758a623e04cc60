"""AIGER (https://fmv.jku.at/aiger), circuits of two-input ANDs and negations, in its ASCII form ``.aag``.

A literal is twice the number of a variable, plus 1 if it is negated; 0 and 1 are the constants. ``aag M I L O A`` is
followed by I inputs, L latches ``lhs next reset``, O outputs and A lines ``lhs rhs0 rhs1``, then symbols such as
``i0 carry in``, and after a line ``c`` comments, which may contain any bytes: berkeley-abc ends the name of a circuit with
a NUL, and writes it in the line of the ``c`` or in the next one. Inputs without a symbol are called ``i0``, ``i1``, …,
latches ``l0``, …, outputs ``o0``, …, the AND of variable 7 ``n7``. The binary form is in `aiger_binary`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tm2tfr.base.text.source import Log, SourceText
from tm2tfr.sources.circuit.building import FreshNames
from tm2tfr.sources.circuit.formats.draft import LoadedCircuit, NetDraft, stem
from tm2tfr.sources.circuit.formats.names import restore, symbol_lines
from tm2tfr.sources.circuit.formats.pieces import halves
from tm2tfr.sources.circuit.netlist import Circuit


# ── a circuit as ANDs and negations, each AND made once: what the AIGER formats write ─────────────────
@dataclass
class AndGraph:
    """ANDs of literals: twice the number of a variable, plus 1 if it is negated; 0 and 1 are the constants.

    Args:
        inputs: the number of inputs, which are the variables from 1 on; the ANDs follow.
    """

    inputs: int
    ands: dict[tuple[int, int], int] = field(default_factory=dict)
    """The two literals, the larger one first -> the literal of the AND, in topological order."""

    def conjunction(self, left: int, right: int) -> int:
        """Return the literal of an AND."""
        left, right = max(left, right), min(left, right)
        if right == 0 or left == right ^ 1:
            return 0
        if right in (1, left):
            return left
        return self.ands.setdefault((left, right), 2 * (self.inputs + len(self.ands) + 1))

    def table(self, table: str, operands: Sequence[int]) -> int:
        """Return the literal of a table over literals, by halves."""
        if len(set(table)) == 1:
            return int(table[0])
        low, high = halves(table)
        if low == high:
            return self.table(low, operands[1:])
        first, zero, one = operands[0], self.table(low, operands[1:]), self.table(high, operands[1:])
        if 0 in (zero, one):
            return self.conjunction(first if zero == 0 else first ^ 1, zero | one)
        if 1 in (zero, one):  # the OR of two literals
            return self.conjunction(first if zero == 1 else first ^ 1, (zero if one == 1 else one) ^ 1) ^ 1
        return self.conjunction(self.conjunction(first, one) ^ 1, self.conjunction(first ^ 1, zero) ^ 1) ^ 1


def and_graph(circuit: Circuit) -> tuple[AndGraph, list[int]]:
    """Return `circuit` as ANDs, and the literals of its outputs."""
    graph = AndGraph(len(circuit.inputs))
    literals = {net: 2 * number for number, net in enumerate(circuit.inputs, 1)}
    for gate in circuit.gates:
        literals[gate.net] = graph.table(gate.table, [literals[net] for net in gate.operands])
    return graph, [literals[net] for _, net in circuit.outputs]


MOST_VARIABLES = 20_000_000
"""Far more than a decoder has positions for."""
MOST_INPUTS = 2_000_000
"""In the binary form they take no room in the file, but names in memory."""

_HEADER = re.compile(r"(aag|aig)((?: [0-9]+){5,9})")
_SYMBOL = re.compile(r"([ilobcjf])([0-9]+) (.*)")
_SHAPE = "write 'aag M I L O A': the highest variable, then the numbers of inputs, latches, outputs and ANDs"
_NOUNS = {"i": ("input", "inputs"), "l": ("latch", "latches"), "o": ("output", "outputs")}
"""The sign of a symbol -> what it names, and the field of `Header` with their number."""
_TABLES = ("0001", "0010", "0100", "1000")
"""The AND of two literals, by 2·(the first is negated) + (the second is negated)."""
COMMENTS = re.compile(rb"^c(?![0-9])", re.MULTILINE)
"""Where the comments begin; ``c0 name`` is the symbol of a constraint."""
_COMMENT = re.compile("c(?![0-9])")


@dataclass(frozen=True)
class Header:
    """The numbers of a header that was found to be sound."""

    variables: int
    inputs: int
    latches: int
    outputs: int
    ands: int


@dataclass
class AigerFile:
    """An AIGER file as it is read: literals and the lines of their definitions."""

    draft: NetDraft
    header: Header
    inputs: dict[int, int | None] = field(default_factory=dict)
    """Variable -> line."""
    latches: dict[int, tuple[int, str, int | None]] = field(default_factory=dict)
    """Variable -> the literal that it takes in, its first value, empty if there is none, and the line."""
    outputs: list[tuple[int, int | None]] = field(default_factory=list)
    ands: dict[int, tuple[int, int, int | None]] = field(default_factory=dict)
    """Variable -> two literals and the line."""
    symbols: dict[str, tuple[str, int]] = field(default_factory=dict)
    """``i0``, ``l0`` or ``o0`` -> name and line."""

    def read_latch(self, line: int, literal: int | None) -> None:
        """Read a latch: ``lhs next reset``, or without the left side, which is `literal`, in the binary form."""
        shape = "a latch is two or three literals, 'lhs next reset'" if literal is None else "a latch is 'next reset'"
        text = self.draft.log.source.lines[line]
        given = 2 if literal is None else 1
        found = _literals(self, line, given + (len(text.split()) > given), shape)
        if not found:
            return
        own, following, *reset = found if literal is None else (literal, *found)
        if reset and reset[0] not in (0, 1, own):
            problem = f"the latch {own} begins with {reset[0]}"
            self.draft.error(line, str(reset[0]), problem, f"write 0, 1, or {own} for a value that is not known")
        elif literal is not None or _definable(self, own, line, "a latch"):
            self.latches[own >> 1] = (following, "" if reset == [own] else str(reset[0]) if reset else "0", line)

    def read_outputs(self, first: int) -> None:
        """Read the outputs from the line `first` on."""
        for number in range(first, first + self.header.outputs):
            if literals := _literals(self, number, 1, "an output is one literal"):
                self.outputs.append((literals[0], number))

    def symbol_table(self, first: int) -> None:
        """Read the symbols and comments from the line `first` on, after which the circuit is complete."""
        lines = self.draft.log.source.lines
        comments = []
        for number in range(first, len(lines)):
            if _COMMENT.match(lines[number]):
                comments = [(number + 1 + k, text) for k, text in enumerate(lines[number + 1 :])]
                break
            if lines[number].strip():
                self.symbol(number, lines[number])
        self.into_draft()
        restore(self.draft, comments)

    def symbol(self, line: int, text: str) -> None:
        """Read the name of an input, a latch or an output."""
        match = _SYMBOL.fullmatch(text)
        if match is None or match[1] not in _NOUNS or not match[3].strip():
            problem = "this is neither the name of an input or output nor the beginning of the comments"
            remedy = "write 'i0 name', 'o0 name', or 'c' before comments; check the numbers in the header"
            self.draft.error(line, None, problem, remedy)
            return
        kind, number, name = match.groups()
        noun, part = _NOUNS[kind]
        known = getattr(self.header, part)
        place = kind + (number.lstrip("0") or "0")
        if len(number) > 9 or int(number) >= known:
            problem = f"there is no {noun} {number}; there are {known:,}, counted from 0"
            self.draft.error(line, None, problem, "remove the line, or correct the number")
        elif place in self.symbols:
            self.draft.error(line, None, f"{noun} {number} is named a second time", "remove one of the two")
        else:
            self.symbols[place] = (name, line)

    def into_draft(self) -> None:
        """Put nets with names in the place of literals."""
        draft = self.draft
        fresh = FreshNames(name for name, _ in self.symbols.values())
        taken = {name for place, (name, _) in self.symbols.items() if place[0] in "il"}
        nets: dict[int, str] = {}
        for number, (variable, line) in enumerate(self.inputs.items()):
            name, at = self.symbols.get(f"i{number}", ("", line))
            nets[variable] = name or unused(f"i{number}", taken, fresh)
            draft.add_input(nets[variable], at)
        for number, variable in enumerate(self.latches):
            name, _ = self.symbols.get(f"l{number}", ("", None))
            nets[variable] = name or unused(f"l{number}", taken, fresh)
        for variable in self.ands:
            nets[variable] = unused(f"n{variable}", taken, fresh)
        for variable, (left, right, line) in self.ands.items():
            draft.add_gate(nets[variable], *_gate(left, right, nets), line)
        made: dict[int, str] = {}
        named = {name for place, (name, _) in self.symbols.items() if place[0] == "o"}

        def net_of(literal: int, line: int | None) -> str:
            if literal not in made and literal > 1 and not literal & 1:
                made[literal] = nets.get(literal >> 1, "")
            elif literal not in made:
                made[literal] = fresh(f"const{literal}" if literal < 2 else f"not_{nets.get(literal >> 1, '')}")
                operands = () if literal < 2 else (nets.get(literal >> 1, ""),)
                draft.add_gate(made[literal], str(literal) if literal < 2 else "10", operands, line)
            return made[literal]

        for number, (literal, line) in enumerate(self.outputs):
            name, at = self.symbols.get(f"o{number}", ("", line))
            draft.add_output(name or unused(f"o{number}", named, fresh), net_of(literal, line), at)
        for variable, (literal, reset, line) in self.latches.items():
            draft.add_register(nets[variable], net_of(literal, line), reset, line)

    def check_used(self, literal: int, line: int | None) -> bool:
        """Return whether something defines the variable of a literal; if not, report it."""
        variable = literal >> 1
        if not variable or variable in self.inputs or variable in self.ands or variable in self.latches:
            return True
        problem = f"nothing defines variable {variable} (literal {literal})"
        self.draft.error(line, str(literal), problem, "make it an input, or the left side of an AND")
        return False


def unused(name: str, taken: set[str], fresh: FreshNames) -> str:
    """Return a name that is not `taken` by a symbol."""
    return fresh(name) if name in taken else name


def _gate(left: int, right: int, nets: dict[int, str]) -> tuple[str, tuple[str, ...]]:
    """Return the table and the operands of the AND of two literals."""
    if left < 2 or right < 2:
        constant, other = sorted((left, right))
        if constant == 0 or other < 2:
            return str(constant & other), ()
        return ("10" if other & 1 else "01"), (nets[other >> 1],)
    return _TABLES[2 * (left & 1) + (right & 1)], (nets[left >> 1], nets[right >> 1])


def looks_like(text: str) -> bool:
    """Return whether a text begins like a file of this format."""
    return text.startswith("aag ")


def read(source: SourceText, *, cut: bool = False) -> LoadedCircuit:
    """Read a circuit; `cut` it at its latches.

    Raises:
        SpecError: with every error.
    """
    draft = NetDraft(Log(source), name=stem(source.file), cut=cut)
    graph = AigerFile(draft, read_header(draft, "aag"))
    header, lines = graph.header, source.lines
    needed = header.inputs + header.latches + header.outputs + header.ands
    available = next((k for k, text in enumerate(lines) if _COMMENT.match(text)), len(lines)) - 1
    if available < needed:
        problem = f"the header announces {needed:,} lines, but only {available:,} follow"
        draft.refuse(0, None, problem, "check whether the file is complete, and the numbers in the header")
    first_latch = 1 + header.inputs
    first_output = first_latch + header.latches
    first_and = first_output + header.outputs
    for number in range(1, first_latch):
        _read_input(graph, number)
    for number in range(first_latch, first_output):
        graph.read_latch(number, None)
    graph.read_outputs(first_output)
    for number in range(first_and, first_and + header.ands):
        _read_and(graph, number)
    conclude(graph)
    graph.symbol_table(first_and + header.ands)
    return draft.loaded()


def conclude(graph: AigerFile) -> None:
    """Report literals that are used and never defined.

    Raises:
        SpecError: with all complaints so far, if there are any: symbols and cycles can wait.
    """
    for left, right, line in graph.ands.values():
        graph.check_used(left, line)
        graph.check_used(right, line)
    for literal, line in graph.outputs:
        graph.check_used(literal, line)
    for literal, _, line in graph.latches.values():
        graph.check_used(literal, line)
    graph.draft.log.conclude()


def read_header(draft: NetDraft, form: str) -> Header:
    """Return the header, after checking that its numbers are possible and consistent.

    Raises:
        SpecError: if the rest cannot be read after it.
    """
    text = draft.log.source.lines[0].rstrip()
    match = _HEADER.fullmatch(text)
    if match is None or match[1] != form:
        draft.refuse(0, None, "the first line is not the header of an AIGER file", _SHAPE.replace("aag", form))
    words = match[2].split()
    long = next((word for word in words if len(word) > 12 or int(word) > MOST_VARIABLES), None)
    if long is not None:
        shown = long if len(long) <= 20 else f"{long[:20]}…"
        draft.refuse(0, long, f"{shown} is more than {MOST_VARIABLES:,}, the most that is read", "check the header")
    most, inputs, latches, outputs, ands, *others = map(int, words)
    if inputs > MOST_INPUTS:
        problem = f"{inputs:,} inputs are more than {MOST_INPUTS:,}, the most that are read"
        draft.refuse(0, words[1], problem, "check the header")
    if any(others):
        problem = "this file has properties for model checkers (B, C, J or F is not 0)"
        draft.error(0, None, problem, "write them as outputs: only a circuit's inputs, ANDs and outputs are read")
    total = inputs + latches + ands
    if most < total or (form == "aig" and most != total):
        relation = "at least" if form == "aag" else "exactly"
        problem = f"the highest variable M is {most:,}, but I + L + A is {total:,}"
        draft.error(0, words[0], problem, f"M is {relation} I + L + A: correct the header")
    if not inputs and not latches:
        draft.error(0, None, "there is no input", "a circuit here has at least one: add one that nothing reads")
    if draft.log.found:
        raise draft.log.failure()
    return Header(most, inputs, latches, outputs, ands)


def _literals(graph: AigerFile, line: int, count: int, shape: str) -> list[int] | None:
    """Return the literals of a line; if they cannot be read, report it and return None."""
    draft, top = graph.draft, 2 * graph.header.variables + 1
    words = draft.log.source.lines[line].split()
    if len(words) != count or not all(word.isascii() and word.isdigit() for word in words):
        draft.error(
            line, None, f"{shape}, and this is not", "write whole numbers without signs; check the header's numbers"
        )
        return None
    literals = [int(word) if len(word) < 20 else top + 1 for word in words]
    for literal, word in zip(literals, words, strict=True):
        if literal > top:
            problem = f"literal {word if len(word) < 20 else word[:20] + '…'} is larger than 2M + 1 = {top}"
            draft.error(line, word, problem, "correct the literal, or M in the header")
            return None
    return literals


def _read_input(graph: AigerFile, line: int) -> None:
    literals = _literals(graph, line, 1, "an input is one literal")
    if literals and _definable(graph, literals[0], line, "an input"):
        graph.inputs[literals[0] >> 1] = line


def _read_and(graph: AigerFile, line: int) -> None:
    literals = _literals(graph, line, 3, "an AND is three literals, 'lhs rhs0 rhs1'")
    if literals and _definable(graph, literals[0], line, "the left side of an AND"):
        graph.ands[literals[0] >> 1] = (literals[1], literals[2], line)


def _definable(graph: AigerFile, literal: int, line: int, noun: str) -> bool:
    variable = literal >> 1
    if literal & 1 or not variable:
        problem = f"{noun} is {literal}, {'a constant' if not variable else 'a negated literal'}"
        graph.draft.error(line, str(literal), problem, "write an even literal from 2 on")
        return False
    lines = [graph.inputs[variable]] if variable in graph.inputs else []
    lines += [known[variable][2] for known in (graph.ands, graph.latches) if variable in known]
    if lines:
        first = lines[0]
        where = "" if first is None else f"; the first is in line {first + 1}"
        problem = f"variable {variable} (literal {literal}) is defined a second time{where}"
        graph.draft.error(line, str(literal), problem, "remove one of the two, or correct the literal")
        return False
    return True


def write(circuit: Circuit) -> str:
    """Return `circuit` as ANDs, with its names as symbols."""
    graph, outputs = and_graph(circuit)
    numbers = graph.inputs, 0, len(outputs), len(graph.ands)
    lines = [f"aag {graph.inputs + len(graph.ands)} {' '.join(map(str, numbers))}"]
    lines += [str(2 * number) for number in range(1, graph.inputs + 1)]
    lines += map(str, outputs)
    lines += [f"{literal} {left} {right}" for (left, right), literal in graph.ands.items()]
    return "".join(f"{line}\n" for line in (*lines, *symbol_lines(circuit)))
