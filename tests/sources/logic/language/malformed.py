"""Formulas and programs that cannot be read, or may not be meant, with every complaint, in `malformed.txt`.

The title of a case says which language it is in. ``python -m tests.sources.logic.language.malformed`` writes the messages
anew: read the difference.
"""

from __future__ import annotations

from pathlib import Path

from tests.sources.malformed import write_anew
from tm2tfr.base.errors import SpecError
from tm2tfr.sources.logic.read import read

CASES = Path(__file__).with_name("malformed.txt")


def complaints(title: str, text: str) -> str:
    """Return the messages about a text, warnings too."""
    file = "x.srasp" if title.startswith("program") else "x.tl"
    try:
        found = read(text, file=file).warnings
    except SpecError as error:
        return str(error)
    return "\n".join(str(warning) for warning in found)


if __name__ == "__main__":
    write_anew(CASES, complaints)
