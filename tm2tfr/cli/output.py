"""What a command prints: data, text for people, colours, and warnings on standard error.

Data is UTF-8 whatever the console's encoding, text has a note on characters that it cannot show; a reader that goes away
and a full disk are handled as well.
"""

from __future__ import annotations

import codecs
import errno
import functools
import io
import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import typer

from tm2tfr.base.errors import OutputError, SpecWarning, counted

if TYPE_CHECKING:
    from tm2tfr.api.subject import Subject


_NOTED = "tm2tfr-noted"
"""The name of the error handler that writes ``?`` for characters that an encoding lacks, and remembers them."""
_FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF))
_missing: dict[str, None] = {}


def prepare() -> None:
    """Make standard output and standard error accept any text, also where the caller closed them, as ``2>&-`` does."""
    codecs.register_error(_NOTED, _note)
    _missing.clear()
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
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
    """Return the note about characters that could not be shown, once; None if there were none."""
    if not _missing:
        return None
    signs, encoding = list(_missing), getattr(sys.stdout, "encoding", None) or "this console"
    _missing.clear()
    others = f" and {counted(len(signs) - 1, 'other character')}" if len(signs) > 1 else ""
    name = ascii(signs[0]) if ord(signs[0]) > 0xFFFF or not signs[0].isprintable() else f"U+{ord(signs[0]):04X}"
    what = f"note: {encoding} has no {name}{others}, shown as '?'"
    return f"{what}: set PYTHONIOENCODING=utf-8, or write to a file with -o"


def write_data(text: str) -> None:
    """Write `text` to standard output: as UTF-8, unless it is a terminal, which has its own encoding.

    Raises:
        OutputError: if the text contains half a character, which UTF-8 cannot express, or cannot be written.
    """
    stream = sys.stdout
    if not isinstance(stream, io.TextIOWrapper) or stream.isatty():
        stream.write(text)
        stream.flush()
        return
    from tm2tfr.base.files import encoded

    data = encoded(text, "standard output")
    stream.flush()
    stream.buffer.write(data)
    stream.buffer.flush()


def write(text: str | bytes, output: Path | None, argument: str) -> None:
    """Write text, or the bytes of a binary format, to standard output, or to `output`.

    A file is written whole or not at all, and never over what `argument` names.

    Raises:
        OutputError: if it cannot be written; for bytes, if standard output is a terminal.
    """
    if output is None:
        if isinstance(text, bytes):
            _write_bytes(text)
        else:
            write_data(text)
        return
    from tm2tfr.base.files import check_file, write_text, write_whole

    check_file(output, reading=[argument])
    if isinstance(text, bytes):
        write_whole(output, lambda file: file.write(text))
    else:
        write_text(output, text)
    typer.echo(f"wrote {output}", err=True)


def _write_bytes(data: bytes) -> None:
    if sys.stdout.isatty():
        raise OutputError("standard output is a terminal, and this format is binary: write to a file with -o")
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def tell(line: str, *, as_json: bool) -> None:
    """Print a line, for people or as data."""
    if as_json:
        write_data(f"{line}\n")
    else:
        typer.echo(line)


def full(error: BaseException) -> bool:
    """Return whether an error says that standard output accepts no more.

    Errors of a file that is written by name are handled in `tm2tfr.base.files`.
    """
    return isinstance(error, OSError) and error.filename is None and error.errno in _FULL


def refusal(error: OSError) -> OutputError:
    """Return the error for a standard output that accepts no more."""
    from tm2tfr.base.files import WHY

    known = WHY.get(error.errno or 0)
    what, remedy = (known[0], known[1]) if known and "{" not in known[0] else (error.strerror or str(error), "redirect it")
    return OutputError(f"standard output: {what}: {remedy}")


def broken(error: BaseException) -> bool:
    """Return whether an error says that the reader of standard output went away, as in ``tm2tfr machines | head -1``.

    The command line library turns it into a SystemExit.
    """
    cause = error.__context__ if isinstance(error, SystemExit) else error
    return isinstance(cause, OSError) and cause.errno == errno.EPIPE


def silence(stream: TextIO) -> None:
    """Discard unwritten output, so that the interpreter does not complain about it on exit."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def decoded(arguments: list[str]) -> list[str]:
    """Return the arguments with input words decoded as UTF-8, where the locale decoded their bytes differently.

    The names of files stay as they are: the system needs their original bytes.
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


# ── colours at a terminal: never in data ────────────────────────────────────────────────────────────────────
CODES = {"bold": "1", "red": "31", "green": "32", "yellow": "33"}


def styled(text: str, style: str, *, err: bool = False) -> str:
    """Return text in a style if it goes to a terminal that shows colours and ``NO_COLOR`` is not set."""
    return f"\x1b[{CODES[style]}m{text}\x1b[0m" if text and coloured(err=err) else text


def coloured(*, err: bool = False) -> bool:
    """Return whether standard output, or standard error, is a terminal that shows colours, and they are wanted."""
    stream = sys.stderr if err else sys.stdout
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream is not None and stream.isatty()


def judged(text: str) -> str:
    """Return the lines about a check, with agreement in green and differences in red, where colours are shown."""
    if not coloured():
        return text
    text = re.sub(r"\ball agree\b|^ok\b|^certified\b", lambda found: styled(found[0], "green"), text, flags=re.MULTILINE)
    wrong = r"\bFAILED\b|^FAIL\b|^NOT certified\b|^▸|^cause:|!\S+?≠\S+"
    return re.sub(wrong, lambda found: styled(found[0], "red"), text, flags=re.MULTILINE)


def cautioned(text: str) -> str:
    """Return a warning for standard error with the word "warning" in yellow, where colours are shown."""
    return re.sub(r"\bwarning:", lambda found: styled(found[0], "yellow", err=True), text, count=1)


# ── warnings on standard error ──────────────────────────────────────────────────────────────────────────────
LARGE = 2**29
"""The size in bytes from which an export is announced."""


@contextmanager
def echoed() -> Iterator[None]:
    """Write each `SpecWarning` that a function of the library issues to standard error, as a line of its own."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", SpecWarning)
        yield
    for warning in found:
        if isinstance(warning.message, SpecWarning):
            typer.echo(cautioned(str(warning.message)), err=True)
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def tell_of_homonyms(name: str) -> None:
    """Say on standard error which of several shipped things of a name is taken, and how the others are named."""
    from tm2tfr.sources import names

    if found := names.homonyms(name):
        what = f"note: {name!r} names {len(found)} shipped things, and this is {found[0]}"
        typer.echo(cautioned(f"{what}: use {' or '.join(found[1:])} for another"), err=True)


def tell_of_size(to: str, subject: Subject, dtype: str) -> None:
    """Say on standard error how large the GPT-2 of a class of machines becomes, if that is large.

    Raises:
        ExportError: if it is too large.
    """
    if to not in ("gpt2", "lens") or subject.construction is None or subject.construction.split is None:
        return
    from tm2tfr.targets.common.reference import reference_of
    from tm2tfr.targets.gpt2.translated import least

    right = reference_of(subject.program, subject.decoder)
    size = least(right, dtype).bytes
    if size >= LARGE:
        typer.echo(f"{right.named()} becomes a GPT-2 of {size / 2**30:.2f} GiB: this takes a while", err=True)


@functools.cache
def warn_once(warning: str) -> None:
    """Print a warning on standard error, unless it has been printed before."""
    typer.echo(cautioned(warning), err=True)
