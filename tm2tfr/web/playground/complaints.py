"""Complaints for an editor: where they are in the text as a browser counts, and what can be fixed with one click."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from tm2tfr.base.errors import Diagnostic, Severity, Span, SpecError, Tm2tfrError
from tm2tfr.base.text.source import SourceText
from tm2tfr.contract.shown import PlainData

MOST = 100
"""The most complaints in one answer."""
_MEANT, _END = " (did you mean ", "?)"
_LONGEST = 200
"""The longest name that is replaced."""
_BREAK = re.compile("\r\n|[\n\r]")
_HEADERS = {"max-length": "length", "alphabet": "alphabet", "sop": "sop", "define": "define"}
_HEADER = re.compile(r"add the header '(# [\w-]+: [^']*)'")
_OR_OPTION = re.compile(r"(add the header '[^']*' to the \w+), or give --[\w-]+ \S+")
"""What can be added with a click; the other way to say it is one of the command line."""
_OPTION = re.compile(rf"--({'|'.join(_HEADERS)})\b")
_UNKNOWN = re.compile(
    "if it is a machine, name the format with --from, one of .*; 'tm2tfr convert --help' lists those of .*"
)
_CHOOSE = (
    "choose what it is under 'read as': a machine, a circuit (an expression, for example), a RASP program or a formula"
)
_TYPED = (("name the format with --from", "choose the format"), ("for example --input ", "for example "))
"""What is typed at a command line, in remedies, and what is done here: most options are headers of the source, too."""


@dataclass(frozen=True, kw_only=True)
class Fix:
    """A part of a line that can be replaced, in the units of `Marker`, with the words for that."""

    label: str
    line: int
    column: int
    length: int
    replacement: str


@dataclass(frozen=True, kw_only=True)
class Marker:
    """A `Diagnostic` for an editor.

    Args:
        line, column: from 1; None: it is about no place in particular. The lines are those of an editor, ended by CR, LF or
            both; columns and lengths count UTF-16 code units, as JavaScript does.
    """

    severity: Severity
    what: str
    remedy: str
    line: int | None = None
    column: int | None = None
    length: int | None = None
    fixes: tuple[Fix, ...] = ()

    def as_dict(self) -> PlainData:
        """Return it as plain data."""
        return {**asdict(self), "fixes": [asdict(fix) for fix in self.fixes]}


def empty(complaints: Iterable[Marker] = ()) -> PlainData:
    """Return an answer with diagnostics alone, see `tm2tfr.web.playground.answer`."""
    return {
        "kind": None,
        "noun": "source",
        "format": None,
        "name": "",
        "diagnostics": [each.as_dict() for each in complaints],
        "input": None,
        "inputs": [],
        "about_input": None,
        "page": None,
        "graph": None,
        "table": None,
        "options": [],
        "targets": [],
    }


def of_diagnostics(found: Iterable[Diagnostic], text: str) -> list[Marker]:
    """Return the complaints about `text`, at most `MOST`."""
    places = _Places(text)
    return [_complaint(each, places) for each, _ in zip(found, range(MOST), strict=False)]


def of_error(error: Tm2tfrError, text: str) -> list[Marker]:
    """Return the complaints of an error about `text`: those with places of a `SpecError`, of any other its message."""
    if isinstance(error, SpecError):
        return of_diagnostics(error.diagnostics, text)
    return [said(error.typed)]


def said(message: str, severity: Severity = "error") -> Marker:
    """Return a message, ``what is wrong: what to do``, as a complaint about no place in particular."""
    line = message.partition("\n")[0]
    header = _HEADER.search(line)
    what, _, remedy = line[: header.start() + 1 if header else None].rpartition(": ")
    if header is None:
        return Marker(severity=severity, what=what or remedy, remedy=_here(remedy) if what else "")
    fix = Fix(label=f"Add {header[1]!r}", line=1, column=1, length=0, replacement=f"{header[1]}\n")
    return Marker(severity=severity, what=what, remedy=_here(line[header.start() :]), fixes=(fix,))


def _here(remedy: str) -> str:
    """Return a remedy for readers of a page, who have no command line."""
    remedy = _OR_OPTION.sub(r"\1", _UNKNOWN.sub(_CHOOSE, remedy))
    for typed, done in _TYPED:
        remedy = remedy.replace(typed, done)
    return _OPTION.sub(lambda option: f"header '{_HEADERS[option[1]]}'", remedy)


def _complaint(found: Diagnostic, places: _Places) -> Marker:
    about = {"severity": found.severity, "what": found.what, "remedy": _here(found.remedy)}
    if found.span is None:
        return Marker(**about)  # type: ignore[arg-type]  # mypy takes all of them for texts
    line, column, length = places.of(found.span)
    fix = _fix(found, found.span, places)
    return Marker(**about, line=line, column=column, length=length, fixes=() if fix is None else (fix,))  # type: ignore[arg-type]


def _fix(found: Diagnostic, span: Span, places: _Places) -> Fix | None:
    """Return what ``'x' … (did you mean 'y'?)`` suggests, where the marked text is 'x', or has it in it once.

    Where no name is quoted before, what is marked is replaced.
    """
    before, meant, after = found.what.rpartition(_MEANT)
    other = _read(after.partition(_END)[0]) if meant else None
    marked = span.text[span.column - 1 : span.column - 1 + span.length]
    name = _last_quoted(before) or marked
    if not other or not name or len(marked) > _LONGEST or marked.count(name) != 1:
        return None
    at = marked.index(name)
    around = marked[max(0, at - 1) : at], marked[at + len(name) : at + len(name) + 1]
    if any(sign.isalnum() or sign == "_" for sign in around):
        return None
    line, column, length = places.of(Span(line=span.line, column=span.column + at, length=len(name), text=span.text))
    return Fix(label=f"Replace {name!r} with {other!r}", line=line, column=column, length=length, replacement=other)


def _last_quoted(text: str) -> str | None:
    """Return the text that a message has in quotes, as `repr` writes it, last."""
    text = text[-2 * _LONGEST :]
    ends = max(text.rfind("'"), text.rfind('"'))
    for begins in range(ends - 1, -1, -1):
        if text[begins] == text[ends] and (begins == 0 or not text[begins - 1].isalnum()):
            found = _read(text[begins : ends + 1])
            if found is not None:
                return found
    return None


def _read(literal: str) -> str | None:
    try:
        found = ast.literal_eval(literal) if len(literal) <= 2 * _LONGEST else None
    except (SyntaxError, ValueError):
        return None
    return found if isinstance(found, str) else None


class _Places:
    """Places in a text, as a browser counts them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._skipped = len(text) - len(text.removeprefix("\ufeff"))
        self._source = SourceText(text[self._skipped :], "")
        self._beginnings = [0, *(found.end() for found in _BREAK.finditer(text))]

    def of(self, span: Span) -> tuple[int, int, int]:
        """Return the line and the column, from 1, and the length of a span."""
        lines = self._source.beginnings
        start = self._skipped + lines[min(span.line, len(lines)) - 1] + span.column - 1
        start = min(start, len(self._text))
        line = bisect_right(self._beginnings, start)
        begins = self._beginnings[line - 1]
        return line, _units(self._text[begins:start]) + 1, max(1, _units(self._text[start : start + span.length]))


def _units(text: str) -> int:
    """Return the number of UTF-16 code units."""
    return len(text) + sum(sign > "\uffff" for sign in text)
