"""Many words of a program that labels words, as places of their tokens in its alphabet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tm2tfr.contract.labellers import ManyLabels
from tm2tfr.runs.batches.given import of_input
from tm2tfr.runs.batches.words import numbered, points_of
from tm2tfr.transformer.matrix import Ints


def spelt(labels: ManyLabels, words: Sequence[str]) -> tuple[NDArray[np.int32], Ints]:
    """Return the tokens of all words, as people write them, and where each word begins: (tokens,), (words + 1,).

    Raises:
        InputError: for a word that is not an input, with its number.
    """
    points, start = points_of(words)
    alone = {labels.written([place]): place for place in range(labels.letters)}
    letters = {text: place for text, place in alone.items() if len(text) == 1}
    places = np.array([*letters.values(), -1], dtype=np.int32)[numbered(points, tuple(letters))]
    sizes = np.diff(start)
    odd = sizes == 0
    odd[~odd] = points[start[:-1][~odd]] == ord("[")
    odd[np.searchsorted(start, np.flatnonzero(places < 0), side="right") - 1] = True
    if not odd.any():
        return places, start
    parts = np.split(places, start[1:-1])
    for n in np.flatnonzero(odd).tolist():
        with of_input(n):
            parts[n] = np.array(labels.read(words[n]), dtype=np.int32)
    begin = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    return np.concatenate(parts), begin
