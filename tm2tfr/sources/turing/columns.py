"""The chapter's table: its columns, its rows, and the vectors that the chapter gives names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from tm2tfr.contract.source import ANSWER, POSITION, Column

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


def described(prompt: Sequence[str]) -> int:
    """Return the number of tokens before the input in the prompt of a decoder with the chapter's table.

    Those describe a machine to a universal decoder, and have several characters each; a symbol has one.
    """
    return next((n for n, token in enumerate(prompt) if len(token) == 1), len(prompt))


OUTCOME_OF_TOKEN: Mapping[str, str] = {"ACC": "accept", "REJ": "reject", "HALT": "halt"}
"""The tokens that end a run, and what they say."""

_A0 = ("e_x", "1/(i+1)", "1", "i", "i^2")
_A1 = (*_A0, "e_q", "e_b", "m")
_A2 = (*_A1, "h/(i+1)")
_A35 = (*_A2, "h", "h^2", "e_x(h)")
_A4 = (*_A35, "h_{i-1}", "h_{i-1}^2")
_H4 = (*_A4, "h_{j*-1}", "e_b(j*-1)")

RULE = ("r_q", "r_a", "r*_q", "r*_a", "out", "[r*_q=q]", "[r*_a=a]")
"""What a universal decoder has of the rules in its prompt: the one that ends here, and the one that it has found."""
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
