"""From scores to attention weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.choices import Weighting
from tm2tfr.transformer.matrix import AnyArray, Rational
from tm2tfr.transformer.weights import Head, Mask


def in_sight(mask: Mask, position: int, length: int) -> range:
    """Return the positions of a sequence of this length that a head with this mask attends to from `position`."""
    match mask:
        case "future":
            return range(position + 1)
        case "past":
            return range(position, length)
        case "none":
            return range(length)


def average_hard(scores: AnyArray) -> NDArray[np.int64]:
    """Return the positions that share the attention weight evenly: those of maximal score (Eq. 8.1).

    Ties are exact equality of the scores as computed, without a tolerance.

    Args:
        scores: (n_key,).

    Returns:
        (n_maximal,) positions in increasing order.
    """
    return np.flatnonzero(scores == scores.max())


def attended(weighting: Weighting, scores: AnyArray) -> NDArray[np.int64]:
    """Return the positions of maximal score that a head attends to: all, or the first, or the last one (Definition 2).

    Under softmax, all: those that get most.

    Args:
        scores: (n_key,).

    Returns:
        (n_attended,) positions in increasing order.
    """
    return chosen(weighting, average_hard(scores))


_Maximal = TypeVar("_Maximal", list[int], NDArray[np.int64])


def chosen(weighting: Weighting, maximal: _Maximal) -> _Maximal:
    """Return which positions of maximal score, in increasing order, a head attends to, see `attended`."""
    match weighting:
        case "leftmost":
            return maximal[:1]
        case "rightmost":
            return maximal[-1:]
        case _:
            return maximal


def softmax(scores: AnyArray) -> AnyArray:
    """Return the weights ``e^{s_j} / Σ_k e^{s_k}``, in the dtype of the scores.

    Computed as ``e^{s_j - max}``, so that nothing overflows and the sum is at least 1. A weight below the smallest
    number of the dtype is 0: if the best score is ahead by 746 (float64; 104 in float32), this is hard attention.

    Args:
        scores: (n_key,), finite.

    Returns:
        (n_key,), summed from the first to the last.
    """
    powers = np.exp(scores - scores.max())
    weights: AnyArray = powers / np.add.accumulate(powers)[-1]
    return weights


def exact_scores(head: Head, x: Sequence[Rational], streams: Iterable[Sequence[Rational]]) -> list[Rational]:
    """Return the scores of a head without any rounding.

    Args:
        x: (width,) the stream where it looks from; streams: (n_key, width) those it looks at.
    """
    query = head.query.times(x)
    keys = (head.key.times(stream) for stream in streams)
    return [sum(query.get(component, 0) * k for component, k in key.items()) for key in keys]
