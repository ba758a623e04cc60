"""Values that are recorded by the name of a source; a missing recording fails its test with the command that makes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NoReturn, TypeVar

import pytest

T = TypeVar("T")


class Recordings(dict[str, T]):
    """Recorded values by the name of their source.

    Args:
        values: name -> value.
        of: what is recorded, for the message: ``digests``.
        make: how to record it, a clause that follows "to make one,": ``run 'python -m tests.pins'``.
    """

    def __init__(self, values: Mapping[str, T] | None = None, *, of: str, make: str) -> None:
        super().__init__(values or {})
        self._of, self._make = of, make

    def __missing__(self, name: str) -> NoReturn:
        fail(self._of, name, self._make)

    def check(self, names: Iterable[str]) -> None:
        """Fail unless there is a recording of each of these names, and of nothing else."""
        wanted = set(names)
        for name in sorted(wanted - set(self)):
            fail(self._of, name, self._make)
        if rest := sorted(set(self) - wanted):
            pytest.fail(f"{self._of}: recorded of {', '.join(rest)}, which no longer exist: to remove them, {self._make}")


def recorded_text(path: Path, make: str) -> str:
    """Return the recorded text of a file, with its line ends as they are; without the file, fail as `Recordings` does."""
    if not path.is_file():
        fail("text", path.name, make)
    with path.open(encoding="utf-8", newline="") as file:
        return file.read()


def fail(of: str, name: str, make: str) -> NoReturn:
    """Fail a test for a missing recording."""
    pytest.fail(f"{of}: nothing is recorded of {name!r}: to make one, {make}")
