"""The formats that machines are read from and written to, and which of them a text is in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import PurePath
from typing import Any, NamedTuple, cast

from tm2tfr.errors import ConversionError, did_you_mean
from tm2tfr.machine.formats import native
from tm2tfr.machine.formats.exact import Written
from tm2tfr.machine.formats.loaded import Loaded
from tm2tfr.machine.formats.source import Source, decoded
from tm2tfr.machine.spec import Machine


class Format(NamedTuple):
    """A format: its name, the module that knows it, the endings of its files, and what the module can do.

    The module has ``looks_like(text)`` and ``read(source)`` if it `reads`, and ``write(machine)`` if it `writes`.
    """

    name: str
    module: str
    extensions: tuple[str, ...] = ()
    reads: bool = True
    writes: bool = True

    def call(self, function: str, argument: Any) -> Any:
        """Call a function of the module."""
        found: Callable[[Any], Any] = getattr(import_module(f"{__package__}.{self.module}"), function)
        return found(argument)


NATIVE = Format("yaml", "native", (".yaml", ".yml"))
OTHERS = (
    Format("turingmachine.io", "turingmachine_io", reads=False),
    Format("bbchallenge", "bbchallenge"),
    Format("doty", "doty", (".tm",), writes=False),
    Format("morphett", "morphett", (".tm",)),
    Format("jflap", "jflap", (".jff",)),
    Format("automata-lib", "automata_lib", (".py",), reads=False),
)
FORMATS: Mapping[str, Format] = {f.name: f for f in (NATIVE, *OTHERS)}
READABLE = tuple(f.name for f in FORMATS.values() if f.reads or f.name == "turingmachine.io")
WRITABLE = tuple(f.name for f in FORMATS.values() if f.writes)

_SNIFFED = 1 << 16


def read(text: str | bytes, *, file: str, format: str | None = None) -> Loaded:
    """Read a machine in any of the formats; which one is told by `format`, the file's ending, or the text.

    Raises:
        ConversionError: if there is no such format to read, or files of it are programs.
        SpecError: with every error of the text.
    """
    chosen = _named(format, READABLE, "read from") if format else _guess(text, file)
    if chosen.module in ("native", "turingmachine_io"):
        return native.read(text, file=file)
    source: Source = decoded(text, file=file)
    return cast(Loaded, chosen.call("read", source))


def write(machine: Machine, format: str) -> Written:
    """Return `machine` in a format, and what a reader should know about the translation.

    Raises:
        ConversionError: if there is no such format to write, or it cannot say the machine.
    """
    chosen = _named(format, WRITABLE, "written as")
    if chosen is NATIVE:
        return Written(native.write(machine))
    return cast(Written, chosen.call("write", machine))


def by_extension(file: str) -> tuple[str, ...]:
    """Return the names of the formats whose files end as `file` does."""
    suffix = PurePath(file).suffix.lower()
    return tuple(f.name for f in FORMATS.values() if suffix in f.extensions)


def _named(name: str, known: tuple[str, ...], done: str) -> Format:
    if name not in known:
        what = f"no machine is {done} {name!r}{did_you_mean(name, known)}"
        raise ConversionError(f"{what}: choose one of {', '.join(known)}")
    return FORMATS[name]


def _guess(text: str | bytes, file: str) -> Format:
    """Return the format of a text, by the ending of its file if only one has it; YAML if nothing speaks for another."""
    candidates = by_extension(file)
    if len(candidates) == 1:
        if not FORMATS[candidates[0]].reads:
            what = f"{file}: a file of {candidates[0]} is a program, which is not run"
            raise ConversionError(f"{what}: in Python, tm2tfr.Machine.from_automata(dtm) takes what it makes")
        return FORMATS[candidates[0]]
    start = text[:_SNIFFED].decode(errors="replace") if isinstance(text, bytes) else text[:_SNIFFED]
    readable = (f for f in OTHERS if f.reads and (not candidates or f.name in candidates))
    sure = next((f for f in readable if f.call("looks_like", start.removeprefix("\ufeff"))), None)
    return sure or (FORMATS[candidates[0]] if candidates else NATIVE)
