"""bbchallenge text, ``1RB1LB_1LA1RZ``: rows are the states A, B, …, cells are write, move, next state.

A letter past the last row halts, by convention Z; ``---`` is undefined and halts too. The blank is 0, the start
state A, the tape two-way. A step into a halting state is made and counts; ``---``, also written ``...``, is not a step.
Older texts have the state first, ``B1R B1L A1L H1R``, and do not say where a row ends: there are as many symbols as are
written, at least two. ``#`` begins a comment.
SourceText: https://bbchallenge.org.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from dataclasses import dataclass, replace

from tm2tfr.base.errors import Diagnostic, SpecError, counted
from tm2tfr.base.text.nodes import Node
from tm2tfr.base.text.source import Log, Mark, SourceText
from tm2tfr.sources.turing.formats.draft import Draft, Loaded, stem
from tm2tfr.sources.turing.formats.lossless import Translation, Written, letter, renamed, renamings, two_way, without_stays
from tm2tfr.sources.turing.spec import Machine, Rule

LETTERS = string.ascii_uppercase
HALT = "Z"
UNDEFINED = "---"
DOTS = "..."
"""The undefined cell, as some lists write it."""

_CELL = re.compile("([0-9])([LR])([A-Z])|---")
_OLDER = re.compile("([A-Z])([0-9])([LR])")
_LIKE = r"(?:[0-9][LRSN][A-Z0-9]|---)"
_ARGUMENT = re.compile(
    rf"(?=.*[0-9][LR])(?:{_LIKE}{{1,10}}(?:_{_LIKE}{{1,10}})*|{_LIKE}(?: {{1,4}}{_LIKE})+"
    rf"|{_LIKE}{{2,10}}(?: {{1,4}}{_LIKE}{{2,10}})+)"
    r"|(?:[A-Z][0-9][LR]|---)(?: +(?:[A-Z][0-9][LR]|---)){3,}"
)
_ONE_SYMBOL = re.compile(r"0[LR][A-Z](?:_(?:0[LR][A-Z]|---))*|---(?:_?---)*")
"""Machines with one symbol or without rules: in a file this is bbchallenge text, as an argument it may be the name of a
file."""
_MANY_SYMBOLS = 4
"""A single row of as many cells may be several, without the underscores between them."""


def is_argument(text: str) -> bool:
    """Return whether a machine argument looks like bbchallenge text."""
    return len(text) > 3 and _ARGUMENT.fullmatch(text.replace(DOTS, UNDEFINED)) is not None


def looks_like(text: str) -> bool:
    """Return whether the contents of a file look like bbchallenge text."""
    lines = [line for line in map(plain, text.splitlines()) if line.strip()]
    if len(lines) == 1 and _ONE_SYMBOL.fullmatch(lines[0].strip()):
        return True
    return bool(lines) and all(is_argument(re.sub(r"\s", "", line)) or _older(line) for line in lines)


def plain(line: str) -> str:
    """Return a line without its comment, with ``---`` for each ``...``."""
    return line.split("#", maxsplit=1)[0].replace(DOTS, UNDEFINED)


def read(source: SourceText) -> Loaded:
    """Read a machine from bbchallenge text.

    Raises:
        SpecError: with every error.
    """
    draft = Draft(Log(source), values={"name": stem(source.file)})
    rows = _rows(source)
    if not rows:
        draft.refuse(None, "this text contains no machine", "write rows such as 1RB1LB_1LA1RZ")
    if len(rows) > len(LETTERS):
        draft.refuse(_node(rows[26][0]), f"there are {len(rows)} rows", f"the states are {LETTERS}: write at most 26 rows")
    read_rows(draft, rows)
    return draft.loaded()


def read_rows(draft: Draft, rows: list[list[tuple[Mark, str]]]) -> None:
    """Put the machine whose rows have these cells, each with its place, into the draft."""
    width = len(rows[0])
    rules: dict[tuple[str, str], Rule] = {}
    for state, row in zip(LETTERS, rows, strict=False):
        if len(row) != width or width > 10:
            other = "at most 10 are allowed" if width > 10 else f"the first row has {width}"
            problem = f"the row of state {state} has {counted(len(row), 'cell')}, and {other}"
            draft.error(_node(row[0]), problem, "write one cell per symbol, --- where nothing is defined")
        for symbol, cell in zip("0123456789", row, strict=False):
            rule = _rule(draft, cell, width)
            if rule is not None:
                rules[state, symbol] = rule
    if len(rows) == 1 and width >= _MANY_SYMBOLS and any(rule.state not in ("A", HALT, "H") for rule in rules.values()):
        first, (mark, text) = rows[0][0][0], rows[0][-1]
        problem = f"this is one state with {width} symbols, and every state but A halts"
        draft.warn(Node(first, _node((mark, text)).end), problem, "put an underscore after each row: 1RB1LB_1LA1RZ")
    draft.values |= _values(rules, len(rows), min(width, 10))


def _values(rules: dict[tuple[str, str], Rule], rows: int, width: int) -> dict[str, object]:
    halts = sorted({rule.state for rule in rules.values()} - {*LETTERS[:rows]})
    return {
        "transitions": rules,
        "start": "A",
        "blank": "0",
        "states": (*LETTERS[:rows], *halts),
        "tape_alphabet": tuple("0123456789"[:width]),
        "accept": None,
    }


def _rows(source: SourceText) -> list[list[tuple[Mark, str]]]:
    """Return the cells of each row; rows are separated by underscores, several spaces, or line breaks."""
    return [row for number, line in enumerate(source.lines) for row in rows_of(number, plain(line), 0)]


def rows_of(number: int, line: str, start: int) -> list[list[tuple[Mark, str]]]:
    """Return the cells of each row in a piece of a line, each with its place; the piece begins in column `start`."""
    rows: list[list[tuple[Mark, str]]] = []
    if _older(line):
        cells = [(Mark(number, start + found.start()), found[0]) for found in re.finditer(r"\S+", line)]
        width = _symbols([text for _, text in cells])
        return [cells[k : k + width] for k in range(0, len(cells), width)]
    apart = "_" if "_" in line else r"\s{2,}" if _spaced(line) else r"\s+"
    for piece in re.split(f"({apart})", line):
        cells = [
            (Mark(number, start + found.start() + k), found[0][k : k + 3])
            for found in re.finditer(r"\S+", piece.replace("_", " "))
            for k in range(0, len(found[0]), 3)
        ]
        rows += [cells] if cells else []
        start += len(piece)
    return rows


def newer(cell: str) -> str:
    """Return a cell in today's order: the symbol written, the move, the state."""
    match = _OLDER.fullmatch(cell)
    return cell if match is None else f"{match[2]}{match[3]}{match[1]}"


def _older(line: str) -> bool:
    """Whether a line has cells in the older notation, state first."""
    words = line.split()
    return any(map(_OLDER.fullmatch, words)) and all(_OLDER.fullmatch(word) or word == UNDEFINED for word in words)


def _symbols(cells: list[str]) -> int:
    """Return the number of symbols of a machine with concatenated rows: the least that the text allows."""
    written = [int(match[2]) for cell in cells if (match := _OLDER.fullmatch(cell))]
    least = max(2, 1 + max(written))
    return next((k for k in range(least, len(cells) // 2 + 1) if len(cells) % k == 0), least)


def _spaced(line: str) -> bool:
    """Whether a line separates its cells, as in ``1RB 1LB  1LA 1RZ``."""
    return all(len(word) == 3 for word in line.split())


def _rule(draft: Draft, cell: tuple[Mark, str], width: int) -> Rule | None:
    mark, text = cell
    match = _CELL.fullmatch(newer(text))
    if match is None:
        problem = f"{text!r} is not a cell"
        draft.error(_node(cell), problem, "a cell is a digit, L or R, and a letter, as in 1RB, or ---")
        return None
    if text == UNDEFINED:
        return None
    if int(match[1]) >= width:
        problem = f"{text!r} writes {match[1]}, but the rows have {width} cells, for the symbols up to {width - 1}"
        draft.error(_node((mark, text[0])), problem, f"write a symbol below {width}, or add cells to the rows")
        return None
    return Rule(match[3], match[1], -1 if match[2] == "L" else 1)


def _node(cell: tuple[Mark, str]) -> Node:
    mark, text = cell
    return Node(mark, Mark(mark.line, mark.column + len(text)))


# ── out ─────────────────────────────────────────────────────────────────────────────────────────────────
def write(machine: Machine) -> Written:
    """Return `machine` as bbchallenge text.

    Raises:
        ConversionError: if it has verdicts, too many states or symbols, a rule that stays and does not halt, or
            a one-way tape whose end it may run into.
    """
    t = Translation(machine, "bbchallenge text")
    if machine.decides:
        raise t.refusal("it accepts and rejects, but the format has only one kind of halt", "choose another format")
    t = without_stays(two_way(t))
    m = t.machine
    rows = [m.start, *(q for q in m.states if q != m.start and q not in m.halting_states)]
    symbols = [m.blank, *(a for a in m.tape_alphabet if a != m.blank)]
    if len(symbols) > 10:
        raise t.refusal(f"it has {len(symbols)} symbols, but a symbol is one digit", "choose another format")
    halts = m.halting_states & {rule.state for rule in m.transitions.values()} - {m.start}
    if len(rows) + bool(halts) > len(LETTERS):
        raise t.refusal(f"it has {len(rows)} states with rules, but a state is one letter", "choose another format")
    states = {**dict.fromkeys((q for q in m.states if q in halts), HALT), **dict(zip(rows, LETTERS, strict=False))}
    digits = dict(zip(symbols, "0123456789", strict=False))
    notes = [*renamings("state", states), *renamings("symbol", digits)]
    if (lost := {*m.tape_alphabet} - {*(m.input_alphabet or ()), m.blank}) and len(symbols) > 1:
        shown = ", ".join(sorted(digits[a] for a in lost))
        notes.append(f"the input alphabet is lost: {shown} can be input as well")
    dense = renamed(replace(m, states=(*rows, *halts)), states, digits)
    cells = [[_cell(dense, q, a) for a in "0123456789"[: len(symbols)]] for q in LETTERS[: len(rows)]]
    changed = {old: new for old, new in digits.items() if old != new}
    return Written("_".join("".join(row) for row in cells) + "\n", (*t.notes, *notes), changed)


def _cell(machine: Machine, state: str, symbol: str) -> str:
    rule = machine.transitions.get((state, symbol))
    return UNDEFINED if rule is None else f"{rule.write}{letter(rule)}{rule.state}"


# ── lists of bbchallenge machines: one per line, with or without columns of results, also as CSV with a heading
# A machine is ``1RB1LB_1LA1RZ`` or ``1RB 1LB  1LA 1RZ``, or in the older notation of Marxen and Buntrock, state first:
# ``B1R B1L A1L H1R``. It is a field of its line: other fields, such as numbers, may be before it and after it. ``#``
# begins a comment.
_OLD = r"(?:[A-Z][0-9][LR]|---)"
_DENSE = rf"{_LIKE}{{1,10}}(?:_{_LIKE}{{1,10}})+"
_ROW = rf"(?:{_LIKE} ){{0,10}}{_LIKE}"
_SPACED = rf"{_ROW}(?: {{2,4}}{_ROW})+"
_OLDERS = rf"{_OLD}(?:[ \t]+{_OLD}){{3,}}"
_SEPARATORS = r"\s,;|\"'"
_MACHINE = re.compile(rf"(?<![^{_SEPARATORS}])(?:(?P<dense>{_DENSE})|{_SPACED}|{_OLDERS})(?=[{_SEPARATORS}]|$)")
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
    lines = [line for line in map(plain, text.splitlines()) if line.strip()]
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
        matches = (_found(plain(line)) for line in source.lines)
        number = len({_text(_listed_rows(0, match)) for match in matches if match is not None})
        remedy = "go through it with 'tm2tfr check' or 'tm2tfr sweep', or give one of them"
        problem = f"this is a list of {counted(number, 'machine')}"
        raise SpecError([Diagnostic(what=problem, remedy=remedy, file=source.file)])


def repeated(listed: Iterable[ListedMachine]) -> str | None:
    """Return the warning about machines that are on several lines of a list; None if none is."""
    several = [machine for machine in listed if machine.times > 1]
    if not several:
        return None
    lines = counted(sum(machine.times - 1 for machine in several), "line")
    problem = f"{lines} of this list repeat{'s' * (lines == '1 line')} a machine, the first time {several[0].text}"
    return f"{problem} of line {several[0].line}: each machine is run once"


def read_list(source: SourceText) -> tuple[ListedMachine, ...]:
    """Return the machines of a list; one that is on several lines, once.

    Raises:
        SpecError: with every error: at a line without a machine, and within machines.
    """
    log, listed = Log(source), dict[str, ListedMachine]()
    headed = False
    for number, line in enumerate(map(plain, source.lines)):
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
        rows = _listed_rows(number, match)
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


def _listed_rows(number: int, match: re.Match[str]) -> _Rows:
    return rows_of(number, match[0], match.start())


def _text(rows: _Rows) -> str:
    """Return a machine as bbchallenge text."""
    return "_".join("".join(newer(cell) for _, cell in row) for row in rows)


def _machine(log: Log, name: str, rows: _Rows) -> Machine | None:
    """Return the machine; None if something is wrong with it, which goes to the log."""
    draft, before = Draft(log, values={"name": name}), len(log.found)
    read_rows(draft, rows)
    return None if len(log.found) > before else Machine(**draft.values)
