"""Standard output: data as UTF-8 whatever the console's encoding, text with a note on signs that it cannot show.

And what becomes of a reader that goes away, and of a full disk.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from contextlib import suppress
from typing import Any

from tm2tfr.errors import OutputError, counted

_NOTED = "tm2tfr-noted"
"""The name of the error handler that puts ``?`` for what an encoding does not have, and remembers it."""
_FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF))
_missing: dict[str, None] = {}


def prepare() -> None:
    """Make standard output and standard error take any text: what they cannot show is not a crash."""
    codecs.register_error(_NOTED, _note)
    _missing.clear()
    if sys.stdout is None:  # closed by the caller: there is nobody to read it
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream, errors in ((sys.stdout, _NOTED), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)


def _note(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    _missing.update(dict.fromkeys(signs))
    return "?" * len(signs), error.end


def note() -> str | None:
    """Return what to say about signs that could not be shown, once; None if there were none."""
    if not _missing:
        return None
    signs, encoding = list(_missing), getattr(sys.stdout, "encoding", None) or "this console"
    _missing.clear()
    others = f" and {counted(len(signs) - 1, 'other sign')}" if len(signs) > 1 else ""
    name = ascii(signs[0]) if ord(signs[0]) > 0xFFFF or not signs[0].isprintable() else f"U+{ord(signs[0]):04X}"
    what = f"note: {encoding} has no {name}{others}, shown as '?'"
    return f"{what}: set PYTHONIOENCODING=utf-8, or write to a file with -o"


def write_data(text: str) -> None:
    """Write `text` to standard output: as UTF-8, unless that is a terminal, which has an encoding of its own.

    Raises:
        OutputError: for half a character, which UTF-8 cannot say, and where it cannot be written.
    """
    stream = sys.stdout
    if not isinstance(stream, io.TextIOWrapper) or stream.isatty():
        stream.write(text)
        stream.flush()
        return
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        sign = text[error.start]
        what = f"standard output: {sign!r} (U+{ord(sign):04X}) is half a character and cannot be written as UTF-8"
        raise OutputError(f"{what}: take it out") from error
    stream.flush()
    stream.buffer.write(data)
    stream.buffer.flush()


def full(error: BaseException) -> bool:
    """Return whether an error is that of a standard output that takes nothing more.

    A file that is written to by name has said so itself by then, see `tm2tfr.export.files`.
    """
    return isinstance(error, OSError) and error.filename is None and error.errno in _FULL


def refusal(error: OSError) -> OutputError:
    """Return the complaint about a standard output that takes nothing more."""
    from tm2tfr.export.files import WHY  # noqa: PLC0415  (only where it is needed)

    known = WHY.get(error.errno or 0)
    what, remedy = (known[0], known[1]) if known and "{" not in known[0] else (error.strerror or str(error), "redirect it")
    return OutputError(f"standard output: {what}: {remedy}")


def broken(error: BaseException) -> bool:
    """Return whether an error says that the reader of standard output went away, as in ``tm2tfr machines | head -1``.

    The command line library makes a SystemExit of it.
    """
    cause = error.__context__ if isinstance(error, SystemExit) else error
    return isinstance(cause, OSError) and cause.errno == errno.EPIPE


def silence(stream: Any) -> None:
    """Have what still waits to be written go nowhere, so that the interpreter does not complain about it at its end."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def decoded(arguments: list[str]) -> list[str]:
    """Return the arguments with input words as UTF-8, where the locale took their bytes for something else.

    The names of files stay as they are: the system wants their bytes back.
    """
    words = list(arguments)
    for n, argument in enumerate(arguments):
        if n and arguments[n - 1] in ("--input", "-i"):
            words[n] = _decoded(argument)
        elif argument.startswith("--input="):
            words[n] = "--input=" + _decoded(argument.removeprefix("--input="))
    return words


def _decoded(word: str) -> str:
    if not any("\udc80" <= sign <= "\udcff" for sign in word):
        return word
    with suppress(UnicodeError):
        return word.encode(sys.getfilesystemencoding(), "surrogateescape").decode()
    return word
