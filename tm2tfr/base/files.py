"""Write files whole or not at all, and check where output is to go before the work is done.

So a long run is not lost to a wrong name. A check leaves nothing behind; later failures (a disk that fills up) are reported
by the code that writes.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from tm2tfr.base import tempfiles
from tm2tfr.base.errors import OutputError, listing

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
        mode: its permissions; by default those of the existing file, or the process's default.
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
    with suppress(OSError, ValueError):  # the reader of the file reports what is wrong with it
        if path.is_file():
            with path.open("rb") as file:
                return is_safetensors(file.read(9), path.stat().st_size)
    return False


# ── places ────────────────────────────────────────────────────────────────────────────────────────────────────────────
CLOSE = {".json": ".jsonl", ".ndjson": ".jsonl", ".tsv": ".csv", ".jpg": ".png", ".jpeg": ".png", ".gif": ".png"}
"""Ending -> the one that is probably as good, where a command writes that."""


def check_file(
    path: Path | None,
    *,
    reading: Iterable[str | Path | None] = (),
    what: str = "",
    endings: Sequence[str] = (),
    hint: str = "",
) -> None:
    """Raise if a file cannot be written to `path`; None: nothing is to be written.

    Args:
        reading: the files that the work reads; none of them may be overwritten.
        what: the contents, for the message about the ending, such as ``weights``.
        endings: the endings that such a file may have; none: any.
        hint: the end of the message about the ending.

    Raises:
        OutputError: for another ending, a missing folder, a folder in its place, no permission, or one of `reading`.
    """
    if path is None:
        return
    if endings and path.suffix.lower() not in endings:
        close = CLOSE.get(path.suffix.lower(), "")
        named = f"name the file {path.stem.strip('-') or 'output'}{close if close in endings else endings[0]}"
        raise OutputError(f"{path}: {what} are written as {', '.join(endings)}: {named}{hint}")
    there = _looked_at(path)
    if there is not None and stat.S_ISDIR(there.st_mode):
        raise refusal(path, errno.EISDIR)
    _refuse_same(path, reading)
    if there is None or stat.S_ISREG(there.st_mode):  # a pipe or a device is written to where it is
        _check_parent(path)
    if there is not None and not os.access(path, os.W_OK):
        raise refusal(path, errno.EACCES)


def check_folder(path: Path, *, reading: Iterable[str | Path | None] = (), ours: Sequence[str] = ()) -> None:
    """Raise if a folder cannot be made at `path`, or filled if it exists.

    Args:
        reading: the files that the work reads; none of them may be overwritten.
        ours: file names, one of which is in any folder that the same work made before; none: it may contain anything.

    Raises:
        OutputError: for a file in its place, a missing parent folder, no permission, foreign files, or one of `reading`.
    """
    there = _looked_at(path)
    _refuse_same(path, reading)
    if there is not None and not stat.S_ISDIR(there.st_mode):
        raise OutputError(f"{path}: there is a file with that name: choose another name for the folder")
    _check_parent(path)
    if there is None:
        return
    if not os.access(path, os.W_OK | os.X_OK):
        raise refusal(path, errno.EACCES)
    held = sorted(os.listdir(path))
    if ours and held and not set(ours) & set(held):
        what = f"{path}: this folder is not empty and was not made by this command; it contains {listing(held, most=3)}"
        raise OutputError(f"{what}: choose another name, or remove it")


def _looked_at(path: Path) -> os.stat_result | None:
    """Return the status of what is at `path`, following links; None if there is nothing."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise refusal(path, error) from error
    except ValueError as error:  # a NUL in the name
        raise OutputError(f"{str(path)!r}: not the name of a file: choose another one") from error


def _check_parent(path: Path) -> None:
    folder = Path(os.path.realpath(path)).parent
    if not folder.exists():
        raise refusal(path, errno.ENOENT)
    if not folder.is_dir():
        raise refusal(path, errno.ENOTDIR)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise refusal(path, errno.EACCES)
    if len(os.fsencode(path.name)) > _longest_name(folder):
        raise refusal(path, errno.ENAMETOOLONG)
    try:
        _make_nothing(folder)
    except OSError as error:
        raise refusal(path, error) from error


def _make_nothing(folder: Path) -> None:
    """Make a file in a folder that is gone at once: permissions do not say that /proc takes none.

    Raises:
        OSError: if none can be made there.
    """
    if hasattr(os, "O_TMPFILE"):
        with suppress(OSError):  # not every file system has files without a name
            os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600))
            return
    beside = tempfiles.beside(folder / "output")
    with open(beside, "xb"):
        pass
    beside.unlink()


def _longest_name(folder: Path) -> int:
    """Return the number of bytes that a name may have here."""
    return os.pathconf(folder, "PC_NAME_MAX") if hasattr(os, "pathconf") else 255


def check_apart(output: Path | None, other: Path | None, option: str) -> None:
    """Raise if two outputs of one command are the same file, which need not exist yet; `option`: that of the other one.

    Raises:
        OutputError: if they are.
    """
    if output is not None and other is not None and os.path.realpath(output) == os.path.realpath(other):
        raise OutputError(f"{output}: --output and {option} name the same file: choose another name for one of them")


def _refuse_same(path: Path, reading: Iterable[str | Path | None]) -> None:
    for source in reading:
        with suppress(OSError, ValueError):
            if source is not None and path.exists() and os.path.samefile(source, path):
                weights = Path(source).suffix == ".safetensors"
                what = "these are the weights themselves" if weights else "that is the machine itself"
                raise OutputError(f"{path}: {what}: choose another name for the output")
