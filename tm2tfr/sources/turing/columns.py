"""The chapter's table: its columns, its rows one by one and in arrays, and the vectors that the chapter gives names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.contract.source import ANSWER, POSITION, Column
from tm2tfr.sources.turing.tokens import VERDICTS

if TYPE_CHECKING:
    from tm2tfr.transformer.matrix import AnyArray, Ints, Ints32

Number = int | float | Fraction

TURING: tuple[Column, ...] = (
    POSITION,
    Column(name="x", kind="label", holds="e_x", meaning="the token at this position", tex="$x^{(i)}$"),
    Column(name="q", kind="label", holds="e_q", meaning="the state", tex="$q^{(i)}$"),
    Column(name="b", kind="label", holds="e_b", meaning="the symbol just written", tex="$b^{(i-1)}$"),
    Column(name="m", kind="number", holds="m", meaning="the move", signed=True, tex="$m^{(i-1)}$"),
    Column(name="h", kind="number", holds="h", meaning="the head's cell", tex="$h^{(i)}$"),
    Column(name="a", kind="label", holds="e_a", meaning="the symbol under the head", tex="$a^{(i)}$"),
    ANSWER,
)
"""The columns of the chapter's table, of a decoder that simulates a Turing machine."""
COLUMNS = tuple(column.name for column in TURING)
CHECKED = COLUMNS[1:]


class Row(NamedTuple):
    """One position of the chapter's table: the values that the decoder had there.

    None is ⊥; a meaningless value is text in ⟨ ⟩. Rows with other columns are named tuples too, see
    `tm2tfr.runs.rows.row_type`: the first entry is the position i, the last one the token answered, y.
    """

    i: int
    x: str | None
    q: str | None
    b: str | None
    m: Number
    h: Number
    a: str | None
    y: str


# ── the rows in arrays, as compiled code has them
class RuleTable(NamedTuple):
    """A machine with its states and symbols as numbers: `to`, `written` and `move` are (rules,).

    Without `keys` there is an entry for each pair, at state × symbols + symbol.
    """

    keys: Ints
    to: Ints32
    written: Ints32
    move: Ints32
    symbols: int
    blank: int
    start: int
    walled: bool
    limit: int


class RightCodes(NamedTuple):
    """The codes, in a decoder's labels, of what its machine has: of a state, a symbol written, a symbol read …

    Args:
        state: (states,)
        written, read, fed: (symbols,); fed: the token of an input symbol.
        shown: (tokens,) the code of x.
        first: (symbols,) the answer to BOS, by the symbol under the head.
        answers: (states, symbols, 3) the token of a step, by where it goes, what it writes, and its move + 1.
        stops: (states, symbols) the token where there is no rule.
        ends: (tokens + 3,) whether a token ends the run, by token - `unknown`.
        outcomes: (states, symbols) how a run ends there, as a place in `OUTCOMES`.
        starts_halted: whether the answer to BOS is a verdict.
        nominal: whether m is the move that the rule says.
    """

    state: Ints32
    written: Ints32
    read: Ints32
    fed: Ints32
    shown: Ints32
    first: Ints32
    answers: Ints32
    stops: Ints32
    ends: NDArray[np.bool_]
    outcomes: Ints32
    bos: int
    unknown: int
    starts_halted: bool
    nominal: bool


class RightRows(NamedTuple):
    """The right rows of some runs from `first` on, and their results: arrays of (rows,) and (runs,).

    Those of a run are ``offsets[r] : offsets[r + 1]``; its final tape is ``tape[tape_offsets[r] : tape_offsets[r + 1]]``.
    """

    first: int
    offsets: Ints
    x: Ints32
    q: Ints32
    b: Ints32
    m: Ints32
    h: Ints32
    a: Ints32
    y: Ints32
    outcome: Ints32
    steps: Ints
    visited: Ints
    ones: Ints
    tape_offsets: Ints
    tape: Ints32

    @classmethod
    def room(cls, first: int, runs: int, rows: int) -> RightRows:
        """Return room for `runs` runs and `rows` rows."""
        columns: dict[str, AnyArray] = {name: np.empty(rows, dtype=np.int32) for name in CHECKED}
        columns |= {name: np.zeros(runs, dtype=np.int64) for name in ("steps", "visited", "ones")}
        columns |= {name: np.zeros(runs + 1, dtype=np.int64) for name in ("offsets", "tape_offsets")}
        outcome, tape = np.full(runs, -1, dtype=np.int32), np.empty(rows + 64, dtype=np.int32)
        return cls(first=first, outcome=outcome, tape=tape, **columns)

    def part(self, runs: int, rows: int) -> RightRows:
        """Return the first `runs` runs and `rows` rows."""
        columns = {name: getattr(self, name)[:rows] for name in CHECKED}
        results = {name: getattr(self, name)[:runs] for name in ("outcome", "steps", "visited", "ones")}
        offsets, ends = self.offsets[: runs + 1], self.tape_offsets[: runs + 1]
        return self._replace(offsets=offsets, tape_offsets=ends, tape=self.tape[: int(ends[-1])], **columns, **results)

    def without_rows(self) -> RightRows:
        """Return the results of each run, without rows."""
        none = self.x[:0].copy()
        return self._replace(x=none, q=none, b=none, m=none, h=none, a=none, y=none)


def described(prompt: Sequence[str]) -> int:
    """Return the number of tokens before the input in the prompt of a decoder with the chapter's table.

    Those describe a machine to a universal decoder, and have several characters each; a symbol has one.
    """
    return next((n for n, token in enumerate(prompt) if len(token) == 1), len(prompt))


OUTCOME_OF_TOKEN: Mapping[str, str] = {token: outcome for outcome, token in VERDICTS.items()}
"""The tokens that end a run, and their outcomes."""

_A0 = ("e_x", "1/(i+1)", "1", "i", "i^2")
_A1 = (*_A0, "e_q", "e_b", "m")
_A2 = (*_A1, "h/(i+1)")
_A35 = (*_A2, "h", "h^2", "e_x(h)")
_A4 = (*_A35, "h_{i-1}", "h_{i-1}^2")
_H4 = (*_A4, "h_{j*-1}", "e_b(j*-1)")

RULE = ("r_q", "r_a", "r*_q", "r*_a", "out", "[r*_q=q]", "[r*_a=a]")
"""The rules of a universal decoder at a position: the rule that ends here, and the rule that was found."""
FOUND: tuple[int, str] = (5, "feed_forward")
"""(layer from 0, part) after which `RULE` is there."""

CHAPTER_VECTORS: Mapping[str, tuple[tuple[int, str], tuple[str, ...]]] = {
    "A(0)": ((-1, "embedding"), _A0),
    "A(1)": ((0, "feed_forward"), _A1),
    "A(2)": ((1, "attention"), _A2),
    "A(3.5)": ((2, "feed_forward"), _A35),
    "A(4)": ((2, "feed_forward"), _A4),
    "H(4)": ((3, "attention"), _H4),
    "A(5)": ((4, "feed_forward"), (*_H4, "e_a")),
}
"""The chapter's vector -> ((layer from 0, part) after which it is there, what it consists of), Eqs. 8.4-8.19."""

OUTCOMES = ("accept", "reject", "halt", "limit")
"""What runs are counted by."""
