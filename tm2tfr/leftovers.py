"""Names for temporary files next to their targets, and the removal of those that a killed process left behind.

A file that is written whole or not at all is first written as ``.tm2tfr-HOST-PID-RANDOM.tmp``, and stays if the process
is killed outright. The next process that writes to the folder removes it if no process with that number is running on
the same host, or if it has not been touched for a week. Nothing with another name is ever removed.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import socket
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

OLD = 7 * 24 * 3600.0
"""Seconds after which no process can still be writing."""
_NAME = re.compile(r"\.tm2tfr-(?:([0-9a-f]{8})-(\d+)-[0-9a-f]{16}|[0-9a-f]{16})\.tmp")
_swept: set[Path] = set()


def beside(target: Path) -> Path:
    """Return a free name next to `target`; leftovers there are removed, once per process and folder."""
    folder = target.parent
    if folder not in _swept:
        _swept.add(folder)
        sweep(folder)
    return target.with_name(f".tm2tfr-{_host()}-{os.getpid()}-{secrets.token_hex(8)}.tmp")


def sweep(folder: Path) -> None:
    """Remove the leftovers in a folder; what cannot be removed stays."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            match = _NAME.fullmatch(entry.name)
            if match is None or not _abandoned(match[1], match[2], entry):
                continue
            with suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    os.unlink(entry.path)


def _abandoned(host: str | None, number: str | None, entry: os.DirEntry[str]) -> bool:
    """Return whether no process can be writing: it is gone, or nothing has happened for a long time."""
    if host == _host() and number is not None and _gone(int(number)):
        return True
    try:
        return time.time() - entry.stat(follow_symlinks=False).st_mtime > OLD
    except OSError:
        return False


def _gone(number: int) -> bool:
    """Return whether there is certainly no process with that number here."""
    if os.name != "posix":  # elsewhere, signal 0 is not a question
        return False
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


@cache
def _host() -> str:
    """Return an identifier of the host, or of the container on it: process numbers have a meaning only within one."""
    names = [socket.gethostname()]
    with suppress(OSError):
        names.append(str(os.stat("/proc/self/ns/pid").st_ino))
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:8]
