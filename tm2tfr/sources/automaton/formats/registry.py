"""The formats that automata are read from and written in, and how the format of a text is recognised."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from tm2tfr.base.choices import AUTOMATON_TEXTS, TextFormat
from tm2tfr.base.text.source import decoded

if TYPE_CHECKING:
    from tm2tfr.sources.automaton.automaton import Automaton
    from tm2tfr.sources.automaton.formats.draft import LoadedAutomaton

FORMATS: Mapping[str, TextFormat] = {text.name: text for text in AUTOMATON_TEXTS}
"""Name -> format."""
_SNIFFED = 1 << 16


def _module(format: str) -> Any:
    return import_module(f"{__package__}.{FORMATS[format].module}")


def recognised(text: str | bytes, file: str = "") -> str | None:
    """Return the format of a text, by an ending that only automata have, or by content; None if it is not an automaton."""
    ending = PurePath(file).suffix.lower()
    if ending == ".regex":
        return "regex"
    start = text[:_SNIFFED].decode(errors="replace") if isinstance(text, bytes) else text[:_SNIFFED]
    return next((name for name in ("jflap", "yaml") if _module(name).looks_like(start.removeprefix("\ufeff"))), None)


def read(text: str | bytes, *, file: str, format: str) -> LoadedAutomaton:
    """Read an automaton in a format.

    Raises:
        SpecError: with every error of the text.
    """
    found: LoadedAutomaton = _module(format).read(decoded(text, file=file, noun="automaton"))
    return found


def write(automaton: Automaton, format: str) -> str:
    """Return an automaton in a format that automata are written in.

    Raises:
        ConversionError: if it cannot express the automaton.
    """
    return str(_module(format).write(automaton))
