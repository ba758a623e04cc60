"""Labels of Turing machines: the columns of the chapter's table, and what of them and of the input the heads carry.

Everything follows from the simulator's rows and the input, for many runs at once: see
`tm2tfr.sources.turing.truth`, which says the same of one position after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tm2tfr.contract.labelling import (
    HeadColumn,
    HeldVariable,
    LabelVariable,
    RunRows,
    Scheme,
    Seen,
    VariableColumns,
    VariableKind,
    heads_of,
    recoded,
)
from tm2tfr.sources.turing.columns import TURING
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.weights import Decoder

LabelCodes = NDArray[np.int32]

_ATTENDED: Mapping[str, Seen] = {
    "all": "all",
    **dict.fromkeys(("j*", "h", "h+", "h-", "h_{i-1}", "h_{i-1}+", "h_{i-1}-"), "one"),
}
_HELD: Mapping[str, HeldVariable] = {
    "e_x": HeldVariable(column="token"),
    "1": HeldVariable(),
    "1/(i+1)": HeldVariable(over=True),
    "i": HeldVariable(column="position"),
    "i^2": HeldVariable(column="position", function="square"),
    "e_q": HeldVariable(column="q"),
    "e_b": HeldVariable(column="b"),
    "e_a": HeldVariable(column="a"),
    "e_y": HeldVariable(column="answer"),
    "m": HeldVariable(column="m"),
    "m/(i+1)": HeldVariable(column="m", over=True),
    "h": HeldVariable(column="h"),
    "h^2": HeldVariable(column="h", function="square"),
    "h-": HeldVariable(column="h", function="negative"),
    "[h=0]": HeldVariable(column="h", function="is 0"),
    "h/(i+1)": HeldVariable(column="h", over=True),
    "h+/(i+1)": HeldVariable(column="h", function="positive", over=True),
    "h-/(i+1)": HeldVariable(column="h", function="negative", over=True),
    "h_{i-1}": HeldVariable(column="h_before"),
    "h_{i-1}^2": HeldVariable(column="h_before", function="square"),
    "h_{i-1}+/(i+1)": HeldVariable(column="h_before", function="positive", over=True),
    "h_{i-1}-/(i+1)": HeldVariable(column="h_before", function="negative", over=True),
    "e_x(h+)": HeldVariable(column="given(h+)"),
    "e_x(h)": HeldVariable(column="given(h)"),
    "h_{j*-1}": HeldVariable(column="h_before(j*)"),
    "e_b(j*-1)": HeldVariable(column="b(j*)"),
    "[h_{j*-1}=h]": HeldVariable(column="found"),
}
"""What a subspace is claimed to hold -> the variable that this is."""
_TABLE = {column.name: column.meaning for column in TURING}
TURING_VARIABLES: Mapping[str, tuple[VariableKind, str, str]] = {
    "q": ("label", "e_q", _TABLE["q"]),
    "b": ("label", "e_b", _TABLE["b"]),
    "m": ("whole", "", _TABLE["m"]),
    "h": ("whole", "", _TABLE["h"]),
    "a": ("label", "e_a", _TABLE["a"]),
    "h_before": ("whole", "", "the head's cell one position earlier, where b was written; 0 at position 0"),
    "given(h+)": ("label", "e_x(h+)", "the input symbol of cell max(0, h); none where the input has none"),
    "given(h)": ("label", "e_x(h)", "the input symbol of the head's cell; none where the input has none"),
    "j*": ("whole", "", "the position of the latest write to the head's cell; if there is none, to the nearest"),
    "h_before(j*)": ("whole", "", "h_before at j*: the cell that was written there"),
    "b(j*)": ("label", "e_b", "b at j*: the symbol that was written there"),
    "found": ("whole", "", "whether that cell is the head's: 1 or 0"),
}
"""Variable -> its kind, what the subspace with its labels holds, and its meaning, in the order of the columns."""


@dataclass(frozen=True)
class TuringVariables:
    """Finds the labels of runs of one decoder.

    Args:
        program: the machine; decoder: the weights, of which only claims and labels are read.
    """

    program: Any
    decoder: Decoder
    variables: ClassVar[Mapping[str, tuple[VariableKind, str, str]]] = TURING_VARIABLES

    @property
    def lead(self) -> int:
        """The number of tokens before the input."""
        return 0

    @property
    def scheme(self) -> Scheme:
        """The scheme of the labels."""
        layout = self.decoder.layout
        return Scheme(
            variables=tuple(self._variables(layout)),
            heads=heads_of(self.decoder, self._seen),
            held={subspace.name: self._held(subspace.holds) for subspace in layout.subspaces},
            answers=self.decoder.vocabulary,
            ends=("accept", "reject", "halt", "limit"),
        )

    def _held(self, what: str) -> HeldVariable | None:
        return _HELD.get(what)

    def _seen(self, claim: str) -> Seen | None:
        return _ATTENDED.get(claim)

    def _variables(self, layout: Residual) -> Iterator[LabelVariable]:
        for name, (kind, what, meaning) in self.variables.items():
            if what.startswith("e_x(") and layout.holding(what) is None:  # weights look one of the two up
                continue
            labels = layout.holder(what).labels if kind == "label" else None
            yield LabelVariable(name=name, kind=kind, meaning=meaning, labels=labels)

    def labels(self, raw: RunRows) -> tuple[VariableColumns, dict[str, HeadColumn]]:
        """Return the column of each variable, and of each head that has one."""
        starts, layout, lead, h = raw.starts, self.decoder.layout, self.lead, raw.columns["h"]
        position = (np.arange(len(starts)) - starts).astype(np.int32)
        before = before_of(h, position)
        latest = latest_writes(h, before, starts)
        found: VariableColumns = {**raw.columns, "h_before": before}
        sizes = np.repeat(raw.sizes, np.diff(raw.offsets))
        for name, what, cell in (("given(h+)", "e_x(h+)", np.maximum(h, 0)), ("given(h)", "e_x(h)", h)):
            if (subspace := layout.holding(what)) is not None:
                there = (cell >= 0) & (cell < sizes) & (position >= lead)
                at = np.where(there, starts + lead + cell, 0)
                found[name] = np.where(there, recoded(self.decoder.vocabulary, subspace.labels)[raw.tokens[at]], -1)
        rows = starts + latest
        found |= {"j*": latest, "h_before(j*)": before[rows], "b(j*)": raw.columns["b"][rows]}
        found["found"] = (before[rows] == h).astype(np.int32)
        places = {
            "j*": latest,
            **{key: np.maximum(sign * of, 0) for name, of in (("h", h), ("h_{i-1}", before)) for key, sign in signed(name)},
        }
        wanted: dict[str, HeadColumn] = {
            head.column: places[head.claim] for head in self.scheme.heads if head.seen == "one" and head.claim in places
        }
        return found, wanted


def signed(name: str) -> tuple[tuple[str, int], ...]:
    """Return the claims of heads that look a cell up: itself, its positive and its negative part, with their signs."""
    return (name, 1), (f"{name}+", 1), (f"{name}-", -1)


def before_of(h: LabelCodes, position: LabelCodes) -> LabelCodes:
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
