"""A machine in other formats: those that can also be read, drawings, and LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tm2tfr.choices import PICTURES, WRITABLE
from tm2tfr.errors import ConversionError, OutputError, did_you_mean
from tm2tfr.sources.turing.drawing import to_dot, to_mermaid
from tm2tfr.sources.turing.formats import registry
from tm2tfr.sources.turing.formats.lossless import Written
from tm2tfr.sources.turing.latex import delta_table, tikz
from tm2tfr.sources.turing.spec import Machine

_PICTURES: Mapping[str, tuple[Callable[[Machine], str], tuple[str, ...]]] = {
    "mermaid": (to_mermaid, (".mmd",)),
    "dot": (to_dot, (".dot", ".gv")),
    "tikz": (tikz, (".tikz",)),
    "latex": (delta_table, (".tex",)),
}
TARGETS = (*WRITABLE, *PICTURES)


def convert(machine: Machine, format: str) -> Written:
    """Return `machine` in a format, with notes for the reader about the translation.

    Raises:
        ConversionError: if there is no such format, or it cannot express the machine: then with the reason.
    """
    if format in _PICTURES:
        return Written(_PICTURES[format][0](machine))
    if format not in TARGETS:
        what = f"machines cannot be written as {format!r}{did_you_mean(str(format), TARGETS)}"
        raise ConversionError(f"{what}: use one of {', '.join(TARGETS)}")
    return registry.write(machine, format)


def format_for(output: Path) -> str:
    """Return the format of files with the extension of `output`.

    Raises:
        OutputError: if there is none, or several.
    """
    suffix = output.suffix.lower()
    pictures = (name for name, (_, endings) in _PICTURES.items() if suffix in endings)
    known = (f for f in registry.by_extension(output.name) if f in TARGETS and registry.WRITTEN_TO.get(suffix, f) == f)
    found = [*known, *pictures]
    if len(found) != 1:
        which = f"{suffix!r} may be {' or '.join(found)}" if found else f"no format has the extension {suffix!r}"
        raise OutputError(f"{output}: {which}: use --to {', '.join(found or TARGETS)}")
    return found[0]
