"""The run of a source as the data of the explorer's page, and as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

from tm2tfr.api.drawings import draw_run, drawn_heads
from tm2tfr.api.pages import ends_of
from tm2tfr.api.subject import Subject
from tm2tfr.engines import engine as engine_named
from tm2tfr.engines.decode import observe_all
from tm2tfr.errors import CompileError, InputError, OutputError, Tm2tfrError, counted
from tm2tfr.explorer.document import document
from tm2tfr.explorer.labeller import MOST_IN_A_PAGE, labeller_page
from tm2tfr.explorer.moments import MOST_STATES
from tm2tfr.explorer.page import Explorer, explorer
from tm2tfr.explorer.record import Recording, record
from tm2tfr.playground.query import GATES, MOST_INPUT, STEPS, Query
from tm2tfr.runs.options import RunOptions
from tm2tfr.runs.run import carried_out
from tm2tfr.runs.truths import truth_of
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.rasp.program import Program
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.tables.sheet import Gap, Sheet
from tm2tfr.tables.table import WINDOW
from tm2tfr.text.words import written
from tm2tfr.trace.check import Trace


@dataclass(frozen=True)
class Ran:
    """A run: its trace, and what there is to show of it, a recording or the finished page of a labeller."""

    trace: Trace
    shown: Recording | Explorer

    def page(self, program: Any) -> dict[str, Any]:
        """Return the data for the views of the explorer, as ``data`` and ``columns``, or the page, as ``html``."""
        if isinstance(self.shown, Explorer):
            return {"html": self.shown.html}
        title = f"{self.trace.machine} on {self.trace.input!r}"
        data, columns = document(title, program, [self.shown], drawn=False)
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
        return _labelled(found, word, live=live)
    limit = request.steps(STEPS if decoder.positions is None else GATES)
    engine, truth = engine_named("dense", None), truth_of(found.right, word, decoder, limit)
    recorded = record(decoder, word, truth=truth, engine=engine, max_steps=limit)
    return Ran(recorded.trace, recorded)


def _labelled(found: Subject, word: str, *, live: bool) -> Ran:
    tokens = found.prompt(word)
    if len(tokens) > MOST_IN_A_PAGE:
        what = f"the page shows every pair of positions, and {len(tokens):,} are too many"
        raise InputError(f"{what}: use at most {MOST_IN_A_PAGE:,}")
    trace = carried_out(found.decoder, word, found.right, RunOptions(engine="dense", max_steps=None))
    seen = observe_all(found.decoder, tokens, engine=engine_named("dense", None))
    plain = isinstance(found.program, Program)
    pictures = (("The run, layer by layer", _drawn(found, word)),) if plain else ()
    fed, ends = None if plain else tokens, ends_of(found, word)
    called = drawn_heads(found)
    return Ran(trace, labeller_page(trace, found.decoder, seen, pictures, tokens=fed, ends=ends, called=called, live=live))


def _drawn(found: Subject, word: str) -> str:
    """Return the run of a RASP program as SVG; in place of it, why there is none."""
    try:
        return draw_run(found, word, attention=True)
    except Tm2tfrError as reason:
        return str(reason)


def graph(found: Subject) -> str | None:
    """Return the graph of a program in the language of Graphviz, which a browser draws; None if it would be unreadable."""
    if found.construction is None or (found.machine is not None and len(found.machine.states) > MOST_STATES):
        return None
    try:
        return found.construction.dot(found.right)
    except OutputError:
        return None


# ── Inputs to try on a program: those of its examples, otherwise short ones.
MOST_SUGGESTED = 12
_FEW, _LONGEST = 8, 3


def suggested(found: Subject) -> list[str]:
    """Return inputs to try, the program's own first, as they are typed; at most `MOST_SUGGESTED`, none that is refused."""
    others = _examples(found) or _short(found)
    known = dict.fromkeys(word for word in (found.word(None), *others) if len(word) <= MOST_INPUT)
    return list(known)[:MOST_SUGGESTED]


def _examples(found: Subject) -> list[str]:
    program = found.program
    if isinstance(program, Program):
        known = set(program.alphabet)
        return [written(e.input) for e in program.examples if not e.error and set(e.input) <= known]
    if isinstance(program, LogicProgram):
        known = set(program.alphabet)
        return [written(e.word) for e in program.examples if set(e.word) <= known]
    examples = found.examples if isinstance(program, Circuit) else found.right.examples
    return [example.input for example in examples]


def _short(found: Subject) -> Iterator[str]:
    program: Any = found.program
    if isinstance(program, Circuit):
        return _bits(program)
    if isinstance(program, Machine):
        return islice(map("".join, _words(program.input_alphabet or ())), _FEW)
    return islice(map(written, _words(program.alphabet)), _FEW)


def _bits(circuit: Circuit) -> Iterator[str]:
    if circuit.encoding:
        yield "abc"
        return
    width = len(circuit.inputs)
    if width <= _LONGEST:
        yield from map("".join, product("01", repeat=width))
    yield from ("1" * width, ("01" * width)[:width], ("10" * width)[:width])


def _words(letters: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    some = tuple(islice(letters, _FEW))
    for length in range(1, _LONGEST + 1):
        yield from product(some, repeat=length)
