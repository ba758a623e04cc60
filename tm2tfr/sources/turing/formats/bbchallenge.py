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
from dataclasses import replace
from typing import Any

from tm2tfr.sources.turing.formats.draft import Draft
from tm2tfr.sources.turing.formats.loaded import Loaded, stem
from tm2tfr.sources.turing.formats.lossless import Translation, Written, letter, renamed, renamings, two_way, without_stays
from tm2tfr.sources.turing.spec import Machine, Rule
from tm2tfr.text.nodes import Node
from tm2tfr.text.source import Log, Mark, SourceText

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
"""What is written of a machine with one symbol or without rules: in a file it is bbchallenge text, as an argument it may be
the name of a file."""
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
        draft.error(None, "this text contains no machine", "write rows such as 1RB1LB_1LA1RZ")
        raise draft.log.failure()
    if len(rows) > len(LETTERS):
        draft.error(_node(rows[26][0]), f"there are {len(rows)} rows", f"the states are {LETTERS}: write at most 26 rows")
        raise draft.log.failure()
    read_rows(draft, rows)
    return Loaded(machine=draft.machine(), warnings=draft.log.conclude())


def read_rows(draft: Draft, rows: list[list[tuple[Mark, str]]]) -> None:
    """Put the machine whose rows have these cells, each with its place, into the draft."""
    width = len(rows[0])
    rules: dict[tuple[str, str], Rule] = {}
    for state, row in zip(LETTERS, rows, strict=False):
        if len(row) != width or width > 10:
            what = f"the row of state {state} has {len(row)} cells, " + (
                "at most 10 are allowed" if width > 10 else f"the first one {width}"
            )
            draft.error(_node(row[0]), what, "write one cell per symbol, --- where nothing is defined")
        for symbol, cell in zip("0123456789", row, strict=False):
            rule = _rule(draft, cell, width)
            if rule is not None:
                rules[state, symbol] = rule
    if len(rows) == 1 and width >= _MANY_SYMBOLS and any(rule.state not in ("A", HALT, "H") for rule in rules.values()):
        first, (mark, text) = rows[0][0][0], rows[0][-1]
        what = f"this is one state with {width} symbols, and every state but A halts"
        draft.warn(Node(first, _node((mark, text)).end), what, "put an underscore after each row: 1RB1LB_1LA1RZ")
    draft.values |= _values(rules, len(rows), min(width, 10))


def _values(rules: dict[tuple[str, str], Rule], rows: int, width: int) -> dict[str, Any]:
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
    """Return a cell in today's order: what is written, the move, the state."""
    found = _OLDER.fullmatch(cell)
    return cell if found is None else f"{found[2]}{found[3]}{found[1]}"


def _older(line: str) -> bool:
    """Whether a line has cells in the older notation, state first."""
    words = line.split()
    return any(map(_OLDER.fullmatch, words)) and all(_OLDER.fullmatch(word) or word == UNDEFINED for word in words)


def _symbols(cells: list[str]) -> int:
    """Return how many symbols a machine has whose rows follow each other: as few as what is written allows."""
    written = [int(found[2]) for cell in cells if (found := _OLDER.fullmatch(cell))]
    least = max(2, 1 + max(written))
    return next((k for k in range(least, len(cells) // 2 + 1) if len(cells) % k == 0), least)


def _spaced(line: str) -> bool:
    """Whether a line separates its cells, as in ``1RB 1LB  1LA 1RZ``."""
    return all(len(word) == 3 for word in line.split())


def _rule(draft: Draft, cell: tuple[Mark, str], width: int) -> Rule | None:
    mark, text = cell
    found = _CELL.fullmatch(newer(text))
    if found is None:
        what = f"{text!r} is not a cell"
        draft.error(_node(cell), what, "a cell is a digit, L or R, and a letter, as in 1RB, or ---")
        return None
    if text == UNDEFINED:
        return None
    if int(found[1]) >= width:
        what = f"{text!r} writes {found[1]}, but the rows have {width} cells, for the symbols up to {width - 1}"
        draft.error(_node((mark, text[0])), what, f"write a symbol below {width}, or add cells to the rows")
        return None
    return Rule(found[3], found[1], -1 if found[2] == "L" else 1)


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
