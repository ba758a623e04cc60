"""How runs are made, and a run that fails."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from tm2tfr._version import __version__
from tm2tfr.base.errors import visible


@dataclass(frozen=True)
class How:
    """How the runs of a spec are made.

    Args:
        engine: ``fast``, ``dense`` or ``exact``; of circuits also ``auto``, since some need another one; the reference,
            where no weights are run.
    """

    engine: str

    @property
    def weights_digest(self) -> str | None:
        """The digest of the weights that are given for all programs; None: each program is compiled."""
        return None

    def title(self, name: str) -> str:
        """Return what reports call the runs of the spec `name`."""
        return name


@dataclass(frozen=True)
class Failure:
    """A run that differs from the reference's, and how; `program` is the machine, alone or in a prompt, or the circuit."""

    program: Any
    word: str
    why: str

    def __str__(self) -> str:
        """Return two lines or more: what differs, on which input, and how."""
        why = self.why.replace("\n", "\n  ")
        return f"counterexample: {visible(self.program.name)} on {self.word!r}\n  {why}"


def versions(packages: tuple[str, ...] = ("numpy", "numba", "pyarrow")) -> dict[str, str]:
    """Return the versions of everything that the bytes of a data set, or what these packages make, depend on."""
    return dict(_versions(packages))


@cache
def _versions(packages: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    found = {"tm2tfr": __version__, "python": ".".join(map(str, sys.version_info[:2]))}
    for name in packages:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return tuple(found.items())
