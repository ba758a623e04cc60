"""Golden complaints about specs."""

from __future__ import annotations

from pathlib import Path

from tests.golden import Case, Golden
from tm2tfr.base.errors import SpecError
from tm2tfr.lab.datasets.reader import read


def said(text: str) -> str:
    """Return all that is said about a spec."""
    try:
        read(text, file="spec.yaml")
    except SpecError as error:
        return str(error)
    return ""


def _answer(case: Case) -> str:
    return said(case.text)


COMPLAINTS = Golden(Path(__file__).parent / "complaints.txt", _answer)
CIRCUIT_COMPLAINTS = Golden(Path(__file__).parent / "circuit_complaints.txt", _answer)
