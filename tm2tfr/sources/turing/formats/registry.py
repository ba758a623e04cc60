"""The formats that machines are read from and written to, and how the format of a text is recognised."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING, Protocol, cast

from tm2tfr.base.choices import MACHINE_TEXTS, READABLE, WRITABLE, TextFormat
from tm2tfr.base.errors import ConversionError, Diagnostic, SpecError, did_you_mean
from tm2tfr.base.text.source import MACHINE_BYTES, SourceText, decoded

if TYPE_CHECKING:
    from tm2tfr.sources.turing.formats.draft import Loaded
    from tm2tfr.sources.turing.formats.lossless import Written
    from tm2tfr.sources.turing.spec import Machine


class FormatModule(Protocol):
    """The functions of a format's module."""

    def looks_like(self, start: str, /) -> bool: ...  # whether a text that begins so is in the format
    def read(self, source: SourceText, /) -> Loaded: ...  # raises SpecError
    def write(self, machine: Machine, /) -> Written: ...  # raises ConversionError


class Format(TextFormat):
    """A format, as `tm2tfr.base.choices` registers it, with its module."""

    __slots__ = ()

    def loaded(self) -> FormatModule:
        """Return the module, which is imported when it is needed."""
        return cast(FormatModule, import_module(f"{__package__}.{self.module}"))


FORMATS: Mapping[str, Format] = {text.name: Format(*text) for text in MACHINE_TEXTS}
"""Name -> format."""
NATIVE = FORMATS["yaml"]

WRITTEN_TO: Mapping[str, str] = {".tm": "morphett"}
"""The extensions that several formats have -> the format that is written to such a file."""
OF_OTHERS = "; 'tm2tfr convert --help' lists those of circuits, programs and formulas, too"
_SNIFFED = 1 << 16


def read(text: str | bytes, *, file: str, format: str | None = None) -> Loaded:
    """Read a machine in any of the formats, determined by `format`, the file's extension, or the text.

    Raises:
        ConversionError: if no such format is read.
        SpecError: with every error of the text.
    """
    chosen = _named(format, READABLE, "read from") if format else _guess(text, file)
    if chosen.module in ("native", "turingmachine_io"):
        from tm2tfr.sources.turing.formats import native  # noqa: PLC0415

        return native.read(text, file=file)
    source: SourceText = decoded(text, file=file, most=MACHINE_BYTES)
    if chosen.module == "bbchallenge":
        from tm2tfr.sources.turing.formats import bbchallenge  # noqa: PLC0415

        bbchallenge.refuse(source)
    return chosen.loaded().read(source)


def write(machine: Machine, format: str) -> Written:
    """Return `machine` in a format, with notes for the reader about the translation.

    Raises:
        ConversionError: if no such format is written, or it cannot express the machine.
    """
    chosen = _named(format, WRITABLE, "written as")
    if chosen is NATIVE:
        from tm2tfr.sources.turing.formats import native  # noqa: PLC0415
        from tm2tfr.sources.turing.formats.lossless import Written  # noqa: PLC0415

        return Written(native.write(machine))
    return chosen.loaded().write(machine)


def format_of(text: str | bytes, file: str) -> str:
    """Return the name of the format of a text, by the file's extension, or the text.

    Raises:
        ConversionError: if files in it are programs.
    """
    return _guess(text, file).name


def by_extension(file: str) -> tuple[str, ...]:
    """Return the names of the formats that use the extension of `file`."""
    suffix = PurePath(file).suffix.lower()
    return tuple(f.name for f in FORMATS.values() if suffix in f.endings)


def _named(name: str, known: tuple[str, ...], done: str) -> Format:
    if name not in known:
        problem = f"machines cannot be {done} {name!r}{did_you_mean(str(name), known)}"
        raise ConversionError(f"{problem}: use one of {', '.join(known)}")
    return FORMATS[name]


def _guess(text: str | bytes, file: str) -> Format:
    """Return the format of a text by how it begins: one that the extension of its file suggests, otherwise any.

    A text that looks like none is in the format of the extension, if one format alone has it: then its reader says what is
    wrong.

    Raises:
        SpecError: if no format is recognised.
    """
    from tm2tfr.sources.turing.formats import bbchallenge, ft_turing  # noqa: PLC0415

    suggested = by_extension(file)
    start = text[:_SNIFFED].decode(errors="replace") if isinstance(text, bytes) else text[:_SNIFFED]
    start = start.removeprefix("\ufeff")
    order = sorted((f for f in FORMATS.values() if f.reads), key=lambda f: (f.name not in suggested, f is NATIVE))
    found = next((f for f in order if f.loaded().looks_like(start)), None)
    if found is not None:
        return found
    if len(suggested) == 1 and not (suggested == ("ft_turing",) and ft_turing.is_foreign(start)):
        return FORMATS[suggested[0]]
    source = decoded(text, file=file, most=MACHINE_BYTES)  # raises for bytes that are not text
    bbchallenge.refuse(source)
    problem = "the format of this text is not recognised"
    remedy = f"if it is a machine, name the format with --from, one of {', '.join(READABLE)}{OF_OTHERS}"
    raise SpecError([Diagnostic(what=problem, remedy=remedy, file=file)])
