"""Lists of bbchallenge machines: one per line, with or without columns of results, also as CSV with a heading.

A machine is ``1RB1LB_1LA1RZ`` or ``1RB 1LB  1LA 1RZ``, or in the older notation of Marxen and Buntrock, state first:
``B1R B1L A1L H1R``. It is a field of its line: other fields, such as numbers, may be before it and after it. ``#`` begins a
comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from tm2tfr.errors import Diagnostic, SpecError, counted
from tm2tfr.sources.turing.formats import bbchallenge
from tm2tfr.sources.turing.formats.draft import Draft
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.text.nodes import Node
from tm2tfr.text.source import Log, Mark, SourceText

_CELL, _OLD = r"(?:[0-9][LRSN][A-Z0-9]|---)", r"(?:[A-Z][0-9][LR]|---)"
_DENSE = rf"{_CELL}{{1,10}}(?:_{_CELL}{{1,10}})+"
_ROW = rf"(?:{_CELL} ){{0,10}}{_CELL}"
_SPACED = rf"{_ROW}(?: {{2,4}}{_ROW})+"
_OLDER = rf"{_OLD}(?:[ \t]+{_OLD}){{3,}}"
_SEPARATORS = r"\s,;|\"'"
_MACHINE = re.compile(rf"(?<![^{_SEPARATORS}])(?:(?P<dense>{_DENSE})|{_SPACED}|{_OLDER})(?=[{_SEPARATORS}]|$)")
_CELLS = re.compile(r"(?:[0-9][LRSN][A-Z0-9])+|[A-Z][0-9][LR]")
_LIKE_CELL = re.compile(r"[0-9][LRSNlr]\w?|[A-Za-z][0-9][LRlr]?|-{1,4}|[A-Za-z0-9][LRlr][A-Za-z]")
"""A field that is a cell, or a cell with a mistake: next to a machine of several fields it is a part of that machine."""
_LIKE_ROWS = re.compile(r"[0-9][LRSNlr]\w*_|---\w*_")
"""How a field begins that is a whole machine, or one with a mistake."""
_NUMBER, _BREAK = re.compile(r"[\d.,:+*-]+"), re.compile(r"[,;|\"']")
_FIELD = re.compile(rf"[^{_SEPARATORS}]+")


@dataclass(frozen=True, kw_only=True)
class ListedMachine:
    """A machine of a list.

    Args:
        text: it as bbchallenge text, which is its name too.
        line: the number of its first line, from 1.
        columns: the other fields of that line.
        times: the number of lines that it is on.
    """

    text: str
    line: int
    machine: Machine
    columns: tuple[str, ...] = ()
    times: int = 1


def is_list(text: str) -> bool:
    """Return whether a text is a list: most of its lines are machines, and there are several or one with columns."""
    lines = [line for line in map(bbchallenge.plain, text.splitlines()) if line.strip()]
    found = [(line, match) for line in lines if (match := _found(line)) is not None]
    if not found or len(found) * 2 < len(lines):
        return False
    return len(found) > 1 or len(lines) > 1 or bool(_columns(*found[0]))


def refuse(source: SourceText) -> None:
    """Refuse a list where one machine is needed.

    Raises:
        SpecError: if the text is a list: with the number of its machines.
    """
    if is_list(source.text):
        matches = (_found(bbchallenge.plain(line)) for line in source.lines)
        number = len({_text(_rows(0, match)) for match in matches if match is not None})
        remedy = "go through it with 'tm2tfr check' or 'tm2tfr sweep', or give one of them"
        what = f"this is a list of {counted(number, 'machine')}"
        raise SpecError([Diagnostic(what=what, remedy=remedy, file=source.file)])


def repeated(listed: Iterable[ListedMachine]) -> str | None:
    """Return the warning about machines that are on several lines of a list; None if none is."""
    several = [each for each in listed if each.times > 1]
    if not several:
        return None
    lines = counted(sum(each.times - 1 for each in several), "line")
    what = f"{lines} of this list repeat{'s' * (lines == '1 line')} a machine, the first time {several[0].text}"
    return f"{what} of line {several[0].line}: each machine is run once"


def read_list(source: SourceText) -> tuple[ListedMachine, ...]:
    """Return the machines of a list; one that is on several lines, once.

    Raises:
        SpecError: with every error: at a line without a machine, and within machines.
    """
    log, listed = Log(source), dict[str, ListedMachine]()
    headed = False
    for number, line in enumerate(map(bbchallenge.plain, source.lines)):
        if not line.strip():
            continue
        match = _found(line)
        if match is None and headed:
            at = Node(Mark(number, len(line) - len(line.lstrip())), Mark(number, len(line.rstrip())))
            remedy = "write one such as 1RB1LB_1LA1RZ per line, or begin the line with # to have it as a comment"
            Draft(log).error(at, "there is no machine in this line", remedy)
        headed = True
        if match is None:
            continue
        rows = _rows(number, match)
        text = _text(rows)
        if text in listed:
            listed[text] = replace(listed[text], times=listed[text].times + 1)
        elif (machine := _machine(log, text, rows)) is not None:
            listed[text] = ListedMachine(text=text, line=number + 1, machine=machine, columns=_columns(line, match))
    if not listed and not log.found:
        log.add(None, "there are no machines in this list", "write one such as 1RB1LB_1LA1RZ per line")
    log.conclude()
    return tuple(listed.values())


def _found(line: str) -> re.Match[str] | None:
    """Return where the machine of a line is; None without one, or if a field next to it is a cell with a mistake.

    A machine of several fields begins its line, or follows numbers or a separator that is not a space.
    """
    match = _MACHINE.search(line)
    if match is None:
        return None
    before, after = line[: match.start()], line[match.end() :]
    first, last = re.split(_BREAK, before)[-1].split(), re.split(_BREAK, after)[0].split()
    if match["dense"]:
        broken = any(map(_LIKE_ROWS.match, _FIELD.findall(before))) or any(map(_CELLS.fullmatch, (*first[-1:], *last[:1])))
        return None if broken else match
    broken = any(map(_CELLS.fullmatch, last)) or any(map(_LIKE_CELL.fullmatch, last[:1]))
    return None if broken or not all(map(_NUMBER.fullmatch, first)) else match


def _columns(line: str, match: re.Match[str]) -> tuple[str, ...]:
    """Return the fields of a line other than its machine, but for a single number before it."""
    before, after = _FIELD.findall(line[: match.start()]), _FIELD.findall(line[match.end() :])
    numbered = len(before) == 1 and _NUMBER.fullmatch(before[0])
    return (*(() if numbered else before), *after)


_Rows = list[list[tuple[Mark, str]]]
"""The cells of each row, with their places."""


def _rows(number: int, match: re.Match[str]) -> _Rows:
    return bbchallenge.rows_of(number, match[0], match.start())


def _text(rows: _Rows) -> str:
    """Return a machine as bbchallenge text."""
    return "_".join("".join(bbchallenge.newer(cell) for _, cell in row) for row in rows)


def _machine(log: Log, name: str, rows: _Rows) -> Machine | None:
    """Return the machine; None if something is wrong with it, which goes to the log."""
    draft, before = Draft(log, values={"name": name}), len(log.found)
    bbchallenge.read_rows(draft, rows)
    return None if len(log.found) > before else Machine(**draft.values)
