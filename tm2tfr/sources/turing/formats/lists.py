"""Lists of bbchallenge machines: one per line, with or without columns of results, also as CSV with a heading.

A machine is ``1RB1LB_1LA1RZ`` or ``1RB 1LB  1LA 1RZ``, or in the older notation of Marxen and Buntrock, state first:
``B1R B1L A1L H1R``, with a number before it and the ones and steps after it. It is the first thing in its line, or a
field of it. ``#`` begins a comment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tm2tfr.sources.turing.formats import bbchallenge
from tm2tfr.sources.turing.formats.draft import Draft
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.text.nodes import Node
from tm2tfr.text.source import Log, Mark, Source

_CELL, _OLD = r"(?:[0-9][LRSN][A-Z0-9]|---)", r"(?:[A-Z][0-9][LR]|---)"
_DENSE = rf"{_CELL}{{1,10}}(?:_{_CELL}{{1,10}})+"
_SPACED = rf"(?:{_CELL} )*{_CELL}(?: {{2,4}}(?:{_CELL} )*{_CELL})+"
_OLDER = rf"{_OLD}(?:[ \t]+{_OLD}){{3,}}"
_MACHINE = re.compile(
    rf"(?:^[ \t]*+|[,;\t|\"'][ \t]{{0,99}}+)(?:\d{{1,99}}[ \t]{{1,99}})?"
    rf"(?P<machine>{_DENSE}|{_SPACED}|{_OLDER})(?=[\s,;|\"']|$)"
)
_FIELD = re.compile(r"[^\s,;|\"']+")


@dataclass(frozen=True, kw_only=True)
class ListedMachine:
    """A machine of a list.

    Args:
        text: it as bbchallenge text, which is its name too.
        line: the number of its line, from 1.
        columns: what else its line says.
    """

    text: str
    line: int
    machine: Machine
    columns: tuple[str, ...] = ()


def is_list(text: str) -> bool:
    """Return whether a text is a list: most of its lines are machines, and there are several or one with columns."""
    lines = [line for line in (line.split("#")[0] for line in text.splitlines()) if line.strip()]
    found = [(line, match) for line in lines if (match := _MACHINE.search(line)) is not None]
    if not found or len(found) * 2 < len(lines):
        return False
    return len(found) > 1 or len(lines) > 1 or bool(_columns(*found[0]))


def read_list(source: Source) -> tuple[ListedMachine, ...]:
    """Return the machines of a list; one that is there twice, once.

    Raises:
        SpecError: with every error: at a line without a machine, and within machines.
    """
    log, found = Log(source), dict[str, ListedMachine]()
    headed = False
    for number, whole in enumerate(source.lines):
        line = whole.split("#")[0]
        if not line.strip():
            continue
        match = _MACHINE.search(line)
        if match is None:
            if headed or found:
                at = Node(Mark(number, len(line) - len(line.lstrip())), Mark(number, len(line.rstrip())))
                remedy = "write one such as 1RB1LB_1LA1RZ per line, or begin the line with # to have it as a comment"
                Draft(log).error(at, "there is no machine in this line", remedy)
            headed = True
            continue
        headed = True
        text, machine = _read(log, number, match)
        if machine is not None:
            listed = ListedMachine(text=text, line=number + 1, machine=machine, columns=_columns(line, match))
            found.setdefault(text, listed)
    if not found and not log.found:
        log.add(None, "there are no machines in this list", "write one such as 1RB1LB_1LA1RZ per line")
    log.conclude()
    return tuple(found.values())


def _columns(line: str, match: re.Match[str]) -> tuple[str, ...]:
    """Return the other fields of a line, but for the number before a machine."""
    return tuple(_FIELD.findall(line[match.end("machine") :]))


def _read(log: Log, number: int, match: re.Match[str]) -> tuple[str, Machine | None]:
    """Return a machine as bbchallenge text, and the machine; what is wrong with it goes to the log."""
    rows = bbchallenge.rows_of(number, match["machine"], match.start("machine"))
    text = "_".join("".join(bbchallenge.newer(cell) for _, cell in row) for row in rows)
    draft = Draft(log, values={"name": text})
    before = len(log.found)
    bbchallenge.read_rows(draft, rows)
    return text, None if len(log.found) > before else Machine(**draft.values)
