"""The folder for machine code: private to the user, bounded, and never needed.

Code is loaded from here and run, so a folder or file that somebody else owns or may write to is not used. Whatever is
wrong with the folder, nothing is raised: code is compiled again, and kept in memory.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tm2tfr.base.errors import OutputError
from tm2tfr.base.files import mode_of, write_whole

VARIABLE = "TM2TFR_CACHE"
"""The environment variable that names another folder; empty or ``0``: no cache."""
SUFFIX = ".code"
MOST_BYTES, MOST_FILES = 2**26, 4096
"""The size limit of the folder; beyond it the least recently used files are removed."""
LARGEST = 2**24
"""The largest file that is read, in bytes."""
POSIX = os.name == "posix"
"""Whether files have owners and permissions to check; without these there is no cache."""


def folder() -> Path | None:
    """Return the cache folder, which need not exist; None without a cache."""
    named = os.environ.get(VARIABLE)
    if not POSIX or named in ("", "0"):
        return None
    if named is not None:
        return Path(os.path.abspath(named)) / "code"
    try:
        home = Path.home()
    except RuntimeError:  # nobody knows where
        return None
    given = os.environ.get("XDG_CACHE_HOME", "")
    usual = home / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return (Path(given) if os.path.isabs(given) else usual) / "tm2tfr" / "code"


def used() -> bool:
    """Return whether the cache has readable code of any function."""
    with suppress(OSError, ValueError), _opened() as place:
        return any(name.endswith(SUFFIX) for name in os.listdir(place))
    return False


def read(name: str) -> bytes | None:
    """Return the content of a file of the folder; None if it is not there, or is not the user's alone."""
    with suppress(OSError, ValueError), _opened() as place:
        file = os.open(name + SUFFIX, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=place)
        with open(file, "rb") as content:
            found = os.fstat(file)
            if not stat.S_ISREG(found.st_mode) or not _private(found) or found.st_size > LARGEST:
                return None
            with suppress(OSError):  # a folder that cannot be written to
                os.utime(file)
            return content.read(LARGEST)
    return None


def write(name: str, data: bytes) -> None:
    """Put a file into the folder, whole or not at all, and remove what is too much; or do nothing, where that fails."""
    where = folder()
    if where is None or len(data) > LARGEST:
        return
    with suppress(OSError, ValueError, OutputError):
        where.parent.mkdir(parents=True, exist_ok=True)
        where.mkdir(mode=0o700, exist_ok=True)
        path = where / (name + SUFFIX)
        with _opened():
            if mode_of(path) is None or path.is_file():
                write_whole(path, lambda file: file.write(data), mode=0o600)
                _bounded(where)


@contextmanager
def _opened() -> Iterator[int]:
    """Open the folder, so that nobody can put another in its place.

    Raises:
        OSError: if it is not there, or is not the user's alone.
    """
    where = folder()
    if where is None:
        raise FileNotFoundError
    opened = os.open(where, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if not _private(os.fstat(opened)):
            raise PermissionError
        yield opened
    finally:
        os.close(opened)


def _private(found: os.stat_result) -> bool:
    """Return whether the user owns a file or folder, and nobody else may write to it."""
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _bounded(where: Path) -> None:
    """Remove the files that have not been used for longest, until a quarter of the room is free again."""
    kept = []
    for entry in os.scandir(where):
        with suppress(FileNotFoundError):  # another process was faster
            if entry.name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False):
                about = entry.stat(follow_symlinks=False)
                kept.append((about.st_mtime_ns, about.st_size, entry.path))
    total = sum(size for _, size, _ in kept)
    if total <= MOST_BYTES and len(kept) <= MOST_FILES:
        return
    left = len(kept)
    for _, size, path in sorted(kept):
        if total <= MOST_BYTES * 3 // 4 and left <= MOST_FILES * 3 // 4:
            return
        with suppress(FileNotFoundError):
            os.unlink(path)
        total, left = total - size, left - 1
