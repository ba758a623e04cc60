"""Where the heads of the chapter's construction look, and what step 4 answers: what all its models share.

Heads look at all positions, at cells, and at the latest write (Eqs. 8.6-8.16). What variables are called, and in which
columns of label data they are published, is the same as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tm2tfr.contract.model import (
    Equation,
    LabelColumn,
    ModelColumns,
    NamedValues,
    Pattern,
    VariableValues,
    each,
    everywhere,
    settled,
    votes_of,
)
from tm2tfr.contract.specification import VariableValue
from tm2tfr.sources.turing.columns import TURING
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.tokens import BOS, VERDICTS, Triple

LabelCodes = NDArray[np.int32]

# ── the columns of label data, and what variables are called
_TABLE = {column.name: column.meaning for column in TURING}
_LABELS = (
    LabelColumn(name="q", meaning=_TABLE["q"], kind="label"),
    LabelColumn(name="b", meaning=_TABLE["b"], kind="label"),
    LabelColumn(name="m", meaning=_TABLE["m"]),
    LabelColumn(name="h", meaning=_TABLE["h"]),
    LabelColumn(name="a", meaning=_TABLE["a"], kind="label"),
    LabelColumn(name="h_before", meaning="the head's cell one position earlier, where b was written; 0 at position 0"),
    LabelColumn(
        name="given(h+)",
        meaning="the input symbol of cell max(0, h); none where the input has none",
        kind="label",
        optional=True,
    ),
    LabelColumn(
        name="given(h)",
        meaning="the input symbol of the head's cell; none where the input has none",
        kind="label",
        optional=True,
    ),
    LabelColumn(name="j*", meaning="the position of the latest write to the head's cell; if there is none, to the nearest"),
    LabelColumn(name="h_before(j*)", meaning="h_before at j*: the cell that was written there"),
    LabelColumn(name="b(j*)", meaning="b at j*: the symbol that was written there", kind="label", labels_of="e_b"),
    LabelColumn(name="found", meaning="whether that cell is the head's: 1 or 0"),
)
LABELS: Mapping[str, LabelColumn] = {column.name: column for column in _LABELS}
"""The label columns by name, in the order in which they are published."""
ALIASES = {"x": "e_x", "q": "e_q", "b": "e_b", "a": "e_a", "y": "e_y", "state": "e_q", "symbol": "e_a", "written": "e_b"}
ALIASES |= {"move": "m", "head": "h/(i+1)"}
"""The columns of the table, and words for them: other names of the variables."""


# ── where heads look


def patterns() -> Iterator[Pattern]:
    """Yield the positions that the chapter's heads attend to."""
    yield Pattern(
        claim="all", meaning="all positions so far", formula="j ≤ i", source="Eq. 8.6", seen="all", places=everywhere
    )
    for name, equation in (("h", "Eq. 8.8"), ("h_{i-1}", "Eq. 8.11")):
        for sign in ("", "+", "-"):
            meaning, repair = f"the position of the number {name}{sign}", ", repair 5" if sign else ""
            yield Pattern(
                claim=f"{name}{sign}",
                meaning=meaning,
                formula=f"argmax_{{j≤i}} (2{name}{sign}·j - j²)/(i+1)",
                source=equation + repair,
                places=_cell(f"{name}{sign}/(i+1)"),
            )
    yield Pattern(
        claim="j*",
        meaning="the latest write of the cell under the head; if there is none, of the nearest cell",
        formula="j* = argmax_{j≤i} 2h·h_{j-1} - h_{j-1}² + j/(2(i+1))",
        source="Eqs. 8.15-8.16",
        places=latest_write,
        shortcut=lambda c: latest_writes(c["h"], c["h_{i-1}"], np.arange(len(c.i)) - c.i),
        column=LABELS["j*"],
    )


def _cell(name: str) -> Equation:
    return lambda c: c.nearest(c[name])


def latest_write(c: ModelColumns) -> NDArray[np.int64]:
    """Return j*: the latest position j ≤ i with the largest 2h·h_{j-1} - h_{j-1}², so the latest whose cell is nearest."""
    return c.latest_best(lambda query, key: 2 * query("h") * key("h_{i-1}") - key("h_{i-1}^2"))


# ── variables from the simulator's rows, for many runs at once
def given(table: NamedValues, positions: NDArray[np.int64]) -> NamedValues:
    """Return the variables in the simulator's rows; h_{i-1} is the head's cell in the row before, 0 at position 0."""
    h, before = table["h"], before_of(table["h"], positions)
    named = {ALIASES.get(name, name): values for name, values in table.items()}
    return named | {"h/(i+1)": h, "h": h, "h_{i-1}/(i+1)": before, "h_{i-1}": before}


def before_of(h: VariableValues, position: VariableValues) -> VariableValues:
    """Return the head's cell one position earlier, 0 at position 0: (rows,)."""
    before = np.zeros_like(h)
    before[1:] = h[:-1]
    before[position == 0] = 0
    return before


def latest_writes(h: LabelCodes, before: LabelCodes, starts: NDArray[np.int64]) -> LabelCodes:
    """Return j* of each row: the position j ≤ i whose `before` is nearest to h, the latest of several (Eq. 8.16).

    The cells that a head has been on are all between two of them, so that one on which it is for the first time has the
    nearest next to it, on the side of cell 0.

    Args:
        starts: the number of the first row of each row's run.
    """
    rows = np.arange(len(h))
    if not len(h):
        return np.zeros(0, dtype=np.int32)
    least = int(min(h.min(), before.min())) - 1
    cells = int(max(h.max(), before.max())) - least + 2
    run = np.cumsum(np.diff(starts, prepend=starts[0]) > 0)

    def key(cell: LabelCodes) -> NDArray[np.int64]:
        places: NDArray[np.int64] = run * cells + (cell.astype(np.int64) - least)
        return places

    order = np.argsort(key(before), kind="stable")  # by run and cell, then by position
    written = key(before)[order]
    here = np.full(len(h), -1)

    def last(cell: LabelCodes, wanted: NDArray[np.bool_]) -> None:
        """Put the latest row up to each wanted one with this cell where there is one."""
        asked = key(cell)[wanted] * len(h) + rows[wanted]
        at = np.searchsorted(written * len(h) + order, asked, side="right") - 1
        there = (at >= 0) & (written[np.maximum(at, 0)] == asked // len(h))
        here[np.flatnonzero(wanted)[there]] = order[at[there]]

    last(h, np.ones(len(h), dtype=bool))
    last(np.where(h > 0, h - 1, h + 1), here < 0)
    return (here - starts).astype(np.int32)


# ── step 4: the copy of the prompt, the answer to BOS, δ and its verdicts, as votes for tokens
def votes(c: ModelColumns, machine: Machine, *, walled: bool) -> VariableValues:
    """Return a vote for each token that step 4 names.

    Args:
        walled: whether a move left at cell 0 is answered as no move (repair 4).
    """
    sigma = machine.input_alphabet or ()

    def said(token: str | None, state: str | None, symbol: str | None, at_zero: int) -> VariableValue:
        answers: list[str | None] = [token] if token in sigma else []
        if token == BOS and symbol in (*sigma, machine.blank):
            verdict = machine.outcome_of(machine.start)
            answers.append(VERDICTS[verdict] if verdict else Triple(machine.start, symbol or "", 0).token)
        answers.append(after(machine, state, symbol, stays=walled and at_zero == 1))
        found: dict[str, int] = {}
        for answer in filter(None, answers):
            found[answer] = found.get(answer, 0) + 1
        return settled(found)

    return c.each(said, "e_x", "e_q", "e_a", "[h=0]")


def after(machine: Machine, state: str | None, symbol: str | None, *, stays: bool) -> str | None:
    """Return what step 4 answers in a state on a symbol: δ, or a verdict (repair 7); None where it says nothing.

    Args:
        stays: whether a move left is answered as no move (repair 4).
    """
    if state is None:
        return None
    missing = VERDICTS[machine.outcome_of(state) or machine.missing_outcome]
    if state in machine.halting_states:
        return None if machine.decides else missing
    if symbol is None:
        return None
    rule = machine.transitions.get((state, symbol))
    if rule is None:
        return missing
    if machine.decides and rule.state in machine.halting_states:
        return VERDICTS[machine.outcome_of(rule.state) or machine.missing_outcome]
    return Triple(rule.state, rule.write, 0 if stays and rule.move < 0 else rule.move).token


def most_votes(tokens: Sequence[str]) -> Equation:
    """Return the equation of the token answered: the one with the most votes, the first of several, as its place."""
    places = {token: n for n, token in enumerate(tokens)}

    def answered(y: VariableValue) -> int:
        if not isinstance(y, Mapping):
            return places.get(y, 0)
        return max(range(len(tokens)), key=lambda n: votes_of(y).get(tokens[n], 0))

    return lambda c: each(answered, c["e_y"]).astype(np.int64)
