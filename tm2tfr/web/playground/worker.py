"""A process that answers requests one after the other, for a server that ends it when one takes too long.

It reads jobs from standard input and writes replies to standard output. Each is two frames, a head in JSON and a body, and
a frame is its length as four bytes, the most significant first, and that many bytes. The body of a job is that of the
request as it came. The process has a limit on its memory and can write to no file, where the system has such limits; and it
ends with its standard input.
"""

from __future__ import annotations

import json
import os
import re
import signal
from dataclasses import dataclass
from typing import Any, BinaryIO

from tm2tfr.api.subject import Subject
from tm2tfr.base.choices import CIRCUIT_TEXTS, MACHINE_TEXTS
from tm2tfr.base.errors import InputError, Tm2tfrError, UndefinedError, UsageError, did_you_mean
from tm2tfr.base.files import WEIGHTS
from tm2tfr.contract.shown import PlainData
from tm2tfr.tables.table import table
from tm2tfr.web.playground.answer import TOO_DEEP, TOO_LARGE, Marker, answer, of_error, ran, read, said
from tm2tfr.web.playground.query import EXPORTS, Query

# ── Downloads of a source: its text in other formats, weights, tables, and the page of a run.
_ENDINGS = {
    **{text.name: text.endings[0] for text in (*MACHINE_TEXTS, *CIRCUIT_TEXTS) if text.endings},
    **{"turingmachine.io": ".yaml", "rasp": ".rasp", "tl": ".tl", "srasp": ".srasp", "ascii": ".tl", "paper": ".tl"},
    **{"latex": ".tex", "tikz": ".tex", "dot": ".dot", "mermaid": ".mmd"},
}
"""A format -> the ending of its files; of others it is .txt."""
_TABLES = {"latex": ".tex", "csv": ".csv"}


@dataclass(frozen=True)
class File:
    """A file to save: its name and its contents. The name is plain: letters, digits, ``-``, ``_`` and a dot."""

    name: str
    contents: bytes


def exported(request: Query, what: str, to: str = "") -> File | list[Marker]:
    """Return a file made from a source, or what is wrong with the source or its input.

    Args:
        request: the source, its input and its options.
        what: one of `EXPORTS`.
        to: of a source, the format that it is converted to; empty: its text as it is.

    Raises:
        UsageError: if there is no such export.
    """
    if what not in EXPORTS:
        raise UsageError(
            f"there is no export {str(what)[:40]!r}{did_you_mean(str(what), EXPORTS)}: use one of {', '.join(EXPORTS)}"
        )
    done = read(request)
    name = (
        re.sub(r"[^A-Za-z0-9_-]+", "-", done.found.right.name if done.found else request.name)[:60].strip("-") or "source"
    )
    if what == "source" and not to:
        return File(f"{name}{_ENDINGS.get(done.format, '.txt')}", request.source.encode(errors="replace"))
    if done.found is None:
        return list(done.complaints)
    try:
        return _made(done.found, request, what, to, name)
    except (InputError, UndefinedError, Tm2tfrError) as error:
        return of_error(error, request.source)
    except RecursionError:
        return [said(TOO_DEEP)]
    except MemoryError:
        return [said(TOO_LARGE)]


def _made(found: Subject, request: Query, what: str, to: str, name: str) -> File:
    if what == "source":
        return File(f"{name}{_ENDINGS.get(to, '.txt')}", _converted(found, to))
    if what == "weights":
        from tm2tfr.transformer.storage import dumps  # noqa: PLC0415  (it needs safetensors, and nothing else here does)

        return File(f"{name}{WEIGHTS}", dumps(found.decoder))
    done = ran(found, found.word(request.input), request)
    if what == "page":
        return File(f"{name}.html", done.whole_page(found.right).encode())
    return File(f"{name}{_TABLES[what]}", table(done.recording.trace, what).encode(errors="replace"))


def _converted(found: Subject, to: str) -> bytes:
    """Return a source in another format.

    Raises:
        ConversionError: if it has no such format, or that cannot express it.
    """
    written: str | bytes = found.kind.convert(found.right, to).text
    return written if isinstance(written, bytes) else str(written).encode(errors="replace")


MEMORY = 2 << 30
"""The most address space of a worker, in bytes."""
_WARM = "input: '1'\nblank: _\nstart state: q\naccept: [done]\ntable:\n  q:\n    1: R\n    _: {L: done}\n  done:\n"


def main() -> None:
    """Answer requests until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the terminal is for the server
    given, taken = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    _answered("answer", json.dumps({"source": _WARM}).encode())
    _limit()
    _send(taken, b"{}", b"")
    while (head := receive(given)) is not None and (asked := receive(given)) is not None:
        job = json.loads(head)
        seconds = int(job["seconds"])
        if seconds and hasattr(signal, "alarm"):
            signal.alarm(seconds)  # the server ends this process earlier, if there still is a server
        said, body = _answered(job["do"], asked)
        if seconds and hasattr(signal, "alarm"):
            signal.alarm(0)
        _send(taken, json.dumps(said).encode(), body)


def receive(stream: BinaryIO) -> bytes | None:
    """Return the next frame; None at the end."""
    size = stream.read(4)
    if len(size) < 4:
        return None
    data = stream.read(int.from_bytes(size, "big"))
    return data if len(data) == int.from_bytes(size, "big") else None


def frame(data: bytes) -> bytes:
    """Return data as a frame."""
    return len(data).to_bytes(4, "big") + data


def _send(stream: BinaryIO, head: bytes, body: bytes) -> None:
    stream.write(frame(head) + frame(body))
    stream.flush()


def _answered(kind: str, body: bytes) -> tuple[PlainData, bytes]:
    """Return the head of the reply to a request, its ``status`` and the ``name`` of a file, and its body."""
    try:
        given = _parsed(body)
        request = Query.of(given)
        if kind == "answer":
            return {"status": 200}, encoded(answer(request))
        found = exported(request, str(given.get("what")), str(given.get("to") or ""))
        if isinstance(found, File):
            return {"status": 200, "name": found.name}, found.contents
        said = next((each for each in found if each.severity == "error"), found[0])
        text = f"{said.what}: {said.remedy}" if said.remedy else said.what
        return {"status": 422}, encoded({"error": text, "diagnostics": [each.as_dict() for each in found]})
    except Tm2tfrError as error:
        return {"status": 400}, encoded({"error": str(error)})
    except MemoryError:
        return {"status": 413}, encoded({"error": "out of memory: use a smaller source"})
    except Exception as error:  # noqa: BLE001  (the last line of defence: no traceback for users)
        what = f"internal error: {type(error).__name__}: {error}"
        return {"status": 500}, encoded({"error": f"{what}: this is a bug, please report it with the source"})


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise UsageError("a request must be JSON, and this is not: send an object with a source") from None


def encoded(value: object) -> bytes:
    """Return plain data as JSON in ASCII, in which half a surrogate pair has a place, too."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")


def _limit() -> None:
    """Limit the memory of this process, and the size of the files that it can write to nothing, where that is possible."""
    try:
        import resource  # noqa: PLC0415  (Windows has none)
    except ImportError:
        return
    for kind, most in (("RLIMIT_AS", MEMORY), ("RLIMIT_FSIZE", 0), ("RLIMIT_CORE", 0)):
        number = getattr(resource, kind, None)
        if number is not None:
            try:
                resource.setrlimit(number, (most, most))
            except (OSError, ValueError):  # macOS refuses some
                continue


if __name__ == "__main__":
    main()
