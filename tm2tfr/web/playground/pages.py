"""The run of a source as the data of the explorer's page, and as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tm2tfr.api.pages import labelled, recorded
from tm2tfr.api.subject import Subject
from tm2tfr.base.errors import CompileError, InputError, OutputError, counted
from tm2tfr.runs.comparison import Trace
from tm2tfr.sources.turing.drawing import MOST_STATES_DRAWN
from tm2tfr.tables.sheet import Gap, Sheet
from tm2tfr.tables.table import WINDOW
from tm2tfr.web.explorer.document import document, page_of
from tm2tfr.web.explorer.labeller import MOST_IN_A_PAGE
from tm2tfr.web.explorer.page import Explorer, explorer
from tm2tfr.web.explorer.record import Recording
from tm2tfr.web.playground.query import GATES, MOST_INPUT, STEPS, Query

MOST_SUGGESTED = 12
"""The most inputs to try that are suggested."""


@dataclass(frozen=True)
class Ran:
    """A run: its trace, and what there is to show of it, a recording or the finished page of a labeller."""

    trace: Trace
    shown: Recording | Explorer

    def page(self, program: Any) -> dict[str, Any]:
        """Return the data for the views of the explorer, as ``data`` and ``columns``, or the page, as ``html``."""
        if isinstance(self.shown, Explorer):
            return {"html": self.shown.html}
        data, columns = document(page_of(program), [self.shown], drawn=False)
        return {"data": data, "columns": columns}

    def whole_page(self, program: Any) -> str:
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
