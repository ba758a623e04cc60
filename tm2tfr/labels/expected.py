"""What labels say of the residual stream: the coordinates of each subspace at each position."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.labels.variables import HeadColumn, HeldVariable, LabelRows, Ragged, Scheme

_FUNCTIONS: Mapping[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "": lambda x: x,
    "square": lambda x: x.astype(np.float64) ** 2,
    "positive": lambda x: np.maximum(x, 0),
    "negative": lambda x: np.maximum(-x, 0),
    "is 0": lambda x: (x == 0).astype(np.int64),
}


def coordinates(
    rows: LabelRows, scheme: Scheme, held: HeldVariable, labels: Sequence[str] | None, vocabulary: Sequence[str]
) -> NDArray[np.float64]:
    """Return what a subspace holds at every position, once it is written: (rows, width).

    Args:
        labels: those of the subspace; None: it is a single number.
        vocabulary: the tokens.
    """
    here = _here(rows, scheme, held, labels, vocabulary)
    if held.mean is None:
        return here
    mask = next(head.mask for head in scheme.heads if head.column == held.mean)
    found = np.zeros_like(here)
    column = rows.attended.get(held.mean)
    for start, end in zip(rows.offsets[:-1], rows.offsets[1:], strict=True):
        for row in range(start, end):
            found[row] = here[looked_at(column, row, start, end, mask)].mean(axis=0)
    return found


def looked_at(column: HeadColumn | None, row: int, start: int, end: int, mask: str) -> list[int]:
    """Return the rows that are looked at from a row of a run with the rows `start` to `end`.

    Args:
        column: that of the head; None: it attends to every position in its sight, see `mask`.
    """
    if isinstance(column, Ragged) and not column.everything[row]:
        return [start + place for place in column.places[column.offsets[row] : column.offsets[row + 1]].tolist()]
    if isinstance(column, np.ndarray):
        return [start + int(column[row])]
    return list({"future": range(start, row + 1), "past": range(row, end), "none": range(start, end)}[mask])


def _here(
    rows: LabelRows, scheme: Scheme, held: HeldVariable, labels: Sequence[str] | None, vocabulary: Sequence[str]
) -> NDArray[np.float64]:
    many, position = int(rows.offsets[-1]), rows.positions
    texts: Sequence[str] | None = None
    values: NDArray[Any] = np.ones(many, dtype=np.int64)
    if held.column == "position":
        values = position
    elif held.column in ("token", "answer"):
        answers = rows.answers if rows.answers is not None else values
        values, texts = (rows.tokens, vocabulary) if held.column == "token" else (answers, scheme.answers)
    elif held.column is not None:
        values, variable = rows.columns[held.column], scheme.variable(held.column)
        texts = rows.texts[held.column] if variable.kind == "text" else variable.labels
    if labels is None:
        found = held.times * _FUNCTIONS[held.function](values).astype(np.float64)
        return (found / (position + 1) if held.over else found)[:, None]
    if held.function == "steps":
        ends = [tuple(map(_number, label.split(".."))) for label in labels]
        found = np.stack([np.clip((values - a) / (b - a), 0, 1) for a, b in ends], axis=1)
    elif held.function == "up to":
        found = np.stack([values >= int(label) for label in labels], axis=1).astype(np.float64)
    elif held.groups:
        table = np.zeros((len(texts or ()) + 1, len(labels)))
        for text, label in held.groups:
            if text in (texts or ()):
                table[list(texts or ()).index(text), labels.index(label)] = 1
        found = table[values]
    else:
        if texts is None:
            kinds, values = np.unique(values, return_inverse=True)
            texts = [str(kind) for kind in kinds.tolist()]
        place = {label: n for n, label in enumerate(labels)}
        to = np.array([*(place.get(text, -1) for text in texts), -1])[values]
        found = (to[:, None] == np.arange(len(labels))).astype(np.float64)
    return found / (position + 1)[:, None] if held.over else found


def _number(text: str) -> float:
    above, _, below = text.partition("/")
    return int(above) / int(below or 1)
