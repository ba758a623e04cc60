"""Activation vectors at a position, read off a run by name: the chapter's A(0) … A(5) (Eqs. 8.4-8.19), or any decoder's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from tm2tfr.compiler.turing.layout import CHAPTER_VECTORS
from tm2tfr.engines.decode import Engine, generate, observable
from tm2tfr.errors import EngineError
from tm2tfr.trace.cause import observe
from tm2tfr.trace.rows import combination
from tm2tfr.transformer.residual import Subspace
from tm2tfr.transformer.weights import Decoder

Vector = Mapping[str, str | int | float | Fraction | None]
"""Subspace -> its number, or the label of its one-hot vector, None if that is 0."""


def activations(decoder: Decoder, word: str, position: int, *, engine: Engine | str = "exact") -> dict[str, Vector]:
    """Return A(0), A(1), A(2), A(3.5), A(4), H(4) and A(5) at `position` of the run on `word`.

    Of a decoder that is not the chapter's, return the whole residual stream after the embedding and after each layer.

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
    stages = {(layer, part): stream for layer, part, stream in seen.stages}
    return {
        vector: {name: _value(decoder.layout.subspace(name), stages[stage][decoder.layout[name]]) for name in subspaces}
        for vector, stage, subspaces in _vectors(decoder)
    }


def _vectors(decoder: Decoder) -> Iterator[tuple[str, tuple[int, str], Sequence[str]]]:
    """Yield each vector's name, the stage after which it is read, as (layer from 0, part), and what it consists of."""
    names = {layer.name: n for n, layer in enumerate(decoder.layers)}
    chapter = {(own, s) for own, _, subspaces in CHAPTER_VECTORS.values() for s in subspaces}
    if all(s in decoder.layout and (not own or own in names) for own, s in chapter):
        for vector, (own, part, subspaces) in CHAPTER_VECTORS.items():
            yield vector, (names.get(own, -1), part), subspaces
        return
    whole = [subspace.name for subspace in decoder.layout.subspaces]
    yield "embedding", (-1, "embedding"), whole
    for n, layer in enumerate(decoder.layers):
        yield f"{n + 1} {layer.name}".strip(), (n, "feed_forward"), whole


def _value(subspace: Subspace, coordinates: list[Any]) -> Any:
    if subspace.labels is None:
        return coordinates[0]
    hot = [(label, v) for label, v in zip(subspace.labels, coordinates, strict=True) if v]
    if not hot:
        return None
    return hot[0][0] if len(hot) == 1 and hot[0][1] == 1 else combination(subspace.labels, coordinates)
