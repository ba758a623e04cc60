"""The formats that circuits are read from and written to, and how the format of a text is recognised."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path, PurePath
from re import Pattern
from typing import TYPE_CHECKING, Protocol, cast

from tm2tfr.base.choices import CIRCUIT_TEXTS, TextFormat
from tm2tfr.base.errors import ConversionError, NotFoundError, ReadError, did_you_mean
from tm2tfr.base.text.source import SourceText, decoded

if TYPE_CHECKING:
    from tm2tfr.sources.circuit.formats.draft import CircuitExample, LoadedCircuit
    from tm2tfr.sources.circuit.netlist import Circuit

STDIN = "-"
_SNIFFED = 1 << 16


class CircuitFormatModule(Protocol):
    """The functions of a format's module; of a binary format they are given bytes."""

    def looks_like(self, start: str | bytes, /) -> bool: ...  # whether a text that begins so is in the format
    def read(self, source: SourceText | bytes, /, **options: object) -> LoadedCircuit: ...  # raises SpecError
    def write(self, circuit: Circuit, /, *examples: object) -> str | bytes: ...  # raises ConversionError


class CircuitFormat(TextFormat):
    """A format, as `tm2tfr.base.choices` registers it, with its module."""

    __slots__ = ()

    def loaded(self) -> CircuitFormatModule:
        """Return the module, which is imported when it is needed."""
        return cast(CircuitFormatModule, import_module(f"{__package__}.{self.module}"))

    @property
    def comments(self) -> Pattern[bytes] | None:
        """The pattern with which comments of any bytes begin, ``COMMENTS`` of the module; None: there are none."""
        return getattr(self.loaded(), "COMMENTS", None)


CIRCUIT_FORMATS: Mapping[str, CircuitFormat] = {text.name: CircuitFormat(*text) for text in CIRCUIT_TEXTS}
"""Name -> format."""
MOST_BYTES = max(f.most for f in CIRCUIT_FORMATS.values()) << 20
"""The size of the largest file that is read."""
CIRCUIT_READABLE: tuple[str, ...] = tuple(f.name for f in CIRCUIT_FORMATS.values() if f.reads)
"""The formats that circuits are read from."""
CIRCUIT_WRITABLE: tuple[str, ...] = tuple(CIRCUIT_FORMATS)
"""The formats that circuits are written in."""


def read(text: str | bytes, *, file: str, format: str | None = None, cut_registers: bool = False) -> LoadedCircuit:
    """Read a circuit in any of the formats, determined by `format`, the file's ending, or the text.

    Args:
        cut_registers: cut it at its registers: their outputs become inputs of the circuit, and their inputs outputs.

    Raises:
        ConversionError: if no such format is read, or none is recognised; for `cut_registers` and a format without any.
        SpecError: with every error of the text.
    """
    chosen = _named(format, CIRCUIT_READABLE, "read from") if format else _guess(text, file)
    if cut_registers and not chosen.registers:
        known = ", ".join(f.name for f in CIRCUIT_FORMATS.values() if f.registers)
        raise ConversionError(f"{file}: {chosen.name} has no registers to cut, as {known} have: omit --cut-registers")
    cut = {"cut": True} if cut_registers else {}
    if chosen.binary:
        data = text.encode() if isinstance(text, str) else text
        if len(data) <= chosen.most << 20:
            return chosen.loaded().read(data, file=file, **cut)
    source = decoded(text, file=file, most=chosen.most << 20, noun="circuit", comments=chosen.comments)
    return chosen.loaded().read(source, **cut)


def from_expression(text: str) -> LoadedCircuit:
    """Read expressions in Python's syntax, such as ``a ^ b & ~c`` or ``s = a ^ b; c = a & b``.

    Raises:
        SpecError: with every error of the text.
    """
    return read(text, file="<expression>", format="expression")


def from_table(text: str) -> LoadedCircuit:
    """Read a truth table, such as ``0110`` or ``s = 0110; c = 0001``.

    Raises:
        SpecError: with every error of the text.
    """
    return read(text.replace(";", "\n"), file="<table>", format="truth-table")


def write(circuit: Circuit, format: str, examples: tuple[CircuitExample, ...] = ()) -> str | bytes:
    """Return `circuit` in a format; bytes for a binary one. Only our own YAML keeps `examples`.

    Raises:
        ConversionError: if no such format is written, or it cannot express the circuit.
    """
    chosen = _named(format, CIRCUIT_WRITABLE, "written as")
    if not circuit.outputs:
        raise ConversionError(
            f"{circuit.name}: a circuit without outputs is not written: name the nets that are its result"
        )
    more = (examples,) if chosen.module == "native" else ()
    return chosen.loaded().write(circuit, *more)


def load_with_warnings(where: str | Path, *, format: str | None = None, cut_registers: bool = False) -> LoadedCircuit:
    """Load a circuit from a file, or from standard input for ``-``, with warnings and examples.

    Raises:
        NotFoundError: if there is no such file.
        ReadError: if it cannot be read.
        ConversionError: if no such format is read, or none is recognised.
        SpecError: with every error of the text.
    """
    if where == STDIN:
        return read(standard_input(), file="<stdin>", format=format, cut_registers=cut_registers)
    name = str(where)
    shown = name if name.isprintable() else repr(name)
    return read(_contents(name), file=shown, format=format, cut_registers=cut_registers)


def by_ending(file: str) -> CircuitFormat | None:
    """Return the format that uses the ending of a file, if there is one."""
    ending = PurePath(file).suffix.lower()
    return next((f for f in CIRCUIT_FORMATS.values() if ending in f.endings), None)


def recognised(text: str | bytes) -> CircuitFormat | None:
    """Return the format of a text by its content, if it is one of those for circuits."""
    data = text[:_SNIFFED] if isinstance(text, bytes) else text[:_SNIFFED].encode(errors="replace")
    start = data.decode(errors="replace").removeprefix("\ufeff")
    readable = (f for f in CIRCUIT_FORMATS.values() if f.reads)
    return next((f for f in readable if f.loaded().looks_like(data if f.binary else start)), None)


def _named(name: str, known: tuple[str, ...], done: str) -> CircuitFormat:
    if name not in known:
        problem = f"circuits cannot be {done} {name!r}{did_you_mean(str(name), known)}"
        raise ConversionError(f"{problem}: use one of {', '.join(known)}")
    return CIRCUIT_FORMATS[name]


def _guess(text: str | bytes, file: str) -> CircuitFormat:
    """Return the format of a text: by the file's ending; where that says nothing, by the content."""
    chosen = by_ending(file) or recognised(text)
    if chosen is None:
        problem = f"{file}: this is in none of the formats of circuits"
        raise ConversionError(f"{problem}: name one of {', '.join(CIRCUIT_READABLE)} as the format")
    if not chosen.reads:
        problem = f"{file}: {chosen.name} is only written, not read"
        raise ConversionError(f"{problem}: convert it to BLIF first (in yosys: synth -flatten -auto-top; write_blif)")
    return chosen


def _contents(name: str) -> bytes:
    shown = name if name.isprintable() else repr(name)
    try:
        with Path(name).open("rb") as stream:
            return stream.read(MOST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFoundError(f"{shown}: there is no such file: name the file of a circuit") from None
    except ValueError:  # a NUL, or half a surrogate pair
        raise NotFoundError(f"{shown}: no file can have this name: remove the invalid characters") from None
    except IsADirectoryError:
        raise ReadError(f"{shown}: this is a folder: name a file in it") from None
    except OSError as error:
        raise ReadError(
            f"{shown}: cannot be read ({error.strerror}): change its permissions, or name another file"
        ) from None


def standard_input() -> bytes:
    """Return the text on standard input, at most one byte more than the limit.

    Raises:
        ReadError: if it cannot be read.
    """
    if sys.stdin is None:
        raise ReadError("<stdin>: standard input is closed: name a file")
    try:
        return sys.stdin.buffer.read(MOST_BYTES + 1)
    except OSError as error:
        raise ReadError(f"<stdin>: standard input cannot be read ({error.strerror}): name a file") from None
