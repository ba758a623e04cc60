"""Where automata come from: a path, ``regex:(ab)*``, or those shipped with the package."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tm2tfr.base import resources
from tm2tfr.sources.automaton.formats import registry

if TYPE_CHECKING:
    from tm2tfr.sources.automaton.formats.draft import LoadedAutomaton

REGEX = "regex:"
"""What stands before a regular expression that is given as text."""
_SNIFFED = 1 << 16
_ENDINGS = resources.AUTOMATA.endings


def shipped() -> tuple[str, ...]:
    """Return the names of the shipped automata, sorted."""
    return resources.shipped(resources.AUTOMATA)


def is_automaton(given: str | Path, format: str | None = None) -> bool:
    """Return whether an argument is an automaton: a regular expression, a shipped name, or a file of one."""
    path = Path(str(given))
    if format is not None:
        return format == "regex" or (format in registry.FORMATS and _recognised(path) == format)
    if _is_regex(given) or path.suffix.lower() == ".regex":
        return True
    if isinstance(given, str) and not resources.is_file(path) and path.name == given:
        return given in shipped() or (path.suffix == _ENDINGS[0] and path.stem in shipped())
    return path.suffix.lower() in (*_ENDINGS, "") and _recognised(path) is not None


def _recognised(path: Path) -> str | None:
    """Return the format of an automaton's file; None for other files and unreadable ones, which the reader reports."""
    with suppress(OSError, ValueError):
        if path.is_file():
            with path.open("rb") as file:
                return registry.recognised(file.read(_SNIFFED), path.name)
    return None


def _is_regex(given: str | Path) -> bool:
    return isinstance(given, str) and given.startswith(REGEX) and not resources.is_file(given)


def load(where: str | Path, format: str | None = None) -> LoadedAutomaton:
    """Load an automaton from a path, a regular expression behind ``regex:``, or a shipped one by its name.

    Raises:
        NotFoundError: if there is no such file and no such shipped automaton.
        ReadError: if it cannot be read.
        SpecError: with every error of the text.
    """
    name, path = str(where), Path(where)
    if _is_regex(where):
        from tm2tfr.sources.automaton.formats import regex  # noqa: PLC0415

        return regex.of_text(name.removeprefix(REGEX))
    bare = path.name.removesuffix(_ENDINGS[0]) if name == path.name else ""
    if format is None and bare in resources.files_of(resources.AUTOMATA) and not resources.is_file(path):
        text = resources.shipped_text(resources.AUTOMATA, bare)
        return registry.read(text, file=f"{bare}{_ENDINGS[0]}", format="jflap")
    contents = resources.contents(resources.AUTOMATA, name)
    chosen = format or registry.recognised(contents, name) or "jflap"
    return registry.read(contents, file=resources.display(name), format=chosen)
