"""Labels of Turing machines: the columns of the chapter's table, and what of them and of the input the heads carry.

Everything follows from the simulator's rows and the input, for many runs at once: see
`tm2tfr.sources.turing.truth`, which says the same of one position after the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.labels.variables import HeadColumn, HeadLabels, HeldVariable, LabelVariable, Scheme, Seen
from tm2tfr.sources.turing.columns import TURING
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.weights import Decoder

LabelCodes = NDArray[np.int32]
VariableColumns = dict[str, NDArray[Any]]


class RawRows(NamedTuple):
    """Rows of the chapter's table of some runs, one run after the other.

    Args:
        offsets: (runs + 1,); sizes: (runs,), the number of symbols of each input.
        tokens, answers: (rows,), their numbers in the vocabulary.
        q, b, a: (rows,), places among the labels of their subspaces, -1 for ⊥; m, h: (rows,), whole numbers.
    """

    offsets: NDArray[np.int64]
    sizes: NDArray[np.int64]
    tokens: LabelCodes
    answers: LabelCodes
    q: LabelCodes
    b: LabelCodes
    m: LabelCodes
    h: LabelCodes
    a: LabelCodes

    @property
    def starts(self) -> NDArray[np.int64]:
        """The number of the first row of the run that each row is of: (rows,)."""
        return np.repeat(self.offsets[:-1], np.diff(self.offsets))


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
_MEANINGS = {
    "h_before": "the head's cell one position earlier, where b was written; 0 at position 0",
    "given(h)": "the input symbol of the head's cell; none where the input has none",
    "given(h+)": "the input symbol of cell max(0, h); none where the input has none",
    "j*": "the position of the latest write to the head's cell; if there is none, to the nearest",
    "h_before(j*)": "h_before at j*: the cell that was written there",
    "b(j*)": "b at j*: the symbol that was written there",
    "found": "whether that cell is the head's: 1 or 0",
}


@dataclass(frozen=True)
class TuringVariables:
    """Finds the labels of runs of one decoder.

    Args:
        decoder: the weights, of which only claims and labels are read.
    """

    decoder: Decoder

    @property
    def scheme(self) -> Scheme:
        """What labels there are."""
        layout = self.decoder.layout
        held = {s.name: self._held(s.holds) for s in layout.subspaces}
        return Scheme(
            variables=tuple(self._variables(layout)),
            heads=heads_of(self.decoder, self._seen),
            held=held,
            answers=self.decoder.vocabulary,
        )

    def _held(self, what: str) -> HeldVariable | None:
        return _HELD.get(what)

    def _seen(self, claim: str) -> Seen | None:
        return _ATTENDED.get(claim)

    def _variables(self, layout: Residual) -> list[LabelVariable]:
        meaning = {column.name: column.meaning for column in TURING} | _MEANINGS
        labels = {name: layout.holder(f"e_{name}").labels for name in "qba"}
        found = [
            LabelVariable(name="q", kind="label", meaning=meaning["q"], labels=labels["q"]),
            LabelVariable(name="b", kind="label", meaning=meaning["b"], labels=labels["b"]),
            *(LabelVariable(name=name, kind="whole", meaning=meaning[name]) for name in "mh"),
            LabelVariable(name="a", kind="label", meaning=meaning["a"], labels=labels["a"]),
            LabelVariable(name="h_before", kind="whole", meaning=meaning["h_before"]),
        ]
        for name, what in (("given(h+)", "e_x(h+)"), ("given(h)", "e_x(h)")):
            if (subspace := layout.holding(what)) is not None:
                found.append(LabelVariable(name=name, kind="label", meaning=meaning[name], labels=subspace.labels))
        return [
            *found,
            LabelVariable(name="j*", kind="whole", meaning=meaning["j*"]),
            LabelVariable(name="h_before(j*)", kind="whole", meaning=meaning["h_before(j*)"]),
            LabelVariable(name="b(j*)", kind="label", meaning=meaning["b(j*)"], labels=labels["b"]),
            LabelVariable(name="found", kind="whole", meaning=meaning["found"]),
        ]

    def labels(self, raw: RawRows, lead: int = 0) -> tuple[VariableColumns, dict[str, HeadColumn]]:
        """Return every column, and the column of each head that has one.

        Args:
            lead: the number of tokens before the input.
        """
        starts, layout = raw.starts, self.decoder.layout
        position = (np.arange(len(starts)) - starts).astype(np.int32)
        before = before_of(raw.h, position)
        latest = latest_writes(raw.h, before, starts)
        found: VariableColumns = {"q": raw.q, "b": raw.b, "m": raw.m, "h": raw.h, "a": raw.a, "h_before": before}
        sizes = np.repeat(raw.sizes, np.diff(raw.offsets))
        for name, what, cell in (("given(h+)", "e_x(h+)", np.maximum(raw.h, 0)), ("given(h)", "e_x(h)", raw.h)):
            if (subspace := layout.holding(what)) is not None:
                there = (cell >= 0) & (cell < sizes) & (position >= lead)
                at = np.where(there, starts + lead + cell, 0)
                found[name] = np.where(there, recoded(self.decoder.vocabulary, subspace.labels)[raw.tokens[at]], -1)
        rows = starts + latest
        found |= {"j*": latest, "h_before(j*)": before[rows], "b(j*)": raw.b[rows]}
        found["found"] = (before[rows] == raw.h).astype(np.int32)
        places = {
            "j*": latest,
            **{
                key: np.maximum(sign * of, 0)
                for name, of in (("h", raw.h), ("h_{i-1}", before))
                for key, sign in signed(name)
            },
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


def recoded(names: tuple[str, ...], labels: tuple[str, ...] | None) -> LabelCodes:
    """Return for each name its place among labels, -1 if it is none of them."""
    places = {label: n for n, label in enumerate(labels or ())}
    return np.array([places.get(name, -1) for name in names], dtype=np.int32)


def heads_of(decoder: Decoder, seen: Any) -> tuple[HeadLabels, ...]:
    """Return all heads; `seen`: a claim -> what such a head attends to, None if nothing is known of it."""
    found = []
    for n, layer in enumerate(decoder.layers):
        for k, head in enumerate(layer.heads):
            claim = "" if head.claim is None else head.claim.attends
            what = seen(claim)
            if what is not None:
                found.append(HeadLabels(layer=n, head=k, name=head.name, claim=claim, mask=head.mask, seen=what))
    return tuple(found)
