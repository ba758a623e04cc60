"""Truth tables, ``.tt``, of at most 16 inputs: all rows in any order, or one line of 2^k bits for each output.

::

    a b c | sum carry          sum   = 01101001
    000   | 00                 carry = 00010111
    001   | 10
    1-1   | …

The first line, with names on both sides of a ``|``, may be left out: the inputs are then ``x1``, ``x2``, …, the output is
``f``, or the outputs ``f1``, ``f2``, …. A ``-`` among the inputs stands for both bits; ``#`` begins a comment. Bits in one
line belong to the values of the inputs counted in binary, the first input most significant: ``0110`` is XOR.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from tm2tfr.base.errors import ConversionError, counted
from tm2tfr.base.text.source import Log, SourceText
from tm2tfr.sources.circuit.building import FreshNames
from tm2tfr.sources.circuit.evaluate import evaluate_words
from tm2tfr.sources.circuit.formats.draft import LoadedCircuit, NetDraft, stem
from tm2tfr.sources.circuit.formats.names import name_comments, restore
from tm2tfr.sources.circuit.formats.pieces import MOST_TABLE_OPERANDS
from tm2tfr.sources.circuit.netlist import Circuit

MOST_INPUTS = MOST_TABLE_OPERANDS
MOST_OUTPUTS = 256
MOST_CASES = 16 * 2**MOST_INPUTS
"""For which rows may stand, some of them repeatedly."""

_LEFT, _RIGHT = re.compile(r"[01-][01\s-]*"), re.compile(r"[01][01\s]*")
_SPACE = re.compile(r"\s+")
_COLUMN = re.compile(r"\s*(?:(?P<name>[^\s|=#]+)\s*=\s*)?(?P<bits>[01]+)\s*")
_NAME = re.compile(r"(?![01-]+$)[^\s|=#]+")


def looks_like(text: str) -> bool:
    """Return whether the first line of bits is one of this format, after at most a line with names."""
    lines = [line.split("#")[0].strip() for line in text.splitlines()[:200]]
    lines = [line for line in lines if line]
    if lines and "|" in lines[0] and "=" not in lines[0] and not _halves(lines[0]):
        lines = lines[1:]
    if not lines:
        return False
    row = "|" in lines[0] and _halves(lines[0])
    return bool(row or ((column := _COLUMN.fullmatch(lines[0])) and len(column["bits"]) > 1))


def _halves(line: str) -> tuple[str, str] | None:
    """Return the bits on the left and on the right of a row, which ``|`` or the first blank space behind a ``-`` parts."""
    text = line.strip()
    left, bar, right = text.partition("|")
    if not bar and (space := _SPACE.search(text, text.rfind("-") + 1)):
        left, right = text[: space.start()], text[space.end() :]
    right = right.lstrip()
    if not (_LEFT.fullmatch(left) and _RIGHT.fullmatch(right)):
        return None
    return "".join(left.split()), "".join(right.split())


def read(source: SourceText) -> LoadedCircuit:
    """Read a circuit.

    Raises:
        SpecError: with every error.
    """
    draft = NetDraft(Log(source), name=stem(source.file))
    reader = _Reader(draft)
    for number, text in enumerate(source.lines):
        line = text.partition("#")[0]
        if line.strip():
            reader.line(number, line)
    draft.log.conclude()
    reader.finish()
    restore(draft, ((k, text) for k, text in enumerate(source.lines) if text.startswith("#")))
    return draft.loaded()


@dataclass
class _Reader:
    draft: NetDraft
    inputs: list[str] | None = None
    outputs: list[str] | None = None
    header: int | None = None
    rows: dict[str, tuple[str, int]] = field(default_factory=dict)
    """The bits of the inputs -> those of the outputs, and the line."""
    cases: int = 0
    columns: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Output -> its table and the line."""

    def line(self, number: int, text: str) -> None:
        """Read a line."""
        if column := _COLUMN.fullmatch(text):
            self.column(number, column["name"], column["bits"])
        elif row := _halves(text):
            self.row(number, *row)
        elif (
            "|" in text and not re.fullmatch(r"[01\s|-]*", text) and not (self.rows or self.columns) and self.header is None
        ):
            self.names(number, text)
        else:
            problem = "this is neither a row of a truth table nor the names of its columns"
            remedy = "write rows such as '01 | 1', or one line of 2^k bits for each output, such as 's = 0110'"
            self.draft.error(number, None, problem, remedy)

    def names(self, number: int, text: str) -> None:
        """Read the names of the columns."""
        left, _, right = text.partition("|")
        self.header, self.inputs, self.outputs = number, left.split(), right.split()
        remedy = "write 'a b | s': the names of the inputs, '|', and those of the outputs"
        for name in (*self.inputs, *self.outputs):
            if not _NAME.fullmatch(name):
                self.draft.error(number, name, f"{name!r} cannot be a name", remedy)
        for names, noun in ((self.inputs, "input"), (self.outputs, "output")):
            if not names:
                self.draft.error(number, None, f"no {noun} is named", remedy)
            for name in sorted(name for name, times in Counter(names).items() if times > 1)[:5]:
                self.draft.error(number, name, f"the {noun} {name!r} is named twice", "name each column once")
        self.limit(number, len(self.inputs), len(self.outputs))

    def limit(self, number: int, inputs: int, outputs: int) -> None:
        """Refuse tables that are too large to be written down.

        Raises:
            SpecError: for this, at once.
        """
        if inputs > MOST_INPUTS or outputs > MOST_OUTPUTS:
            problem = (
                f"a truth table has at most {MOST_INPUTS} inputs and {MOST_OUTPUTS} outputs, not {inputs:,} and {outputs:,}"
            )
            self.draft.refuse(number, None, problem, "write the circuit as .bench, .blif or .yaml")

    def column(self, number: int, name: str | None, bits: str) -> None:
        """Read the table of an output."""
        size = len(bits)
        if self.rows:
            self.draft.error(number, None, "this is a column of bits among rows", "write rows, or columns, not both")
        elif size < 2 or size & (size - 1) or size > 2**MOST_INPUTS:
            problem = f"a table has 2, 4, 8, … or {2**MOST_INPUTS:,} bits, not {size:,}"
            self.draft.error(number, None, problem, "write a bit for each case of the inputs")
        elif self.inputs is not None and size != 2 ** len(self.inputs):
            inputs, most = counted(len(self.inputs), "input"), 2 ** len(self.inputs)
            problem = f"{size:,} bits are not the table of {inputs}, which has {most:,}"
            self.draft.error(number, None, problem, "write a bit for each case of the inputs")
        elif self.columns and size != len(next(iter(self.columns.values()))[0]):
            problem = f"this table has {size:,} bits, the first one {len(next(iter(self.columns.values()))[0]):,}"
            self.draft.error(number, None, problem, "write a bit for each case of the same inputs")
        else:
            self.named_column(number, name, bits)

    def named_column(self, number: int, name: str | None, bits: str) -> None:
        """Add the table of an output under its name."""
        names, done = self.outputs, len(self.columns)
        if name is None:
            name = f"f{done + 1}" if names is None else names[done] if done < len(names) else None
        if name is None or (names is not None and name not in names):
            shown = "another output" if name is None else f"the output {name!r}"
            problem = f"this is the table of {shown}, which the first line does not name"
            self.draft.error(number, None, problem, "add its name to that line, or correct it")
        elif name in self.columns:
            problem = f"the output {name!r} has a second table; the first is in line {self.columns[name][1] + 1}"
            self.draft.error(number, name, problem, "remove one of the two")
        elif not _NAME.fullmatch(name):
            self.draft.error(number, name, f"{name!r} cannot be a name", "begin it with a letter")
        else:
            self.columns[name] = (bits, number)
            self.limit(number, 1, len(self.columns))

    def row(self, number: int, left: str, right: str) -> None:
        """Read a row."""
        if self.columns:
            self.draft.error(number, None, "this is a row of bits among columns", "write rows, or columns, not both")
            return
        if self.inputs is None:
            self.inputs = [f"x{k}" for k in range(1, len(left) + 1)]
            self.outputs = ["f"] if len(right) == 1 else [f"f{k}" for k in range(1, len(right) + 1)]
            self.limit(number, len(left), len(right))
        wanted = len(self.inputs), len(self.outputs or ())
        if (len(left), len(right)) != wanted:
            problem = f"this row has {counted(len(left), 'bit')} for {counted(wanted[0], 'input')}"
            problem += f" and {counted(len(right), 'bit')} for {counted(wanted[1], 'output')}"
            self.draft.error(number, None, problem, "write a bit for each, and '|' between inputs and outputs")
            return
        self.cases += 2 ** left.count("-")
        if self.cases > MOST_CASES:
            problem = f"the rows so far stand for more than {MOST_CASES:,} cases, many of them repeatedly"
            self.draft.refuse(number, None, problem, "write each case once")
        for point in map("".join, product(*("01" if sign == "-" else sign for sign in left))):
            before = self.rows.setdefault(point, (right, number))
            if before[0] != right:
                problem = f"the row {point} contradicts the one in line {before[1] + 1}, which has {before[0]}"
                self.draft.error(number, None, problem, "keep one of the two")
                return

    def finish(self) -> None:
        """Add the inputs, and a gate for each output."""
        draft = self.draft
        if not self.rows and not self.columns:
            draft.refuse(None, None, "this text contains no table", "write rows such as '01 | 1', or a line of bits")
        if self.columns:
            self.finish_columns()
        inputs, outputs = self.inputs or [], self.outputs or []
        if not self.columns:
            points = list(map("".join, product("01", repeat=len(inputs))))
            if missing := [point for point in points if point not in self.rows]:
                count = counted(len(missing), "row")
                problem = f"{count} {'is' if len(missing) == 1 else 'are'} missing; the first is {missing[0]}"
                draft.error(
                    max(line for _, line in self.rows.values()), None, problem, "write all rows; '-' stands for 0 and 1"
                )
                raise draft.log.failure()
            rows = [self.rows[point][0] for point in points]
            self.columns = {
                name: ("".join(row[k] for row in rows), self.rows[points[0]][1]) for k, name in enumerate(outputs)
            }
        for net in inputs:
            draft.add_input(net, self.header)
        fresh = FreshNames([*inputs, *outputs])
        for name in outputs:
            bits, line = self.columns[name]
            net = fresh(name) if name in inputs else name
            draft.add_gate(net, bits, inputs, line)
            draft.add_output(name, net, line)

    def finish_columns(self) -> None:
        """Name the columns, and report those that are missing."""
        if self.outputs is None:
            if list(self.columns) == ["f1"]:
                self.columns = {"f": self.columns["f1"]}
            self.outputs = list(self.columns)
        if self.inputs is None:
            size = len(next(iter(self.columns.values()))[0])
            self.inputs = [f"x{k}" for k in range(1, size.bit_length())]
        for name in self.outputs:
            if name not in self.columns:
                self.draft.error(self.header, name, f"the output {name!r} has no table", f"add a line '{name} = …'")
        self.draft.log.conclude()


def write(circuit: Circuit) -> str:
    """Return `circuit` as rows; names that the format cannot carry are replaced, and kept in comments.

    Raises:
        ConversionError: if it has more than `MOST_INPUTS` inputs or `MOST_OUTPUTS` outputs.
    """
    k = len(circuit.inputs)
    if k > MOST_INPUTS or not 1 <= len(circuit.outputs) <= MOST_OUTPUTS:
        problem = (
            f"{circuit.name}: {counted(k, 'input')} and {counted(len(circuit.outputs), 'output')} are too many or too few"
        )
        raise ConversionError(
            f"{problem} for a truth table of at most {MOST_INPUTS} and {MOST_OUTPUTS}: write it as .bench"
        )
    return "".join(f"{line}\n" for line in _lines(circuit))


def _lines(circuit: Circuit) -> Iterator[str]:
    k = len(circuit.inputs)
    inputs, outputs, comments = name_comments(circuit, lambda name: name.isprintable() and _NAME.fullmatch(name))
    yield from comments
    yield f"{' '.join(inputs)} | {' '.join(outputs)}"
    rows = map("".join, zip(*tables(circuit), strict=True))
    yield from (f"{number:0{k}b} | {row}" for number, row in enumerate(rows))


def tables(circuit: Circuit) -> Iterator[str]:
    """Yield the table of each output."""
    rows = 2 ** len(circuit.inputs)
    ones = 2**rows - 1
    runs = [rows >> number for number in range(1, len(circuit.inputs) + 1)]  # of 0s, then of 1s, repeated
    words = evaluate_words(circuit, [ones // (2**run + 1) for run in runs], ones=ones)
    yield from (f"{words[circuit.numbers[net]]:0{rows}b}" for _, net in circuit.outputs)
