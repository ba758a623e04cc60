r"""Berkeley's BLIF, one combinational model: ``.model``, ``.inputs``, ``.outputs``, ``.names`` with covers, ``.end``.

``.names a b s`` is followed by the rows of a cover, ``1- 1``: a sign 0, 1 or - for each operand, then the value of the net,
which is the same in all rows; no row is the constant 0. ``.latch d q`` is a register, at which the circuit can be cut;
``.exdc`` begins external don't-cares, which are skipped. A ``\`` at the end of a line continues it, ``#`` begins a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import product

from tm2tfr.base.errors import counted, did_you_mean
from tm2tfr.base.text.source import Log, SourceText
from tm2tfr.sources.circuit.formats.draft import LoadedCircuit, NetDraft, stem
from tm2tfr.sources.circuit.formats.names import legalised, restore
from tm2tfr.sources.circuit.formats.pieces import Cover
from tm2tfr.sources.circuit.netlist import Circuit

_ROW = re.compile(r"\s*([01-]+)(?:\s+([01]))?\s*")
_LEGAL = re.compile(r"[A-Za-z0-9_$][A-Za-z0-9_.\[\]$:<>/-]*")
_FIRST = re.compile(r"\.(model|inputs|outputs|names)\b")
_HIERARCHY = (".subckt", ".gate", ".mlatch", ".search")
_CONSTANTS = frozenset({"$false", "$true", "$undef"})
"""What Yosys defines in every model."""
_LATCH = re.compile(r"(?P<data>\S+)\s+(?P<net>\S+)(?:\s+(?:fe|re|ah|al|as)\s+\S+)?(?:\s+(?P<reset>[0-3]))?")
_TIMING: tuple[str, ...] = (
    ".area",
    ".delay",
    ".wire",
    ".wire_load_slope",
    ".wire_load_slope_set",
    ".cname",
    ".attr",
    ".param",
)
_TIMING += tuple(f".{default}{rest}" for default in ("", "default_") for rest in ("input_arrival", "output_required"))
_KNOWN = (".model", ".inputs", ".outputs", ".names", ".end")
_REMEDY = f"use {', '.join(_KNOWN)}"


def looks_like(text: str) -> bool:
    """Return whether the first line that says anything is one of this format."""
    first = next((line for line in text.splitlines() if line.split("#")[0].strip()), "")
    return _FIRST.match(first.lstrip()) is not None


def read(source: SourceText, *, cut: bool = False) -> LoadedCircuit:
    """Read a circuit; `cut` it at its latches.

    Raises:
        SpecError: with every error.
    """
    draft = NetDraft(Log(source), name=stem(source.file), cut=cut, optional=_CONSTANTS)
    reader = _Reader(draft)
    for number, line in _logical(source.lines):
        reader.line(number, line)
    reader.finish()
    restore(draft, ((k, text) for k, text in enumerate(source.lines) if text.startswith("#")))
    return draft.loaded()


def _logical(lines: list[str]) -> Iterator[tuple[int, str]]:
    r"""Yield the lines without comments, joined where a ``\`` continues them, with the numbers of their first lines."""
    waiting, first = list[str](), 0
    for number, text in enumerate(lines):
        line = text.partition("#")[0].rstrip() if "#" in text else text.rstrip()
        if not waiting:
            first = number
        if line.endswith("\\"):
            waiting.append(line[:-1])
            continue
        waiting.append(line)
        joined = waiting[0] if len(waiting) == 1 else " ".join(waiting)
        waiting.clear()
        if joined and not joined.isspace():
            yield first, joined
    if waiting:
        yield first, " ".join(waiting)


@dataclass
class _Names:
    """A ``.names`` whose rows are being read; None in the place of the net: it could not be read."""

    line: int
    net: str
    operands: list[str]
    cubes: list[str] = field(default_factory=list)
    value: str | None = None
    sound: bool = True


@dataclass
class _Reader:
    draft: NetDraft
    names: _Names | None = None
    model: int | None = None
    ended: bool = False
    skipping: bool = False

    def line(self, number: int, text: str) -> None:
        """Read a line."""
        if self.skipping:
            self.skipping = text.split(maxsplit=1)[0] != ".end"
            return
        if not text.lstrip().startswith("."):
            self.row(number, text)
            return
        self.finish()
        draft = self.draft
        word, *rest = text.split()
        if word == ".exdc":
            self.skipping = True
            problem = "the external don't-cares from here to '.end' are skipped"
            draft.warn(
                number,
                word,
                problem,
                "leave them: where they hold, every answer is right, and the circuit gives that of its covers",
            )
        elif self.ended:
            problem = "a second model begins here" if word == ".model" else "there is text behind '.end'"
            self.draft.error(number, word, problem, "flatten the hierarchy (in yosys: flatten), or keep one model per file")
        elif word == ".model":
            self.begin(number, rest)
        elif word == ".inputs":
            for net in rest:
                self.draft.add_input(net, number)
        elif word == ".outputs":
            for net in rest:
                self.draft.add_output(net, net, number)
        elif word == ".names" and rest:
            self.names = _Names(number, rest[-1], rest[:-1])
        elif word == ".end":
            self.ended = True
        else:
            self.other(number, word, rest)

    def begin(self, number: int, rest: list[str]) -> None:
        """Read a ``.model``."""
        if self.model is not None:
            problem = f"a second model begins here; the first is in line {self.model + 1}"
            self.draft.error(number, None, problem, "flatten the hierarchy (in yosys: flatten), or keep one model per file")
        self.model = number
        if rest:
            self.draft.name = rest[0]

    def other(self, number: int, word: str, rest: list[str]) -> None:
        """Report an unsupported command, or ignore it."""
        draft = self.draft
        if word == ".names":
            draft.error(number, word, "'.names' is followed by no net", "write '.names a b s': the operands, then the net")
        elif word == ".latch":
            self.latch(number, " ".join(rest))
        elif word == ".clock":
            draft.warn(number, word, "'.clock' is ignored", "leave it: a circuit that is cut at its registers has no clock")
        elif word in _HIERARCHY:
            draft.broken.update(text.partition("=")[2] for text in rest)
            remedy = "write it as .names (in yosys: flatten; techmap; write_blif)"
            draft.error(number, word, f"'{word}' refers to something outside of this model", remedy)
        elif word in _TIMING:
            draft.warn(number, word, f"'{word}' is ignored", "remove it: a circuit here has no time, area or attributes")
        else:
            draft.error(number, word, f"unknown command {word!r}{did_you_mean(word, _KNOWN)}", _REMEDY)

    def latch(self, number: int, rest: str) -> None:
        """Read a ``.latch``."""
        match = _LATCH.fullmatch(rest)
        if match is None:
            self.draft.broken.update(rest.split()[1:2])
            shape = "write '.latch data net', then perhaps its type (re, fe, ah, al, as), its clock, and 0 to 3"
            self.draft.error(number, ".latch", "this is not a latch", shape)
            return
        self.draft.add_register(match["net"], match["data"], {"0": "0", "1": "1"}.get(match["reset"] or "", ""), number)

    def row(self, number: int, text: str) -> None:
        """Read a row of a cover."""
        names, draft = self.names, self.draft
        match = _ROW.fullmatch(text)
        if names is None:
            problem = "this line belongs to no '.names'" if match else "this line is neither a command nor a row of a cover"
            draft.error(number, None, problem, _REMEDY + "; each begins a line")
            return
        if match is None:
            shape = f"write {counted(len(names.operands), 'sign')} 0, 1 or -, a blank, and 0 or 1"
            names.sound = False
            draft.error(number, None, f"this is not a row of the cover of {names.net!r}", shape)
            return
        cube, value = match[1], match[2]
        if value is None:
            cube, value = "", cube
        if len(cube) != len(names.operands) or len(value) != 1 or value == "-":
            problem = (
                f"the row has {counted(len(cube), 'sign')} for {counted(len(names.operands), 'operand')} of {names.net!r}"
            )
            if len(cube) == len(names.operands):
                problem = f"the row ends with {value!r}, which is not a value of {names.net!r}"
            names.sound = False
            draft.error(number, None, problem, "write a sign 0, 1 or - for each operand, a blank, and the value 0 or 1")
            return
        if names.value not in (None, value):
            names.sound = False
            problem = f"the rows of {names.net!r} have both values, 0 and 1"
            draft.error(number, None, problem, "keep the rows with 1, or those with 0: the others follow")
        names.value = names.value or value
        names.cubes.append(cube)

    def finish(self) -> None:
        """Add the net whose rows have been read."""
        names, self.names = self.names, None
        if names is None:
            return
        if not names.sound:
            self.draft.broken.add(names.net)
            return
        cover = Cover(tuple(names.cubes), names.value or "1")
        k = len(names.operands)
        self.draft.add_gate(names.net, cover.table(k) if k <= 3 else cover, names.operands, names.line)


def write(circuit: Circuit) -> str:
    """Return `circuit` as a model; names that the format cannot carry are replaced, and kept in comments."""
    legal = legalised(circuit, _LEGAL.fullmatch)
    return "".join(f"{line}\n" for line in (*legal.comments(), *_statements(legal.circuit)))


def _statements(circuit: Circuit) -> Iterator[str]:
    yield f".model {re.sub('[^A-Za-z0-9_.-]+', '_', circuit.name) or 'circuit'}"
    for word, nets in ((".inputs", circuit.inputs), (".outputs", [net for net, _ in circuit.outputs])):
        for first in range(0, len(nets), 10):
            yield f"{word} {' '.join(nets[first : first + 10])}"
    for gate in circuit.gates:
        yield " ".join((".names", *gate.operands, gate.net))
        yield from (f"{cube} 1" if cube else "1" for cube in cubes(gate.table))
    yield ".end"


@cache
def cubes(table: str) -> tuple[str, ...]:
    """Return the rows where a table of up to three operands is 1, the widest ones first."""
    k = len(table).bit_length() - 1
    ones = {bits for bits, bit in zip(product("01", repeat=k), table, strict=True) if bit == "1"}
    left, found = set(ones), list[str]()
    for cube in sorted(product("01-", repeat=k), key=lambda cube: -cube.count("-")):
        points = set(product(*("01" if sign == "-" else sign for sign in cube)))
        if points <= ones and points & left:
            found.append("".join(cube))
            left -= points
    return tuple(found)
