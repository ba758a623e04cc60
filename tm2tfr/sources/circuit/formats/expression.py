"""Boolean expressions in Python's syntax: ``a ^ b & ~c``, or several as ``s = a ^ b; c = a & b``, or a line for each.

The operators are ``~ & ^ |``, with Python's precedence, or ``not and or``, and ``b if s else a``; 0, 1, False and True are
the constants. Nothing is executed: the statements are equations, in any order. An expression without a name is the output
``out``; otherwise the names on the left sides are the outputs, but for those that begin with ``_``. All other names are the
inputs, in the order in which they appear. Comments ``# inputs a b c`` and ``# outputs s c`` say otherwise.
"""

from __future__ import annotations

import ast
import keyword
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

from tm2tfr.base.text.source import Log, Mark, SourceText
from tm2tfr.sources.circuit.building import TABLES, FreshNames
from tm2tfr.sources.circuit.formats.blif import cubes
from tm2tfr.sources.circuit.formats.draft import LoadedCircuit, NetDraft, stem
from tm2tfr.sources.circuit.formats.names import legalised, restore
from tm2tfr.sources.circuit.formats.pieces import complement
from tm2tfr.sources.circuit.netlist import Circuit

MOST_TOKENS = 1500
"""In one statement: Python's parser is recursive, and an expression could be nested so deep."""
OUTPUT = "out"

_TOKEN = re.compile(r"\n|\w+|[^\w\s]")
_PORTS = re.compile(r"# (inputs|outputs)((?: \w+)*) *")
_OPERATORS = {ast.BitAnd: "AND", ast.BitOr: "OR", ast.BitXor: "XOR", ast.And: "AND", ast.Or: "OR"}
_NEGATED = {
    "AND": "NAND",
    "OR": "NOR",
    "XOR": "XNOR",
    "NAND": "AND",
    "NOR": "OR",
    "XNOR": "XOR",
    "BUF": "NOT",
    "NOT": "BUF",
}
_NEGATED |= {"0": "1", "1": "0"}
_REMEDY = "use names, 0, 1, ~ & ^ |, 'not', 'and', 'or', 'b if s else a', and parentheses"
_OUTSIDE = r"[^\w\s()~&^|=;#]"


def looks_like(text: str) -> bool:
    """Return whether the first line that is not a comment is an equation with an operator, or an expression."""
    line = next((line for line in text.splitlines() if line.split("#")[0].strip()), "").split("#")[0]
    return bool(re.search(r"[&|^~]|\b(and|or|not)\b", line)) and not re.search(_OUTSIDE, line) and "==" not in line


def read(source: SourceText) -> LoadedCircuit:
    """Read a circuit.

    Raises:
        SpecError: with every error.
    """
    draft = NetDraft(Log(source), name=stem(source.file))
    tree = parsed(source, draft)
    comments = [(k, text) for k, text in enumerate(source.lines) if text.startswith("#")]
    ports = {match[1]: (k, match[2].split()) for k, text in comments if (match := _PORTS.fullmatch(text))}
    Equations(draft).read(tree, ports)
    restore(draft, comments)
    return draft.loaded()


def parsed(source: SourceText, draft: NetDraft) -> list[ast.stmt]:
    """Return the statements of a text.

    Raises:
        SpecError: if it is not Python, or too deep for Python.
    """
    if (line := _too_long(source.text)) is not None:
        problem = f"this statement is longer than {MOST_TOKENS:,} names and signs"
        draft.refuse(line, None, problem, "give parts of it names: t = a & b; s = t ^ c")
    text = "\n".join(line.strip() for line in source.lines)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text).body
    except SyntaxError as error:
        line = max(0, min((error.lineno or 1), len(source.lines)) - 1)
        indent = len(source.lines[line]) - len(source.lines[line].lstrip())
        mark = Mark(line, max(0, (error.offset or 1) - 1) + indent)
        draft.log.add(source.span(mark), f"this is not an expression in Python's syntax ({error.msg})", _REMEDY)
    except (RecursionError, MemoryError, ValueError):
        draft.error(None, None, "the expression is nested too deep", "give parts of it names: t = a & b; s = t ^ c")
    raise draft.log.failure()


def _too_long(text: str) -> int | None:
    """Return the line in which a statement of more than `MOST_TOKENS` begins."""
    tokens = line = first = depth = 0
    for found in _TOKEN.finditer(re.sub("#.*", "", text)):
        token = found[0]
        line += token == "\n"
        depth += (token in "([{") - (token in ")]}")
        if token in "\n;" and depth <= 0:
            tokens, first = 0, line
        else:
            tokens += 1
        if tokens > MOST_TOKENS:
            return first
    return None


Value = tuple[str, tuple[str, ...]]
"""A function that `split` knows, or a constant, and its operands."""


@dataclass
class Equations:
    """Puts statements into a draft."""

    draft: NetDraft
    fresh: FreshNames = field(default_factory=lambda: FreshNames(()))

    def read(self, statements: list[ast.stmt], ports: dict[str, tuple[int, list[str]]]) -> None:
        """Read equations; `ports` has the inputs and the outputs if they are given."""
        used = names_read(statements)
        pairs = [pair for statement in statements if (pair := self.equation(statement, used)) is not None]
        names = [name for name, _ in pairs]
        self.fresh = FreshNames([*used, *names, *(name for _, given in ports.values() for name in given)])
        given = set(names)
        line, inputs = ports.get("inputs", (None, [name for name in used if name not in given]))
        for name in inputs:
            self.draft.add_input(name, line)
        for name, expression in pairs:
            self.define(name, expression, expression.lineno - 1)
        shown = [name for name in dict.fromkeys(names) if not name.startswith("_")]
        line, outputs = ports.get("outputs", (None, shown))
        for name in outputs:
            self.draft.add_output(name, name, line)

    def equation(self, statement: ast.stmt, used: dict[str, None]) -> tuple[str, ast.expr] | None:
        """Return the name and the expression of a statement; report any other statement."""
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return name, value
            case ast.Expr(value=value):
                return (OUTPUT if OUTPUT not in used else f"{OUTPUT}_"), value
        self.error(statement, "this is not an equation", "write 'name = expression', a line for each")
        return None

    def define(self, net: str, expression: ast.expr, line: int | None) -> None:
        """Add gates that compute an expression, of which the last one drives `net`."""
        value = self.value(expression, net, line)
        if value is None:
            self.draft.broken.add(net)
        else:
            self.draft.add_gate(net, *value, line)

    def value(self, expression: ast.expr, stem: str, line: int | None) -> Value | None:
        """Return an expression as a function of nets, for whose other gates there are new nets; without recursion."""
        done: list[Value | None] = []
        work: list[tuple[ast.expr, bool]] = [(expression, False)]
        while work:
            node, ready = work.pop()
            parts = _parts(node)
            if ready:
                values = done[len(done) - len(parts) :]
                del done[len(done) - len(parts) :]
                sound = [value for value in values if value is not None]
                done.append(self.combined(node, sound, stem, line) if len(sound) == len(values) else None)
            elif parts:
                work.append((node, True))
                work.extend((part, False) for part in reversed(parts))
            else:
                done.append(self.leaf(node))
        return done[0]

    def leaf(self, node: ast.expr) -> Value | None:
        """Return a name or a constant; report anything else."""
        match node:
            case ast.Name(id=name):
                return "BUF", (name,)
            case ast.Constant(value=0 | 1 as bit) if isinstance(bit, int):
                return str(int(bit)), ()
            case ast.Constant():
                self.error(node, "the only constants are 0 and 1", _REMEDY)
            case _:
                self.error(node, f"{_called(node)} is not Boolean", _REMEDY)
        return None

    def combined(self, node: ast.expr, values: list[Value], stem: str, line: int | None) -> Value:
        """Return the value of an operator applied to values."""
        if isinstance(node, ast.UnaryOp):
            function, operands = values[0]
            if function == "MUX":
                return "NOT", (self.net(values[0], stem, line),)
            return _NEGATED[function], operands
        nets = [self.net(value, stem, line) for value in values]
        if isinstance(node, ast.IfExp):
            return "MUX", (nets[0], nets[2], nets[1])
        return _operator(node) or "", tuple(nets)

    def net(self, value: Value, stem: str, line: int | None) -> str:
        """Return a net with a value: a new net, unless a net has it already."""
        if value[0] == "BUF":
            return value[1][0]
        net = self.fresh(stem)
        self.draft.add_gate(net, *value, line)
        return net

    def error(self, node: ast.AST, what: str, remedy: str) -> None:
        """Record an error at a node of the text."""
        source = self.draft.log.source
        line = getattr(node, "lineno", 1) - 1
        text = source.lines[line]
        stripped = text.strip().encode()
        indent = len(text) - len(text.lstrip())
        start = indent + len(stripped[: getattr(node, "col_offset", 0)].decode(errors="replace"))
        same = getattr(node, "end_lineno", line + 1) == line + 1
        end = indent + len(stripped[: getattr(node, "end_col_offset", 1)].decode(errors="replace")) if same else len(text)
        self.draft.log.add(source.span(Mark(line, start), Mark(line, end)), what, remedy)


def names_read(statements: list[ast.stmt]) -> dict[str, None]:
    """Return the names that are read, in the order of the text."""
    nodes = (node for statement in statements for node in ast.walk(statement))
    found = [node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    return dict.fromkeys(node.id for node in sorted(found, key=lambda node: (node.lineno, node.col_offset)))


def _operator(node: ast.expr) -> str | None:
    return _OPERATORS.get(type(node.op)) if isinstance(node, ast.BinOp | ast.BoolOp) else None


def _parts(node: ast.expr) -> list[ast.expr]:
    """Return the operands of an operator; those of a chain of one associative operator, all of them."""
    match node:
        case ast.UnaryOp(op=ast.Invert() | ast.Not(), operand=operand):
            return [operand]
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return [test, body, orelse]
        case ast.BoolOp(values=values):
            return values
        case ast.BinOp() if _operator(node):
            parts, left = [node.right], node.left
            while isinstance(left, ast.BinOp) and type(left.op) is type(node.op):
                parts.append(left.right)
                left = left.left
            return [left, *reversed(parts)]
    return []


def _called(node: ast.expr) -> str:
    names = {
        "Call": "a call",
        "Compare": "a comparison",
        "BinOp": "this operator",
        "UnaryOp": "this sign",
        "Tuple": "a tuple",
    }
    return names.get(type(node).__name__, "this expression")


def write(circuit: Circuit) -> str:
    """Return `circuit` as equations, one for each gate; others than Python's names are replaced, and kept in comments."""
    legal = legalised(circuit, lambda name: name.isascii() and name.isidentifier() and not keyword.iskeyword(name))
    return "".join(f"{line}\n" for line in (*legal.comments(), *_equations(legal.circuit)))


def _equations(circuit: Circuit) -> Iterator[str]:
    yield f"# inputs {' '.join(circuit.inputs)}"
    yield f"# outputs {' '.join(net for net, _ in circuit.outputs)}"
    yield from (f"{gate.net} = {formula(gate.table, gate.operands)}" for gate in circuit.gates)


_SIGNS = {"AND": " & ", "OR": " | ", "XOR": " ^ "}


def formula(table: str, operands: tuple[str, ...]) -> str:
    """Return a table over nets as an expression."""
    for sense, text in ((table, "{}"), (complement(table), "~({})")):
        for kind, sign in _SIGNS.items():
            if len(operands) > 1 and TABLES[kind, len(operands)] == sense:
                return text.format(sign.join(operands))
    if len(set(table)) == 1:
        return table[0]
    if len(operands) == 1:
        return operands[0] if table == "01" else f"~{operands[0]}"
    if table == TABLES["MUX", 3]:
        return "{2} if {0} else {1}".format(*operands)
    return " | ".join(_product(cube, operands) for cube in cubes(table))


def _product(cube: str, operands: tuple[str, ...]) -> str:
    return " & ".join(net if sign == "1" else f"~{net}" for sign, net in zip(cube, operands, strict=True) if sign != "-")
