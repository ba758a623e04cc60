"""Names for temporary files next to their targets, and the removal of those that a killed process left behind.

A file that is written whole or not at all is first written as ``.tm2tfr-HOST-PID-RANDOM.tmp``, and stays if the process
is killed outright. The next process that writes to the folder removes it if no process with that number is running on
the same host, or if it has not been touched for a week. Nothing with another name is ever removed.

A directory that is being replaced stands for that moment in ``.tm2tfr-HOST-PID-RANDOM.old``, under its own name. The next
process puts it back if nothing has taken its place.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

OLD = 7 * 24 * 3600.0
"""Seconds after which no process can still be writing."""
ASIDE = 3600.0
"""Seconds after which no process is still replacing a directory: that takes two renames, and does no harm if it does."""
IDENTITIES = (Path("/proc/sys/kernel/random/boot_id"), Path("/etc/machine-id"))
"""Where a host has a name that no other has: the first that is there. Hosts made from one image may share the second."""
_NAME = re.compile(r"\.tm2tfr-(?:([0-9a-f]{8})-(\d+)-[0-9a-f]{16}|[0-9a-f]{16})\.(tmp|old)")
_IDENTITY = re.compile(r"[0-9a-f-]{32,36}")
_swept: set[Path] = set()


def beside(target: Path) -> Path:
    """Return a free name next to `target`; abandoned temp files there are removed, once per process and folder."""
    folder = target.parent
    if folder not in _swept:
        _swept.add(folder)
        remove_abandoned(folder)
    return target.with_name(_name("tmp"))


def aside(target: Path) -> Path:
    """Return where the directory `target` can stand while it is replaced: under its own name, in a new directory."""
    holder = target.with_name(_name("old"))
    holder.mkdir()
    return holder / target.name


def replace_folder(
    finished: Path, target: Path, *, refuse: Callable[[Path], None], names: Callable[[Path], Iterable[str]]
) -> None:
    """Give a finished directory the name `target`; the directory that has it is removed, as `discard` does.

    Args:
        refuse: raises if the directory, which stands aside by then, must not be removed: it is put back.
        names: the names of the files in it that may be removed, in the order in which they go.
    """
    if not target.exists():
        finished.rename(target)
        return
    old = aside(target)
    try:
        target.rename(old)
        try:
            refuse(old)
            finished.rename(target)
        except BaseException:
            old.rename(target)
            raise
    except BaseException:
        with suppress(OSError):
            old.parent.rmdir()
        raise
    discard(old, names(old))


def discard(replaced: Path, names: Iterable[str]) -> None:
    """Remove the files `names` of a directory that stands aside, and the directory; if it holds more, that stays."""
    for name in names:
        with suppress(OSError):
            (replaced / name).unlink()
    with suppress(OSError):
        replaced.rmdir()
        replaced.parent.rmdir()


def remove_abandoned(folder: Path) -> None:
    """Put back what was being replaced, and remove the abandoned temp files in a folder; what cannot be removed stays."""
    replaced: list[tuple[float, Path]] = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            match = _NAME.fullmatch(entry.name)
            if match is None or not _abandoned(match[1], match[2], entry, ASIDE if match[3] == "old" else OLD):
                continue
            with suppress(OSError):
                if match[3] == "old":
                    replaced.append((entry.stat(follow_symlinks=False).st_mtime, folder / entry.name))
                elif entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    os.unlink(entry.path)
    for _, holder in sorted(replaced, reverse=True):  # the newest gets its name back
        with suppress(OSError):
            _put_back(holder)


def _put_back(holder: Path) -> None:
    """Give a directory that stood aside its name again, or remove it if what replaced it has all its files."""
    if holder.is_symlink():
        return
    held = list(holder.iterdir())
    if not held:
        holder.rmdir()
    if len(held) != 1 or held[0].is_symlink() or not held[0].is_dir():
        return
    target = holder.with_name(held[0].name)
    if not os.path.lexists(target):
        held[0].rename(target)
        holder.rmdir()
    elif target.is_dir():
        names = {path.name for path in held[0].iterdir()}
        if names <= {path.name for path in target.iterdir()}:
            discard(held[0], names)


def _name(suffix: str) -> str:
    import secrets  # noqa: PLC0415  (most processes write nothing)

    host = _host()
    owner = "" if host is None else f"{host}-{os.getpid()}-"
    return f".tm2tfr-{owner}{secrets.token_hex(8)}.{suffix}"


def _abandoned(host: str | None, number: str | None, entry: os.DirEntry[str], old: float) -> bool:
    """Return whether no process can be writing: it is gone, or nothing has happened for a long time."""
    if host is not None and number is not None and host == _host() and _gone(int(number)):
        return True
    try:
        return time.time() - entry.stat(follow_symlinks=False).st_mtime > old
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
def _host() -> str | None:
    """Return an identifier of the host, or of the container on it: process numbers have a meaning only within one.

    Neither its name nor its namespace of processes tells a host from others: `localhost` is a name, and outside of
    containers every kernel gives the namespace the same number. It is None if nothing else is known of the host.
    """
    import hashlib  # noqa: PLC0415
    import socket  # noqa: PLC0415

    for path in IDENTITIES:
        with suppress(OSError, UnicodeDecodeError):
            if _IDENTITY.fullmatch(identity := path.read_text(encoding="utf-8").strip()):
                break
    else:
        return None
    names = [identity, socket.gethostname()]
    with suppress(OSError):
        names.append(str(os.stat("/proc/self/ns/pid").st_ino))
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:8]
