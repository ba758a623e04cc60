"""A forward pass seen from the inside at one position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tm2tfr.engines.decode import Engine, run_whole
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


def observe(decoder: Decoder, tokens: Sequence[str], *, engine: Engine, position: int | None = None) -> Observation:
    """Feed `tokens` to `decoder` and return the observations at `position`, by default at the last of them.

    Where a head looks ahead, that is what there is at this position in the whole sequence.
    """
    at = len(tokens) - 1 if position is None else position
    if decoder.looks_ahead:
        return observe_all(decoder, tokens, engine=engine)[at]
    session, seen = engine.start(decoder), Observation()
    for token in tokens[:at]:
        session.feed(decoder.numbers[token])
    session.feed(decoder.numbers[tokens[at]], seen)
    return seen


def observe_at(
    decoder: Decoder, tokens: Sequence[str], positions: Sequence[int], *, engine: Engine
) -> Iterator[tuple[int, Observation]]:
    """Feed `tokens` to `decoder` and yield the observations at these positions, in increasing order, as they are made."""
    session, wanted = engine.start(decoder), frozenset(positions)
    for i, token in enumerate(tokens[: max(wanted, default=-1) + 1]):
        seen = Observation() if i in wanted else None
        session.feed(decoder.numbers[token], seen)
        if seen is not None:
            yield i, seen


def observe_all(decoder: Decoder, tokens: Sequence[str], *, engine: Engine) -> list[Observation]:
    """Run `decoder` on the whole sequence `tokens` and return the observations at every position."""
    seen = [Observation() for _ in tokens]
    run_whole(decoder, [decoder.numbers[token] for token in tokens], engine=engine, watches=dict(enumerate(seen)))
    return seen
