"""The chapter's activation vectors A(0) … A(5) at a position, read off a run by name (Eqs. 8.4-8.19)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from tm2tfr.compiler.turing.layout import CHAPTER_VECTORS
from tm2tfr.engines.decode import Engine, generate, observable
from tm2tfr.engines.watching import observe
from tm2tfr.errors import EngineError
from tm2tfr.trace.rows import combination
from tm2tfr.transformer.residual import Subspace
from tm2tfr.transformer.weights import Decoder

Vector = Mapping[str, str | int | float | Fraction | None]
"""Subspace -> its number, or the label of its one-hot vector, None if that is 0."""


def activations(decoder: Decoder, word: str, position: int, *, engine: Engine | str = "exact") -> dict[str, Vector]:
    """Return A(0), A(1), A(2), A(3.5), A(4), H(4) and A(5) at `position` of the run on `word`.

    Raises:
        EngineError: if the run ends before `position`.
    """
    if isinstance(engine, str):
        from tm2tfr.engines import engine as engine_named  # noqa: PLC0415

        engine = engine_named(engine)
    tokens = [step.token for step in generate(decoder, word, engine=engine, max_positions=position + 1)]
    if len(tokens) <= position:
        raise EngineError(
            f"the run on {word!r} has {len(tokens)} positions, and none numbered {position}: "
            f"use a position from 0 to {len(tokens) - 1}"
        )
    seen = observe(decoder, tokens, engine=observable(engine))
    names = {layer.name: n for n, layer in enumerate(decoder.layers)}
    stages = {(layer, part): stream for layer, part, stream in seen.stages}
    found: dict[str, Vector] = {}
    for vector, (layer, part, subspaces) in CHAPTER_VECTORS.items():
        stream = stages[names.get(layer, -1), part]
        found[vector] = {s: _value(decoder.layout.subspace(s), stream[decoder.layout[s]]) for s in subspaces}
    return found


def _value(subspace: Subspace, coordinates: list[Any]) -> Any:
    if subspace.labels is None:
        return coordinates[0]
    hot = [(label, v) for label, v in zip(subspace.labels, coordinates, strict=True) if v]
    if not hot:
        return None
    return hot[0][0] if len(hot) == 1 and hot[0][1] == 1 else combination(subspace.labels, coordinates)
