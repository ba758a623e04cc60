"""The jobs of a folder, and what a job is made into: functions of what is asked for, not of who does them, or when."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Generic, TypeVar

from tm2tfr._version import __version__

_Work = TypeVar("_Work")
_Options = TypeVar("_Options")
_Item = TypeVar("_Item")
_Made = TypeVar("_Made")


@dataclass(frozen=True)
class Job(Generic[_Work]):
    """What becomes one shard: its number, from 0, and the work to be done."""

    number: int
    work: _Work


Task = Callable[[Job[_Work], _Options], _Made]
"""A pure function of a job and of options that all jobs share; every process finds it by its name."""


def cut(items: Sequence[_Item], size: int) -> Iterator[Job[Sequence[_Item]]]:
    """Yield jobs of `size` items each, in order; the last one may have fewer."""
    for number, start in enumerate(range(0, len(items), size)):
        yield Job(number, items[start : start + size])


def versions(packages: tuple[str, ...] = ("numpy", "numba", "pyarrow")) -> dict[str, str]:
    """Return the versions of everything that the bytes of a folder, or what these packages make, depend on."""
    return dict(_versions(packages))


@cache
def _versions(packages: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    found = {"tm2tfr": __version__, "python": ".".join(map(str, sys.version_info[:2]))}
    for name in packages:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return tuple(found.items())


def stem(number: int, shards: int) -> str:
    """Return the name of the files of a shard, without an ending: ``00003-of-00040``."""
    return f"{number:05}-of-{shards:05}"


@dataclass
class Made:
    """What a job is made into.

    Args:
        number: that of the job.
        files: place in the folder -> content.
        versions: those of the worker's software.
    """

    number: int
    files: dict[str, bytes] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=versions)

    @property
    def counts(self) -> Mapping[str, object]:
        """What the manifest says of the shard beside its number and its files, as plain data."""
        return {}

    @property
    def rows(self) -> int:
        """The number of rows made, for progress."""
        return 0

    @property
    def failed(self) -> bool:
        """Whether something is wrong with the job, so that it becomes no shard, and the line stops."""
        return False
