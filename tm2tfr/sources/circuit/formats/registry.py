"""The formats that circuits are read from and written to, and how the format of a text is recognised."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path, PurePath
from typing import Any, NamedTuple, cast

from tm2tfr.errors import ConversionError, NotFoundError, ReadError, did_you_mean
from tm2tfr.sources.circuit.formats.loaded import CircuitExample, LoadedCircuit
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.text.source import decoded

MOST_BYTES = 256 << 20
"""The size of the largest file that is read."""
STDIN = "-"
_SNIFFED = 1 << 16


class CircuitFormat(NamedTuple):
    """A format: its name, its module, the endings of its files, and whether the module reads it.

    The module has ``looks_like(text)`` and ``read(source)`` if it `reads`, and ``write(circuit)``. A `binary` one has
    ``read(data, file=…)`` of bytes instead, and writes bytes.
    """

    name: str
    module: str
    endings: tuple[str, ...]
    reads: bool = True
    binary: bool = False
    most: int = MOST_BYTES

    def call(self, function: str, *arguments: Any, **named: Any) -> Any:
        """Call a function of the module."""
        return getattr(import_module(f"{__package__}.{self.module}"), function)(*arguments, **named)


CIRCUIT_FORMATS: Mapping[str, CircuitFormat] = {
    f.name: f
    for f in (
        CircuitFormat("yaml", "native", (".yaml", ".yml"), most=16 << 20),
        CircuitFormat("bench", "bench", (".bench",)),
        CircuitFormat("aag", "aiger", (".aag",)),
        CircuitFormat("aig", "aiger_binary", (".aig",), binary=True),
        CircuitFormat("blif", "blif", (".blif",)),
        CircuitFormat("truth-table", "truth_table", (".tt",), most=64 << 20),
        CircuitFormat("expression", "expression", (".expr",), most=16 << 20),
        CircuitFormat("verilog", "verilog", (".v",), reads=False),
    )
}
"""Name -> format."""
CIRCUIT_READABLE: tuple[str, ...] = tuple(f.name for f in CIRCUIT_FORMATS.values() if f.reads)
"""The formats that circuits are read from."""
CIRCUIT_WRITABLE: tuple[str, ...] = tuple(CIRCUIT_FORMATS)
"""The formats that circuits are written in."""


def read(text: str | bytes, *, file: str, format: str | None = None) -> LoadedCircuit:
    """Read a circuit in any of the formats, determined by `format`, the file's ending, or the text.

    Raises:
        ConversionError: if no such format is read, or none is recognised.
        SpecError: with every error of the text.
    """
    chosen = _named(format, CIRCUIT_READABLE, "read from") if format else _guess(text, file)
    if chosen.binary:
        data = text.encode() if isinstance(text, str) else text
        if len(data) <= chosen.most:
            return cast(LoadedCircuit, chosen.call("read", data, file=file))
    return cast(LoadedCircuit, chosen.call("read", decoded(text, file=file, most=chosen.most, noun="circuit")))


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
    return cast("str | bytes", chosen.call("write", circuit, *more))


def load_with_warnings(where: str | Path, *, format: str | None = None) -> LoadedCircuit:
    """Load a circuit from a file, or from standard input for ``-``, with warnings and examples.

    Raises:
        NotFoundError: if there is no such file.
        ReadError: if it cannot be read.
        ConversionError: if no such format is read, or none is recognised.
        SpecError: with every error of the text.
    """
    if where == STDIN:
        return read(standard_input(), file="<stdin>", format=format)
    name = str(where)
    return read(_contents(name), file=name if name.isprintable() else repr(name), format=format)


def by_ending(file: str) -> CircuitFormat | None:
    """Return the format that uses the ending of a file, if there is one."""
    ending = PurePath(file).suffix.lower()
    return next((f for f in CIRCUIT_FORMATS.values() if ending in f.endings), None)


def recognised(text: str | bytes) -> CircuitFormat | None:
    """Return the format of a text by its content, if it is one of those for circuits."""
    data = text[:_SNIFFED] if isinstance(text, bytes) else text[:_SNIFFED].encode(errors="replace")
    start = data.decode(errors="replace").removeprefix("\ufeff")
    readable = (f for f in CIRCUIT_FORMATS.values() if f.reads)
    return next((f for f in readable if f.call("looks_like", data if f.binary else start)), None)


def _named(name: str, known: tuple[str, ...], done: str) -> CircuitFormat:
    if name not in known:
        what = f"circuits cannot be {done} {name!r}{did_you_mean(str(name), known)}"
        raise ConversionError(f"{what}: use one of {', '.join(known)}")
    return CIRCUIT_FORMATS[name]


def _guess(text: str | bytes, file: str) -> CircuitFormat:
    """Return the format of a text: by the file's ending; where that says nothing, by the content."""
    chosen = by_ending(file) or recognised(text)
    if chosen is None:
        what = f"{file}: this is in none of the formats of circuits"
        raise ConversionError(f"{what}: name one of {', '.join(CIRCUIT_READABLE)} as the format")
    if not chosen.reads:
        what = f"{file}: {chosen.name} is only written, not read"
        raise ConversionError(f"{what}: convert it to BLIF first (in yosys: synth; flatten; abc; write_blif)")
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
    """Return what is on standard input: no more than it takes to see that it is too large.

    Raises:
        ReadError: if it cannot be read.
    """
    if sys.stdin is None:
        raise ReadError("<stdin>: standard input is closed: name a file")
    try:
        return sys.stdin.buffer.read(MOST_BYTES + 1)
    except OSError as error:
        raise ReadError(f"<stdin>: standard input cannot be read ({error.strerror}): name a file") from None
