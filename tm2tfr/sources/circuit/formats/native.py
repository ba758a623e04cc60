"""Our YAML for circuits, with names, a source, and examples that ``check`` runs.

::

    name: full-adder
    inputs: [a, b, cin]
    gates:
      half: XOR a b              # a function and its operands
      sum: half ^ cin            # or an expression in Python's syntax
      carry: 00010111 a b cin    # or a table, the first operand most significant
    outputs: [sum, carry]        # or a mapping {output: net}

Examples:
      - {input: 011, outputs: 01}

A gate may also be a list, ``[XOR, a, b]``, for nets whose names contain blanks. With the key ``encoding: sha-256``, a
circuit of 512 inputs and 256 outputs takes any short text as its input, as one block of SHA-256.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from tm2tfr.base.errors import SpecError, counted, did_you_mean, listing
from tm2tfr.base.text.nodes import List, Map, Node, Reading, Scalar, compose, kind
from tm2tfr.base.text.source import Log, SourceText
from tm2tfr.base.text.words import flow_list, paragraph, scalar
from tm2tfr.sources.circuit.building import ASSOCIATIVE, TABLES, FreshNames
from tm2tfr.sources.circuit.formats.draft import CircuitExample, LoadedCircuit, NetDraft, stem
from tm2tfr.sources.circuit.formats.expression import Equations, parsed
from tm2tfr.sources.circuit.netlist import ENCODED, MOST_OPERANDS, Circuit, Gate

KEYS = ("name", "description", "source", "encoding", "inputs", "gates", "outputs", "examples")

_EXAMPLE_KEYS = ("input", "outputs")
_MEANT = {"input": "inputs", "output": "outputs", "nets": "gates", "netlist": "gates", "tests": "examples", "title": "name"}
_FUNCTIONS = tuple(dict.fromkeys(kind for kind, _ in TABLES))
_BITS = re.compile("[01]+")
_TOP_KEY = re.compile(r"^(inputs|gates)[ \t]*:", re.MULTILINE)
_SPELLED = "write for example 'XOR a b', '0110 a b' or 'a ^ b'"
_WORD = re.compile(r"[^\s&|^~()=]+")
_NET = re.compile(r"[\w.$\[\]]+")
_SCALAR = r"(?:[A-Za-z_][\w.]*|[0-9]|'(?:[^']|'')+')"
_OPERAND = re.compile(_SCALAR, re.ASCII)
_GATE = re.compile(
    rf"  (?P<net>{_SCALAR}): (?P<list>\[)?(?P<function>{'|'.join(_FUNCTIONS)}|[01]+)"
    rf"(?(list)(?P<items>(?:, {_SCALAR})*)\]|(?P<words>(?: [A-Za-z_][\w.]*)*))",
    re.ASCII,
)
"""A line of ``gates`` as `write` writes it, with names that need no double quotes."""


def looks_like(text: str) -> bool:
    """Return whether a text has the keys of this format."""
    return len(set(_TOP_KEY.findall(text))) == 2


def read(source: SourceText) -> LoadedCircuit:
    """Read a circuit.

    Raises:
        SpecError: with every error of the document.
    """
    log = Log(source)
    return _Document(Reading(log), NetDraft(log, name=stem(source.file))).read()


@dataclass
class _Simple:
    """The lines of gates of which every one is a function and its operands, as `write` writes them.

    Weights state their circuit as such a document. For 760,798 gates a YAML reader takes twice the time, and 400 MiB more.

    Args:
        gates: net, function, operands and line.
        rest: the text with empty lines in their place.
        key: the line of ``gates:``.
    """

    gates: list[tuple[str, str, list[str], int]]
    rest: SourceText
    key: int

    @classmethod
    def of(cls, source: SourceText) -> _Simple | None:
        """Return the simple gates of a document; None if any gate is not simple."""
        lines = source.lines
        if lines.count("gates:") != 1:
            return None
        first = lines.index("gates:") + 1
        last = next((n for n in range(first, len(lines)) if lines[n] and lines[n][0] != " "), len(lines))
        gates = []
        for number in filter(lambda number: lines[number], range(first, last)):
            if (gate := _GATE.fullmatch(lines[number])) is None:
                return None
            net, function, operands = gate["net"], gate["function"], gate["words"] or gate["items"] or ""
            found = [_unquoted(name) for name in _OPERAND.findall(operands)]
            if (not found and _BITS.fullmatch(function)) or _misfit(function, found):
                return None
            gates.append((_unquoted(net), function, found, number))
        rest = "\n".join([*lines[:first], *[""] * (last - first), *lines[last:]])
        return cls(gates, SourceText(rest, source.file), first - 1)


def _unquoted(name: str) -> str:
    return name[1:-1].replace("''", "'") if name[0] == "'" else name


@dataclass
class _Document:
    reading: Reading
    draft: NetDraft
    fresh: FreshNames = field(default_factory=lambda: FreshNames(()))
    simple: _Simple | None = None

    def read(self) -> LoadedCircuit:
        root = self.composed()
        if not isinstance(root, Map):
            problem = (
                "the document is empty"
                if root is None or (isinstance(root, Scalar) and root.null)
                else f"it is {kind(root)}"
            )
            self.reading.error(root, problem, "a circuit has at least the keys 'inputs', 'gates' and 'outputs'")
            raise self.draft.log.failure()
        found = self.reading.fields(root, "a circuit", KEYS, f"use the keys {', '.join(KEYS)}", _MEANT)
        for key in ("inputs", "gates", "outputs"):
            if key not in found:
                self.reading.error(None, f"the key {key!r} is missing", f"add it, as in '{_SHAPES[key]}'")
        self.texts({key: value for key, (_, value) in found.items()})
        parts = {key: value for key, (_, value) in found.items()}
        if "inputs" in parts:
            self.inputs(parts["inputs"])
        if "gates" in parts:
            self.gates(parts["gates"])
        if "outputs" in parts:
            self.outputs(parts["outputs"])
        if "encoding" in parts:
            self.encoding(parts["encoding"])
        examples = tuple(self.examples(parts["examples"])) if "examples" in parts else ()
        return self.draft.loaded(examples)

    def composed(self) -> Node | None:
        """Return the document's root; the value of ``gates`` is empty if they are `simple`."""
        source = self.draft.log.source
        if (simple := _Simple.of(source)) is not None:
            with suppress(SpecError):  # reported below, with the whole text
                root = compose(simple.rest)
                pairs = root.pairs if isinstance(root, Map) else ()
                if any(key.start.line == simple.key and isinstance(value, Scalar) and value.null for key, value in pairs):
                    self.simple = simple
                    return root
        return compose(source)

    def texts(self, parts: Mapping[str, Node]) -> None:
        for key in ("name", "description", "source"):
            value = parts.get(key)
            if isinstance(value, Scalar):
                if value.text or key != "name":
                    setattr(self.draft, key, value.text)
            elif value is not None:
                self.reading.error(value, f"{key} is {kind(value)}, not text", "write it as text, in quotes if necessary")

    def encoding(self, node: Node) -> None:
        """Read how a text becomes an input, if this circuit has the inputs and outputs for it."""
        given = node.text if isinstance(node, Scalar) else ""
        found = next((known for known in ENCODED if known == given), None)
        if found is None:
            problem = (
                f"there is no encoding {given[:40]!r}{did_you_mean(given, ENCODED)}" if given else "this is not an encoding"
            )
            self.reading.error(node, problem, f"use {', '.join(ENCODED)}, or omit the key")
            return
        sizes = (len(self.draft.inputs), len(self.draft.outputs))
        if sizes != ENCODED[found] and not self.draft.log.found:
            actual, wanted = (f"{counted(n, 'input')} and {counted(m, 'output')}" for n, m in (sizes, ENCODED[found]))
            self.reading.error(node, f"the encoding {found} needs {wanted}, and there are {actual}", "omit the key")
            return
        self.draft.encoding = found

    def inputs(self, node: Node) -> None:
        for item in self.names(node, "inputs"):
            self.draft.add_input(item.text, item.start.line)

    def names(self, node: Node, key: str) -> list[Scalar]:
        """Return the names in a list, or in a text with blanks between them; report anything that is not a name."""
        items = node.items if isinstance(node, List) else [node]
        found = []
        for item in items:
            if isinstance(item, Scalar) and (item.text if item is not node else item.text.strip()):
                found.append(item)
            else:
                self.reading.error(item, f"{kind(item)} is not a name", f"write {_SHAPES[key]!r}")
        if len(found) == 1 and isinstance(node, Scalar) and node.plain:
            return [Scalar(node.start, node.end, word, plain=True) for word in node.text.split()]
        return found

    def gates(self, node: Node) -> None:
        if isinstance(node, Scalar) and node.null:
            for net, function, operands, line in self.simple.gates if self.simple else ():
                self.draft.add_gate(net, _named(function, operands), operands, line)
            return
        if not isinstance(node, Map):
            self.reading.error(node, f"the gates are {kind(node)}, not a mapping", f"write '{_SHAPES['gates']}'")
            return
        keys = [key.text for key, _ in node.pairs if isinstance(key, Scalar)]
        self.fresh = FreshNames([*keys, *self.draft.inputs])
        for key, value in node.pairs:
            if not isinstance(key, Scalar) or not key.text:
                self.reading.error(key, f"{kind(key)} cannot be the name of a net", "write it as text")
            elif key.text in self.draft.drivers or key.text in self.draft.inputs:
                self.draft.twice(key.text, key.start.line)
            else:
                self.gate(key.text, value, key)

    def gate(self, net: str, node: Node, key: Scalar) -> None:
        """Read the definition of a net."""
        if isinstance(node, List):
            words = [item.text for item in node.items if isinstance(item, Scalar)]
            if words and len(words) == len(node.items) and (words[0] in _FUNCTIONS or _BITS.fullmatch(words[0])):
                self.function(net, words, node)
                return
            problem = "this list is not a function and its operands"
        elif isinstance(node, Scalar) and node.text.strip():
            words = node.text.split()
            known = words[0] in _FUNCTIONS or (_BITS.fullmatch(words[0]) and words[1:])
            if known and all(_WORD.fullmatch(word) for word in words):
                self.function(net, words, node)
            elif len(words) > 1 and all(_NET.fullmatch(word) and word not in _OPERATORS for word in words):
                self.draft.broken.add(net)
                close = did_you_mean(words[0].upper(), _FUNCTIONS)
                remedy = f"use {', '.join(_FUNCTIONS)}, a table of bits, or an expression"
                self.reading.error(node, f"unknown function {words[0]!r}{close}", remedy)
            else:
                self.expression(net, node)
            return
        else:
            problem = f"the net {net!r} has no gate" if isinstance(node, Scalar) else f"a gate cannot be {kind(node)}"
        self.draft.broken.add(net)
        self.reading.error(key if isinstance(node, Scalar) else node, problem, _SPELLED)

    def function(self, net: str, words: list[str], node: Node) -> None:
        """Read a function, or a table, and its operands."""
        name, operands = words[0], words[1:]
        if what := _misfit(name, operands):
            self.draft.broken.add(net)
            self.reading.error(node, what, _SPELLED)
            return
        self.draft.add_gate(net, _named(name, operands), operands, node.start.line)

    def expression(self, net: str, node: Scalar) -> None:
        """Read an expression."""
        log = self.draft.log
        indent = node.start.column + (not node.plain)
        whole = log.source.lines[node.start.line].startswith(node.text, indent)
        inner = SourceText(node.text if whole else node.text.replace("\n", " "), log.source.file)
        part = NetDraft(Log(inner), name="")
        try:
            statements = parsed(inner, part)
            equations = Equations(part)
            single = len(statements) == 1 and isinstance(statements[0], ast.Expr)
            pair = equations.equation(statements[0], {}) if single else None
            equations.fresh = self.fresh
            value = equations.value(pair[1], net, None) if pair else None
        except SpecError:
            value = None
        for diagnostic in part.log.found:
            span = diagnostic.span
            position = span.column - 1 if span is not None and whole else None
            log.add(self.reading.span(node, position), diagnostic.what, diagnostic.remedy)
        if value is None or part.log.found:
            self.draft.broken.add(net)
            if not part.log.found:
                self.reading.error(node, "this is not one expression", _SPELLED)
            return
        for inside, number in part.drivers.items():
            self.draft.add_gate(inside, part.functions[number], part.operands[number], node.start.line)
        self.draft.add_gate(net, *value, node.start.line)

    def outputs(self, node: Node) -> None:
        if isinstance(node, Map):
            for key, value in node.pairs:
                if isinstance(key, Scalar) and isinstance(value, Scalar) and key.text and value.text:
                    self.draft.add_output(key.text, value.text, value.start.line)
                else:
                    self.reading.error(key, "an output is the name of a net", "write {output: net}")
            return
        for item in self.names(node, "outputs"):
            self.draft.add_output(item.text, item.text, item.start.line)

    def examples(self, node: Node) -> Iterator[CircuitExample]:
        """Yield the examples, as far as they fit the inputs and outputs; report the others."""
        if not isinstance(node, List):
            self.reading.error(node, f"the examples are {kind(node)}, not a list", _EXAMPLE)
            return
        for item in node.items:
            if not isinstance(item, Map):
                self.reading.error(item, f"an example is {kind(item)}, not a mapping", _EXAMPLE)
                continue
            found = self.reading.fields(
                item, "an example", _EXAMPLE_KEYS, _EXAMPLE, {"output": "outputs", "inputs": "input"}
            )
            missing = [key for key in _EXAMPLE_KEYS if key not in found]
            if missing:
                if len(found) == len(item.pairs):
                    self.reading.error(item, f"the example has no {missing[0]}", _EXAMPLE)
                continue
            bits = self.bits(found["input"][1], len(self.draft.inputs), "input")
            outputs = self.expected(found["outputs"][1])
            if bits is not None and outputs is not None:
                yield CircuitExample(input=bits, outputs=outputs)

    def bits(self, node: Node, wanted: int, noun: str) -> str | None:
        """Return a text of `wanted` bits; blanks and underscores between them are left out."""
        text = re.sub("[ _]", "", node.text) if isinstance(node, Scalar) else ""
        if isinstance(node, Scalar) and re.fullmatch("[01]*", text) and len(text) == wanted:
            return text
        shown = f"{node.text[:40]!r}" if isinstance(node, Scalar) else kind(node)
        problem = f"{shown} is not {counted(wanted, 'bit')}, one for each {noun}"
        self.reading.error(node, problem, "write 0s and 1s, in the order of the names")
        return None

    def expected(self, node: Node) -> dict[str, str] | None:
        """Return the bits that an example promises for outputs."""
        names = list(self.draft.outputs)
        if not isinstance(node, Map):
            bits = self.bits(node, len(names), "output")
            return None if bits is None else dict(zip(names, bits, strict=True))
        found: dict[str, str] = {}
        for key, value in self.reading.entries(node, "output"):
            if key.text not in names:
                problem = f"there is no output {key.text!r}{did_you_mean(key.text, names)}"
                self.reading.error(key, problem, f"the outputs are {listing(names)}")
            elif (bit := self.bits(value, 1, "output")) is not None:
                found[key.text] = bit
        return found if len(found) == len(node.pairs) else None


def _misfit(name: str, operands: list[str]) -> str:
    """Return the error message about a function, or a table, with these operands; empty if it is valid."""
    if _BITS.fullmatch(name):
        if len(operands) > MOST_OPERANDS:
            return f"a table has at most {MOST_OPERANDS} operands, not {len(operands)}"
        if len(name) != 2 ** len(operands):
            return f"the table {name} has {counted(len(name), 'bit')}, not {2 ** len(operands)}"
    elif name in ASSOCIATIVE:
        return "" if operands else f"{name} has no operands"
    elif (name, len(operands)) not in TABLES:
        wanted = min(k for kind, k in TABLES if kind == name)
        return f"{name} has {counted(wanted, 'operand')}, not {len(operands)}"
    return ""


def _named(name: str, operands: list[str]) -> str:
    """Return a function by its name, or its table."""
    return TABLES[name, len(operands)] if name in ("CONST0", "CONST1") else name


_SHAPES = {"inputs": "inputs: [a, b]", "gates": "gates: {s: XOR a b}", "outputs": "outputs: [s]"}
_EXAMPLE = "write for example '- {input: 011, outputs: 01}'"
_OPERATORS = ("and", "or", "not", "if", "else")


def write(circuit: Circuit, examples: tuple[CircuitExample, ...] = ()) -> str:
    """Return `circuit` as a document: ``read(write(circuit))`` has the same nets, gates, outputs and encoding."""
    return "".join(f"{line}\n" for line in _lines(circuit, examples))


def _lines(circuit: Circuit, examples: tuple[CircuitExample, ...]) -> Iterator[str]:
    yield f"name: {scalar(circuit.name)}"
    if circuit.description:
        yield f"description: {paragraph(circuit.description)}"
    if circuit.source:
        yield f"source: {paragraph(circuit.source)}"
    if circuit.encoding:
        yield f"encoding: {circuit.encoding}"
    yield f"inputs: {flow_list(circuit.inputs)}"
    yield "gates:"
    yield from (f"  {_key(gate.net)} {_definition(gate)}" for gate in circuit.gates)
    if all(name == net for name, net in circuit.outputs):
        yield f"outputs: {flow_list(name for name, _ in circuit.outputs)}"
    else:
        yield "outputs:"
        yield from (f"  {_key(name)} {scalar(net)}" for name, net in circuit.outputs)
    if examples:
        yield "examples:"
    for example in examples:
        outputs = ", ".join(f"{_key(name)} {bit}" for name, bit in example.outputs.items())
        yield f"  - {{input: {example.input!r}, outputs: {{{outputs}}}}}"


def _key(name: str) -> str:
    key = scalar(name)
    return f"{key}:" if len(key) < _LONGEST_KEY else f"? {key}\n  :"


_LONGEST_KEY = 1000  # YAML finds the colon of a key only within 1,024 characters


def _definition(gate: Gate) -> str:
    constant = gate.kind in ("CONST0", "CONST1") and gate.operands
    function = gate.table if constant else gate.kind
    if all(re.fullmatch(r"[A-Za-z_][\w.]*", net, re.ASCII) for net in gate.operands):
        return " ".join((function, *gate.operands))
    return flow_list((function, *gate.operands))
