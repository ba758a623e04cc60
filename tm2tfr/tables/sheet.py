"""A trace as the lines of a table: shared by the renderers for people.

Beside the trace's own columns, a run of a Turing machine has the tape before each step, as the chapter prints it. It is
computed from the trace's rows alone: the prompt, and each symbol b^{(i-1)} that a token carries, written to cell h^{(i-1)}.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, Self, TypeVar

from tm2tfr.base.errors import visible
from tm2tfr.contract.source import AnyRow, Column, shown
from tm2tfr.runs.comparison import Trace
from tm2tfr.sources.turing.columns import TURING, Row
from tm2tfr.sources.turing.tokens import ARROW, parsed

T = TypeVar("T")
SPACE, MARK = "␣", "▸"
TAPE = "tape"
"""The heading of the tape."""

_MARGIN = 3  # rows around the first difference, and cells around the head


class Stretch(NamedTuple):
    """Some cells of the tape, left to right; it continues to the right for ever, and to the left if it is `cut`.

    `head` is the index of the head's cell among them, None if the head is not at a cell.
    """

    cells: Sequence[str]
    head: int | None
    cut: bool


class Line(NamedTuple):
    """A row, all of it as visible text.

    `cells` are by column, `wrong` has the expected value of each wrong cell, and `differs` marks the first difference.
    """

    cells: Mapping[str, str]
    tape: Stretch | None
    wrong: Mapping[str, str]
    differs: bool


class Gap(NamedTuple):
    """Rows left out; `about`: the part of the run they belong to."""

    rows: int
    about: str = ""

    @property
    def what(self) -> str:
        """What is left out, in words: ``rows``, ``row``, ``tokens of the machine's description``."""
        noun = "token" if self.about else "row"
        return f"{noun}{'s' if self.rows > 1 else ''}{self.about and f' of {self.about}'}"

    def __str__(self) -> str:
        """Return ``⋮ (1 234 rows)``."""
        return f"⋮ ({f'{self.rows:,}'.replace(',', ' ')} {self.what})"


class Sheet(NamedTuple):
    """A whole table: its columns, whether the tape stands after the first of them, and its lines."""

    columns: tuple[Column, ...]
    tape: bool
    lines: Iterator[Line | Gap]

    @classmethod
    def of(cls, trace: Trace, *, window: int, elide: int | None = None, description: bool = False) -> Self:
        """Return the table of `trace`; see `lines`."""
        return cls(trace.columns, trace.has_tape, lines(trace, window=window, elide=elide, description=description))

    @property
    def header(self) -> list[str]:
        """The headings, as visible text."""
        return self.with_tape([visible(column.name) for column in self.columns], TAPE)

    def with_tape(self, cells: Sequence[T], tape: T) -> list[T]:
        """Return the cells of a line, by column, with that of the tape where it belongs."""
        first, *rest = cells
        return [first, *([tape] if self.tape else []), *rest]


def lines(trace: Trace, *, window: int, elide: int | None = None, description: bool = False) -> Iterator[Line | Gap]:
    """Yield the lines of the table of `trace`.

    Args:
        window: show at most this many cells of the tape, those around the head.
        elide: show at most this many rows, always including those around the first difference.
        description: show the rows of a machine's description in the prompt as well; otherwise only those around the
            first difference.
    """
    differs = trace.divergence.position if trace.divergence else None
    show, done = shower(trace.columns, trace.rows), 0
    lead = 0 if description else min(trace.lead, len(trace.rows))
    keep = _kept(lead, len(trace.rows), elide, differs)
    for n, (row, tape) in enumerate(zip(trace.rows, tapes(trace, window=window), strict=True)):
        if n not in keep:
            continue
        yield from _gaps(done, n, lead)
        yield Line(
            cells={c.name: show(c.text(v)) for c, v in zip(trace.columns, row, strict=True)},
            tape=tape,
            wrong={c.name: show(c.text(value)) for c, value in _wrong(trace, n).items()},
            differs=n == differs,
        )
        done = n + 1
    yield from _gaps(done, len(trace.rows), lead)


def _gaps(start: int, end: int, lead: int) -> Iterator[Gap]:
    """Yield the rows left out from row `start` to before row `end`: of the machine's description, and of the rest."""
    middle = max(start, min(lead, end))
    if start < middle:
        yield Gap(middle - start, "the machine's description")
    if middle < end:
        yield Gap(end - middle)


def title(trace: Trace) -> str:
    gap = trace.divergence
    same = f"every cell agrees with the {trace.reference}" if trace.agrees else f"not compared with a {trace.reference}"
    found = f"differs from the {trace.reference} at position {gap.position}" if gap else same
    return f"{visible(trace.machine)} on {visible(trace.input) or 'the empty word'}: {found}"


def _wrong(trace: Trace, n: int) -> dict[Column, object]:
    """Return the expected values of the wrong cells of a row; in a row after the simulator's last, the token is wrong."""
    row, expected = trace.rows[n], trace.expected
    if n >= len(expected):
        return {trace.columns[1]: None} if expected else {}
    cells = list(zip(trace.columns, expected[n], row, strict=True))
    return {column: want for column, want, found in cells[1:] if want != found}


def shower(columns: Sequence[Column], rows: Sequence[AnyRow]) -> Callable[[str], str]:
    r"""Return the function that makes a cell visible: a space symbol is ``␣``, a line break ``\n``."""
    texts = [n for n, column in enumerate(columns) if not column.numeric]
    taken = any(SPACE in str(row[n]) for row in rows for n in texts)
    space = "' '" if taken else SPACE
    turing = tuple(columns)[: len(TURING)] == TURING

    def show(text: str) -> str:
        arrow = ARROW if text.startswith(ARROW) else ""
        triple = parsed(text.removeprefix(arrow))
        if text == " ":
            text = space
        elif triple is not None and triple.symbol == " ":
            text = f"{arrow}({triple.state},{space}{text[len(arrow) + len(triple.state) + 3 :]}"
        elif turing and len(text) > 2 and text.endswith(", "):  # what a rule in a prompt is for
            text = f"{text[:-1]}{space}"
        return visible(text)

    return show


def tapes(trace: Trace, *, window: int) -> Iterator[Stretch | None]:
    """Yield the tape before each row's step as visible text: None for the prompt and BOS, and for sources without a tape.

    Args:
        window: show at most this many cells, those around the head.
    """
    if not trace.has_tape:
        yield from (None for _ in trace.rows)
        return
    show = shower(trace.columns, trace.rows)
    for tape in _tapes(trace.rows, trace.lead, len(trace.input), blank=trace.blank, window=window):
        yield tape and tape._replace(cells=[show(a) for a in tape.cells])


def _tapes(rows: Sequence[Row], lead: int, word: int, *, blank: str, window: int) -> Iterator[Stretch | None]:
    """Yield the tape before each row's step, None for the prompt and BOS; each costs O(window).

    The prompt is `lead` tokens that are on no tape, and the input, of the length `word`.
    All rows show the same cells if they fit into `window`; otherwise the view moves when the head comes near its end.
    """
    heads = [row.h for row in rows if isinstance(row.h, int)]
    lowest, highest = min([0, *heads]), max([0, word - 1, *heads])
    size = min(window, highest - lowest + 1)
    margin, first = min(_MARGIN, (size - 1) // 2), lowest
    written = {k: shown(row.x) for k, row in enumerate(rows[lead : lead + word])}
    for n, row in enumerate(rows):
        if n <= lead + word:
            yield None
            continue
        before = rows[n - 1].h
        if row.b is not None and isinstance(before, int):
            written[before] = row.b
        head = None
        if isinstance(row.h, int):
            first = min(max(first, row.h + margin + 1 - size), row.h - margin)
            first = max(lowest, min(first, highest + 1 - size))
            head = row.h - first
        cells = [written.get(k, blank) for k in range(first, first + size)]
        yield Stretch(cells, head, first > lowest or lowest < 0)


def _kept(lead: int, count: int, most: int | None, around: int | None) -> Collection[int]:
    """Return the numbers of the rows to show: the first and last from `lead` on, and some `around` a difference."""
    near = range(0) if around is None else range(max(0, around - _MARGIN), min(count, around + _MARGIN + 1))
    if most is None or count - lead <= most:
        return {*range(lead, count), *near} if lead else range(count)
    rest = max(0, most - len(near))
    return {*range(lead, lead + (rest + 1) // 2), *near, *range(count - rest // 2, count)}
