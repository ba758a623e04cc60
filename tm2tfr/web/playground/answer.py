"""What answers a request: one function of a source, an input and options, without a server, files or other programs.

An answer is plain data:

| | |
|---|---|
| ``kind``, ``noun``, ``format`` | its source, such as ``turing`` or ``logic``; what it is called; its format |
| ``name`` | of the program; empty if the source has errors |
| ``diagnostics`` | a list of `Marker`: errors and warnings about the source, the options and the run, in order |
| ``input``, ``inputs`` | the input that was run, and inputs to try |
| ``about_input`` | a `Marker` about the input; None if it is an input of the program |
| ``page`` | ``{"data", "columns"}`` for the views of the explorer; None if there is no run |
| ``graph`` | the program as a graph, in the language of Graphviz; None if there is none, or it would be unreadable |
| ``table`` | the rows of the table, the headings first; None if there is no run |
| ``options``, ``targets`` | the options that apply to such a source, and the formats that it can be exported to |
| ``seconds`` | what all of this took |
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from time import perf_counter

from tm2tfr.api.pages import labelled, recorded
from tm2tfr.api.subject import Subject
from tm2tfr.base.errors import (
    CompileError,
    Diagnostic,
    InputError,
    OutputError,
    Severity,
    Span,
    SpecError,
    Tm2tfrError,
    UndefinedError,
    counted,
)
from tm2tfr.base.text.source import SourceText
from tm2tfr.base.text.states import MOST_STATES_DRAWN
from tm2tfr.contract.options import fields_of
from tm2tfr.contract.shown import PlainData
from tm2tfr.sources.registry import kind_of_text, named, of_text
from tm2tfr.tables.sheet import Gap, Sheet
from tm2tfr.tables.table import WINDOW
from tm2tfr.web.explorer.document import document, explorer
from tm2tfr.web.explorer.record import Recording
from tm2tfr.web.explorer.weights_data import MOST_IN_A_PAGE
from tm2tfr.web.playground.query import GATES, MOST_INPUT, STEPS, Query

# ── Complaints for an editor: their places in the text as a browser counts, and fixes that take one click.
MOST = 100
"""The most complaints in one answer."""
_MEANT, _END = " (did you mean ", "?)"
_LONGEST = 200
"""The longest name that is replaced."""
_BREAK = re.compile("\r\n|[\n\r]")
_HEADERS = {"max-length": "length", "alphabet": "alphabet", "sop": "sop", "define": "define"}
_HEADER = re.compile(r"add the header '(# [\w-]+: [^']*)'")
_OR_OPTION = re.compile(r"(add the header '[^']*' to the \w+), or give --[\w-]+ \S+")
"""A header that one click adds; the alternative in the message is an option of the command line."""
_OPTION = re.compile(rf"--({'|'.join(_HEADERS)})\b")
_UNKNOWN = re.compile(
    "if it is a machine, name the format with --from, one of .*; 'tm2tfr convert --help' lists those of .*"
)
_CHOOSE = (
    "choose what it is under 'read as': a machine, a circuit (an expression, for example), a RASP program, a formula "
    "or an automaton"
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


MOST_SUGGESTED = 12
"""The most inputs to try that are suggested."""


@dataclass(frozen=True)
class Ran:
    """A recorded run."""

    recording: Recording

    def page(self, program: object) -> PlainData:
        """Return the data for the views of the explorer, as ``data`` and ``columns``."""
        data, columns = document(program, [self.recording], drawn=False)
        return {"data": data, "columns": columns}

    def whole_page(self, program: object) -> str:
        """Return the page of the explorer, which needs no network."""
        return explorer(program, [self.recording], drawn=False).html

    def table(self) -> list[list[str]]:
        """Return the rows of the table as text, the headings first."""
        sheet = Sheet.of(self.recording.trace, window=WINDOW)
        rows = [[*line.cells.values()] for line in sheet.lines if not isinstance(line, Gap)]
        return [[column.name for column in sheet.columns], *rows]


def ran(found: Subject, word: str, request: Query) -> Ran:
    """Return the run of a source on `word`, compared with its reference.

    Raises:
        CompileError: if it cannot be compiled, or its weights are soft.
        InputError: if `word` is not an input of it, or too long.
    """
    if len(word) > MOST_INPUT:
        raise InputError(f"the input has {counted(len(word), 'character')}: use at most {MOST_INPUT:,}")
    decoder = found.decoder
    if decoder.soft:
        raise CompileError("the page shows where hard attention looks, and these weights are soft: use another variant")
    if decoder.labeller:
        if (many := len(found.prompt(word))) > MOST_IN_A_PAGE:
            what = f"the page shows every pair of positions, and {many:,} are too many"
            raise InputError(f"{what}: use at most {MOST_IN_A_PAGE:,}")
        return Ran(labelled(found, found.right, word))
    limit = request.steps(STEPS if decoder.positions is None else GATES)
    return Ran(recorded(found, found.right, word, max_steps=limit))


def graph(found: Subject) -> str | None:
    """Return the graph of a program in the language of Graphviz, which a browser draws; None if it would be unreadable."""
    if found.machine is not None and len(found.machine.states) > MOST_STATES_DRAWN:
        return None
    try:
        return found.kind.dot(found.right)
    except OutputError:
        return None


def suggested(found: Subject) -> list[str]:
    """Return inputs to try, the program's own first, as they are typed; at most `MOST_SUGGESTED`, none that is refused."""
    every = (found.word(None), *found.kind.tried(found.right, found.examples))
    return list(dict.fromkeys(word for word in every if len(word) <= MOST_INPUT))[:MOST_SUGGESTED]


TOO_DEEP = "the source is nested too deeply: write it with fewer brackets or levels within each other"
TOO_LARGE = "the source needs more memory than the playground has: use fewer states, gates or steps, or the command line"


@dataclass(frozen=True, kw_only=True)
class Read:
    """A source that was read, as far as that was possible.

    Args:
        kind, format: the name of its construction and of its format; empty if that is not known.
        found: the program with its options; None if the source or the options have errors.
        complaints: what is to be said about it.
    """

    kind: str = ""
    format: str = ""
    found: Subject | None = None
    complaints: Sequence[Marker] = field(default=())


def answer(request: Query) -> PlainData:
    r"""Return the page of a run, or what is wrong with its source or its input, as plain data: see above.

    >>> from tm2tfr.web.playground.query import Query
    >>> found = answer(Query(source="blank: _\nstart state: q\ntable:\n  q:\n    _: {R: done}\n  dome:\n"))
    >>> found["kind"], found["diagnostics"][0]["what"], found["diagnostics"][0]["fixes"][0]["label"]
    ('turing', "unknown state 'done' (did you mean 'dome'?)", "Replace 'done' with 'dome'")
    """
    start = perf_counter()
    done = read(request) if request.source.strip() else Read()  # there is nothing to complain of yet
    told = empty(done.complaints) | {"kind": done.kind or None, "format": done.format or None, "input": request.input}
    if (construction := named(done.kind) if done.kind else None) is not None:
        every = fields_of(construction.options).items()
        told |= {"noun": construction.noun, "targets": list(construction.targets)}
        told["options"] = [name for name, known in every if not known.about.aside]
    if done.found is not None:
        told |= {"noun": done.found.noun, "name": done.found.right.name}
        told |= _shown(done.found, request, told["diagnostics"])
    return {**told, "seconds": round(perf_counter() - start, 4)}


def read(request: Query) -> Read:
    """Return the program in the source of a request, and its diagnostics."""
    kind = format = ""
    try:
        kind, format = kind_of_text(request.source, format=request.format or None)
        loaded = of_text(request.source, (kind, format), name=request.name)
        found = Subject.read(loaded, request.compiling)
        warned = _remarks(found, loaded.remarks, request)
        return Read(kind=kind, format=format, found=found, complaints=warned)
    except Tm2tfrError as error:
        complaints = of_error(error, request.source)
    except RecursionError:
        complaints = [said(TOO_DEEP)]
    except MemoryError:
        complaints = [said(TOO_LARGE)]
    return Read(kind=kind, format=format, complaints=complaints)


def _remarks(found: Subject, remarks: Sequence[Diagnostic], request: Query) -> list[Marker]:
    """Return the warnings about the source that hold with these options."""
    kept = [each for each in remarks if str(each) in found.warnings]
    more = [text for text in found.warnings if text not in set(map(str, remarks))]
    return of_diagnostics(kept, request.source) + [said(text, "warning") for text in more]


def _shown(found: Subject, request: Query, diagnostics: list[PlainData]) -> PlainData:
    """Return the parts of the answer about a program; errors that are not about the input are added to `diagnostics`."""
    shown: PlainData = {}
    try:
        shown |= {"graph": graph(found), "inputs": suggested(found)}
        word = found.word(request.input)
        shown["input"] = request.input if request.input is not None or len(word) > MOST_INPUT else word
        done: Ran = ran(found, word, request)
        return shown | {"page": done.page(found.right), "table": done.table()}
    except (InputError, UndefinedError) as error:
        return shown | {"about_input": of_error(error, "")[0].as_dict()}
    except Tm2tfrError as error:
        diagnostics += [each.as_dict() for each in of_error(error, request.source)]
    except RecursionError:
        diagnostics.append(said(TOO_DEEP).as_dict())
    except MemoryError:
        diagnostics.append(said(TOO_LARGE).as_dict())
    return shown
