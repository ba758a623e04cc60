"""Golden complaints about specs; ``python -m tests.lab.datasets.golden`` writes what is said now."""

from __future__ import annotations

from pathlib import Path

from tests.sources.turing.formats import golden
from tm2tfr.base.errors import SpecError
from tm2tfr.lab.datasets.reader import read

COMPLAINTS = Path(__file__).parent / "complaints.txt"
CIRCUIT_COMPLAINTS = Path(__file__).parent / "circuit_complaints.txt"


def said(text: str) -> str:
    """Return all that is said about a spec."""
    try:
        read(text, file="spec.yaml")
    except SpecError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    golden.rewrite(COMPLAINTS, said)
    golden.rewrite(CIRCUIT_COMPLAINTS, said)
