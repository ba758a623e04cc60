"""A forward pass seen from the inside at one position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tm2tfr.engines.decode import Engine
from tm2tfr.transformer.weights import Decoder


class Observation:
    """A `Watch` that keeps what it is shown, as it is shown: nothing is copied or converted. Layers count from 0.

    Attributes:
        stages: (layer, part, the residual stream after it: (width,)) in the order of the computation.
        heads: (layer, head) -> its scores, (n_key,), and the positions attended to.
    """

    def __init__(self) -> None:
        self.stages: list[tuple[int, str, Any]] = []
        self.heads: dict[tuple[int, int], tuple[Any, Any]] = {}

    def stage(self, layer: int, part: str, residual: Any) -> None:
        """Keep the residual stream after `part` of `layer`."""
        self.stages.append((layer, part, residual))

    def head(self, layer: int, head: int, scores: Any, attended: Any) -> None:
        """Keep a head's scores and the positions it attended to."""
        self.heads[layer, head] = (scores, attended)

    @property
    def streams(self) -> list[Any]:
        """The residual stream before each layer and after the last."""
        return [residual for _, part, residual in self.stages if part != "attention"]


def observe(decoder: Decoder, tokens: Sequence[str], *, engine: Engine) -> Observation:
    """Feed `tokens` to `decoder` and return the observations at the last of them."""
    session, seen = engine.start(decoder), Observation()
    for token in tokens[:-1]:
        session.feed(decoder.numbers[token])
    session.feed(decoder.numbers[tokens[-1]], seen)
    return seen
