"""How the output layer of a run is read."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from tm2tfr.base.errors import EngineError


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How the output layer of a run is read: as probabilities, softmax(logits / temperature), and whether tokens are drawn.

    Args:
        seed: draw each token with its probability, with this seed; None: take the token with the largest logit.
        temperature: that of the output layer, not of attention: 1 is Eq. 8.3, and smaller ones sharpen it.

    Raises:
        EngineError: for a seed that is not a whole number from 0 on, or a temperature that is not a positive number.
    """

    seed: int | None = None
    temperature: float = 1.0

    def __post_init__(self) -> None:
        whole = isinstance(self.seed, int) and not isinstance(self.seed, bool)
        if self.seed is not None and (not whole or self.seed < 0):
            raise EngineError(f"the seed cannot be {self.seed!r}: use a whole number from 0 on, or None to draw nothing")
        number = isinstance(self.temperature, int | float) and not isinstance(self.temperature, bool)
        if not number or not 0 < self.temperature < inf:
            what = f"the temperature of the output layer must be a positive number, not {self.temperature!r}"
            raise EngineError(f"{what}: use 1 for Eq. 8.3, or for example 0.1")
