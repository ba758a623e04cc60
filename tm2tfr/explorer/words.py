"""A head in words for the page: its score and what it carries, as its weights say it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tm2tfr.transformer.listing import form
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.weights import Head


def score(layout: Residual, head: Head) -> str:
    """Return the score of position j seen from i according to a head's query and key matrices: ``⟨2·h⟩_i · ⟨i⟩_j − …``."""
    pairs = zip(head.query.by_row(), head.key.by_row(), strict=True)
    terms = [_product(layout, q, k) for q, k in pairs if q and k]
    return " + ".join(terms).replace("+ −", "− ") or "0"


def moves(layout: Residual, head: Head) -> Iterator[tuple[str, str]]:
    """Yield what a head carries: (read at the attended position, added here), each as text with names."""
    targets: list[dict[int, float]] = [{} for _ in range(head.output.shape[1])]
    for row, column, value in head.output.entries():
        targets[column][row] = value
    for read, write in zip(head.value.by_row(), targets, strict=True):
        if read and write:
            yield form(layout, read), form(layout, write)


def _product(layout: Residual, query: Mapping[int, float], key: Mapping[int, float]) -> str:
    """Return one component's share of a score; a query that is just the constant 1 is left out."""
    one, there = layout.holding("1"), form(layout, key)
    negative = len(query) == 1 and min(query.values()) < 0
    sign, positive = ("−", {column: -value for column, value in query.items()}) if negative else ("", dict(query))
    if one is not None and positive == {layout[one.name].start: 1.0}:
        return f"{sign}⟨{there}⟩_j"
    return f"{sign}⟨{form(layout, positive)}⟩_i·⟨{there}⟩_j"
