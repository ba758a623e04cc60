r"""Golden texts: circuits in each format, mostly broken, and all that is said about each of them.

A file is named after the format and holds cases::

    === what the case is about
    INPUT(a)
    …
    === says
    f.bench:3:1: …

The cases of the binary format are written with escapes, ``\x02``.
Run ``python -m tests.sources.circuit.formats.golden`` to write what is said now into the files, and read the difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tm2tfr.base.errors import SpecError
from tm2tfr.sources.circuit.formats import registry
from tm2tfr.sources.circuit.formats.registry import CIRCUIT_FORMATS

FOLDER = Path(__file__).parent / "complaints"
PATHS = sorted(FOLDER.glob("*.txt"))
_CASE = re.compile(r"^=== (?P<about>.*)\n(?P<text>(?:(?!===).*\n)*)=== says\n(?P<said>(?:(?!===).*\n)*)", re.MULTILINE)


class CircuitCase(NamedTuple):
    """A text in a format, and what is said about it."""

    about: str
    format: str
    text: str
    said: str

    @property
    def data(self) -> bytes:
        """The contents of the file."""
        if not CIRCUIT_FORMATS[self.format].binary:
            return self.text.encode()
        return self.text.encode("latin-1").decode("unicode_escape").encode("latin-1")


def cases(path: Path) -> Iterator[CircuitCase]:
    """Yield the cases of a file."""
    for match in _CASE.finditer(path.read_text(encoding="utf-8")):
        yield CircuitCase(match["about"], path.stem, match["text"], match["said"].rstrip("\n"))


def said(data: bytes, format: str) -> str:
    """Return all that is said about a text, errors and warnings, in order."""
    file = f"f{CIRCUIT_FORMATS[format].endings[0]}"
    try:
        return "\n".join(map(str, registry.read(data, file=file, format=format).warnings))
    except SpecError as error:
        return str(error)


def rewrite(path: Path) -> None:
    """Write what is said now."""
    written = (
        f"=== {case.about}\n{case.text}=== says\n{said(case.data, case.format)}".rstrip("\n") for case in cases(path)
    )
    path.write_text("\n\n".join(written) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for each in PATHS:
        rewrite(each)
