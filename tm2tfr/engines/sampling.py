"""The output layer by Eq. 8.3: probabilities of the next token by softmax of the logits, and tokens drawn from them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tm2tfr.engines.overflow import nearest
from tm2tfr.transformer.matrix import Vector

Draw = Callable[[Vector], int]
"""Takes the logits at a position, (answers,), and returns the number of the next token."""


def log_probabilities(logits: Vector, temperature: float = 1.0) -> NDArray[np.float64]:
    """Return the natural logarithm of softmax(logits / T), in float64: (answers,); -inf where a float has no such exponent.

    The largest logit is subtracted first, exactly where logits are rational, so that nothing overflows.

    Args:
        logits: (answers,), finite.
        temperature: T, above 0; 1 is Eq. 8.3, and towards 0 all of the probability goes to the largest logit.
    """
    with np.errstate(over="ignore"):  # far behind, or divided by a small temperature: -inf, and never drawn
        if isinstance(logits, np.ndarray):
            behind = logits.astype(np.float64) - np.float64(logits.max())
        else:
            best = max(logits)
            behind = np.array([nearest(value - best) for value in logits])
        scaled = behind / temperature
    found: NDArray[np.float64] = scaled - np.log(np.exp(scaled).sum())
    return found


def sampler(seed: int, temperature: float = 1.0) -> Draw:
    """Return what draws tokens from softmax(logits / T): one uniform number a token, so that equal seeds are equal runs.

    Args:
        seed: a whole number from 0 on.
        temperature: T, see `log_probabilities`.
    """
    chance = np.random.default_rng(seed)

    def draw(logits: Vector) -> int:
        heights = np.cumsum(np.exp(log_probabilities(logits, temperature)))
        # The first token whose share ends above the number drawn: one without probability adds no share, and is never it.
        return int(np.searchsorted(heights, min(chance.random() * heights[-1], np.nextafter(heights[-1], 0.0)), "right"))

    return draw
