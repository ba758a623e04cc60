"""Golden texts: documents, and all that is said about each of them.

A file holds cases::

    === what the case is about
    blank: _
    …
    === says
    f.yaml:3:1: …

Run ``python -m tests.sources.turing.formats.golden`` to write what is said now into the files, and read the difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tm2tfr.base.errors import SpecError
from tm2tfr.sources.turing.formats import native

FOLDER = Path(__file__).parent / "complaints"
_CASE = re.compile(r"^=== (?P<about>.*)\n(?P<text>(?:(?!===).*\n)*)=== says\n(?P<said>(?:(?!===).*\n)*)", re.MULTILINE)


class Case(NamedTuple):
    """A document and what is said about it."""

    about: str
    text: str
    said: str


def cases(path: Path) -> Iterator[Case]:
    """Yield the cases of a file."""
    for match in _CASE.finditer(path.read_text(encoding="utf-8")):
        yield Case(match["about"], match["text"], match["said"].rstrip("\n"))


def said(text: str | bytes) -> str:
    """Return all that is said about a document, errors and warnings, in order."""
    try:
        return "\n".join(map(str, native.read(text, file="f.yaml").warnings))
    except SpecError as error:
        return str(error)


def rewrite(path: Path, said: Callable[[str], str] = said) -> None:
    """Write what is said now."""
    written = (f"=== {case.about}\n{case.text}=== says\n{said(case.text)}".rstrip("\n") for case in cases(path))
    path.write_text("\n\n".join(written) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for each in sorted(FOLDER.glob("*.txt")):
        rewrite(each)
