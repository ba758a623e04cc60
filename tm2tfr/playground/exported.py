"""What can be taken home from a source: its text in other formats, weights, tables, and the page of a run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tm2tfr.api.subject import WEIGHTS, Subject
from tm2tfr.errors import ConversionError, InputError, Tm2tfrError, UndefinedError, UsageError, did_you_mean
from tm2tfr.playground.answer import TOO_DEEP, TOO_LARGE, read
from tm2tfr.playground.complaints import Marker, of_error, said
from tm2tfr.playground.pages import ran
from tm2tfr.playground.query import EXPORTS, Query
from tm2tfr.sources.circuit.formats.registry import CIRCUIT_FORMATS
from tm2tfr.sources.registry import named
from tm2tfr.sources.turing.formats.registry import FORMATS
from tm2tfr.tables.table import table

_ENDINGS = {"latex": ".tex", "tikz": ".tex", "dot": ".dot", "mermaid": ".mmd", "automata-lib": ".py", "rasp": ".rasp"}
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
        return File(f"{name}{ending(done.kind, done.format)}", request.source.encode(errors="replace"))
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
        return File(f"{name}{ending(_kind(found), to)}", _converted(found, to))
    if what == "weights":
        from tm2tfr.transformer.storage import dumps  # noqa: PLC0415  (it needs safetensors, and nothing else here does)

        return File(f"{name}{WEIGHTS}", dumps(found.decoder))
    done = ran(found, found.word(request.input), request, live=True)
    if what == "page":
        return File(f"{name}.html", done.whole_page(found.right).encode())
    return File(f"{name}{_TABLES[what]}", table(done.trace, what).encode(errors="replace"))


def _kind(found: Subject) -> str:
    return "" if found.construction is None else found.construction.name


def _converted(found: Subject, to: str) -> bytes:
    """Return a source in another format.

    Raises:
        ConversionError: if it has no such format, or that cannot express it.
    """
    construction = found.construction
    if construction is None:
        raise ConversionError(f"{found.name}: nothing is known of its kind")
    written: Any = construction.convert(found.right, to).text
    return written if isinstance(written, bytes) else str(written).encode(errors="replace")


def ending(kind: str, format: str) -> str:
    """Return the ending of files of a kind of source in a format."""
    if format in _ENDINGS:
        return _ENDINGS[format]
    if kind in ("logic",):
        return f".{format}" if format in ("tl", "srasp") else ".tl"
    construction = named(kind) if kind else None
    if construction is not None and construction.noun == "circuit" and format in CIRCUIT_FORMATS:
        return CIRCUIT_FORMATS[format].endings[0]
    known = FORMATS[format].endings if format in FORMATS else ()
    return known[0] if known else ".yaml" if format == "turingmachine.io" else ".txt"
