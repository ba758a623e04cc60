"""What answers a request: one function of a source, an input and options, without a server, files or other programs.

An answer is plain data:

| | |
|---|---|
| ``kind``, ``noun``, ``format`` | ``turing``, ``circuit``, ``rasp`` or ``logic``; what it is called; its format |
| ``name`` | of the program; empty if the source has errors |
| ``diagnostics`` | a list of `Marker`: errors and warnings about the source, the options and the run, in order |
| ``input``, ``inputs`` | the input that was run, and inputs to try |
| ``about_input`` | a `Marker` about the input; None if it is an input of the program |
| ``page`` | ``{"data", "columns"}`` for the views of the explorer, or ``{"html"}``; None if there is no run |
| ``graph`` | the program as a graph, in the language of Graphviz; None if there is none, or it would be unreadable |
| ``table`` | the rows of the table, the headings first; None if there is no run |
| ``options``, ``targets`` | the options that apply to such a source, and the formats that it can be exported to |
| ``seconds`` | what all of this took |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter

from tm2tfr.api.pages import labelled, recorded
from tm2tfr.api.subject import Subject
from tm2tfr.base.errors import CompileError, Diagnostic, InputError, OutputError, Tm2tfrError, UndefinedError, counted
from tm2tfr.contract.options import fields_of
from tm2tfr.contract.shown import PlainData
from tm2tfr.runs.comparison import Trace
from tm2tfr.sources.registry import kind_of_text, named, of_text
from tm2tfr.sources.turing.drawing import MOST_STATES_DRAWN
from tm2tfr.tables.sheet import Gap, Sheet
from tm2tfr.tables.table import WINDOW
from tm2tfr.web.explorer.document import Explorer, document, explorer
from tm2tfr.web.explorer.labeller import MOST_IN_A_PAGE
from tm2tfr.web.explorer.record import Recording
from tm2tfr.web.playground.complaints import Marker, empty, of_diagnostics, of_error, said
from tm2tfr.web.playground.query import GATES, MOST_INPUT, STEPS, Query

MOST_SUGGESTED = 12
"""The most inputs to try that are suggested."""


@dataclass(frozen=True)
class Ran:
    """A run: its trace, and what there is to show of it, a recording or the finished page of a labeller."""

    trace: Trace
    shown: Recording | Explorer

    def page(self, program: object) -> PlainData:
        """Return the data for the views of the explorer, as ``data`` and ``columns``, or the page, as ``html``."""
        if isinstance(self.shown, Explorer):
            return {"html": self.shown.html}
        data, columns = document(program, [self.shown], drawn=False)
        return {"data": data, "columns": columns}

    def whole_page(self, program: object) -> str:
        """Return the page of the explorer, which needs no network."""
        return self.shown.html if isinstance(self.shown, Explorer) else explorer(program, [self.shown], drawn=False).html

    def table(self) -> list[list[str]]:
        """Return the rows of the table as text, the headings first."""
        sheet = Sheet.of(self.trace, window=WINDOW)
        rows = [[*line.cells.values()] for line in sheet.lines if not isinstance(line, Gap)]
        return [[column.name for column in sheet.columns], *rows]


def ran(found: Subject, word: str, request: Query, *, live: bool = False) -> Ran:
    """Return the run of a source on `word`, compared with its reference.

    Args:
        live: whether the page of a labeller can run other inputs by itself; the playground runs them.

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
        page = labelled(found, word, program=False, live=live)
        return Ran(page.traces[0], page)
    limit = request.steps(STEPS if decoder.positions is None else GATES)
    recording = recorded(found, found.right, word, max_steps=limit)
    return Ran(recording.trace, recording)


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
