"""The value that every reader of a format returns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from tm2tfr.errors import Diagnostic
from tm2tfr.sources.turing.spec import Machine


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """A machine, and warnings about what its author may not have meant."""

    machine: Machine
    warnings: tuple[Diagnostic, ...] = ()


def stem(file: str) -> str:
    """Return the name of a machine that does not give its own: that of its file."""
    return "machine" if file.startswith("<") else PurePath(file).stem or "machine"
