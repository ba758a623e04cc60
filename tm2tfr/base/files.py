"""Write a file whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

from tm2tfr.base import tempfiles
from tm2tfr.base.errors import OutputError

WHY: Mapping[int, tuple[str, str]] = {
    errno.ENOENT: ("there is no folder {folder}", "make it first"),
    errno.ENOTDIR: ("{folder} is not a folder", "choose a place inside a folder"),
    errno.EISDIR: ("it is a folder", "name a file in it"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), ("no permission to write there", "choose another place")),
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), ("the disk is full", "free some space, or choose another place")),
    errno.EFBIG: ("the file has reached the size limit (see ulimit -f)", "raise the limit, or choose another place"),
    errno.ENAMETOOLONG: ("the name is too long", "choose a shorter one"),
    errno.ELOOP: ("its symbolic links form a circle", "remove one of them, or choose another place"),
}


def refusal(path: object, error: OSError | int, folder: Path | None = None, *, left: str = "") -> OutputError:
    """Return the error for a `path` that cannot be written to, for the system's reason.

    Args:
        error: that reason, or its number.
        folder: the folder that `path` is in; by default where it leads.
        left: what is left there nevertheless.
    """
    number = error if isinstance(error, int) else error.errno or 0
    said = os.strerror(error) if isinstance(error, int) else error.strerror or str(error)
    what, remedy = WHY.get(number, (said, "choose another place"))
    folder = folder or Path(os.path.realpath(str(path))).parent
    if number == errno.ENOENT and folder.is_dir():  # of the kernel's own file systems, such as /proc
        what, remedy = "nothing can be created in {folder}", "choose another place"
    return OutputError(f"{path}: {what.format(folder=folder)}{left}: {remedy}")


def write_text(path: str | Path, text: str) -> None:
    """Write `text` as UTF-8, without changing line breaks. See `write_bytes`.

    Raises:
        OutputError: also if the text has half a surrogate pair, which UTF-8 cannot represent.
    """
    write_bytes(path, encoded(text, path))


def encoded(text: str, place: object) -> bytes:
    """Return `text` as UTF-8; `place`: where it is to be written.

    Raises:
        OutputError: if the text has half a surrogate pair, which UTF-8 cannot represent.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        sign = text[error.start]
        what = f"{place}: {sign!r} (U+{ord(sign):04X}) is half a character and cannot be written as UTF-8"
        raise OutputError(f"{what}: remove it") from error


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write `data` to `path`, whole or not at all; an existing file keeps its permissions.

    A symbolic link is followed. Anything but a file or folder (a pipe, ``/dev/stdout``) is written to directly.

    Raises:
        OutputError: where it cannot be written, why, and what to do. Nothing is left behind.
    """
    write_whole(path, lambda file: file.write(data))


def write_whole(path: str | Path, write: Callable[[IO[bytes]], object], *, mode: int | None = None) -> None:
    """Make a file from what `write` writes, whole or not at all. See `write_bytes`.

    Args:
        mode: its permissions; by default those of the existing file, or what the process gives to new ones.
    """
    path = Path(path)
    try:
        _write(path, write, mode)
    except OSError as error:
        raise refusal(path, error) from error
    except ValueError as error:  # a NUL in the name
        raise OutputError(f"{str(path)!r}: not the name of a file: choose another one") from error


def _write(path: Path, write: Callable[[IO[bytes]], object], wanted: int | None) -> None:
    mode = mode_of(path)
    if mode is not None and stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if mode is not None and not stat.S_ISREG(mode):
        with path.open("wb") as file:
            write(file)
        return
    target = Path(os.path.realpath(path))
    if mode is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    beside = tempfiles.beside(target)
    try:
        first = 0o666 if wanted is None else wanted  # nobody else sees it in the meantime
        with open(beside, "xb", opener=lambda name, flags: os.open(name, flags, first)) as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        if wanted is not None or mode is not None:
            beside.chmod(stat.S_IMODE(mode or 0) if wanted is None else wanted)
        beside.replace(target)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


def mode_of(path: Path) -> int | None:
    """Return the mode of what is at `path`, following links; None if there is nothing."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def is_safetensors(head: bytes, size: int) -> bool:
    """Return whether a file of `size` bytes that begins with `head` is one of safetensors: a length, then JSON."""
    return head[8:9] == b"{" and 0 < int.from_bytes(head[:8], "little") <= size - 8


WEIGHTS = ".safetensors"
"""The extension of weight files."""


def is_weights(given: str | Path) -> bool:
    """Return whether a path is that of a weight file, by its extension or by how the file begins."""
    path = Path(given)
    if path.suffix.lower() == WEIGHTS:
        return True
    with suppress(OSError, ValueError):  # whoever reads it says what is wrong with the name or the file
        if path.is_file():
            with path.open("rb") as file:
                return is_safetensors(file.read(9), path.stat().st_size)
    return False
