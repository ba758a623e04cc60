"""Check where output is to go before the work is done, so that a long run is not lost to a wrong name.

Nothing is left behind. Later failures (a disk that fills up) are reported by the code that writes.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from tm2tfr.base import tempfiles
from tm2tfr.base.errors import OutputError, listing
from tm2tfr.base.files import refusal

CLOSE = {".json": ".jsonl", ".ndjson": ".jsonl", ".tsv": ".csv", ".jpg": ".png", ".jpeg": ".png", ".gif": ".png"}
"""Ending -> the one that is probably as good, where a command writes that."""


def check_file(
    path: Path | None, *, reading: Iterable[str | Path | None] = (), what: str = "", endings: Sequence[str] = ()
) -> None:
    """Raise if a file cannot be written to `path`; None: nothing is to be written.

    Args:
        reading: the files that the work reads; none of them may be overwritten.
        what: the contents, for the message about the ending, such as ``weights``.
        endings: the endings that such a file may have; none: any.

    Raises:
        OutputError: for another ending, a missing folder, a folder in its place, no permission, or one of `reading`.
    """
    if path is None:
        return
    if endings and path.suffix.lower() not in endings:
        close = CLOSE.get(path.suffix.lower(), "")
        named = f"name the file {path.stem.strip('-') or 'output'}{close if close in endings else endings[0]}"
        raise OutputError(f"{path}: {what} are written as {', '.join(endings)}: {named}")
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
