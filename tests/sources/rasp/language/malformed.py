"""Programs that are not RASP, each with every complaint about it, in `malformed.txt`.

A case begins with ``=== what it is``; below ``---`` stand the messages. ``python -m tests.sources.rasp.language.malformed``
writes them anew: read the difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tm2tfr.errors import SpecError
from tm2tfr.sources.rasp.read import read

CASES = Path(__file__).with_name("malformed.txt")


def cases() -> Iterator[tuple[str, str, str]]:
    """Yield what each case is, its text and its messages."""
    for case in CASES.read_text(encoding="utf-8").split("=== ")[1:]:
        title, _, rest = case.partition("\n")
        text, _, messages = rest.partition("---\n")
        yield title, text, messages.rstrip("\n")


def complaints(text: str) -> str:
    """Return the messages about a text, warnings too."""
    try:
        found = read(text, file="x.rasp", folder=CASES.parent).warnings
    except SpecError as error:
        return str(error)
    return "\n".join(str(warning) for warning in found)


if __name__ == "__main__":
    done = [f"=== {title}\n{text}---\n{complaints(text)}\n" for title, text, _ in cases()]
    CASES.write_text("\n".join(done), encoding="utf-8")
