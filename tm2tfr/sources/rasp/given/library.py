"""Where RASP programs come from: a path, or the programs shipped with the package."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from tm2tfr import shelf

if TYPE_CHECKING:
    from tm2tfr.sources.rasp.read import LoadedRasp

ENDING = shelf.PROGRAMS.endings[0]
_FIRST = re.compile(
    rb"""(\xef\xbb\xbf)?(\s|\#[^\n]*(\n|$))*
    (def\s+\w+\s*\( | set\s+example\b | (load|draw|for)\b[^\n:]*[;{] | \w+(\s*,\s*\w+)*\s*=[^=][^\#]*?;)""",
    re.VERBOSE,
)
"""How a program begins, and the text of no machine and no circuit does: behind comments, with a statement."""


def shipped() -> tuple[str, ...]:
    """Return the names of the shipped programs, sorted."""
    return shelf.shipped(shelf.PROGRAMS)


def is_program(given: str | Path) -> bool:
    """Return whether what a user gave is a RASP program: by its ending, or the name of a shipped one."""
    return Path(given).suffix.lower() == ENDING or (isinstance(given, str) and shelf.on_shelf(shelf.PROGRAMS, given))


def load(where: str | Path) -> LoadedRasp:
    """Load a program from a path, or a shipped one by its name, with or without ``.rasp``; a file comes first.

    Raises:
        NotFoundError: if there is no such file and no such shipped program.
        ReadError: if it cannot be read.
        SpecError: with every error of the text.
    """
    from tm2tfr.sources.rasp.read import read  # noqa: PLC0415  (grammars take their time to load)

    path = Path(where)
    name = path.stem if str(where) == path.name else ""
    if name in shipped() and not path.is_file():
        return read(shelf.shipped_text(shelf.PROGRAMS, name), file=f"{name}{ENDING}")
    return read(shelf.contents(shelf.PROGRAMS, str(where)), file=shelf.display(str(where)), folder=path.parent)


def looks_like(text: bytes) -> bool:
    """Return whether a text whose file is not known is a RASP program, by its first statement."""
    return _FIRST.match(text) is not None
