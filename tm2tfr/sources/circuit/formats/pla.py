"""Espresso's PLA, ``.pla``: cubes over the inputs, each with a sign for every output.

::

    .i 3
    .o 2
    .ilb a b c
    .ob sum carry
    .type fd
    11- 01
    1-1 01
    .e

A sign of the inputs is 0, 1, or - for both bits (2 is the same). A cube may go on in the next line. What a sign of the
outputs means depends on the type:

==== =========================== =========================== ====================
type 1 (or 4)                    0                           - (or 2)
==== =========================== =========================== ====================
f    the output is 1             says nothing                says nothing
fd   the output is 1             says nothing                it does not matter
fr   the output is 1             the output is 0             says nothing
fdr  the output is 1             the output is 0             it does not matter
==== =========================== =========================== ====================

``~`` (or 3) says nothing in any type, and ``fd`` is the default. Where it does not matter, and where nothing is said, an
output is 0: an output is 1 in its cubes with a 1 and nowhere else.

SourceText: espresso(5), UC Berkeley.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import ConversionError, counted, did_you_mean, listing
from tm2tfr.base.text.source import Log, SourceText
from tm2tfr.sources.circuit.building import FreshNames
from tm2tfr.sources.circuit.formats.draft import LoadedCircuit, NetDraft, stem
from tm2tfr.sources.circuit.formats.names import name_comments, restore
from tm2tfr.sources.circuit.formats.pieces import MOST_TABLE_OPERANDS, Cover
from tm2tfr.sources.circuit.formats.truth_table import MOST_INPUTS, tables
from tm2tfr.sources.circuit.netlist import Circuit

MOST_COLUMNS = 10_000
"""Of inputs, and of outputs: more than a table of cubes describes."""
MOST_SIGNS = 1 << 24
"""Of the cubes of all outputs together, which take a byte each."""
MOST_LITERALS = 1 << 22
"""Of the outputs that are too wide for a table, each literal as often as an output has it: about two make a gate."""
MOST_COMPARISONS = 1 << 39
"""Of signs, where each cube is compared with each: half a minute."""
_BLOCK = 1 << 22
"""The most pairs of cubes that are compared at a time."""

_TYPES = ("f", "fd", "fr", "fdr")
_FIRST = re.compile(r"\.(i|o)[ \t]+[0-9]+[ \t]*\r?$", re.MULTILINE)
_NAMES = re.compile(r"[^\s#|]+")
_SHAPE = "write a sign for each input and each output; a cube may go on in the next line"
_UNREAD = {
    ".phase": "the phases of outputs",
    ".pair": "pairs of inputs",
    ".mv": "inputs of several values",
    ".kiss": "a table of states",
    ".symbolic": "symbolic variables",
    ".symbolic-output": "symbolic variables",
    ".label": "labels of variables",
    ".start_kiss": "a table of states",
}
_KNOWN = (".i", ".o", ".ilb", ".ob", ".p", ".type", ".e")
_INPUTS, _OUTPUTS = str.maketrans("2", "-"), str.maketrans("423", "1-~")


def looks_like(text: str) -> bool:
    """Return whether the first line that says anything is ``.i`` or ``.o`` with a number."""
    first = next((line for line in text.splitlines() if line.split("#")[0].strip()), "").split("#")[0].strip()
    return _FIRST.fullmatch(first) is not None


def read(source: SourceText) -> LoadedCircuit:
    """Read a circuit.

    Raises:
        SpecError: with every error.
    """
    draft = NetDraft(Log(source), name=stem(source.file))
    reader = _Reader(draft)
    for number, text in enumerate(source.lines):
        line = text.partition("#")[0].strip()
        if line and not reader.line(number, line):
            break
    reader.finish()
    restore(draft, ((k, text) for k, text in enumerate(source.lines) if text.startswith("#")))
    return draft.loaded()


@dataclass
class _Reader:
    draft: NetDraft
    sizes: dict[str, tuple[int, int]] = field(default_factory=dict)
    """``.i`` or ``.o`` -> the number, and the line."""
    names: dict[str, tuple[list[str], int]] = field(default_factory=dict)
    """``.ilb`` or ``.ob`` -> the names, and the line."""
    type: str = "fd"
    cubes: list[str] = field(default_factory=list)
    signs: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    announced: tuple[int, int] | None = None
    waiting: tuple[str, int] | None = None
    """The signs of a cube that continues in the next line, and its first line."""

    def line(self, number: int, text: str) -> bool:
        """Read a line, and return whether to go on."""
        if not text.startswith("."):
            self.cube(number, text)
            return True
        self.incomplete()
        word, *rest = text.split()
        if word in (".e", ".end"):
            return False
        if word in (".i", ".o", ".p"):
            self.size(number, word, rest)
        elif word in (".ilb", ".ob"):
            self.named(number, word, rest)
        elif word == ".type":
            self.typed(number, rest)
        elif word in _UNREAD:
            self.draft.error(number, word, f"'{word}' is not read: {_UNREAD[word]}", "let espresso write plain cubes")
        else:
            remedy = f"use {', '.join(_KNOWN)}"
            self.draft.error(number, word, f"unknown command {word!r}{did_you_mean(word, _KNOWN)}", remedy)
        return True

    def size(self, number: int, word: str, rest: list[str]) -> None:
        """Read the number of inputs, outputs or cubes."""
        digits = rest[0] if len(rest) == 1 and rest[0].isascii() and rest[0].isdigit() else ""
        if not digits:
            self.draft.error(number, word, f"'{word}' is not followed by one number", f"write '{word} 3'")
        elif word == ".p":
            self.announced = int(digits[:12]), number
        elif len(digits) > 9 or not 1 <= int(digits) <= MOST_COLUMNS:
            problem = f"{digits[:20]} is not a number from 1 to {MOST_COLUMNS:,}"
            self.draft.error(number, digits, problem, "correct it, or write the circuit as .blif")
        elif word in self.sizes or self.cubes:
            self.draft.error(number, word, f"'{word}' stands here a second time, or after cubes", "keep the first one")
        else:
            self.sizes[word] = int(digits), number

    def named(self, number: int, word: str, rest: list[str]) -> None:
        """Read the names of inputs or outputs."""
        if word in self.names:
            self.draft.error(number, word, f"'{word}' stands here a second time", "keep one of the two")
            return
        self.names[word] = rest, number
        noun = "input" if word == ".ilb" else "output"
        for name in (name for name, count in Counter(rest).items() if count > 1):
            self.draft.error(number, name, f"the {noun} {name!r} is named twice", "name each column once", last=True)

    def typed(self, number: int, rest: list[str]) -> None:
        """Read the type."""
        if len(rest) != 1 or rest[0] not in _TYPES:
            problem = f"{' '.join(rest)[:40]!r} is not a type that is read"
            self.draft.error(number, ".type", problem, f"use one of {', '.join(_TYPES)}, or espresso to convert it")
        elif self.cubes:
            self.draft.error(number, ".type", "the type stands after cubes", "write it before the first cube")
        else:
            self.type = rest[0]

    def cube(self, number: int, text: str) -> None:
        """Read a cube: the signs of the inputs, and those of the outputs, with or without space or ``|`` between them."""
        draft = self.draft
        if ".i" not in self.sizes or ".o" not in self.sizes:
            missing = ".i" if ".i" not in self.sizes else ".o"
            draft.refuse(number, None, f"there is no '{missing}' before this line", f"write '{missing} 3' with the number")
        inputs, outputs = self.sizes[".i"][0], self.sizes[".o"][0]
        before, first = self.waiting or ("", number)
        signs = before + "".join(text.replace("|", " ").split())
        self.waiting = (signs, first) if len(signs) < inputs + outputs else None
        if self.waiting is not None:
            return
        last, number = number, first
        cube, values = signs[:inputs].translate(_INPUTS), signs[inputs:].translate(_OUTPUTS)
        if len(signs) > inputs + outputs:
            lines = f" up to line {last + 1}" if last > first else ""
            problem = f"this cube has {counted(len(signs), 'sign')}{lines}, not {inputs} and {outputs}"
            draft.error(number, None, problem, _SHAPE)
        elif cube.strip("01-"):
            problem = f"{cube.strip('01-')[0]!r} is not a sign of an input"
            draft.error(number, None, problem, "use 0, 1, or - for both")
        elif values.strip("01-~"):
            problem = f"{values.strip('01-~')[0]!r} is not a sign of an output"
            draft.error(number, None, problem, "use 0, 1, - or ~")
        else:
            self.cubes.append(cube)
            self.signs.append(values)
            self.lines.append(number)

    def incomplete(self) -> None:
        """Report a cube that ends before its last sign."""
        if self.waiting is not None:
            signs, first = self.waiting
            inputs, outputs = self.sizes[".i"][0], self.sizes[".o"][0]
            problem = f"this cube has {counted(len(signs), 'sign')}, not {inputs} and {outputs}"
            self.draft.error(first, None, problem, _SHAPE)
            self.waiting = None

    def finish(self) -> None:
        """Add the inputs, and a cover for each output."""
        draft = self.draft
        self.incomplete()
        for word, noun in ((".i", "inputs"), (".o", "outputs")):
            if word not in self.sizes:
                draft.error(None, None, f"the number of {noun} is missing", f"write '{word} 3' at the beginning")
        draft.log.conclude()
        inputs, outputs = self.columns(".ilb", ".i", "x"), self.columns(".ob", ".o", "f")
        draft.log.conclude()
        if self.announced is not None and self.announced[0] != len(self.cubes):
            problem = f"'.p' announces {self.announced[0]:,} cubes, and there are {len(self.cubes):,}"
            draft.warn(self.announced[1], None, problem, "check whether the file is complete, and correct the number")
        if len(self.cubes) * len(inputs) * len(outputs) > 64 * MOST_SIGNS:
            problem = f"{len(self.cubes):,} cubes of {len(inputs):,} inputs and {len(outputs):,} outputs are too many"
            draft.refuse(None, None, problem, "write the circuit as .blif")
        if "r" in self.type and self.cubes:
            self.contradictions(outputs)
        for net in inputs:
            draft.add_input(net, self.names.get(".ilb", ([], None))[1])
        fresh = FreshNames([*inputs, *outputs])
        columns = list(map("".join, zip(*self.signs, strict=True))) if self.signs else [""] * len(outputs)
        literals = [[k for k, sign in enumerate(cube) if sign != "-"] for cube in self.cubes]
        free, wide = list[str](), 0
        for name, signs in zip(outputs, columns, strict=True):
            chosen = [place for place, sign in enumerate(signs) if sign == "1"]
            if "d" in self.type and "-" in signs:
                free.append(name)
            net = fresh(name) if name in inputs else name
            used = sorted({k for place in chosen for k in literals[place]})
            wide += sum(len(literals[place]) for place in chosen) if len(used) > MOST_TABLE_OPERANDS else 0
            if wide > MOST_LITERALS:
                problem = f"outputs of more than {MOST_TABLE_OPERANDS} inputs have more than {MOST_LITERALS:,} literals"
                draft.refuse(None, None, problem, "minimise the cubes with espresso, or write the circuit as .blif")
            cubes = tuple("".join(self.cubes[place][k] for k in used) for place in chosen)
            line = self.lines[chosen[0]] if chosen else None
            draft.add_gate(net, Cover(cubes, "1"), [inputs[k] for k in used], line)
            draft.add_output(name, net, self.names.get(".ob", ([], line))[1])
        if free:
            problem = (
                f"{counted(len(free), 'output')} {'has' if len(free) == 1 else 'have'} don't-cares: {listing(free, most=4)}"
            )
            draft.warn(None, None, problem, "leave them: there the circuit answers 0, unless another cube says 1")
        if "r" in self.type:
            problem = f"type {self.type} leaves open what no cube says of an output"
            draft.warn(None, None, problem, "leave it: there the circuit answers 0")
        draft.log.conclude()

    def columns(self, word: str, size: str, stem: str) -> list[str]:
        """Return the names of the inputs or outputs: as they are given, or ``x1``, ``x2``, …."""
        wanted, line = self.sizes[size]
        if word not in self.names:
            return [stem] if wanted == 1 and stem == "f" else [f"{stem}{k}" for k in range(1, wanted + 1)]
        names, at = self.names[word]
        if len(names) != wanted:
            problem = f"'{word}' has {counted(len(names), 'name')}, and '{size}' in line {line + 1} says {wanted}"
            self.draft.error(at, word, problem, "correct one of the two")
        return names

    def contradictions(self, outputs: Sequence[str]) -> None:
        """Report outputs that one cube says to be 1 and another one to be 0, on an input that both contain."""
        count = len(self.cubes)
        if count * count * (64 + len(self.cubes[0]) + len(outputs)) > MOST_COMPARISONS:
            problem = f"{count:,} cubes of type {self.type} are too many to compare each with each"
            self.draft.refuse(None, None, problem, "write type f or fd, without the cubes where outputs are 0")
        bits, swapped = _bits(self.cubes)
        values, opposite = _bits(self.signs)
        step = max(1, _BLOCK // count)
        for first in range(0, count, step):
            stop = min(first + step, count)
            meet = bits[first:stop] @ swapped[:stop].T == 0  # the cubes are nowhere 0 and 1
            wrong = meet & (values[first:stop] @ opposite[:stop].T > 0)
            if not wrong.any():
                continue
            wrong = np.tril(wrong, first - 1)
            for number in np.flatnonzero(wrong.any(axis=1)).tolist():
                self.contradiction(outputs, first + number, int(wrong[number].argmax()))
        self.draft.log.conclude()

    def contradiction(self, outputs: Sequence[str], number: int, before: int) -> None:
        """Report two cubes with an output that is 1 in one of them and 0 in the other."""
        pairs = zip(self.signs[number], self.signs[before], strict=True)
        output = next(k for k, (one, other) in enumerate(pairs) if {one, other} == {"0", "1"})
        problem = f"{outputs[output]!r} is {self.signs[number][output]} here and {self.signs[before][output]} in line "
        remedy = "make the two cubes disjoint, or their signs equal"
        problem += f"{self.lines[before] + 1}, on inputs that both contain"
        self.draft.error(self.lines[number], None, problem, remedy)


def _bits(rows: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return (rows, 2·signs) where a sign is 1 and where it is 0, and the same with the halves exchanged.

    The product of a row of one and a row of the other counts the places where one sign is 0 and the other 1.
    """
    signs = np.array([list(row.encode()) for row in rows], dtype=np.uint8)
    one, zero = signs == ord("1"), signs == ord("0")
    return np.hstack([one, zero]).astype(np.float32), np.hstack([zero, one]).astype(np.float32)


def write(circuit: Circuit) -> str:
    """Return `circuit` as a row for each input with an output that is 1; names that do not fit are kept in comments.

    Raises:
        ConversionError: if it has more than `MOST_INPUTS` inputs.
    """
    k = len(circuit.inputs)
    if k > MOST_INPUTS:
        problem = f"{circuit.name}: {k} inputs are too many for a table of at most {MOST_INPUTS}"
        raise ConversionError(f"{problem}: write it as .bench or .blif")
    return "".join(f"{line}\n" for line in _lines(circuit, k))


def _lines(circuit: Circuit, k: int) -> Iterator[str]:
    inputs, outputs, comments = name_comments(circuit, lambda name: name.isprintable() and _NAMES.fullmatch(name))
    yield from comments
    yield from (f".i {k}", f".o {len(outputs)}", f".ilb {' '.join(inputs)}", f".ob {' '.join(outputs)}", ".type f")
    rows = map("".join, zip(*tables(circuit), strict=True))
    yield from (f"{number:0{k}b} {row}" for number, row in enumerate(rows) if "1" in row)
    yield ".e"
