"""Programs that are not RASP, each with every complaint about it, in `malformed.txt`.

``python -m tests.sources.rasp.language.malformed`` writes the messages anew: read the difference.
"""

from __future__ import annotations

from pathlib import Path

from tests.sources.malformed import write_anew
from tm2tfr.base.errors import SpecError
from tm2tfr.sources.rasp.read import read

CASES = Path(__file__).with_name("malformed.txt")


def complaints(text: str) -> str:
    """Return the messages about a text, warnings too."""
    try:
        found = read(text, file="x.rasp", folder=CASES.parent).warnings
    except SpecError as error:
        return str(error)
    return "\n".join(str(warning) for warning in found)


if __name__ == "__main__":
    write_anew(CASES, lambda title, text: complaints(text))
